/**
 * For restores, daily rehearsals and tests. Skips entities locked by tasks, whose rows need not agree halfway.
 * Source: behaviour platform.md 8 (verification), 9 (check); conventions 18.2, 18.3, 23 (invariants).
 */
import { Task } from '@hyperplane/contract/platform/task'
import { pathOf } from '../../core/standard.ts'
import { unfinished } from '../../core/tasks/runner.ts'
import { anyOf } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { collectInvariants } from '../collected.ts'

export const invariants = collectInvariants()

/** The check stops here: many violations usually have one cause. */
export const maximumFaults = 100

/** A sentence without full stop for each violation. Rows are read in pages, so that memory stays bounded. */
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
