/**
 * Alerts of clusters: conditions that need a person. An alert is open while its condition lasts; its opening and its closing are
 * notices, which every receiver gets once. Source: behaviour clustermgmt.md 1.12, 3.
 */

import { type EntityOf, enumeration, optional, resource, text, timestamp, uuid } from '@hyperplane/contract'
import type { ScheduleContext } from '../../context.ts'

interface AlertType {
  /** Receivers recognise the alert by it: it never changes. */
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
  /** `Disk`, `Host`, `Cluster`, `StoragePool` or `StorageContainer`. */
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
})

/** Kept as long as statistics, whose scores of health it changes. */
export const ClosedAlert = resource('internal.v1.clustermgmt.ClosedAlert', {
  fields: { ...fields, closedAt: timestamp() },
  indexed: ['clusterExtId'],
  ofCluster: { by: 'clusterExtId' },
})

export const AlertNotice = resource('internal.v1.clustermgmt.AlertNotice', {
  fields: {
    ...fields,
    receiver: text(),
    alertExtId: uuid(),
    change: enumeration(['OPENED', 'CLOSED']),
    /** World time of the change. */
    time: timestamp(),
  },
  indexed: ['receiver'],
  ofCluster: { stays: 'a notice is delivered within seconds' },
})

export type Alert = EntityOf<typeof OpenAlert>
export type Notice = EntityOf<typeof AlertNotice>

/**
 * Gets the notices of all clusters once, oldest first. They are removed after it has returned: a crash in between repeats them
 * under the same ids. It must return soon, because later notices wait for it.
 */
export type AlertReceiver = (ctx: ScheduleContext, notices: readonly Notice[]) => Promise<void>
