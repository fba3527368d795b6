/** Not stored. Source: specification 5, 8 (as listRestorePoints); catalogue platform.json; platform.md 9, 11. */
import { list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { domainManagerFields } from './domain-manager.ts'
import { backupReaders } from './restore-source.ts'

export const RestorableDomainManager = resource('platform.v4.management.RestorableDomainManager', {
  fields: domainManagerFields,
  internal: { restoreSourceExtId: s.uuid() },
  parent: { param: 'restoreSourceExtId', kind: 'RestoreSource', field: 'restoreSourceExtId' },
  iam: { name: 'config/name' },
  derived: true,
})

export const restorableDomainManagerOperations = {
  listRestorableDomainManagers: list(
    '/management/restore-sources/{restoreSourceExtId}/restorable-domain-managers',
    RestorableDomainManager,
    { roles: backupReaders, rateLimit: perSecond(5), filter: ['extId'] },
  ),
}
