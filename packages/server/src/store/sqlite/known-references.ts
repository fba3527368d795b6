/** Fields that refer to other kinds are noted in the file: rows of `reference` follow when a later version declares other fields. */
import type { DatabaseSync } from 'node:sqlite'
import type { Table } from '../tables.ts'
import { References } from './references.ts'

export function keepReferences(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  // The file is opened without kinds (rotation of the key).
  if (tables.size === 0) return
  const noted = database.prepare("SELECT value FROM meta WHERE name = 'references'").get() as
    | { value: string }
    | undefined
  const former: Readonly<Record<string, string>> = noted === undefined ? {} : JSON.parse(noted.value)
  const declared = Object.fromEntries([...tables].map(([kind, table]) => [kind, formOf(table)]))
  const changed = [...tables].filter(([kind]) => former[kind] !== declared[kind])
  if (changed.length === 0) return
  const references = new References(database, tables)
  for (const [, table] of changed) refer(database, table, references)
  const value = JSON.stringify({ ...former, ...declared })
  database.prepare("INSERT OR REPLACE INTO meta VALUES ('references', ?)").run(value)
}

const formOf = ({ references }: Table): string => references.map(({ kind, path }) => `${path.join('/')} ${kind}`).join()

function refer(database: DatabaseSync, table: Table, references: References): void {
  if (table.references.length === 0) {
    database.prepare('DELETE FROM reference WHERE from_kind = ?').run(table.resource.kind)
    return
  }
  const rows = database.prepare(`SELECT document, published FROM ${table.name}`).iterate()
  for (const row of rows as Iterable<unknown> as Iterable<{ document: string; published: number }>)
    references.change(table, JSON.parse(row.document), () => row.published)
}
