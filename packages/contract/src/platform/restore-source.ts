/** Its creation contacts nothing. Source: specification 5, 8; catalogue platform.json; behaviour platform.md 9, 11. */
import { names } from '../names.ts'
import { create, type EntityOf, get, perSecond, remove, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { BackupLocation } from './backup-location.ts'

export const RestoreSource = resource('platform.v4.management.RestoreSource', {
  fields: { location: BackupLocation },
  /** Creation or last read; the source is removed 24 h later. */
  internal: { lastUsedTime: s.timestamp() },
  indexed: ['lastUsedTime'],
  iam: {},
  isInNewWorld: () => true,
})
export type RestoreSource = EntityOf<typeof RestoreSource>

export const backupReaders: readonly RoleName[] = names(`
  Domain Manager Admin, Domain Manager Viewer, Platform Admin, Platform Viewer, Super Admin
`)

const mutation = { roles: ['Platform Admin', 'Super Admin'], rateLimit: perSecond(1), runs: 'sync' } as const

export const restoreSourceOperations = {
  createRestoreSource: create('/management/restore-sources', RestoreSource, mutation),
  getRestoreSourceById: get('/management/restore-sources/{extId}', RestoreSource, {
    roles: backupReaders,
    rateLimit: perSecond(5),
  }),
  deleteRestoreSourceById: remove('/management/restore-sources/{extId}', RestoreSource, {
    ...mutation,
    ifMatch: 'required',
  }),
}
