import { Task } from '@hyperplane/contract/platform/task'
import type { Store } from '../../store/store.ts'
import type { AppMessage } from '../api-error.ts'
import type { TrackingClock } from '../time/clock.ts'
import type { TaskEnd, Written } from './define-task.ts'
import { isCanceled } from './messages.ts'
import { affectedBy, isUnfinished, type TaskEntity, withoutWork } from './task-row.ts'

export class TaskEnds {
  readonly #store: Store
  readonly #clock: TrackingClock
  readonly #waiting = new Map<string, Waiting[]>()
  readonly #written = new Set<string>()

  constructor(store: Store, clock: TrackingClock) {
    this.#store = store
    this.#clock = clock
  }

  async until(extId: string, written?: Written): Promise<TaskEnd> {
    // Registers before it looks, so that a task which ends in between is not missed.
    const { promise, resolve } = Promise.withResolvers<TaskEnd>()
    this.#waiting.set(extId, [...(this.#waiting.get(extId) ?? []), { resolve, written }])
    if (this.#written.has(extId)) written?.()
    const task = (await this.#store.get(Task, extId)) as TaskEntity | undefined
    if (task === undefined) this.notify({ extId, status: 'CANCELED' } as TaskEntity)
    else if (!isUnfinished(task)) this.notify(task)
    return this.#clock.idle(() => promise)
  }

  notify(task: TaskEntity): void {
    const waiting = this.#waiting.get(task.extId) ?? []
    this.#waiting.delete(task.extId)
    this.#written.delete(task.extId)
    for (const { resolve } of waiting) resolve(endOf(task))
  }

  /** If that commit fails, the task continues. */
  notifyWritten({ extId }: TaskEntity, durable: Promise<void>): void {
    this.#written.add(extId)
    durable.catch(() => this.#written.delete(extId))
    for (const { written } of this.#waiting.get(extId) ?? []) written?.()
  }

  isWritten(extId: string): boolean {
    return this.#written.has(extId)
  }
}

interface Waiting {
  readonly resolve: (end: TaskEnd) => void
  readonly written: Written | undefined
}

const endOf = (task: TaskEntity): TaskEnd => ({
  extId: task.extId,
  status: task.status as string,
  errorMessages: (task.errorMessages ?? []) as readonly AppMessage[],
  entitiesAffected: affectedBy(task),
})

export function succeededTask(task: unknown, now: string): Record<string, unknown> {
  const { runner } = task as TaskEntity
  return {
    status: 'SUCCEEDED',
    progressPercentage: 100,
    completedTime: now,
    lastUpdatedTime: now,
    isCancelable: false,
    runner: withoutWork(true, runner),
  }
}

export const undoneTask = (task: TaskEntity, failure: readonly AppMessage[], now: string): Record<string, unknown> => ({
  status: isCanceled(failure) ? 'CANCELED' : 'FAILED',
  completedTime: now,
  isCancelable: false,
  errorMessages: failure,
  legacyErrorMessage: task.legacyErrorMessage ?? failure[0]?.message,
  ...(task.startedTime === undefined ? { startedTime: now } : {}),
})

/** For a task that moves to another service. `ends`: it fails at once, without a rollback; a dry run always does. */
export function interruptedTask(
  task: unknown,
  reason: AppMessage,
  now: string,
  ends: (definition: string) => boolean,
): Record<string, unknown> {
  const { runner, startedTime = now } = task as TaskEntity
  if (runner.dryRun !== true && !ends(runner.definition))
    return { runner: { ...runner, interruption: reason }, lastUpdatedTime: now }
  return {
    status: 'FAILED',
    startedTime,
    completedTime: now,
    lastUpdatedTime: now,
    isCancelable: false,
    errorMessages: [reason],
    legacyErrorMessage: reason.message,
    runner: withoutWork(true, runner),
  }
}
