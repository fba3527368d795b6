/** The four subtasks of a restore. They leave nothing behind but the second store. Source: behaviour platform.md 9. */
import { RestoreSource } from '@hyperplane/contract/platform/restore-source'
import { Task } from '@hyperplane/contract/platform/task'
import { archiveRefusal, requireReadable } from '../../../archive/faults.ts'
import { BackupFault, type BackupPlace, type Manifest } from '../../../archive/format.ts'
import { placeOf } from '../../../archive/places.ts'
import { sealedParts } from '../../../archive/read.ts'
import { findRestorePoint } from '../../../archive/reader.ts'
import { rowWithId } from '../../../core/standard.ts'
import { succeededTask } from '../../../core/tasks/runner.ts'
import type { Store } from '../../../store/store.ts'
import { defineTask, type StepContext } from '../../context.ts'
import { reportingOutage } from '../backup/copy.ts'
import { ownManager } from '../own-manager.ts'
import { adjust, type GivenManager, warningsAbout } from './adjust.ts'
import { requireFresh } from './fresh.ts'

export interface RestoreInput {
  readonly sourceExtId: string
  readonly managerExtId: string
  readonly restorePointExtId: string
  readonly given: GivenManager
}

export const fetchAndCheck = defineTask<RestoreInput>({
  name: 'platform.restore-fetch-and-check',
  endsWithProcess: true,
  steps: [
    {
      name: 'fetch and check',
      seconds: [20, 300],
      run: (ctx, input) =>
        reading(ctx, input, async (at, manifest) => {
          await requireReadable(ctx.services, manifest)
          await ctx.services.snapshots.check(manifest, sealedParts(at, manifest), ctx.stopping)
        }),
    },
  ],
})

export const load = defineTask<RestoreInput>({
  name: 'platform.restore-load',
  endsWithProcess: true,
  steps: [
    {
      name: 'load',
      seconds: [60, 1800],
      run: (ctx, input) =>
        reading(ctx, input, (at, manifest) =>
          ctx.services.restores.load(manifest, sealedParts(at, manifest), ctx.stopping),
        ),
      // No undo: the parent task drops the second store, whichever subtask failed.
    },
  ],
})

export const check = defineTask<RestoreInput>({
  name: 'platform.restore-check',
  endsWithProcess: true,
  steps: [
    {
      name: 'check',
      seconds: [20, 600],
      run: (ctx, { given }) =>
        ctx.clock.idle(async () => {
          const { restores } = ctx.services
          const warnings = await restores.within(async (second) => {
            const found = warningsAbout(await ownManager(second), given)
            await adjust(second, given, ctx.clock.iso())
            return found
          })
          await restores.check(ctx.stopping).catch((error) => Promise.reject(archiveRefusal(error)))
          return warnings
        }),
      record: async (ctx, _input, warnings: readonly string[]) => {
        for (const warning of warnings) ctx.warn(warning)
      },
    },
  ],
})

export const switchStores = defineTask<RestoreInput>({
  name: 'platform.restore-switch',
  endsWithProcess: true,
  steps: [
    {
      name: 'switch',
      run: async (ctx) => {
        const { restores } = ctx.services
        const tasks = await tasksOf(ctx)
        const last = async (): Promise<void> => {
          // The instance may have come into use since the restore was accepted.
          await requireFresh(ctx.store)
          await restores.within((second) => takeOverTasks(second, tasks, ctx.clock.iso()))
        }
        await restores.exchange(
          tasks.map(({ extId }) => extId),
          ctx.stopping,
          last,
        )
      },
    },
  ],
})

type TaskRow = NonNullable<Awaited<ReturnType<typeof taskRow>>>
const taskRow = (store: StepContext['store'], extId: string) => store.get(Task, extId)

async function tasksOf({ store, taskExtId }: StepContext): Promise<readonly TaskRow[]> {
  const own = (await store.get(Task, taskExtId)) as TaskRow
  const parentTask = (await store.get(Task, own.parentTask?.extId ?? '')) as TaskRow
  return [
    parentTask,
    ...(await store.getMany(
      Task,
      (parentTask.subTasks ?? []).map(({ extId }) => extId as string),
    )),
  ]
}

/** Their success is recorded in the store that is about to become the current one. */
async function takeOverTasks(second: Store, tasks: readonly TaskRow[], now: string): Promise<void> {
  const { tenantId } = await ownManager(second)
  const warnings = tasks.flatMap((task) => task.warnings ?? [])
  await second.transaction(async (transaction) => {
    for (const [index, task] of tasks.entries())
      await transaction.insert(Task, {
        ...task,
        ...(tenantId === undefined ? {} : { tenantId }),
        ...succeededTask(task, now),
        ...(index === 0 && warnings.length > 0 ? { warnings } : {}),
      })
  })
}

async function reading(
  ctx: StepContext,
  { sourceExtId, managerExtId, restorePointExtId }: RestoreInput,
  work: (at: BackupPlace, manifest: Manifest) => Promise<void>,
): Promise<void> {
  const source = await rowWithId(ctx.store, RestoreSource, sourceExtId, 'restoreSourceExtId')
  const at = { store: ctx.drivers.objectStore, place: placeOf('RestoreSource', source, ctx.secrets) }
  try {
    // I/O takes no world time.
    await ctx.clock.idle(() =>
      reportingOutage(at, async () => work(at, await findRestorePoint(at, managerExtId, restorePointExtId))),
    )
  } catch (error) {
    throw error instanceof BackupFault ? archiveRefusal(error) : error
  }
}
