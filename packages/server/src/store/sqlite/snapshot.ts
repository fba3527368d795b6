/**
 * The state of the file at one moment, read beside a running service: a read transaction of a connection of its own. Writes
 * go on meanwhile; what they change stays in the write-ahead log until the snapshot is closed.
 */
import type { DatabaseSync } from 'node:sqlite'
import { connect } from './schema.ts'

export interface SnapshotRow {
  readonly version: number
  /** 0: pending. */
  readonly published: number
  readonly document: string
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

  /** In the order of creation, one at a time. */
  rows(table: string): Iterable<SnapshotRow> {
    const text = `SELECT version, published, document FROM ${table} ORDER BY sequence`
    return this.#database.prepare(text).iterate() as Iterable<unknown> as Iterable<SnapshotRow>
  }

  close(): void {
    this.#database.close()
  }
}
