/**
 * The state of the file at one moment, read beside a running service: a read transaction of a connection of its own. Writes
 * go on meanwhile; what they change stays in the write-ahead log until the snapshot is closed.
 */
import type { DatabaseSync } from 'node:sqlite'
import { connect } from './schema.ts'

export interface SnapshotRow<Document = string> {
  readonly version: number
  /** 0: pending. */
  readonly published: number
  readonly document: Document
}

/** Pages that the snapshot keeps in memory: it reads each of them once. */
const cacheKibibytes = 2048

export class SqliteSnapshot {
  readonly #database: DatabaseSync

  /** Holds the state from now on. @throws StoreRefusal */
  constructor(file: string) {
    this.#database = connect(file, { readOnly: true })
    this.#database.exec(`PRAGMA cache_size = -${cacheKibibytes}; BEGIN`)
    // A transaction begins with its first read.
    this.meta('format')
  }

  meta(name: string): string | undefined {
    const row = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(name)
    return (row as { value: string } | undefined)?.value
  }

  /** In the order of creation, one at a time; `where`: those with this value in a column. */
  rows(table: string, where?: { readonly column: string; readonly value: string }): Iterable<SnapshotRow> {
    const condition = where === undefined ? '' : ` WHERE ${where.column} = ?`
    const text = `SELECT version, published, document FROM ${table}${condition} ORDER BY sequence`
    const given = where === undefined ? [] : [where.value]
    return this.#database.prepare(text).iterate(...given) as Iterable<unknown> as Iterable<SnapshotRow>
  }

  /** The same with documents in UTF-8: what is only passed on need not become text, however large it is. */
  rawRows(table: string): Iterable<SnapshotRow<Uint8Array>> {
    const text = `SELECT version, published, CAST(document AS BLOB) AS document FROM ${table} ORDER BY sequence`
    return this.#database.prepare(text).iterate() as Iterable<unknown> as Iterable<SnapshotRow<Uint8Array>>
  }

  /** Every value of a column of text, ascending. */
  distinct(table: string, column: string): readonly string[] {
    const rows = this.#database.prepare(`SELECT DISTINCT ${column} AS value FROM ${table} ORDER BY 1`).all()
    return (rows as { value: string }[]).map(({ value }) => value)
  }

  close(): void {
    this.#database.close()
  }
}
