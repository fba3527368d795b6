/** Source: behaviour vmm.md 3.2; networking.md 1.5 (gateway nodes). */
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { isLeaving } from '../storage-space/leaving-hosts.ts'

export function closedBecause(host: Host, isUp: boolean): string | undefined {
  if (host.hostType === 'STORAGE_ONLY') return 'storage: the host stores data and runs no VMs'
  if (!isUp) return 'unreachable: the host does not answer'
  if ((host.maintenanceState ?? 'normal') !== 'normal') return `maintenance: the host is ${host.maintenanceState}`
  if (isLeaving(host)) return `maintenance: the node is ${host.nodeStatus}`
  return undefined
}
