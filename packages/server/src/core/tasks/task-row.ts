/** What stands in a task's row, and how it is written. Source: conventions 18.3. */

import type { EntityOf } from '@hyperplane/contract'
import { Task } from '@hyperplane/contract/platform/task'
import type { Store, Transaction } from '../../store/store.ts'
import type { AppMessage } from '../api-error.ts'
import type { Caller } from '../caller.ts'
import type { FaultyTask } from '../faults.ts'
import type { Clock } from '../time/clock.ts'
import type { AffectedEntity } from './define-task.ts'

/** What the runner keeps in a task's row, beside what clients see. */
export interface Runner {
  readonly definition: string
  /** Steps that are done (or, while undoing, not yet undone). */
  readonly cursor: number
  readonly undoing?: boolean
  readonly canceling?: boolean
  readonly failure?: readonly AppMessage[]
  /** Why it goes back when it is taken up again, unless it is past its point of no return. */
  readonly interruption?: AppMessage
  /** Sealed JSON: inputs may hold secrets. */
  readonly input: string
  /** Sealed JSON as well, once a step has given one. */
  readonly outputs?: string
  readonly locks: readonly string[]
  /** Locks of the tasks that this one is part of: they are held for it as well. */
  readonly inherited?: readonly string[]
  readonly owner: Caller
  readonly startedBy?: string
  readonly dryRun?: boolean
}

export type TaskEntity = EntityOf<typeof Task> & {
  readonly runner: Runner
  /** All affected entities, where `entitiesAffected` shows only the first of them. */
  readonly allAffected?: readonly AffectedEntity[]
}

export const unfinished = ['QUEUED', 'RUNNING', 'CANCELING', 'SUSPENDED']

export const isUnfinished = (task: TaskEntity): boolean => unfinished.includes(task.status as string)

/**
 * Merges these fields into a task's row. The casts stand here alone: `runner` is internal to the row, so the entity type of
 * the contract does not know its shape.
 */
export const updateTask = async (
  transaction: Transaction,
  extId: string,
  changes: Record<string, unknown>,
): Promise<TaskEntity> =>
  (await transaction.update(Task, extId, changes as Partial<EntityOf<typeof Task>>)) as TaskEntity

/** Writes these fields and the time of the update. */
export const marking =
  ({ extId }: TaskEntity, changes: Record<string, unknown>, clock: Clock) =>
  (transaction: Transaction): Promise<TaskEntity> =>
    updateTask(transaction, extId, { ...changes, lastUpdatedTime: clock.iso() })

/** The same in a transaction of its own. */
export const mark = (
  store: Store,
  task: TaskEntity,
  changes: Record<string, unknown>,
  clock: Clock,
): Promise<TaskEntity> => store.transaction(marking(task, changes, clock))

/** Clients see the first 300 and how many there are; all are kept, for those who wait for the task. */
export const affecting = (all: readonly AffectedEntity[]): Record<string, unknown> => ({
  entitiesAffected: all.slice(0, 300),
  numberOfEntitiesAffected: all.length,
  ...(all.length > 300 ? { allAffected: all } : {}),
})

export const affectedBy = (task: TaskEntity): readonly AffectedEntity[] =>
  task.allAffected ?? (task.entitiesAffected as readonly AffectedEntity[] | undefined) ?? []

/** Nothing needs the input and outputs of a task that has ended, and they may hold secrets: they go with its last step. */
export function withoutWork(hasEnded: boolean, runner: Runner): Partial<Runner> {
  if (!hasEnded) return runner
  const { input: _, outputs: __, ...kept } = runner
  return kept
}

/** Why a task is being undone; for its `onUndone`, where its row does not say so yet. */
export const failureOf = (task: unknown): string | undefined => (task as TaskEntity).runner.failure?.[0]?.message

export const faultyTask = ({ extId, runner, entitiesAffected = [] }: TaskEntity): FaultyTask => ({
  extId,
  definition: runner.definition,
  startedBy: runner.startedBy,
  owner: runner.owner,
  affected: entitiesAffected as readonly AffectedEntity[],
})
