/** The journal of one world as a file. Opened when it is first needed; met only in the journal thread. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { Call } from '@hyperplane/contract/control/call'
import { removeStore } from '../../exchange-stores.ts'
import { and, type TypedFilter } from '../../odata/index.ts'
import { compileFilter } from '../../store/compile-query.ts'
import { sqliteDialect } from '../../store/sqlite/dialect.ts'
import type { FoundPage } from '../../store/sqlite/page-query.ts'
import { SqliteReader } from '../../store/sqlite/reader.ts'
import { columnValue, connect } from '../../store/sqlite/schema.ts'
import type { TimeLimit } from '../../store/sqlite/time-limit.ts'
import { type Query, StoreRefusal } from '../../store/store.ts'
import {
  callColumns,
  insertBatch,
  insertFound,
  insertRecord,
  journalForm,
  journalTable,
  journalTables,
} from './journal-table.ts'
import { callsIn, documentOf } from './packed-calls.ts'
import type {
  Bounds,
  Excerpt,
  ExcerptWanted,
  JournalState,
  Near,
  PackedPart,
  PageOfCalls,
  Tally,
  TallyWanted,
} from './protocol.ts'

/** Calls that one look for near misses compares at most: the newest. */
const maximumCompared = 20_000
/** A batch is written as one row, and most go as one: pages that hold much of it at once. */
const pageBytes = 16 * 1024

interface Batch {
  /** Number of the newest of its calls. */
  readonly last: number
  readonly count: number
  readonly content: Uint8Array
}

class CallReader extends SqliteReader {
  documents(query: Query): FoundPage {
    return this.readPage(this.pageQuery(Call, query))
  }
}

export class JournalFile {
  readonly #database: DatabaseSync
  readonly #reader: CallReader
  readonly #insertBatch: StatementSync
  readonly #insertRecord: StatementSync
  readonly #insertFound: StatementSync
  readonly #saveState: StatementSync
  /** `first`: number of the oldest call that is kept; one more than the last where there is none. */
  #state: { first: number; last: number; size: number; dropped: number; missed: number }
  /** Whether there may be batches that nobody has asked about. */
  #isPacked = true
  bounds: Bounds

  constructor(file: string, bounds: Bounds, timeLimit: TimeLimit) {
    this.bounds = bounds
    this.#database = openFile(file, timeLimit)
    this.#reader = new CallReader(this.#database, new Map([[Call.kind, journalTable]]))
    this.#insertBatch = this.#database.prepare(insertBatch)
    this.#insertRecord = this.#database.prepare(insertRecord)
    this.#insertFound = this.#database.prepare(insertFound)
    this.#saveState = this.#database.prepare('UPDATE state SET first = ?, last = ?, size = ?, dropped = ?, missed = ?')
    this.#state = { ...(this.#database.prepare('SELECT * FROM state').get() as any) }
  }

