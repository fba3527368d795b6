/** Source: behaviour clustermgmt.md 1.4. */
import type { EntityOf } from '@hyperplane/contract'
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Host, hostOperations } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf } from '../../core/standard.ts'
import { and, equals } from '../../odata/index.ts'
import { implement, type ReadContext } from '../context.ts'
import { observeHosts } from './observe-hosts.ts'

type HostEntity = EntityOf<typeof Host>

export const host = implement(hostOperations, {}, { present: [[Host, withLoad]], schedules: [observeHosts] })

async function withLoad(ctx: ReadContext, hosts: readonly HostEntity[]): Promise<readonly HostEntity[]> {
  const shown: HostEntity[] = []
  for (const host of hosts) {
    // With `$apply` or `$select` the rows may have no extId.
    if (host.extId === undefined) return hosts
    const bmc = await ctx.store.get(BmcInfo, host.extId)
    const running = and(equals(pathOf(Vm, 'host/extId'), host.extId), equals(pathOf(Vm, 'powerState'), 'ON'))
    const ipmi = bmc === undefined ? undefined : { ip: bmc.ipAddress, username: bmc.credential?.username }
    shown.push({
      ...host,
      hypervisor: { ...host.hypervisor, numberOfVms: await ctx.store.count(Vm, { filter: running }) },
      ...(ipmi === undefined ? {} : { ipmi }),
    })
  }
  return shown
}
