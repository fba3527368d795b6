/** In a thread per order: serialisation, compression and encryption would block requests. */
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { isMainThread, type MessagePort } from 'node:worker_threads'
import { unwrapDataKey } from '../archive/cipher.ts'
import { BackupFault, type Manifest } from '../archive/format.ts'
import { type Line, packParts } from '../archive/pack.ts'
import { backupSealer, holdsSecrets, reseal, type SecretsOfKind } from '../archive/reseal.ts'
import { entityLine, metaLine } from '../archive/rows.ts'
import { Unpacker } from '../archive/unpack.ts'
import { createSealer } from '../core/access/secrets.ts'
import { SqliteSnapshot } from '../store/sqlite/snapshot.ts'
import type { ThreadAnswer } from './worker.ts'

export interface SnapshotTable extends SecretsOfKind {
  readonly name: string
  readonly section: Line['section']
}

export type SnapshotOrder =
  | {
      readonly work: 'take'
      readonly file: string
      readonly metaNames: readonly string[]
      readonly tables: readonly SnapshotTable[]
      readonly masterKey: Uint8Array
      readonly dataKey: Uint8Array
      readonly restorePointExtId: string
    }
  | { readonly work: 'check'; readonly manifest: Manifest; readonly backupKey: Uint8Array }

export async function workOnSnapshot(port: MessagePort, order: SnapshotOrder): Promise<void> {
  const answer: Answer = (message, moved = []) => port.postMessage(message, moved)
  // On Linux each thread has its own niceness: requests take precedence on a busy machine.
  if (process.platform === 'linux' && !isMainThread) setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  try {
    if (order.work === 'take') await takeSnapshot(port, answer, order)
    else await check(port, answer, order)
  } catch (error) {
    const { message } = error as Error
    answer(error instanceof BackupFault ? { failed: message, fault: error.fault } : { failed: message })
  }
  port.close()
}
type Answer = (message: ThreadAnswer, moved?: ArrayBuffer[]) => void

async function takeSnapshot(
  port: MessagePort,
  answer: Answer,
  order: Extract<SnapshotOrder, { work: 'take' }>,
): Promise<void> {
  const snapshot = new SqliteSnapshot(order.file)
  const parts = packParts(linesOf(snapshot, order), Buffer.from(order.dataKey), order.restorePointExtId)
  for (const { content, ...part } of parts) {
    // The next part is packed while the previous one is uploaded.
    await once(port, 'message')
    const copy = new Uint8Array(content)
    answer({ part: { ...part, content: copy } }, [copy.buffer])
  }
  await once(port, 'message')
  snapshot.close()
  answer({ done: true })
}

function* linesOf(snapshot: SqliteSnapshot, order: Extract<SnapshotOrder, { work: 'take' }>): Generator<Line> {
  const sealer = createSealer(Buffer.from(order.masterKey), { load: () => snapshot.meta('key.data'), save: refuse })
  const inBackup = backupSealer(Buffer.from(order.dataKey))
  for (const name of order.metaNames) {
    const value = snapshot.meta(name)
    if (value !== undefined) yield { section: 'manager', kind: 'meta', pieces: metaLine(name, value) }
  }
  for (const table of order.tables) {
    const { kind, section } = table
    for (const { version, published, document } of snapshot.rawRows(table.name)) {
      let content: Uint8Array | string = document
      if (holdsSecrets(table)) {
        const entity = JSON.parse(Buffer.from(document).toString())
        reseal(table, entity, sealer, inBackup)
        content = JSON.stringify(entity)
      }
      yield { section, kind, pieces: entityLine(kind, version, published === 0, content) }
    }
  }
}

function refuse(): never {
  throw new Error('the data key of the store is missing')
}

async function check(
  port: MessagePort,
  answer: Answer,
  order: Extract<SnapshotOrder, { work: 'check' }>,
): Promise<void> {
  const { manifest } = order
  const unpacker = new Unpacker(manifest, unwrapDataKey(Buffer.from(order.backupKey), manifest))
  for (const _part of manifest.parts) {
    const [content] = (await once(port, 'message')) as [Uint8Array]
    unpacker.count(content)
    answer({ done: true })
  }
  await once(port, 'message')
  unpacker.end()
  answer({ done: true })
}