  append(parts: readonly PackedPart[], missed: number): void {
    this.#together(() => {
      for (const { buffer, length, count } of parts) {
        this.#state.last += count
        this.#state.size += length
        this.#insertBatch.run(this.#state.last, count, new Uint8Array(buffer, 0, length))
        this.#isPacked = true
      }
      this.#state.missed += missed
      this.#trim()
    })
  }

  setBounds(bounds: Bounds): void {
    this.bounds = bounds
    const before = this.#state.first
    this.#together(() => this.#trim())
    if (this.#state.first !== before) this.#database.exec('VACUUM')
  }

  /** Numbers go on: whoever saw one never sees it again for another call. */
  clear(): void {
    this.#together(() => {
      this.#database.exec('DELETE FROM found; DELETE FROM record; DELETE FROM batch')
      Object.assign(this.#state, { first: this.#state.last + 1, size: 0, dropped: 0, missed: 0 })
    })
    this.#database.exec('VACUUM')
  }

  state(): JournalState {
    const { size, ...told } = this.#state
    return { ...told, sizeBytes: size }
  }

  /** Makes every call one that can be found: before questions about calls, which tell what is found. */
  unpack(): void {
    while (this.#isPacked) {
      const batch = this.#oldestBatch(0)
      if (batch === undefined) this.#isPacked = false
      else this.#together(() => this.#unpack(batch))
    }
  }

  page(query: Query): PageOfCalls {
    return { ...this.#reader.documents(query), state: this.state() }
  }

  /** Calls after a number, as many as one may hold at once. */
  excerpt({ after, upTo, filter, maximumBytes, maximumCalls }: ExcerptWanted): Excerpt {
    const last = Math.min(upTo ?? this.#state.last, this.#state.last)
    const calls: { sequence: number; document: string }[] = []
    let bytes = 0
    let lookedUpTo = last
    const { sql, parameters } = this.#where(filter)
    const rows = this.#database
      .prepare(
        `SELECT sequence, document FROM ${filter === undefined ? 'record' : journalTable.name} WHERE in_time() AND sequence > ? AND sequence <= ? AND ${sql} ORDER BY sequence`,
      )
      .iterate(after, last, ...parameters) as Iterable<{ sequence: number; document: string }>
    for (const { sequence, document } of rows) {
      calls.push({ sequence, document })
      bytes += document.length
      if (calls.length < maximumCalls && bytes < maximumBytes) continue
      lookedUpTo = sequence
      break
    }
    // What was dropped before anybody could read it.
    const missed = Math.max(0, Math.min(this.#state.first, lookedUpTo + 1) - after - 1)
    return { calls, lookedUpTo, isAll: lookedUpTo >= last, missed, last: this.#state.last }
  }

  tally({ after, filter, matching }: TallyWanted): Tally {
    const { sql, parameters } = this.#where(filter)
    const where = `in_time() AND sequence > ? AND ${sql}`
    const counted = this.#database
      .prepare(`SELECT COUNT(*) AS count FROM ${journalTable.name} WHERE ${where}`)
      .get(after, ...parameters) as { count: number }
    const found = this.#database
      .prepare(`SELECT sequence FROM ${journalTable.name} WHERE ${where} ORDER BY sequence LIMIT ?`)
      .all(after, ...parameters, matching) as { sequence: number }[]
    return { count: counted.count, matching: found.map(({ sequence }) => sequence), last: this.#state.last }
  }

  /** Calls that meet most of these terms but not all: nearest first, of those the newest. */
  near(terms: readonly TypedFilter[], limit: number): Near {
    if (terms.length === 0) return { documents: [] }
    const compiled = terms.map((term) => this.#where(term))
    const met = compiled.map(({ sql }) => `(${sql} IS TRUE)`).join(' + ')
    const rows = this.#database
      .prepare(
        `SELECT document FROM (SELECT document, sequence, ${met} AS met FROM ${journalTable.name}
          WHERE in_time() AND sequence > ?) WHERE met < ? ORDER BY met DESC, sequence DESC LIMIT ?`,
      )
      .all(
        ...compiled.flatMap(({ parameters }) => parameters),
        this.#state.last - maximumCompared,
        terms.length,
        limit,
      ) as { document: string }[]
    return { documents: rows.map(({ document }) => document) }
  }

  close(): void {
    this.#database.close()
  }

  #where(filter: TypedFilter | undefined): { sql: string; parameters: SQLInputValue[] } {
    const { sql, parameters } = compileFilter(filter ?? and(), {
      columns: journalTable.columnOf,
      dialect: sqliteDialect,
    })
    return { sql: `(${sql})`, parameters: parameters as SQLInputValue[] }
  }

  #unpack({ last, count, content }: Batch): void {
    let sequence = last - count
    for (const packed of callsIn(Buffer.from(content))) {
      sequence += 1
      // What went because of the bounds while it was packed.
      if (sequence < this.#state.first) continue
      const document = documentOf(sequence, packed)
      const call = JSON.parse(document)
      this.#insertRecord.run(sequence, packed.length, document)
      this.#insertFound.run(sequence, ...callColumns.map((column) => columnValue(call, column)))
    }
    this.#database.prepare('DELETE FROM batch WHERE last = ?').run(last)
  }

  /** Of those with a call behind this number. */
  #oldestBatch(after: number): Batch | undefined {
    const found = this.#database.prepare('SELECT * FROM batch WHERE last > ? ORDER BY last LIMIT 1').get(after)
    return found as Batch | undefined
  }

  /** Drops the oldest until what is left is within bounds. */
  #trim(): void {
    const { maximumCalls, maximumSizeBytes } = this.bounds
    const state = this.#state
    const isWithin = (): boolean => state.last - state.first < maximumCalls && state.size <= maximumSizeBytes
    if (isWithin()) return
    for (const size of this.#sizes()) {
      state.first += 1
      state.size -= size
      state.dropped += 1
      if (isWithin()) break
    }
    for (const table of ['found', 'record'])
      this.#database.prepare(`DELETE FROM ${table} WHERE sequence < ?`).run(state.first)
    this.#database.prepare('DELETE FROM batch WHERE last < ?').run(state.first)
  }

  /** Of the calls that are kept, oldest first. What is packed is younger than what is not. */
  *#sizes(): Generator<number> {
    const unpacked = this.#database.prepare('SELECT size FROM record ORDER BY sequence').iterate()
    for (const { size } of unpacked as Iterable<{ size: number }>) yield size
    let at = this.#state.first
    for (let batch = this.#oldestBatch(at - 1); batch !== undefined; batch = this.#oldestBatch(at - 1)) {
      let sequence = batch.last - batch.count
      for (const packed of callsIn(Buffer.from(batch.content))) {
        sequence += 1
        if (sequence >= at) yield packed.length
      }
      at = batch.last + 1
    }
  }

  /** @throws what SQLite throws; the journal is then as it was */
  #together(work: () => void): void {
    const before = { ...this.#state }
    this.#database.exec('BEGIN')
    try {
      work()
      const { first, last, size, dropped, missed } = this.#state
      this.#saveState.run(first, last, size, dropped, missed)
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#state = before
      throw error
    }
  }
}

/** One that was made for other columns is replaced by an empty one. */
function openFile(file: string, timeLimit: TimeLimit): DatabaseSync {
  const database = openDatabase(file, timeLimit)
  const { user_version: form } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (form === journalForm) return database
  const { tables } = database.prepare('SELECT COUNT(*) AS tables FROM sqlite_schema').get() as { tables: number }
  if (tables === 0) return withTables(database)
  database.close()
  removeStore(file)
  return withTables(openDatabase(file, timeLimit))
}

/** What was read cannot have been written so: it is no database, or there are no calls in its batches. */
export function isDamage(error: unknown): boolean {
  const cause = error instanceof StoreRefusal ? error.cause : error
  const { errcode = 0, code } = cause as { readonly errcode?: number; readonly code?: string }
  // SQLITE_CORRUPT, SQLITE_NOTADB; what stands above eight bits tells them further apart.
  return [11, 26].includes(errcode & 0xff) || cause instanceof SyntaxError || code === 'ERR_OUT_OF_RANGE'
}

function openDatabase(file: string, timeLimit: TimeLimit): DatabaseSync {
  const database = connect(file, { durable: false, isAlone: true, pageBytes, timeLimit })
  database.exec('PRAGMA cache_size = -2048; PRAGMA journal_size_limit = 4194304')
  return database
}

function withTables(database: DatabaseSync): DatabaseSync {
  database.exec(`BEGIN; ${journalTables} PRAGMA user_version = ${journalForm}; COMMIT`)
  return database
}
