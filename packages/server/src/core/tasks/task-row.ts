/** The row of a task. Source: conventions 18.3. */

import { Task } from '@hyperplane/contract/platform/task'
import type { Store, Transaction } from '../../store/store.ts'
import type { AppMessage } from '../api-error.ts'
import type { Caller } from '../caller.ts'
import type { FaultyTask } from '../faults.ts'
import type { Clock } from '../time/clock.ts'
import type { AffectedEntity } from './define-task.ts'

export interface Runner {
  readonly definition: string
  /** Steps done (during a rollback: not undone yet). */
  readonly cursor: number
  readonly undoing?: boolean
  readonly canceling?: boolean
  readonly failure?: readonly AppMessage[]
  /** Takes effect when the task resumes before its point of no return. */
  readonly interruption?: AppMessage
  readonly input: string
  readonly outputs?: string
  readonly locks: readonly string[]
  readonly inherited?: readonly string[]
  readonly owner: Caller
  readonly startedBy?: string
  readonly dryRun?: boolean
}

export type TaskEntity = Task & {
  readonly runner: Runner
  /** `entitiesAffected` shows only the first of them. */
  readonly allAffected?: readonly AffectedEntity[]
}

export const unfinished = ['QUEUED', 'RUNNING', 'CANCELING', 'SUSPENDED']

export const isUnfinished = (task: TaskEntity): boolean => unfinished.includes(task.status as string)

/** Cast, because `runner` is internal: the contract's type does not know its shape. */
export const updateTask = async (
  transaction: Transaction,
  extId: string,
  changes: Record<string, unknown>,
): Promise<TaskEntity> => (await transaction.update(Task, extId, changes as Partial<Task>)) as TaskEntity

export const marking =
  ({ extId }: TaskEntity, changes: Record<string, unknown>, clock: Clock) =>
  (transaction: Transaction): Promise<TaskEntity> =>
    updateTask(transaction, extId, { ...changes, lastUpdatedTime: clock.iso() })

export const mark = (
  store: Store,
  task: TaskEntity,
  changes: Record<string, unknown>,
  clock: Clock,
): Promise<TaskEntity> => store.transaction(marking(task, changes, clock))

/** Clients see the first 300 and the number; callers that wait for the task need all. */
export const affecting = (all: readonly AffectedEntity[]): Record<string, unknown> => ({
  entitiesAffected: all.slice(0, 300),
  numberOfEntitiesAffected: all.length,
  ...(all.length > 300 ? { allAffected: all } : {}),
})

export const affectedBy = (task: TaskEntity): readonly AffectedEntity[] =>
  task.allAffected ?? (task.entitiesAffected as readonly AffectedEntity[] | undefined) ?? []

/** Inputs and outputs may hold secrets, and an ended task needs neither. */
export function withoutWork(hasEnded: boolean, runner: Runner): Partial<Runner> {
  if (!hasEnded) return runner
  const { input: _, outputs: __, ...kept } = runner
  return kept
}

/** For `onUndone`, where the row does not show the error yet. */
export const failureOf = (task: unknown): string | undefined => (task as TaskEntity).runner.failure?.[0]?.message

export const faultyTask = ({ extId, runner, entitiesAffected = [] }: TaskEntity): FaultyTask => ({
  extId,
  definition: runner.definition,
  startedBy: runner.startedBy,
  owner: runner.owner,
  affected: entitiesAffected as readonly AffectedEntity[],
})
