/** The parts of a cluster that are notified of its alerts: one line each, sorted. */
import { logAlerts } from '../rsyslog/alert-lines.ts'
import { sendTraps } from '../snmp/send-traps.ts'
import type { AlertReceiver } from './alert.ts'

/** The names are stored with the notices and never change. */
export const alertReceivers: Readonly<Record<string, AlertReceiver>> = {
  snmp: sendTraps,
  syslog: logAlerts,
}
