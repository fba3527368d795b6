/** Snapshots of the embedded store, each made, checked or restored for trial by a thread of its own. */
import { randomBytes } from 'node:crypto'
import { BackupThread } from './backup-thread.ts'
import type { SnapshotPart, Snapshots } from './core/ports.ts'
import { RememberedAnswer } from './core/records.ts'
import { Slots } from './core/slots.ts'
import type { Manifest } from './domains/platform/backup/format.ts'
import { Fact } from './drivers/simulated/world.ts'
import { removeStore } from './exchange-stores.ts'
import type { RestoreOrder } from './restore-worker.ts'
import type { SnapshotOrder, SnapshotTable } from './snapshot-worker.ts'
import type { Table } from './store/tables.ts'

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
}

export function createSnapshots({ file, trialFile, tables, masterKey, backupKey }: SnapshotOptions): Snapshots {
  // What a crash left.
  removeStore(trialFile)
  const trials = new Slots(1)
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
          await trialOf(load, signal).judge(parts)
          await trialOf({ ...order, work: 'inspect' }, signal).judge([])
        } finally {
          removeStore(trialFile)
        }
      }, signal),
  }
}

const trialOf = (order: RestoreOrder, signal?: AbortSignal): BackupThread =>
  new BackupThread({ program: 'restore-worker.ts', order, heapMebibytes: 64, signal })

const threadOf = (order: SnapshotOrder, signal?: AbortSignal): BackupThread =>
  new BackupThread({ program: 'snapshot-worker.ts', order, heapMebibytes: 32, signal })
