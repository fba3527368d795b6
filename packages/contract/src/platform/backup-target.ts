/** Storage for own backups. Source: catalogue platform.json; behaviour platform.md 7, 11; operation-roles.tsv. */
import { create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { BackupLocation } from './backup-location.ts'
import { backupReaders } from './restore-source.ts'

const targets = '/management/domain-managers/{domainManagerExtId}/backup-targets'

export const BackupTarget = resource('platform.v4.management.BackupTarget', {
  fields: {
    location: BackupLocation,
    /** Time of the snapshot of the last backup that was verified. */
    lastSyncTime: s.readOnly(s.timestamp()),
    isBackupPaused: s.readOnly(s.boolean()),
    backupPauseReason: s.readOnly(s.text()),
  },
  iamNoun: 'Domain_Manager_Backup_Target',
  parent: { param: 'domainManagerExtId', kind: 'DomainManager', field: 'domainManagerExtId' },
  internal: {
    domainManagerExtId: s.uuid(),
    nextRunTime: s.optional(s.timestamp()),
    runTaskExtId: s.optional(s.uuid()),
    failedRuns: s.optional(s.integer()),
    lastSizeBytes: s.optional(s.integer()),
    lastCheckTime: s.optional(s.timestamp()),
    /** Backups of failed runs that may still be in the storage. */
    leftovers: s.optional(s.arrayOf(s.uuid())),
    /** Paused until a client updates the target; no run starts before that. */
    isHeld: s.optional(s.boolean()),
  },
  iam: {},
  ofCluster: { stays: 'a backup target keeps its cluster registered' },
})
export type BackupTarget = EntityOf<typeof BackupTarget>

const writers: readonly RoleName[] = ['Domain Manager Admin', 'Platform Admin', 'Super Admin']

const view = { roles: backupReaders, rateLimit: perSecond(5) }
const mutation = { roles: writers, rateLimit: perSecond(1), requestId: 'required' } as const

export const backupTargetOperations = {
  listBackupTargets: list(targets, BackupTarget, { ...view, paged: false }),
  createBackupTarget: create(targets, BackupTarget, mutation),
  getBackupTargetById: get(`${targets}/{extId}`, BackupTarget, view),
  updateBackupTargetById: update(`${targets}/{extId}`, BackupTarget, mutation),
  deleteBackupTargetById: remove(`${targets}/{extId}`, BackupTarget, { ...mutation, ifMatch: 'required' }),
}
