/** A scheduled backup of this manager to one target. Source: behaviour platform.md 0 (progress), 7, 8. */
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { Task } from '@hyperplane/contract/platform/task'
import type { Manifest } from '../../../archive/format.ts'
import type { RecordContext, StepContext } from '../../../core/tasks/define-task.ts'
import { failureOf } from '../../../core/tasks/runner.ts'
import { formatTime, parseTime } from '../../../core/time/clock.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { defineTask } from '../../context.ts'
import { describeOwn, sizeOfTier, takenBeyondSize } from '../manager-size.ts'
import { ownManager } from '../own-manager.ts'
import { rehearseRestore, removeIfPossible, sizeOf, verifyCopy, writeCopy } from './copy.ts'
import { failed, succeeded } from './outcome.ts'
import { isCheckDue, retire } from './retention.ts'
import { placeOfTarget, type RunInput, targetOf } from './target-place.ts'
import { affectedBy, lockOf, minutesBetween, type Target } from './target-rules.ts'

/** Progress when everything is written, and verified. */
const written = 60
const verified = 95
/** Parts of a first backup are not known beforehand: progress comes nearer to `written` with each. */
const halfWayParts = 10

type Context = StepContext<Drivers>

/** Writes the backup; answers its manifest. `upTo`: progress of the task when it is written. */
export async function write(ctx: Context, input: RunInput, upTo: number): Promise<Manifest> {
  const target = await targetOf(ctx, input)
  const manager = await presentedManager(ctx)
  let known = 0
  const told = async (parts: number): Promise<void> => {
    const reached = (upTo * parts) / (parts + halfWayParts)
    // Each is a durable commit, which requests wait for.
    if (reached < known + 10) return
    known = reached
    await ctx.progress(reached)
  }
  const copying = {
    at: placeOfTarget(ctx, target),
    restorePointExtId: input.restorePointExtId,
    manager,
    // Before the snapshot: whatever happened by then is in it.
    creationTime: ctx.clock.iso(),
    stopping: ctx.stopping,
    written: told,
  }
  // Files, threads and networks take no time of the world: it waits for them, as for everything that happens at one moment.
  return ctx.clock.lengthy(() => writeCopy(ctx.services, copying))
}

export async function verify(ctx: Context, input: RunInput, expected?: Manifest): Promise<void> {
  const at = placeOfTarget(ctx, await targetOf(ctx, input))
  const { extId } = await ownManager(ctx.store)
  await ctx.clock.lengthy(() => verifyCopy(ctx.services, at, extId, input.restorePointExtId, ctx.stopping, expected))
}

/** Nobody waits for a place that does not answer: what stays there has no COMPLETE, or goes with the next run. */
export async function unwrite(ctx: Context, input: RunInput): Promise<void> {
  const target = await ctx.store.pending(BackupTarget, input.targetExtId)
  if (target === undefined) return
  const { extId } = await ownManager(ctx.store)
  await removeIfPossible(placeOfTarget(ctx, target), extId, input.restorePointExtId)
}

/** What the step `write` answered. */
export const writtenBy = (ctx: Pick<StepContext<Drivers>, 'outputs'>): Manifest => ctx.outputs['write'] as Manifest
const isRehearsedIn = (ctx: Pick<StepContext<Drivers>, 'outputs'>): boolean =>
  (ctx.outputs['verify'] as { readonly isRehearsed: boolean }).isRehearsed

/** In the transaction that ends the task: the target has a new backup. */
export async function recordSuccess(ctx: RecordContext<Drivers>, input: RunInput, manifest: Manifest): Promise<void> {
  const target = await targetOf(ctx, input)
  await ctx.store.observe(BackupTarget, target.extId, succeeded(target, manifest.creationTime, sizeOf(manifest)))
}

export const runBackup = defineTask<RunInput>({
  name: 'platform.back-up-domain-manager',
  steps: [
    {
      name: 'write',
      progress: written,
      seconds: [5, 20],
      run: (ctx, input) => write(ctx, input, written),
      undo: unwrite,
    },
    {
      name: 'verify',
      progress: verified,
      run: async (ctx, input) => {
        await verify(ctx, input, writtenBy(ctx))
        const target = await targetOf(ctx, input)
        const isRehearsed = isCheckDue(target, ctx.clock.now())
        if (isRehearsed) {
          const at = placeOfTarget(ctx, target)
          await ctx.clock.lengthy(() => rehearseRestore(ctx.services, at, writtenBy(ctx), ctx.stopping))
        }
        return { isRehearsed }
      },
      // Nothing to undo: it only reads.
    },
    {
      name: 'retire',
      progress: 100,
      // The new one is whole: from here on older ones may go.
      run: async (ctx, input) => {
        const target = await targetOf(ctx, input)
        return ctx.clock.lengthy(() => retire(ctx, target, writtenBy(ctx), isRehearsedIn(ctx)))
      },
      record: async (ctx, input, { removed, foreign }) => {
        await recordSuccess(ctx, input, writtenBy(ctx))
        // Time went on by more than an interval meanwhile: the next run takes the place of those that were left out.
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

/** The next run, if it is time for one. */
export async function startIfDue(
  ctx: Pick<RecordContext<Drivers>, 'clock' | 'ids' | 'startTask' | 'store'>,
  targetExtId: string,
): Promise<void> {
  const { clock, ids, store } = ctx
  const target = await store.get(BackupTarget, targetExtId)
  if (target === undefined || !isDue(target, clock.now())) return
  const input = { targetExtId, restorePointExtId: ids.uuid() }
  const task = await ctx.startTask(runBackup, input, {
    operation: 'kBackupDomainManager',
    description: 'Back up Domain Manager',
    affected: await affectedBy(store, await ownManager(store), target.location),
    locks: [lockOf(targetExtId)],
    background: true,
  })
  const nextRunTime = formatTime(clock.now() + minutesBetween(target.location) * 60_000)
  await store.observe(BackupTarget, targetExtId, { runTaskExtId: task.extId, nextRunTime })
}

/** As clients see it: sizes and version follow from how the service was started. */
async function presentedManager({ services, store }: Context): Promise<Manifest['domainManager']> {
  const extra = await takenBeyondSize(store)
  return describeOwn(await ownManager(store), sizeOfTier[services.tier], services.version, extra)
}
