/**
 * Where the maintenance of hosts (clustermgmt) and their VMs (vmm) meet. Source: behaviour clustermgmt.md 1.4; vmm.md 3.2.
 */
import { arrayOf, boolean, optional, resource, uuid } from '@hyperplane/contract'
import { taskNamed } from '../../core/tasks/define-task.ts'
import type { Transaction } from '../../store/store.ts'

/** From the request to enter until the host has left maintenance; has the id of the host. */
export const HostMaintenance = resource(
  'internal.v1.clustermgmt.HostMaintenance',
  {
    clusterExtId: uuid(),
    /** The task that enters or leaves. */
    taskExtId: optional(uuid()),
    /** VMs are leaving. */
    isEvacuating: boolean(),
    /** VMs that return afterwards. */
    movedVmExtIds: arrayOf(uuid()),
    /** VMs that start again afterwards. */
    stoppedVmExtIds: arrayOf(uuid()),
  },
  { title: 'host maintenance', indexed: ['clusterExtId'], ofCluster: { by: 'clusterExtId' } },
)

export interface VmOfHost {
  readonly vmExtId: string
  readonly hostExtId: string
}

/** The first three do nothing with a VM that is elsewhere, or in another state, when its turn comes. */
export const evacuation = {
  leave: taskNamed<VmOfHost>('vmm.leave-host'),
  stop: taskNamed<VmOfHost & { readonly asksGuest: boolean }>('vmm.stop-for-maintenance'),
  return: taskNamed<VmOfHost>('vmm.move-to-host'),
  start: taskNamed<Pick<VmOfHost, 'vmExtId'>>('vmm.power-on-vm'),
}

export async function noteLeft(
  store: Transaction,
  { vmExtId, hostExtId }: VmOfHost,
  list: 'movedVmExtIds' | 'stoppedVmExtIds',
): Promise<void> {
  const maintenance = await store.get(HostMaintenance, hostExtId)
  if (maintenance === undefined || maintenance[list].includes(vmExtId)) return
  await store.update(HostMaintenance, hostExtId, { [list]: [...maintenance[list], vmExtId] })
}
