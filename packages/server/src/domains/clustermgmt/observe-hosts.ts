/** Source: behaviour clustermgmt.md 1.4. */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { canonicalJson } from '../../core/idempotency.ts'
import type { HostCondition } from '../../drivers/hardware.ts'
import type { Schedule } from '../context.ts'

const microsPerMilli = 1000

export const observeHosts: Schedule = {
  name: 'clustermgmt.observe-hosts',
  everySeconds: 10,
  watch: ({ drivers }, changed) => drivers.hardware.watch(changed),
  async run({ drivers, store }) {
    const { hardware } = drivers
    // Hosts of an unreachable cluster keep their last known state.
    const reachable = (await store.find(Host)).filter(({ cluster }) => hardware.isReachable(cluster.uuid))
    const news = reachable.filter((host) => changesOf(host, hardware.conditionOf(host.extId)) !== undefined)
    if (news.length === 0) return
    await store.transaction(async (transaction) => {
      // Read again: a task may have written the state of the host since the first read.
      for (const host of await transaction.getMany(
        Host,
        news.map(({ extId }) => extId),
      )) {
        const changes = changesOf(host, hardware.conditionOf(host.extId))
        if (changes !== undefined) await transaction.observe(Host, host.extId, changes)
      }
    })
  },
}

/** undefined: nothing has changed. */
function changesOf(host: Host, { isDegraded, isUp, bootedAt }: HostCondition): Partial<Host> | undefined {
  const acropolisConnectionState = isUp ? 'CONNECTED' : 'DISCONNECTED'
  const changes: Partial<Host> = {
    isDegraded,
    ...(host.hypervisor && { hypervisor: { ...host.hypervisor, acropolisConnectionState } }),
    ...(bootedAt !== undefined && isUp && { bootTimeUsecs: Math.floor(bootedAt * microsPerMilli) }),
  }
  const before = {
    isDegraded: host.isDegraded ?? false,
    hypervisor: host.hypervisor,
    bootTimeUsecs: host.bootTimeUsecs,
  }
  const isSame = canonicalJson({ ...before, ...changes }) === canonicalJson(before)
  return isSame ? undefined : changes
}
