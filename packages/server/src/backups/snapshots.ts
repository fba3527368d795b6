/** Snapshots of the embedded store, each made, checked or restored for trial, usually by a thread of its own. */
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import type { Manifest } from '../archive/format.ts'
import { Semaphore } from '../core/concurrency/semaphore.ts'
import type { SnapshotPart, Snapshots } from '../core/ports.ts'
import { RememberedAnswer } from '../core/records.ts'
import { removeStore } from '../data-folder/store-files.ts'
import { Fact } from '../drivers/simulated/world.ts'
import type { Table } from '../store/tables.ts'
import type { RestoreOrder } from './restore-work.ts'
import { type SnapshotOrder, type SnapshotTable, workOnSnapshot } from './snapshot-work.ts'
import { BackupThread } from './worker.ts'

/** Words of the store that are its state. Keys and salts are its own: a restored instance has others. */
export const metaNames = ['tenant', 'world.seed']

/** Answers to requests that may come again are for the clients of this instance. */
const leftOut = new Set([RememberedAnswer.kind])

export interface SnapshotOptions {
  readonly file: string
  /** Made and removed again: a store that a restore is tried with. */
  readonly trialFile: string
  readonly tables: ReadonlyMap<string, Table>
  readonly masterKey: Buffer
  readonly backupKey: Buffer
  /** Time stands until it is moved, and waits for backups: nobody is held up by work in this thread. */
  readonly isWaitedFor: () => boolean
}

/** Bytes of a store that is sooner copied than a thread is started. */
const smallStore = 16 * 1024 ** 2

export function createSnapshots({
  file,
  trialFile,
  tables,
  masterKey,
  backupKey,
  isWaitedFor,
}: SnapshotOptions): Snapshots {
  const isHere = (): boolean => isWaitedFor() && statSync(file).size < smallStore
  const threadOf = (order: SnapshotOrder, signal?: AbortSignal): BackupThread => {
    const here = isHere() ? (port: MessagePort) => workOnSnapshot(port, order) : undefined
    // Rows pass it as bytes: the few that it reads are small.
    return new BackupThread({ program: 'snapshot-worker.js', order, heapMebibytes: 16, signal, here })
  }
  const trialOf = async (order: RestoreOrder, signal?: AbortSignal): Promise<BackupThread> => {
    const { workOnRestore } = await import('./restore-work.ts')
    const here = isHere() ? (port: MessagePort) => workOnRestore(port, order) : undefined
    return new BackupThread({ program: 'restore-worker.ts', order, heapMebibytes: 64, signal, here })
  }
  // What a crash left.
  removeStore(trialFile)
  const trials = new Semaphore(1)
  const wanted: SnapshotTable[] = [...tables.values()]
    .filter(({ resource }) => !leftOut.has(resource.kind))
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
      const order = { work: 'take', file, metaNames, tables: wanted, masterKey, dataKey, restorePointExtId } as const
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
        // Nobody has this key when the trial is over.
        const trialKey = randomBytes(32)
        try {
          const order = { file: trialFile, masterKey: trialKey }
          const load = { ...order, work: 'load', manifest: manifest as Manifest, backupKey } as const
          await (await trialOf(load, signal)).judge(parts)
          await (await trialOf({ ...order, work: 'inspect' }, signal)).judge([])
        } finally {
          removeStore(trialFile)
        }
      }, signal),
  }
}
