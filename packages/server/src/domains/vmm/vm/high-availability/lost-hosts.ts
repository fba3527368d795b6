/**
 * Selects VMs to restart on another host: their host has been silent for a minute, another host of the cluster is up.
 * Startup policies are not implemented. Larger VMs come first: they are harder to place.
 * Source: behaviour vmm.md 3.2 (HA).
 */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { parseTime } from '../../../../core/time/clock.ts'
import { type Schedule, type ScheduleContext, startingTasks } from '../../../../core/time/schedules.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { HostAllocation } from '../../../scheduling/host-allocation.ts'
import { hasPassthrough, type VmEntity } from '../../../virtual-machines/entity.ts'
import { isEmulated } from '../parts/nics.ts'
import { restartElsewhere } from './restart-elsewhere.ts'

type Looking = ScheduleContext<Drivers>

/** A VM becomes UNDETERMINED after 30 s of silence, and is restarted 30 s later. */
const lostMillis = 60_000

export const restartVmsOfLostHosts: Schedule<Drivers> = {
  name: 'vmm.restart-vms-of-lost-hosts',
  everySeconds: 10,
  watch({ drivers }, changed) {
    const ends = [drivers.hypervisor.watch(changed), drivers.hardware.watch(changed)]
    return () => {
      for (const end of ends) end()
    }
  },
  async run(ctx) {
    const stranded = await strandedVms(ctx)
    const unseen = stranded.filter(({ powerState }) => powerState === 'UNDETERMINED')
    const lostFrom = timesOfLoss(unseen)
    const isLostBy = (time: number) => (vm: VmEntity) => (lostFrom.get(vm.host?.extId as string) as number) <= time
    for (const { extId } of unseen.filter(isLostBy(ctx.clock.now())).sort(byTurn)) {
      if (ctx.runner.queueLength(extId) === 0) await accept(ctx, extId)
    }
    if (stranded.length > 0) return 'again'
  },
}

/** VMs with a reservation on a silent host that may run on another one, in clusters with a host that is up. */
async function strandedVms({ drivers: { hardware }, store }: Looking): Promise<readonly VmEntity[]> {
  // In an unreachable cluster the state of the hosts is unknown.
  const hosts = (await store.find(Host)).filter(({ cluster }) => hardware.isReachable(cluster.uuid))
  const isUp = ({ extId }: { readonly extId: string }): boolean => hardware.isHostUp(extId)
  const haveOthers = new Set(hosts.filter(isUp).map(({ cluster }) => cluster.uuid))
  const found = new Map<string, VmEntity>()
  for (const host of hosts) {
    if (isUp(host) || !haveOthers.has(host.cluster.uuid)) continue
    for (const { vmExtId } of await store.findWhere(HostAllocation, { hostExtId: host.extId })) {
      const vm = await store.get(Vm, vmExtId)
      if (vm !== undefined && !isBoundToHost(vm)) found.set(vmExtId, vm)
    }
  }
  return [...found.values()]
}

const isBoundToHost = (vm: VmEntity): boolean =>
  vm.isAgentVm === true || hasPassthrough(vm) || (vm.nics ?? []).some((nic) => !isEmulated(nic))

/** Restart time by host. VMs with a running task got a later `hostSilentSince`, so the earliest one counts. */
function timesOfLoss(vms: readonly VmEntity[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const { host, hostSilentSince } of vms) {
    const hostExtId = host?.extId as string
    const time = (parseTime(hostSilentSince ?? '') ?? 0) + lostMillis
    times.set(hostExtId, Math.min(time, times.get(hostExtId) ?? time))
  }
  return times
}

/** Larger VMs first; name and id only make the order deterministic. */
function byTurn(a: VmEntity, b: VmEntity): number {
  const bySize = (b.memorySizeBytes ?? 0) - (a.memorySizeBytes ?? 0)
  if (bySize !== 0) return bySize
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.extId < b.extId ? -1 : 1
}

const accept = (ctx: Looking, vmExtId: string): Promise<void> =>
  startingTasks(ctx, async (store, startTask) => {
    const vm = await store.get(Vm, vmExtId)
    const isSilent = !ctx.drivers.hardware.isHostUp(vm?.host?.extId ?? '')
    if (vm?.powerState === 'UNDETERMINED' && isSilent) await restartElsewhere({ ...ctx, store, startTask }, vm)
  })
