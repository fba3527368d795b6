/** Source: behaviour vmm.md 3.2; networking.md 1.5 (gateway nodes). */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'

export function closedBecause(host: EntityOf<typeof Host>, isUp: boolean): string | undefined {
  if (!isUp) return 'unreachable: the host does not answer'
  if ((host.maintenanceState ?? 'normal') !== 'normal') return `maintenance: the host is ${host.maintenanceState}`
  if ((host.nodeStatus ?? 'NORMAL') !== 'NORMAL') return `maintenance: the node is ${host.nodeStatus}`
  return undefined
}
