/** A read transaction of its own connection; changes stay in the write-ahead log until the snapshot is closed. */
import type { DatabaseSync } from 'node:sqlite'
import { connect } from './schema.ts'

export interface SnapshotRow<Document = string> {
  readonly version: number
  readonly published: number
  readonly document: Document
}

const cacheKibibytes = 2048

export class SqliteSnapshot {
  readonly #database: DatabaseSync

  constructor(file: string) {
    this.#database = connect(file, { readOnly: true })
    this.#database.exec(`PRAGMA cache_size = -${cacheKibibytes}; BEGIN`)
    this.meta('format')
  }

  meta(name: string): string | undefined {
    const row = this.#database.prepare('SELECT value FROM meta WHERE name = ?').get(name)
    return (row as { value: string } | undefined)?.value
  }

  rows(table: string, where?: { readonly column: string; readonly value: string }): Iterable<SnapshotRow> {
    const condition = where === undefined ? '' : ` WHERE ${where.column} = ?`
    const text = `SELECT version, published, document FROM ${table}${condition} ORDER BY sequence`
    const given = where === undefined ? [] : [where.value]
    return this.#database.prepare(text).iterate(...given) as Iterable<unknown> as Iterable<SnapshotRow>
  }

  /** Documents as UTF-8 bytes: a copy needs no decoding. */
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
