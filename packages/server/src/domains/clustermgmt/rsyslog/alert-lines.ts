/** Alerts in the log of their cluster. Source: behaviour clustermgmt.md 1.11. */
import type { Drivers } from '../../../drivers/drivers.ts'
import { type AlertTypeName, alertTypes, type Notice } from '../alerts/alert.ts'

const modules: Readonly<Record<AlertTypeName, string>> = {
  DISK_FAILED: 'STARGATE',
  HOST_FAILED: 'GENESIS',
  HOST_DEGRADED: 'GENESIS',
  PROFILE_DRIFT: 'PRISM',
  STORAGE_POOL_LOW: 'CURATOR',
  STORAGE_CONTAINER_LOW: 'CURATOR',
}

export async function logAlerts(
  { drivers }: { readonly drivers: Pick<Drivers, 'hardware'> },
  notices: readonly Notice[],
): Promise<void> {
  for (const { clusterExtId, type, change, time, text, entityKind, entityExtId, alertExtId } of notices) {
    const { severity, title } = alertTypes[type]
    drivers.hardware.log(clusterExtId, {
      module: modules[type],
      severity: change === 'OPENED' ? severity : 'NOTICE',
      time: Date.parse(time),
      id: type,
      text: change === 'OPENED' ? text : `No longer: ${title}. ${text}`,
      parameters: { alert: alertExtId, change, entityKind, entity: entityExtId },
      isOfMonitor: true,
    })
  }
}
