import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import type { Manifest } from '../archive/format.ts'
import { Semaphore } from '../core/concurrency/semaphore.ts'
import type { SnapshotPart, Snapshots } from '../core/ports.ts'
import { RememberedAnswer } from '../core/records.ts'
import { removeStore, removeStoreOffThread } from '../data-folder/store-files.ts'
import { Fact } from '../drivers/simulated/world.ts'
import type { Table } from '../store/tables.ts'
import type { RestoreOrder } from './restore-work.ts'
import { type SnapshotOrder, type SnapshotTable, workOnSnapshot } from './snapshot-work.ts'
import { BackupThread } from './worker.ts'

/** Metadata of the backed-up state. A restored instance has keys and salts of its own. */
export const metaNames = ['tenant', 'world.seed']

/** Answers for clients that repeat requests to this instance. */
const excludedKinds = new Set([RememberedAnswer.kind])

export interface SnapshotOptions {
  readonly file: string
  readonly trialFile: string
  readonly tables: ReadonlyMap<string, Table>
  readonly masterKey: Buffer
  readonly backupKey: Buffer
  /** The clock is frozen: moving it waits for backups anyway, so work in this thread delays no other request. */
  readonly isWaitedFor: () => boolean
}

/** In bytes: copying a smaller store takes less time than starting a thread. */
const smallStore = 16 * 1024 ** 2

export function createSnapshots({
  file,
  trialFile,
  tables,
  masterKey,
  backupKey,
  isWaitedFor,
}: SnapshotOptions): Snapshots {
  const runsInThisThread = (): boolean => isWaitedFor() && statSync(file).size < smallStore
  const threadOf = (order: SnapshotOrder, signal?: AbortSignal): BackupThread => {
    const here = runsInThisThread() ? (port: MessagePort) => workOnSnapshot(port, order) : undefined
    // A small heap suffices: most rows pass through as bytes.
    return new BackupThread({ program: 'snapshot-worker.js', order, heapMebibytes: 16, signal, here })
  }
  const trialOf = async (order: RestoreOrder, signal?: AbortSignal): Promise<BackupThread> => {
    const inThisThread = runsInThisThread() ? await import('./restore-work.ts') : undefined
    const here = inThisThread && ((port: MessagePort) => inThisThread.workOnRestore(port, order))
    return new BackupThread({ program: 'restore-worker.ts', order, heapMebibytes: 64, signal, here })
  }
  removeStore(trialFile)
  const trials = new Semaphore(1)
  const includedTables: SnapshotTable[] = [...tables.values()]
    .filter(({ resource }) => !excludedKinds.has(resource.kind))
    .map(({ resource, name, secrets }) => ({
      kind: resource.kind,
      name,
      secrets,
      section: resource.kind === Fact.kind ? ('world' as const) : ('manager' as const),
    }))
    .sort((a, b) => (a.section < b.section ? -1 : a.section > b.section ? 1 : 0))
  return {
    backupKey,
    async *take(restorePointExtId, dataKey, signal): AsyncGenerator<SnapshotPart> {
      const order = {
        work: 'take',
        file,
        metaNames,
        tables: includedTables,
        masterKey,
        dataKey,
        restorePointExtId,
      } as const
      const thread = threadOf(order, signal)
      try {
        for (;;) {
          const answer = await thread.ask('next')
          if (!('part' in answer)) return
          yield answer.part
        }
      } finally {
        await thread.end()
      }
    },
    async check(manifest, parts, signal) {
      await threadOf({ work: 'check', manifest: manifest as Manifest, backupKey }, signal).judge(parts)
    },
    rehearse: (manifest, parts, signal) =>
      trials.use(async () => {
        // A throw-away key: the trial store is useless to anybody who finds it.
        const trialKey = randomBytes(32)
        try {
          const order = { file: trialFile, masterKey: trialKey }
          const load = { ...order, work: 'load', manifest: manifest as Manifest, backupKey } as const
          await (await trialOf(load, signal)).judge(parts)
          await (await trialOf({ ...order, work: 'inspect' }, signal)).judge([])
        } finally {
          await removeStoreOffThread(trialFile)
        }
      }, signal),
  }
}
