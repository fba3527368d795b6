/** Source: behaviour vmm.md 3.2; networking.md 1.5 (gateway nodes). */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../core/api-error.ts'

export function closedBecause(host: EntityOf<typeof Host>, isUp: boolean): string | undefined {
  if (host.hostType === 'STORAGE_ONLY') return 'storage: the host stores data and runs no VMs'
  if (!isUp) return 'unreachable: the host does not answer'
  if ((host.maintenanceState ?? 'normal') !== 'normal') return `maintenance: the host is ${host.maintenanceState}`
  if (isLeaving(host)) return `maintenance: the node is ${host.nodeStatus}`
  return undefined
}

/** A task removes the host from its cluster: nothing new is bound to it. */
export const isLeaving = ({ nodeStatus = 'NORMAL' }: Pick<EntityOf<typeof Host>, 'nodeStatus'>): boolean =>
  nodeStatus !== 'NORMAL'

export const clusterLosesHost = ({ name }: { readonly name: string }): ApiError =>
  new ApiError('CLUSTER_BUSY', { name, taskExtId: 'that removes the host' })
