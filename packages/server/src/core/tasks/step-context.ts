import { Task } from '@hyperplane/contract/platform/task'
import type { Store, Transaction } from '../../store/store.ts'
import type { AppMessage } from '../api-error.ts'
import type { Caller, Ids } from '../caller.ts'
import type { World } from '../world.ts'
import { Commits } from './commits.ts'
import type { AffectedEntity, CompletionDetail, RecordContext, StartTask, StepContext } from './define-task.ts'
import type { TaskEnds } from './ends.ts'
import { warning } from './messages.ts'
import { outputsOf, type TaskSeals } from './sealed.ts'
import { affectedBy, affecting, type TaskEntity, updateTask } from './task-row.ts'

export interface StopRequests {
  readonly cancelRequests: ReadonlySet<string>
  readonly stopping: AbortSignal
}

export class Stopping extends Error {}

export interface SlotRelease {
  park(extId: string): void
  resume(extId: string): void
}

export interface ContextSources<D> extends StopRequests {
  readonly store: Store
  readonly world: World<D>
  readonly seals: TaskSeals
  readonly ends: TaskEnds
  readonly slotRelease: SlotRelease
  readonly starter: (
    transaction: Transaction,
    owner: Caller,
    afterCommit: (work: () => void) => void,
    ids: Ids,
  ) => StartTask
}

export interface Recording<D> {
  readonly context: RecordContext<D>
  readonly hasChanges: () => boolean
  readonly changes: (current: TaskEntity) => Record<string, unknown>
}

export class StepContexts<D> {
  readonly #from: ContextSources<D>
  readonly #ids = new Map<string, Map<string, Ids>>()

  constructor(from: ContextSources<D>) {
    this.#from = from
  }

  of(task: TaskEntity, step: string): StepContext<D> {
    const { store, world, seals, ends, slotRelease: parking, cancelRequests: cancelAsked, stopping } = this.#from
    let waits = 0
    const context: StepContext<D> = {
      ...world,
      ids: this.#idsOf(task.extId, step),
      store,
      taskExtId: task.extId,
      callKey: `${task.extId}/${step}`,
      owner: task.runner.owner,
      outputs: outputsOf(seals, task),
      cancelRequested: () => cancelAsked.has(task.extId),
      stopping,
      progress: (percentage) => context.checkpoint(percentage, async () => undefined),
      checkpoint: async (percentage, write) => {
        const after: (() => void)[] = []
        const commits = new Commits()
        await commits.stage(store, async (transaction) => {
          const record = this.recording(context, transaction, after)
          const reached = await write(record.context)
          if (percentage === undefined && reached === undefined && !record.hasChanges()) return
          const current = (await transaction.get(Task, task.extId)) as TaskEntity
          await updateTask(transaction, task.extId, {
            ...record.changes(current),
            ...reached,
            progressPercentage: Math.min(99, Math.max(current.progressPercentage ?? 0, Math.floor(percentage ?? 0))),
            lastUpdatedTime: world.clock.iso(),
          })
        })
        commits.afterwards(after)
        await commits.done()
      },
      untilEnded: async (extIds, written) => {
        // A step may wait for several groups of tasks at once; its slot is released once.
        if (waits++ === 0) parking.park(task.extId)
        try {
          return await Promise.all(extIds.map((extId) => ends.until(extId, written)))
        } finally {
          if (--waits === 0) parking.resume(task.extId)
        }
      },
    }
    return context
  }

  /** A repeated step and its undo continue the ids of the step: it may have started tasks with the earlier ones. */
  #idsOf(taskExtId: string, step: string): Ids {
    const ofTask = this.#ids.get(taskExtId) ?? new Map<string, Ids>()
    const ids = ofTask.get(step) ?? this.#from.world.ids.of(`${taskExtId}/${step}`)
    this.#ids.set(taskExtId, ofTask.set(step, ids))
    return ids
  }

  forget(taskExtId: string): void {
    this.#ids.delete(taskExtId)
  }

  recording(context: StepContext<D>, transaction: Transaction, after: (() => void)[]): Recording<D> {
    const details: CompletionDetail[] = []
    const ownerDetails: CompletionDetail[] = []
    const warnings: AppMessage[] = []
    const affected: AffectedEntity[] = []
    return {
      context: {
        ...context,
        store: transaction,
        startTask: this.#from.starter(transaction, context.owner, (work) => after.push(work), context.ids),
        complete: (added) => void details.push(...added),
        completeForOwner: (added) => void ownerDetails.push(...added),
        warn: (message) => void warnings.push(typeof message === 'string' ? warning(message) : message),
        affect: (entity) => void affected.push(entity),
      },
      hasChanges: () => details.length + ownerDetails.length + warnings.length + affected.length > 0,
      changes: (current) => ({
        ...(details.length === 0
          ? {}
          : { completionDetails: [...(current.completionDetails ?? []), ...details].slice(0, 50) }),
        ...(ownerDetails.length === 0 ? {} : { ownerDetails: JSON.stringify(ownerDetails) }),
        ...(warnings.length === 0 ? {} : { warnings: [...(current.warnings ?? []), ...warnings] }),
        ...(affected.length === 0 ? {} : affecting([...affectedBy(current), ...affected])),
      }),
    }
  }
}
