/** Subtasks of a step that run a few at a time, in order. */
import { Task } from '@hyperplane/contract/platform/task'
import type { RecordContext, StepContext, TaskEnd } from './define-task.ts'

interface Turns<D> {
  readonly atOnce: number
  readonly operation: string
  /** `extId`: the first affected entity of the subtask. */
  readonly start: (ctx: RecordContext<D>, extId: string) => Promise<{ readonly extId: string }>
  /** Progress in percent when the first subtask begins and when the last one has ended. */
  readonly progress?: readonly [from: number, to: number]
  /** True: starts no more subtasks, and waits for none. Called once a second of the world's clock. */
  readonly isOver?: (ends: Ends) => boolean
}

type Ends = ReadonlyMap<string, TaskEnd>

/** Ends of the subtasks, by entity. A repeated step continues with the subtasks that it has started. */
export async function inTurn<D>(ctx: StepContext<D>, extIds: readonly string[], turns: Turns<D>): Promise<Ends> {
  const { atOnce, operation, start, progress } = turns
  const started = await startedSubtasks(ctx, operation)
  const ends = new Map<string, TaskEnd>()
  const isOver = (): boolean => turns.isOver?.(ends) ?? false
  const reached = (): number | undefined =>
    progress && progress[0] + ((progress[1] - progress[0]) * ends.size) / extIds.length
  const note = async (): Promise<void> => {
    const percentage = reached()
    // Where another subtask begins, its checkpoint writes the progress.
    if (percentage !== undefined && waiting.length === 0) await ctx.progress(percentage)
  }
  const begin = async (extId: string): Promise<string> => {
    let task = ''
    await ctx.checkpoint(reached(), async (record) => {
      task = (await start(record, extId)).extId
    })
    return task
  }
  const waiting = [...extIds]
  const takeTurns = async (): Promise<void> => {
    while (!isOver()) {
      const extId = waiting.shift()
      if (extId === undefined) return
      const task = started.get(extId) ?? (await begin(extId))
      const end = await endOf(ctx, task, turns.isOver && isOver)
      if (end === undefined) continue
      ends.set(extId, end)
      await note()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, takeTurns))
  return ends
}

export async function startedSubtasks(
  ctx: Pick<StepContext<unknown>, 'store' | 'taskExtId'>,
  operation: string,
): Promise<ReadonlyMap<string, string>> {
  const tasks = await ctx.store.findWhere(Task, { 'parentTask/extId': ctx.taskExtId })
  const wanted = tasks.filter((task) => task.operation === operation)
  return new Map(wanted.map(({ extId, entitiesAffected }) => [entitiesAffected?.[0]?.extId as string, extId]))
}

const lookEveryMillis = 1000

/** Undefined: the step was over before the subtask ended. */
async function endOf<D>(
  ctx: StepContext<D>,
  taskExtId: string,
  isOver: (() => boolean) | undefined,
): Promise<TaskEnd | undefined> {
  let end: TaskEnd | undefined
  const ended = ctx.untilEnded([taskExtId]).then(([only]) => {
    end = only
  })
  if (isOver === undefined) await ended
  while (end === undefined && isOver?.() === false) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = ctx.clock.setTimer(lookEveryMillis, resolve)
    await Promise.race([ended, promise]).finally(cancel)
  }
  return end
}
