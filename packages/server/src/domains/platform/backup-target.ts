/** Backup targets: places to which this manager copies its state. Source: behaviour platform.md 7. */
import { BackupTarget, backupTargetOperations } from '@hyperplane/contract/platform/backup-target'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { Location } from '../../archive/location-rules.ts'
import { placeOf } from '../../archive/places.ts'
import { ApiError, invalid } from '../../core/api-error.ts'
import { rowWithId } from '../../core/standard.ts'
import { formatTime } from '../../core/time/clock.ts'
import { created, replaced } from '../../core/updates.ts'
import { defineTask, implement, parentOf, type WriteContext } from '../context.ts'
import { probe } from './backup/copy.ts'
import { discardCopy, recordSuccess, runBackup, startIfDue, verify, writeParts, writtenBy } from './backup/run-task.ts'
import { backupSchedule } from './backup/schedule.ts'
import { placeOfTarget, type RunInput, targetOfRun } from './backup/target-place.ts'
import {
  affectedByBackup,
  checkTargetLocation,
  clusterOf,
  lockOfTarget,
  minutesBetween,
  refuseTooMany,
  requireEligible,
  type Target,
} from './backup/target-rules.ts'
import { ownManager, requireOwn } from './own-manager.ts'

const minute = 60_000

const createTarget = defineTask<RunInput>({
  name: 'platform.create-backup-target',
  cancelableUntil: 'verify',
  steps: [
    {
      name: 'probe',
      progress: 20,
      seconds: [5, 15],
      run: async (ctx, input) => {
        const target = await targetOfRun(ctx, input)
        await requireEligible(ctx, target.location)
        await probe(placeOfTarget(ctx, target), target.domainManagerExtId as string, ctx.taskExtId)
      },
      // No undo: the probe removes its own object.
    },
    { name: 'write', progress: 90, run: (ctx, input) => writeParts(ctx, input, 90), undo: discardCopy },
    {
      name: 'verify',
      run: (ctx, input) => verify(ctx, input, writtenBy(ctx)),
      record: async (ctx, input) => {
        const target = await targetOfRun(ctx, input)
        // Other targets may have been created since the request was accepted.
        await refuseTooMany(ctx.store, target.location)
        await ctx.store.publish(BackupTarget, target.extId)
        await recordSuccess(ctx, input, writtenBy(ctx))
        const next = ctx.clock.now() + minutesBetween(target.location) * minute
        await ctx.store.observe(BackupTarget, target.extId, { nextRunTime: formatTime(next) })
      },
    },
  ],
  onUndone: (ctx, { targetExtId }) => ctx.store.remove(BackupTarget, targetExtId),
})

interface UpdateInput {
  readonly before: Target
  /** New secrets are plain text here: the task's input is encrypted as a whole. */
  readonly after: Target
}

const updateTarget = defineTask<UpdateInput>({
  name: 'platform.update-backup-target',
  steps: [
    {
      name: 'probe',
      progress: 20,
      seconds: [5, 15],
      // The old credentials stay in use until the new ones are known to work.
      run: async (ctx, { after }) => {
        const place = placeOf('BackupTarget', after, ctx.secrets)
        await probe({ store: ctx.drivers.objectStore, place }, after.domainManagerExtId as string, ctx.taskExtId)
      },
      // No undo: the probe removes its own object.
    },
    {
      name: 'store',
      progress: 90,
      record: async (ctx, { after }) => {
        const stored = await rowWithId(ctx.store, BackupTarget, after.extId)
        const resumed = {
          isBackupPaused: false,
          backupPauseReason: '',
          failedRuns: 0,
          isHeld: undefined,
          runTaskExtId: undefined,
        }
        const next = ctx.clock.now() + minutesBetween(after.location) * minute
        const isResumed = stored.isBackupPaused === true
        const nextRunTime = isResumed ? ctx.clock.iso() : formatTime(next)
        await ctx.store.update(BackupTarget, after.extId, { location: after.location, ...resumed, nextRunTime })
      },
      unrecord: async (ctx, { before }) => {
        const { location, isBackupPaused, backupPauseReason, failedRuns, isHeld, nextRunTime } = before
        const changes = { location, isBackupPaused, backupPauseReason, failedRuns, isHeld, nextRunTime }
        await ctx.store.update(BackupTarget, before.extId, changes)
      },
    },
    {
      name: 'verify',
      // Probe with the stored target: if its encrypted credentials did not open, the next run would fail.
      run: async (ctx, { after }) => {
        const target = await targetOfRun(ctx, { targetExtId: after.extId })
        await probe(placeOfTarget(ctx, target), after.domainManagerExtId as string, ctx.taskExtId)
      },
      // A target that was paused is backed up immediately.
      record: (ctx, { after }) => startIfDue(ctx, after.extId),
    },
  ],
})

