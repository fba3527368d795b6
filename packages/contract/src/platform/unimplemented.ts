/** Operations that are known and not built yet. This list only shrinks. Source: catalogue platform.json. */
import type { Unimplemented } from '../operation.ts'

export const unimplemented: readonly Unimplemented[] = [
  ['createBackupTarget', 'POST', '/management/domain-managers/{domainManagerExtId}/backup-targets'],
  ['createDomainManager', 'POST', '/config/domain-managers'],
  ['deleteBackupTargetById', 'DELETE', '/management/domain-managers/{domainManagerExtId}/backup-targets/{extId}'],
  ['getBackupTargetById', 'GET', '/management/domain-managers/{domainManagerExtId}/backup-targets/{extId}'],
  ['getExternalStorageById', 'GET', '/config/external-storages/{extId}'],
  ['getProductById', 'GET', '/management/domain-managers/{domainManagerExtId}/products/{extId}'],
  ['getRegistrationById', 'GET', '/management/domain-managers/{domainManagerExtId}/registrations/{extId}'],
  ['listBackupTargets', 'GET', '/management/domain-managers/{domainManagerExtId}/backup-targets'],
  ['listProducts', 'GET', '/management/domain-managers/{domainManagerExtId}/products'],
  ['listRegistrations', 'GET', '/management/domain-managers/{domainManagerExtId}/registrations'],
  ['register', 'POST', '/management/domain-managers/{extId}/$actions/register'],
  [
    'restore',
    'POST',
    '/management/restore-sources/{restoreSourceExtId}/restorable-domain-managers/{restorableDomainManagerExtId}/restore-points/{extId}/$actions/restore',
  ],
  ['unregister', 'POST', '/management/domain-managers/{extId}/$actions/unregister'],
  ['updateBackupTargetById', 'PUT', '/management/domain-managers/{domainManagerExtId}/backup-targets/{extId}'],
  ['updateProductById', 'PUT', '/management/domain-managers/{domainManagerExtId}/products/{extId}'],
]
