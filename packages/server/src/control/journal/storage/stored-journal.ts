/** The journal of one world: a log of all calls, and a database of those that queries needed. Journal thread only. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { Call } from '@hyperplane/contract/control/call'
import { and, type TypedFilter } from '../../../odata/index.ts'
import { compileFilter } from '../../../store/compile-query.ts'
import { sqliteDialect } from '../../../store/sqlite/dialect.ts'
import type { FoundPage } from '../../../store/sqlite/page-query.ts'
import { SqliteReader } from '../../../store/sqlite/reader.ts'
import { columnValue, connect } from '../../../store/sqlite/schema.ts'
import type { TimeLimit } from '../../../store/sqlite/time-limit.ts'
import { type Query, StoreRefusal } from '../../../store/store.ts'
import { callsIn } from '../packed-calls.ts'
import type {
  Bounds,
  Excerpt,
  ExcerptRequest,
  JournalState,
  NearMisses,
  PackedPart,
  PageOfCalls,
  Tally,
  TallyRequest,
} from '../protocol.ts'
import { CallLog, type LoggedPart } from './call-log.ts'
import {
  callColumns,
  insertFound,
  insertRecord,
  journalForm,
  journalTable,
  journalTables,
  updateState,
} from './journal-table.ts'

const maximumCompared = 20_000

interface State extends Omit<JournalState, 'sizeBytes'> {
  /** Number of the newest call in the database; newer ones are in the log only. */
  readonly unpacked: number
  readonly size: number
}

class CallReader extends SqliteReader {
  documents(query: Query): FoundPage {
    return this.readPage(this.pageQuery(Call, query))
  }
}

export class StoredJournal {
  readonly #database: DatabaseSync
  readonly #log: CallLog
  readonly #reader: CallReader
  readonly #insertRecord: StatementSync
  readonly #insertFound: StatementSync
  readonly #saveState: StatementSync
  #state: { -readonly [Name in keyof State]: State[Name] }
  bounds: Bounds

  /** @throws StoreRefusal, SyntaxError when the journal is damaged */
  constructor(folder: string, bounds: Bounds, timeLimit: TimeLimit) {
    this.bounds = bounds
    this.#database = openDatabase(folder, timeLimit)
    try {
      this.#log = new CallLog(folder)
      this.#reader = new CallReader(this.#database, new Map([[Call.kind, journalTable]]))
      this.#insertRecord = this.#database.prepare(insertRecord)
      this.#insertFound = this.#database.prepare(insertFound)
      this.#saveState = this.#database.prepare(updateState)
      this.#state = { ...(this.#database.prepare('SELECT * FROM state').get() as unknown as State) }
      this.#catchUp()
    } catch (error) {
      // An open connection locks the file.
      this.#database.close()
      throw error
    }
  }

