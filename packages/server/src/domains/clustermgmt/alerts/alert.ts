/**
 * Conditions that need a person. An alert is open while its condition lasts; receivers get a notice of its opening and closing once.
 * Source: behaviour clustermgmt.md 1.12, 3.
 */

import { type EntityOf, enumeration, optional, resource, text, timestamp, uuid } from '@hyperplane/contract'
import type { ScheduleContext } from '../../context.ts'

interface AlertType {
  /** Never changes: receivers recognise the alert by it. */
  readonly number: number
  readonly severity: 'CRITICAL' | 'WARNING'
  readonly title: string
}

export const alertTypes = {
  DISK_FAILED: { number: 1001, severity: 'CRITICAL', title: 'Disk failed' },
  HOST_FAILED: { number: 1002, severity: 'CRITICAL', title: 'Host failed' },
  HOST_DEGRADED: { number: 1003, severity: 'WARNING', title: 'Host degraded' },
  PROFILE_DRIFT: { number: 1004, severity: 'WARNING', title: 'Settings differ from the cluster profile' },
  STORAGE_POOL_LOW: { number: 1005, severity: 'WARNING', title: 'Storage pool almost full' },
  STORAGE_CONTAINER_LOW: { number: 1006, severity: 'WARNING', title: 'Storage container almost full' },
} as const satisfies Readonly<Record<string, AlertType>>

export type AlertTypeName = keyof typeof alertTypes

const fields = {
  clusterExtId: uuid(),
  type: enumeration(Object.keys(alertTypes) as AlertTypeName[]),
  entityKind: text(),
  entityExtId: uuid(),
  entityName: text(),
  /** Present if the entity is a host, or a disk in it. */
  hostExtId: optional(uuid()),
  /** One sentence, as of the opening. */
  text: text(),
  openedAt: timestamp(),
}

export const OpenAlert = resource('internal.v1.clustermgmt.OpenAlert', {
  fields,
  indexed: ['clusterExtId'],
  unique: [{ fields: ['type', 'entityExtId'] }],
  ofCluster: { by: 'clusterExtId' },
  // The new world finds out which conditions last, and notifies its own receivers.
  leftOut: 'unmentioned',
})

/** As old as statistics, whose scores of health they change. */
export const ClosedAlert = resource('internal.v1.clustermgmt.ClosedAlert', {
  fields: { ...fields, closedAt: timestamp() },
  indexed: ['clusterExtId'],
  ofCluster: { by: 'clusterExtId' },
  leftOut: 'unmentioned',
})

export const AlertNotice = resource('internal.v1.clustermgmt.AlertNotice', {
  fields: {
    ...fields,
    receiver: text(),
    alertExtId: uuid(),
    change: enumeration(['OPENED', 'CLOSED']),
    time: timestamp(),
  },
  indexed: ['receiver'],
  ofCluster: { stays: 'a notice is delivered within seconds' },
  leftOut: 'unmentioned',
})

export type Alert = EntityOf<typeof OpenAlert>
export type Notice = EntityOf<typeof AlertNotice>

/** Notices of all clusters, oldest first; removed afterwards: a crash repeats them under the same ids. Return soon: later notices wait. */
export type AlertReceiver = (ctx: ScheduleContext, notices: readonly Notice[]) => Promise<void>
