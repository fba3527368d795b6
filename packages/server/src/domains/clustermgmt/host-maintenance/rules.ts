/** Source: behaviour clustermgmt.md 3 (Invariants). */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { Reader } from '../../../store/store.ts'
import type { Broken, Invariant } from '../../context.ts'
import { rowsOf } from '../../invariants/rule.ts'
import { HostMaintenance } from '../../scheduling/host-maintenance.ts'

export const maintenanceRules: readonly Invariant[] = [
  { promise: 'No host in maintenance runs a VM', look: hostsInMaintenanceAreEmpty },
  { promise: 'The maintenance of a host ends with its return to normal operation', look: maintenancesEnd },
]

const stateOf = ({ maintenanceState = 'normal' }: { readonly maintenanceState?: string | undefined }): string =>
  maintenanceState

async function* hostsInMaintenanceAreEmpty(store: Reader): AsyncGenerator<Broken> {
  for await (const host of rowsOf(store, Host)) {
    if (stateOf(host) !== 'in_maintenance') continue
    for (const vm of await store.findWhere(Vm, { 'host/extId': host.extId }))
      yield { about: [host.extId, vm.extId], fault: `the VM "${vm.name}" runs on ${host.hostName}, in maintenance` }
  }
}

async function* maintenancesEnd(store: Reader): AsyncGenerator<Broken> {
  for await (const { extId, taskExtId } of rowsOf(store, HostMaintenance)) {
    const host = await store.get(Host, extId)
    if (taskExtId === undefined && (host === undefined || stateOf(host) === 'normal'))
      yield { about: [extId], fault: `the host ${extId} is in normal operation, and its maintenance is still there` }
  }
}
