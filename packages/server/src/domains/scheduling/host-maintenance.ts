/**
 * Where the maintenance of hosts (clustermgmt) and their VMs (vmm) meet. Source: behaviour clustermgmt.md 1.4; vmm.md 3.2.
 */

import { arrayOf, boolean, optional, resource, uuid } from '@hyperplane/contract'
import type { Transaction } from '../../store/store.ts'
import { taskNamed } from '../context.ts'

/** From the request to enter until the host has left maintenance; has the id of the host. */
export const HostMaintenance = resource('internal.v1.clustermgmt.HostMaintenance', {
  fields: {
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
  indexed: ['clusterExtId'],
  ofCluster: { by: 'clusterExtId' },
})

export interface HostOfCluster {
  readonly hostExtId: string
  readonly clusterExtId: string
}

export interface Evacuating extends HostOfCluster {
  readonly timeoutSeconds: number
  /** After a failure the VMs come back. */
  readonly rollsBackOnFailure: boolean
  /** VMs that cannot move are shut down. */
  readonly mayShutDownVms: boolean
  readonly hasUnusedVcenterInfo: boolean
}

export type Repopulating = Omit<Evacuating, 'mayShutDownVms' | 'rollsBackOnFailure'>

/**
 * VMs leave a host and come back while another task changes its network; its controller VM keeps running. That task is
 * named in `HostMaintenance.taskExtId` until the VMs are back.
 */
export const hostTasks = {
  evacuate: taskNamed<Evacuating>('clustermgmt.evacuate-host'),
  repopulate: taskNamed<Repopulating>('clustermgmt.repopulate-host'),
}

/** In the transaction that starts the evacuation. */
export async function beginMaintenance(
  store: Transaction,
  { hostExtId, clusterExtId }: HostOfCluster,
  taskExtId: string,
): Promise<void> {
  const started = { clusterExtId, taskExtId, isEvacuating: true }
  if ((await store.get(HostMaintenance, hostExtId)) !== undefined)
    await store.update(HostMaintenance, hostExtId, started)
  else await store.insert(HostMaintenance, { extId: hostExtId, ...started, movedVmExtIds: [], stoppedVmExtIds: [] })
}

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

export async function recordDeparture(
  store: Transaction,
  { vmExtId, hostExtId }: VmOfHost,
  list: 'movedVmExtIds' | 'stoppedVmExtIds',
): Promise<void> {
  const maintenance = await store.get(HostMaintenance, hostExtId)
  if (maintenance === undefined || maintenance[list].includes(vmExtId)) return
  await store.update(HostMaintenance, hostExtId, { [list]: [...maintenance[list], vmExtId] })
}
