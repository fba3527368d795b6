/** Fills a new file that nothing else has open. Rows are durable when `close` returns. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { type Reader, StoreRefusal } from '../store.ts'
import type { Table } from '../tables.ts'
import { missummed } from './kept-sums.ts'
import { SqliteReader } from './reader.ts'
import { References } from './references.ts'
import { miscounted } from './referrer-counts.ts'
import { columnValue, connect, migrate } from './schema.ts'

export interface LoadedRow {
  readonly version: number
  readonly isPending: boolean
  readonly document: Readonly<Record<string, unknown>> & { readonly extId: string }
}

export interface DanglingReference {
  readonly kind: string
  readonly extId: string
  readonly path: string
  readonly to: string
}

export class SqliteLoader {
  readonly #database: DatabaseSync
  readonly #tables: ReadonlyMap<string, Table>
  readonly #references: References
  readonly #inserts = new Map<string, StatementSync>()

  constructor(file: string, tables: ReadonlyMap<string, Table>) {
    this.#database = connect(file, { durable: false })
    migrate(this.#database, tables)
    this.#tables = tables
    this.#references = new References(this.#database, tables)
  }

  together(work: () => void): void {
    this.#database.exec('BEGIN')
    work()
    this.#database.exec('COMMIT')
  }

  /** @throws Error for a duplicate unique value */
  insert(table: Table, { version, isPending, document }: LoadedRow): void {
    let insert = this.#inserts.get(table.name)
    if (insert === undefined) {
      const columns = table.columns.map(({ name }) => `, ${name}`).join('')
      const text = `INSERT INTO ${table.name} (ext_id, version, published, document${columns}) VALUES (?, ?, ?, ?${', ?'.repeat(table.columns.length)})`
      this.#inserts.set(table.name, (insert = this.#database.prepare(text)))
    }
    const published = isPending ? 0 : 1
    const values: SQLInputValue[] = table.columns.map((column) => columnValue(document, column))
    insert.run(document.extId, version, published, JSON.stringify(document), ...values)
    this.#references.add(table, document, published)
  }

  count(table: Table): number {
    return (this.#database.prepare(`SELECT COUNT(*) AS found FROM ${table.name}`).get() as { found: number }).found
  }

  *documents(table: Table): Generator<unknown> {
    for (const row of this.#database.prepare(`SELECT document FROM ${table.name}`).iterate())
      yield JSON.parse((row as { document: string }).document)
  }

  *danglingReferences(): Generator<DanglingReference> {
    for (const { resource, name } of this.#tables.values()) {
      const found = this.#database
        .prepare(
          `SELECT from_kind AS kind, from_id AS extId, path, to_kind || ' ' || to_id AS "to" FROM reference
          WHERE to_kind = ? AND NOT EXISTS (SELECT 1 FROM ${name} WHERE ext_id = to_id)`,
        )
        .iterate(resource.kind)
      yield* found as Iterable<unknown> as Iterable<DanglingReference>
    }
  }

  miscounted(): readonly string[] {
    return [...miscounted(this.#database, this.#tables), ...missummed(this.#database, this.#tables)]
  }

  reader(): Reader {
    return new SqliteReader(this.#database, this.#tables)
  }

  meta(name: string): string | undefined {
    const row = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(name)
    return (row as { value: string } | undefined)?.value
  }

  setMeta(name: string, value: string): void {
    this.#database.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(name, value)
  }

  close(): void {
    this.#database.exec('PRAGMA synchronous = FULL')
    const done = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }
    this.#database.close()
    if (done.busy !== 0) throw new StoreRefusal('The data file that is being loaded is in use:', 'stop what reads it.')
  }
}
