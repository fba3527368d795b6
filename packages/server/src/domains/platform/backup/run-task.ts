/** A scheduled backup of this manager to one target. Source: behaviour platform.md 0 (progress), 7, 8. */
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { Task } from '@hyperplane/contract/platform/task'
import type { Manifest } from '../../../archive/format.ts'
import { failureOf } from '../../../core/tasks/runner.ts'
import { formatTime, parseTime } from '../../../core/time/clock.ts'
import { defineTask, type RecordContext, type StepContext } from '../../context.ts'
import { describeOwn, resourcesBeyondSize, sizeOfTier } from '../manager-size.ts'
import { ownManager } from '../own-manager.ts'
import { rehearseRestore, removeIfPossible, sizeOfBackup, verifyCopy, writeCopy } from './copy.ts'
import { failed, succeeded } from './outcome.ts'
import { isCheckDue, retire } from './retention.ts'
import { placeOfTarget, type RunInput, targetOfRun } from './target-place.ts'
import { affectedByBackup, lockOfTarget, minutesBetween, type Target } from './target-rules.ts'

const written = 60
const verified = 95
/** The number of parts is unknown beforehand: after this many, progress is half of `written`. */
const halfWayParts = 10

/** @param upTo progress of the task when the backup is written */
export async function writeParts(ctx: StepContext, input: RunInput, upTo: number): Promise<Manifest> {
  const target = await targetOfRun(ctx, input)
  const manager = await presentedManager(ctx)
  let reported = 0
  const report = async (parts: number): Promise<void> => {
    const reached = (upTo * parts) / (parts + halfWayParts)
    // Each report is a durable commit, which delays requests.
    if (reached < reported + 10) return
    reported = reached
    await ctx.progress(reached)
  }
  const copying = {
    at: placeOfTarget(ctx, target),
    restorePointExtId: input.restorePointExtId,
    manager,
    // Taken before the snapshot, which therefore contains every change up to this time.
    creationTime: ctx.clock.iso(),
    stopping: ctx.stopping,
    written: report,
  }
  // I/O takes no world time: a clock that is moved by hand waits until it ends.
  return ctx.clock.lengthy(() => writeCopy(ctx.services, copying))
}

export async function verify(ctx: StepContext, input: RunInput, expected?: Manifest): Promise<void> {
  const at = placeOfTarget(ctx, await targetOfRun(ctx, input))
  const { extId } = await ownManager(ctx.store)
  await ctx.clock.lengthy(() => verifyCopy(ctx.services, at, extId, input.restorePointExtId, ctx.stopping, expected))
}

/** Best effort: if the place does not answer, the copy lacks COMPLETE, or the next run removes it. */
export async function discardCopy(ctx: StepContext, input: RunInput): Promise<void> {
  const target = await ctx.store.pending(BackupTarget, input.targetExtId)
  if (target === undefined) return
  const { extId } = await ownManager(ctx.store)
  await removeIfPossible(placeOfTarget(ctx, target), extId, input.restorePointExtId)
}

export const writtenBy = (ctx: Pick<StepContext, 'outputs'>): Manifest => ctx.outputs['write'] as Manifest
const isRehearsedIn = (ctx: Pick<StepContext, 'outputs'>): boolean =>
  (ctx.outputs['verify'] as { readonly isRehearsed: boolean }).isRehearsed

export async function recordSuccess(ctx: RecordContext, input: RunInput, manifest: Manifest): Promise<void> {
  const target = await targetOfRun(ctx, input)
  await ctx.store.observe(BackupTarget, target.extId, succeeded(target, manifest.creationTime, sizeOfBackup(manifest)))
}

export const runBackup = defineTask<RunInput>({
  name: 'platform.back-up-domain-manager',
  steps: [
    {
      name: 'write',
      progress: written,
      seconds: [5, 20],
      run: (ctx, input) => writeParts(ctx, input, written),
      undo: discardCopy,
    },
    {
      name: 'verify',
      progress: verified,
      run: async (ctx, input) => {
        await verify(ctx, input, writtenBy(ctx))
        const target = await targetOfRun(ctx, input)
        const isRehearsed = isCheckDue(target, ctx.clock.now())
        if (isRehearsed) {
          const at = placeOfTarget(ctx, target)
          await ctx.clock.lengthy(() => rehearseRestore(ctx.services, at, writtenBy(ctx), ctx.stopping))
        }
        return { isRehearsed }
      },
      // No undo: the step only reads.
    },
    {
      name: 'retire',
      run: async (ctx, input) => {
        const target = await targetOfRun(ctx, input)
        return ctx.clock.lengthy(() => retire(ctx, target, writtenBy(ctx), isRehearsedIn(ctx)))
      },
      record: async (ctx, input, { removed, foreign }) => {
        await recordSuccess(ctx, input, writtenBy(ctx))
        // A single run replaces all backups that were skipped during this one.
        await startIfDue(ctx, input.targetExtId)
        if (isRehearsedIn(ctx))
          await ctx.store.observe(BackupTarget, input.targetExtId, { lastCheckTime: ctx.clock.iso() })
        for (const one of removed) ctx.warn(`The restore point ${one.restorePointExtId} was removed: ${one.fault}.`)
        if (foreign > 0)
          ctx.warn(
            `${foreign} restore points of this manager were written with another backup key. If that key was not replaced, another instance with the same id backs up to this place: give one of them another bucket.`,
          )
      },
    },
  ],
  async onUndone(ctx, input) {
    const target = await ctx.store.get(BackupTarget, input.targetExtId)
    if (target === undefined) return
    const reason = failureOf(await ctx.store.get(Task, ctx.taskExtId)) ?? 'the backup failed'
    await ctx.store.observe(
      BackupTarget,
      target.extId,
      failed(target, reason, input.restorePointExtId, ctx.clock.now()),
    )
  },
})

export const isDue = ({ isHeld, runTaskExtId, nextRunTime }: Target, now: number): boolean =>
  isHeld !== true && runTaskExtId === undefined && nextRunTime !== undefined && (parseTime(nextRunTime) ?? now) <= now

export async function startIfDue(
  ctx: Pick<RecordContext, 'clock' | 'ids' | 'startTask' | 'store'>,
  targetExtId: string,
): Promise<void> {
  const { clock, ids, store } = ctx
  const target = await store.get(BackupTarget, targetExtId)
  if (target === undefined || !isDue(target, clock.now())) return
  const input = { targetExtId, restorePointExtId: ids.uuid() }
  const task = await ctx.startTask(runBackup, input, {
    operation: 'kBackupDomainManager',
    description: 'Back up Domain Manager',
    affected: await affectedByBackup(store, await ownManager(store), target.location),
    locks: [lockOfTarget(targetExtId)],
    background: true,
  })
  const nextRunTime = formatTime(clock.now() + minutesBetween(target.location) * 60_000)
  await store.observe(BackupTarget, targetExtId, { runTaskExtId: task.extId, nextRunTime })
}

async function presentedManager({ services, store }: StepContext): Promise<Manifest['domainManager']> {
  const extra = await resourcesBeyondSize(store)
  return describeOwn(await ownManager(store), sizeOfTier[services.tier], services.version, extra)
}