  /** @throws the error of the file system; the journal is then unchanged */
  append(parts: readonly PackedPart[], missed: number): void {
    const undoAppend = this.#log.append(parts, this.#state.last + 1)
    try {
      this.#inTransaction(() => {
        for (const part of parts) this.#count(part)
        this.#state.missed += missed
        this.#trim()
      })
    } catch (error) {
      undoAppend()
      throw error
    }
    this.#removeLogFiles()
  }

  setBounds(bounds: Bounds): void {
    this.bounds = bounds
    const before = this.#state.first
    this.#inTransaction(() => this.#trim())
    this.#removeLogFiles()
    if (this.#state.first !== before) this.#reclaimSpace()
  }

  /** Numbers are not reused: a client that saw a number never sees it for another call. */
  clear(): void {
    this.#inTransaction(() => {
      const { last } = this.#state
      Object.assign(this.#state, { first: last + 1, unpacked: last, size: 0, dropped: 0, missed: 0 })
      this.#deleteRows()
    })
    this.#removeLogFiles()
    this.#reclaimSpace()
  }

  state(): JournalState {
    const { size, unpacked: _, ...counts } = this.#state
    return { ...counts, sizeBytes: size }
  }

  /** Moves all calls from the log into the database. Must run before a query. */
  indexAll(): void {
    if (this.#lastNotNeeded === this.#state.last) return
    for (const parts of this.#log.after(this.#state.unpacked))
      this.#inTransaction(() => {
        for (const part of parts) this.#indexPart(part)
      })
    if (this.#lastNotNeeded !== this.#state.last) throw incomplete()
    this.#removeLogFiles()
  }

  page(query: Query): PageOfCalls {
    return { ...this.#reader.documents(query), state: this.state() }
  }

  /** Calls after a number, up to the maximum count and size of one batch. */
  excerpt({ after, upTo, filter, maximumBytes, maximumCalls }: ExcerptRequest): Excerpt {
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
    const missed = Math.max(0, Math.min(this.#state.first, lookedUpTo + 1) - after - 1)
    return { calls, readUpTo: lookedUpTo, isComplete: lookedUpTo >= last, missed, last: this.#state.last }
  }

  tally({ after, filter, matching }: TallyRequest): Tally {
    const { sql, parameters } = this.#where(filter)
    const where = `in_time() AND sequence > ? AND ${sql}`
    const counted = this.#database
      .prepare(`SELECT COUNT(*) AS count FROM ${journalTable.name} WHERE ${where}`)
      .get(after, ...parameters) as { count: number }
    const rows = this.#database
      .prepare(`SELECT sequence FROM ${journalTable.name} WHERE ${where} ORDER BY sequence LIMIT ?`)
      .all(after, ...parameters, matching) as { sequence: number }[]
    return { count: counted.count, matching: rows.map(({ sequence }) => sequence), last: this.#state.last }
  }

  /** Calls that satisfy most of these terms but not all: nearest first, then newest first. */
  near(terms: readonly TypedFilter[], limit: number): NearMisses {
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
    this.#log.close()
    this.#database.close()
  }

  #where(filter: TypedFilter | undefined): { sql: string; parameters: SQLInputValue[] } {
    const { sql, parameters } = compileFilter(filter ?? and(), {
      columns: journalTable.columnOf,
      dialect: sqliteDialect,
    })
    return { sql: `(${sql})`, parameters: parameters as SQLInputValue[] }
  }

  /** Counts calls that were appended to the log before a crash, but not counted in the database. */
  #catchUp(): void {
    const { last } = this.#state
    if (this.#log.last !== undefined && this.#log.last > last)
      this.#inTransaction(() => {
        for (const parts of this.#log.after(last)) for (const part of parts) this.#count(part)
        this.#trim()
      })
    this.#removeLogFiles()
    if ((this.#log.last ?? this.#lastNotNeeded) !== this.#state.last) throw incomplete()
  }

  #count({ count, sizeBytes }: Pick<PackedPart, 'count' | 'sizeBytes'>): void {
    this.#state.last += count
    this.#state.size += sizeBytes
  }

  #indexPart({ last, count, content }: LoggedPart): void {
    let sequence = last - count
    if (sequence > this.#lastNotNeeded) throw incomplete()
    for (const packed of callsIn(content)) {
      sequence += 1
      // Skip calls that the bounds dropped while they were in the log.
      if (sequence < this.#state.first) continue
      const document = packed.document(sequence)
      const call = JSON.parse(document)
      this.#insertRecord.run(sequence, packed.sizeBytes, document)
      this.#insertFound.run(sequence, ...callColumns.map((column) => columnValue(call, column)))
    }
    if (sequence !== last) throw incomplete()
    this.#state.unpacked = last
  }

  #trim(): void {
    const { maximumCalls, maximumSizeBytes } = this.bounds
    const state = this.#state
    const isWithin = (): boolean => state.last - state.first < maximumCalls && state.size <= maximumSizeBytes
    if (isWithin()) return
    const hasRows = state.first <= state.unpacked
    for (const size of this.#sizes()) {
      state.first += 1
      state.size -= size
      state.dropped += 1
      if (isWithin()) break
    }
    if (hasRows) this.#deleteRows()
  }

  *#sizes(): Generator<number> {
    const { first, unpacked, last } = this.#state
    const rows = this.#database.prepare('SELECT size FROM record ORDER BY sequence').iterate()
    for (const { size } of rows as Iterable<{ size: number }>) yield size
    for (let sequence = Math.max(first, unpacked + 1); sequence <= last; sequence++) yield this.#log.sizeOf(sequence)
  }

  #deleteRows(): void {
    for (const table of ['found', 'record'])
      this.#database.prepare(`DELETE FROM ${table} WHERE sequence < ?`).run(this.#state.first)
  }

  /** Up to this number the log is not needed: calls were dropped, or are in the database. */
  get #lastNotNeeded(): number {
    return Math.max(this.#state.first - 1, this.#state.unpacked)
  }

  #removeLogFiles(): void {
    this.#log.removeFilesUpTo(this.#lastNotNeeded)
  }

  /** Shrinks the database. VACUUM needs free space for a copy, which a full disk does not have. */
  #reclaimSpace(): void {
    try {
      this.#database.exec('VACUUM')
    } catch {}
  }

  /** @throws the error of SQLite; the journal is then unchanged */
  #inTransaction(work: () => void): void {
    const before = { ...this.#state }
    this.#database.exec('BEGIN')
    try {
      work()
      const { first, unpacked, last, size, dropped, missed } = this.#state
      this.#saveState.run(first, unpacked, last, size, dropped, missed)
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      this.#state = before
      throw error
    }
  }
}

const incomplete = (): SyntaxError => new SyntaxError('calls are missing from the log')

/** A journal of another stored form is replaced by an empty one. */
function openDatabase(folder: string, timeLimit: TimeLimit): DatabaseSync {
  // Not recursive: a late write must not recreate the folder of a deleted world.
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
  const database = connect(join(folder, 'found.sqlite'), { durable: false, isExclusive: true, timeLimit })
  try {
    database.exec('PRAGMA cache_size = -2048; PRAGMA journal_size_limit = 65536')
    const { user_version: form } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    if (form === journalForm) return database
    const { tables } = database.prepare('SELECT COUNT(*) AS tables FROM sqlite_schema').get() as { tables: number }
    if (tables === 0) return withTables(database)
  } catch (error) {
    database.close()
    throw error
  }
  database.close()
  rmSync(folder, { recursive: true })
  return openDatabase(folder, timeLimit)
}

/** Corrupt files only; other errors, such as a full disk, may pass. */
export function isDamage(error: unknown): boolean {
  const cause = error instanceof StoreRefusal ? error.cause : error
  const { errcode = 0, code } = cause as { readonly errcode?: number; readonly code?: string }
  // SQLITE_CORRUPT, SQLITE_CONSTRAINT, SQLITE_NOTADB; the bits above the lowest eight are extended error codes.
  return [11, 19, 26].includes(errcode & 0xff) || cause instanceof SyntaxError || code === 'ERR_OUT_OF_RANGE'
}

function withTables(database: DatabaseSync): DatabaseSync {
  database.exec(`BEGIN; ${journalTables} PRAGMA user_version = ${journalForm}; COMMIT`)
  return database
}
