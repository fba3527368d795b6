/**
 * What holds between the rows of every store, beside what the store itself enforces (unique values, references): one kind's
 * bookkeeping agrees with what another kind shows. A restore asks for it, the daily trial of one, and tests. What a task is
 * about to change is passed over: half way, its rows need not agree.
 * Source: behaviour platform.md 8 (verification), 9 (check); conventions 18.2, 18.3, 23 (invariants).
 */
import { Task } from '@hyperplane/contract/platform/task'
import { pathOf } from '../../core/standard.ts'
import { unfinished } from '../../core/tasks/runner.ts'
import { anyOf } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { collectInvariants } from '../collected.ts'

export const invariants = collectInvariants()

/** More are not told: whoever reads them looks for one cause. */
export const maximumFaults = 100

/** Sentences, without their full stops, that say what is broken; none, when all holds. Rows are read a few at a time, however many there are. */
export async function brokenInvariants(store: Reader, wanted = invariants): Promise<readonly string[]> {
  const held = await heldByTasks(store)
  const faults: string[] = []
  for (const { look } of wanted) {
    for await (const { about, fault } of look(store, held)) {
      if (about.some((extId) => extId !== undefined && held.has(extId))) continue
      faults.push(fault)
      if (faults.length === maximumFaults) return faults
    }
  }
  return faults
}

async function heldByTasks(store: Reader): Promise<ReadonlySet<string>> {
  const running = await store.find(Task, { filter: anyOf(pathOf(Task, 'status'), unfinished) })
  return new Set(
    running.flatMap((task) => {
      const { locks = [], inherited = [] } = (task as { runner?: TaskLocks }).runner ?? {}
      return [...locks, ...inherited]
    }),
  )
}
interface TaskLocks {
  readonly locks?: readonly string[]
  readonly inherited?: readonly string[]
}