/** `nextRunTime` is restored if the deletion fails. */
const deleteTarget = defineTask<{ readonly extId: string; readonly nextRunTime?: string }>({
  name: 'platform.delete-backup-target',
  steps: [
    // Both steps wait for the lock of a running backup. The request cleared `nextRunTime`, so no other run starts.
    { name: 'stop', progress: 20, seconds: [5, 10] },
    { name: 'forget', record: (ctx, { extId }) => ctx.store.remove(BackupTarget, extId) },
  ],
  onUndone: async (ctx, { extId, nextRunTime }) => {
    if (nextRunTime !== undefined) await ctx.store.update(BackupTarget, extId, { nextRunTime })
  },
})

export const backupTarget = implement(
  backupTargetOperations,
  {
    async createBackupTarget(ctx, { body, path }) {
      requireOwn(parentOf(ctx, 'domainManagerExtId', DomainManager), 'domainManagerExtId')
      const location = body.location as Location
      checkTargetLocation(location)
      await requireEligible(ctx, location)
      await refuseTooMany(ctx.store, location)
      const extId = clusterOf(location) ?? ctx.ids.uuid()
      if ((await ctx.store.pending(BackupTarget, extId)) !== undefined)
        throw new ApiError('ENTITY_ALREADY_EXISTS', { kind: 'backup target', fields: 'cluster' })
      const target = created(ctx, BackupTarget, body, {
        extId,
        domainManagerExtId: path.domainManagerExtId,
        isBackupPaused: false,
        backupPauseReason: '',
      })
      await ctx.store.insert(BackupTarget, target, { pending: true })
      const input = { targetExtId: extId, restorePointExtId: ctx.ids.uuid() }
      return {
        ...(await start(ctx, createTarget, input, 'kCreateBackupTarget', 'Create Backup Target', target)),
        created: extId,
      }
    },

    async updateBackupTargetById(ctx, { body }) {
      const before = ctx.target
      requireOwn(parentOf(ctx, 'domainManagerExtId', DomainManager), 'domainManagerExtId')
      if ('config' in before.location)
        throw invalid('location', 'a target on a cluster has nothing to update: delete it and create another')
      const location = withKept(before.location, body.location as Location)
      checkTargetLocation(location)
      const after = { ...replaced(BackupTarget, before, { location }, ctx.version), location }
      await ctx.store.touch(BackupTarget, before.extId)
      return start(ctx, updateTarget, { before, after }, 'kUpdateBackupTarget', 'Update Backup Target', before)
    },

    async deleteBackupTargetById(ctx) {
      const { target } = ctx
      requireOwn(parentOf(ctx, 'domainManagerExtId', DomainManager), 'domainManagerExtId')
      const { extId, nextRunTime } = target
      await ctx.store.update(BackupTarget, extId, { nextRunTime: undefined })
      const input = { extId, ...(nextRunTime === undefined ? {} : { nextRunTime }) }
      return start(ctx, deleteTarget, input, 'kDeleteBackupTarget', 'Delete Backup Target', target)
    },
  },
  { tasks: [createTarget, deleteTarget, runBackup, updateTarget], schedules: [backupSchedule] },
)

async function start<I>(
  ctx: WriteContext,
  definition: Parameters<typeof defineTask<I>>[0],
  input: I,
  operation: string,
  description: string,
  { extId, location }: Pick<Target, 'extId' | 'location'>,
): Promise<{ readonly extId: string }> {
  const affected = await affectedByBackup(ctx.store, await ownManager(ctx.store), location)
  const clusterExtId = clusterOf(location)
  return ctx.startTask(definition, input, {
    operation,
    description,
    affected,
    locks: [lockOfTarget(extId)],
    ...(clusterExtId === undefined ? {} : { clusterExtIds: [clusterExtId] }),
  })
}

/** Completes a location by the stored fields that the body leaves out. @throws ApiError 400 for another bucket */
function withKept(stored: Location, given: Location): Location {
  const path = 'location/providerConfig'
  if ('config' in stored || 'config' in given) throw invalid('location', 'expected the object store that is stored')
  // `any`: each type of object store has only some of the fields.
  const before: any = stored.providerConfig
  const after: any = { ...given.providerConfig }
  const fixed = ['$objectType', 'bucketName', 'region'] as const
  for (const name of fixed)
    if (after[name] !== undefined && after[name] !== before[name])
      throw invalid(`${path}/${name}`, `is immutable: expected ${before[name]}`)
  after.credentials ??= before.credentials
  if (before.connectionConfig !== undefined) {
    const connection = { ...after.connectionConfig }
    connection.ipAddressOrHostname ??= before.connectionConfig.ipAddressOrHostname
    for (const name of ['ipAddressOrHostname', 'port'] as const)
      if (
        JSON.stringify(connection[name] ?? before.connectionConfig[name]) !==
        JSON.stringify(before.connectionConfig[name])
      )
        throw invalid(`${path}/connectionConfig/${name}`, 'is immutable: a target stays with its object store')
    if (connection.certificate === undefined && before.connectionConfig.certificate !== undefined)
      connection.certificate = before.connectionConfig.certificate
    after.connectionConfig = { ...connection, port: before.connectionConfig.port }
  }
  return { ...given, providerConfig: after }
}
