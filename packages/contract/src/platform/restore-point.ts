/** Source: specification 2.3, 4.4, 5, 8; catalogue platform.json; behaviour platform.md 9, 11. */
import { action, get, list, perMinute, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { DomainManager } from './domain-manager.ts'
import { backupReaders } from './restore-source.ts'

const restorePoints =
  '/management/restore-sources/{restoreSourceExtId}/restorable-domain-managers/{restorableDomainManagerExtId}/restore-points'

export const RestorePoint = resource('platform.v4.management.RestorePoint', {
  fields: {
    creationTime: s.readOnly(s.timestamp()),
    /** Present in single reads, and in lists with `$select`. */
    domainManager: s.readOnly(DomainManager.schema),
  },
  iamNoun: 'Restorable_Domain_Manager_Restore_Point',
  internal: { restorableDomainManagerExtId: s.uuid() },
  parent: {
    param: 'restorableDomainManagerExtId',
    kind: 'RestorableDomainManager',
    field: 'restorableDomainManagerExtId',
  },
  iam: {},
  newestFirst: true,
  derived: true,
})

/** Absent fields are taken from the restore point, whose ids may be used. */
const RestoreSpec = s.object('platform.v4.management.RestoreSpec', {
  domainManager: s.ofAnotherWorld(DomainManager.schema),
})

const view = { roles: backupReaders, rateLimit: perSecond(5) }

export const restorePointOperations = {
  listRestorePoints: list(restorePoints, RestorePoint, {
    ...view,
    pathKinds: { restoreSourceExtId: 'RestoreSource' },
    filter: ['creationTime'],
    orderby: ['creationTime'],
    select: ['creationTime', 'domainManager', 'extId', 'links', 'tenantId'],
  }),
  getRestorePointById: get(`${restorePoints}/{extId}`, RestorePoint, {
    ...view,
    pathKinds: { restoreSourceExtId: 'RestoreSource' },
  }),
  restore: action(`${restorePoints}/{extId}/$actions/restore`, {
    of: RestorePoint,
    body: RestoreSpec,
    iam: 'Restore_Domain_Manager_Restore_Point',
    roles: ['Domain Manager Admin', 'Platform Admin', 'Super Admin'],
    rateLimit: perMinute(1),
    pathKinds: { restoreSourceExtId: 'RestoreSource' },
  }),
}
