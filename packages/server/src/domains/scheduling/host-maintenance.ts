/** Where maintenance of hosts (clustermgmt) and their VMs (vmm) meet. Source: behaviour clustermgmt.md 1.4; vmm.md 3.2. */

import { arrayOf, boolean, optional, resource, uuid } from '@hyperplane/contract'
import type { Transaction } from '../../store/store.ts'
import { taskNamed } from '../context.ts'

/** With the id of the host; exists from the request to enter until the host has left maintenance. */
export const HostMaintenance = resource('internal.v1.clustermgmt.HostMaintenance', {
  fields: {
    clusterExtId: uuid(),
    taskExtId: optional(uuid()),
    isEvacuating: boolean(),
    /** They return afterwards. */
    movedVmExtIds: arrayOf(uuid()),
    /** They start again afterwards. */
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
  /** Shuts down VMs that cannot move. */
  readonly mayShutDownVms: boolean
  readonly hasUnusedVcenterInfo: boolean
}

export type Repopulating = Omit<Evacuating, 'mayShutDownVms' | 'rollsBackOnFailure'>

/** For changes of a host's network: VMs leave and come back. The task is `HostMaintenance.taskExtId` meanwhile. */
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
  if (await store.has(HostMaintenance, hostExtId)) await store.update(HostMaintenance, hostExtId, started)
  else await store.insert(HostMaintenance, { extId: hostExtId, ...started, movedVmExtIds: [], stoppedVmExtIds: [] })
}

export interface VmOfHost {
  readonly vmExtId: string
  readonly hostExtId: string
}

/** The first three skip a VM that is elsewhere, or in another state, when its turn comes. */
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
