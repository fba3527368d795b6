/** Loads or checks a restored store in a thread per order. Source: behaviour platform.md 9 (restore: load, check). */
import { once } from 'node:events'
import type { MessagePort } from 'node:worker_threads'
import { unwrapDataKey } from '../archive/cipher.ts'
import { BackupFault, type Manifest } from '../archive/format.ts'
import { isLeftOut } from '../archive/left-out.ts'
import { backupSealer, holdsSecrets, reseal } from '../archive/reseal.ts'
import { type EntityRow, isMeta } from '../archive/rows.ts'
import { Unpacker } from '../archive/unpack.ts'
import { makeKeyCheck, sealerOf } from '../core/access/secrets.ts'
import { storeTables } from '../domains/tables.ts'
import { SqliteLoader } from '../store/sqlite/loader.ts'
import type { Table } from '../store/tables.ts'
import { faultsOf } from './integrity.ts'
import type { ThreadAnswer } from './worker.ts'

export type RestoreOrder =
  | {
      readonly work: 'load'
      readonly file: string
      readonly manifest: Manifest
      readonly backupKey: Uint8Array
      readonly masterKey: Uint8Array
    }
  | { readonly work: 'inspect'; readonly file: string; readonly masterKey: Uint8Array }

export async function workOnRestore(port: MessagePort, order: RestoreOrder): Promise<void> {
  const answer: Answer = (message) => port.postMessage(message)
  try {
    if (order.work === 'load') await load(port, answer, order)
    else await inspect(port, answer, order)
  } catch (error) {
    const { message } = error as Error
    answer(error instanceof BackupFault ? { failed: message, fault: error.fault } : { failed: message })
  }
  port.close()
}
type Answer = (message: ThreadAnswer) => void

async function load(port: MessagePort, answer: Answer, order: Extract<RestoreOrder, { work: 'load' }>): Promise<void> {
  const { file, manifest } = order
  const dataKey = unwrapDataKey(Buffer.from(order.backupKey), manifest)
  const unpacker = new Unpacker(manifest, dataKey)
  const tables = storeTables()
  const loader = new SqliteLoader(file, tables)
  const masterKey = Buffer.from(order.masterKey)
  const sealer = sealerOf(masterKey, loader)
  const inBackup = backupSealer(dataKey)
  loader.setMeta('key.check', makeKeyCheck(masterKey))
  const loaded = new Map<string, number>()
  for (const { name } of manifest.parts) {
    const [content] = (await once(port, 'message')) as [Uint8Array]
    loader.together(() => {
      for (const { row } of unpacker.next(content)) {
        if (isMeta(row)) loader.setMeta(row.name, row.value)
        else if (!isLeftOut(row)) {
          insert(loader, tables.get(row.kind), row, name, (table, document) =>
            reseal({ kind: row.kind, secrets: table.secrets }, document, inBackup, sealer),
          )
          loaded.set(row.kind, (loaded.get(row.kind) ?? 0) + 1)
        }
      }
    })
    answer({ done: true })
  }
  await once(port, 'message')
  unpacker.end()
  // Written last: opening a store without it would seed it.
  loader.setMeta('seeded', manifest.creationTime)
  for (const table of tables.values()) {
    const { kind } = table.resource
    const [expected, found] = [loaded.get(kind) ?? 0, loader.count(table)]
    if (expected !== found)
      throw new BackupFault('corrupt', `${found} rows of ${kind} were stored instead of ${expected}`)
  }
  loader.close()
  answer({ done: true })
}

function insert(
  loader: SqliteLoader,
  table: Table | undefined,
  { kind, version, pending, document }: EntityRow,
  part: string,
  resealIn: (table: Table, document: unknown) => void,
): void {
  if (table === undefined)
    throw new BackupFault('corrupt', `its part ${part} holds a row of ${kind}, a kind that this version does not know`)
  try {
    if (holdsSecrets({ kind, secrets: table.secrets })) resealIn(table, document)
    loader.insert(table, { version, isPending: pending === true, document })
  } catch (cause) {
    const name = `${kind} ${document['extId']}`
    throw new BackupFault('corrupt', `its part ${part} holds a row that cannot be taken over (${name})`, cause)
  }
}

async function inspect(
  port: MessagePort,
  answer: Answer,
  { file, masterKey }: Extract<RestoreOrder, { work: 'inspect' }>,
): Promise<void> {
  const tables = storeTables()
  const loader = new SqliteLoader(file, tables)
  await once(port, 'message')
  const faults = await faultsOf(loader, tables, sealerOf(Buffer.from(masterKey), loader))
  loader.close()
  const [first, ...others] = faults
  if (first === undefined) return answer({ done: true })
  const more = others.length === 0 ? '' : `, and ${others.length} more faults`
  answer({ failed: `${first}${more}`, fault: 'corrupt', faults })
}
