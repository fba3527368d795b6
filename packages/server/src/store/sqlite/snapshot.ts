/**
 * A snapshot of the file at one moment, read beside a running service: a read transaction of its own connection. Writes
 * continue; their changes stay in the write-ahead log until the snapshot is closed.
 */
import type { DatabaseSync } from 'node:sqlite'
import { connect } from './schema.ts'

export interface SnapshotRow<Document = string> {
  readonly version: number
  /** 0: pending. */
  readonly published: number
  readonly document: Document
}

/** Small: a snapshot reads each page once. */
const cacheKibibytes = 2048

export class SqliteSnapshot {
  readonly #database: DatabaseSync

  /** Takes the snapshot. @throws StoreRefusal */
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

  /** Rows in the order of creation, one at a time; `where`: only rows with this value in a column. */
  rows(table: string, where?: { readonly column: string; readonly value: string }): Iterable<SnapshotRow> {
    const condition = where === undefined ? '' : ` WHERE ${where.column} = ?`
    const text = `SELECT version, published, document FROM ${table}${condition} ORDER BY sequence`
    const given = where === undefined ? [] : [where.value]
    return this.#database.prepare(text).iterate(...given) as Iterable<unknown> as Iterable<SnapshotRow>
  }

  /** As `rows`, with documents as UTF-8 bytes: a copy needs no decoding. */
  rawRows(table: string): Iterable<SnapshotRow<Uint8Array>> {
    const text = `SELECT version, published, CAST(document AS BLOB) AS document FROM ${table} ORDER BY sequence`
    return this.#database.prepare(text).iterate() as Iterable<unknown> as Iterable<SnapshotRow<Uint8Array>>
  }

  distinct(table: string, column: string): readonly string[] {
    const rows = this.#database.prepare(`SELECT DISTINCT ${column} AS value FROM ${table} ORDER BY 1`).all()
    return (rows as { value: string }[]).map(({ value }) => value)
  }

  close(): void {
    this.#database.close()
  }
}
