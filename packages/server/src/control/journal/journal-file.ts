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
import type { Query } from '../../store/store.ts'
import { callColumns, insertFound, insertRecord, journalForm, journalTable, journalTables } from './journal-table.ts'
import type {
  Bounds,
  CallPieces,
  Excerpt,
  ExcerptWanted,
  JournalState,
  Near,
  PageOfCalls,
  Tally,
  TallyWanted,
} from './protocol.ts'

/** Calls that one look for near misses compares at most: the newest. */
const maximumCompared = 20_000
/** Documents that are in memory at once. */
const foundAtOnce = 200

class CallReader extends SqliteReader {
  documents(query: Query): FoundPage {
    return this.readPage(this.pageQuery(Call, query))
  }
}

export class JournalFile {
  readonly #database: DatabaseSync
  readonly #reader: CallReader
  readonly #insertFound: StatementSync
  readonly #insertRecord: StatementSync
  readonly #saveState: StatementSync
  #state: { last: number; size: number; dropped: number; missed: number }
  /** Number of the oldest call that is kept; one more than the last where there is none. */
  #first: number
  /** Number up to which calls can be searched. */
  #found: number
  bounds: Bounds

  /** A file that is damaged, or was made for other columns, is replaced by an empty one: a journal is no data. */
  constructor(file: string, bounds: Bounds, timeLimit: TimeLimit) {
    this.bounds = bounds
    this.#database = openFile(file, timeLimit)
    this.#reader = new CallReader(this.#database, new Map([[Call.kind, journalTable]]))
    this.#insertFound = this.#database.prepare(insertFound)
    this.#insertRecord = this.#database.prepare(insertRecord)
    this.#saveState = this.#database.prepare('UPDATE state SET last = ?, size = ?, dropped = ?, missed = ?')
    this.#state = { ...(this.#database.prepare('SELECT * FROM state').get() as any) }
    const { first, found } = this.#database
      .prepare('SELECT (SELECT MIN(sequence) FROM record) AS first, (SELECT MAX(sequence) FROM found) AS found')
      .get() as { first: number | null; found: number | null }
    this.#first = first ?? this.#state.last + 1
    this.#found = found ?? 0
  }

  append(records: readonly CallPieces[], missed: number): void {
    this.#together(() => {
      for (const pieces of records) {
        const sequence = this.#state.last + 1
        const document = `{"sequence":${sequence},${joined(pieces).slice(1)}`
        const size = Buffer.byteLength(document)
        this.#insertRecord.run(sequence, size, document)
        this.#state.last = sequence
        this.#state.size += size
      }
      this.#state.missed += missed
      this.#trim()
    })
  }

  setBounds(bounds: Bounds): void {
    this.bounds = bounds
    const before = this.#first
    this.#together(() => this.#trim())
    if (this.#first !== before) this.#database.exec('VACUUM')
  }

  /** Numbers go on: whoever saw one never sees it again for another call. */
  clear(): void {
    this.#together(() => {
      this.#database.exec('DELETE FROM found; DELETE FROM record')
      Object.assign(this.#state, { size: 0, dropped: 0, missed: 0 })
      this.#first = this.#state.last + 1
    })
    this.#database.exec('VACUUM')
  }

  state(): JournalState {
    const { last, size, dropped, missed } = this.#state
    return { first: this.#first, last, sizeBytes: size, dropped, missed }
  }

  page(query: Query): PageOfCalls {
    this.#find()
    return { ...this.#reader.documents(query), state: this.state() }
  }

  /** Calls after a number, as many as one may hold at once. */
  excerpt({ after, upTo, filter, maximumBytes, maximumCalls }: ExcerptWanted): Excerpt {
    const last = Math.min(upTo ?? this.#state.last, this.#state.last)
    const calls: { sequence: number; document: string }[] = []
    let bytes = 0
    let lookedUpTo = last
    if (filter !== undefined) this.#find()
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
    const missed = Math.max(0, Math.min(this.#first, lookedUpTo + 1) - after - 1)
    return { calls, lookedUpTo, isAll: lookedUpTo >= last, missed, last: this.#state.last }
  }

  tally({ after, filter, matching }: TallyWanted): Tally {
    this.#find()
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
    this.#find()
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

  /** Brings the columns up to the newest call. */
  #find(): void {
    while (this.#found < this.#state.last) {
      const rows = this.#database
        .prepare('SELECT sequence, document FROM record WHERE sequence > ? ORDER BY sequence LIMIT ?')
        .all(this.#found, foundAtOnce) as { sequence: number; document: string }[]
      this.#together(() => {
        for (const { sequence, document } of rows) {
          const call = JSON.parse(document)
          this.#insertFound.run(sequence, ...callColumns.map((column) => columnValue(call, column)))
        }
      })
      this.#found = rows.at(-1)?.sequence ?? this.#state.last
    }
  }

  /** Drops the oldest until what is left is within bounds. */
  #trim(): void {
    const { maximumCalls, maximumSizeBytes } = this.bounds
    this.#dropUpTo(this.#state.last - maximumCalls)
    if (this.#state.size <= maximumSizeBytes) return
    let over = this.#state.size - maximumSizeBytes
    let upTo = this.#first - 1
    const sizes = this.#database.prepare('SELECT sequence, size FROM record ORDER BY sequence').iterate()
    for (const { sequence, size } of sizes as Iterable<{ sequence: number; size: number }>) {
      upTo = sequence
      over -= size
      if (over <= 0) break
    }
    this.#dropUpTo(upTo)
  }

  #dropUpTo(sequence: number): void {
    if (sequence < this.#first) return
    const { size } = this.#database
      .prepare('SELECT SUM(size) AS size FROM record WHERE sequence <= ?')
      .get(sequence) as {
      size: number | null
    }
    for (const table of ['found', 'record'])
      this.#database.prepare(`DELETE FROM ${table} WHERE sequence <= ?`).run(sequence)
    this.#state.size -= size ?? 0
    this.#state.dropped += sequence - this.#first + 1
    this.#first = sequence + 1
  }

  /** @throws what SQLite throws; the journal is then as it was */
  #together(work: () => void): void {
    const before = { ...this.#state, first: this.#first }
    this.#database.exec('BEGIN')
    try {
      work()
      const { last, size, dropped, missed } = this.#state
      this.#saveState.run(last, size, dropped, missed)
      this.#database.exec('COMMIT')
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      const { first, ...state } = before
      this.#state = state
      this.#first = first
      throw error
    }
  }
}

/** Every other piece is a plain text. */
function joined(pieces: CallPieces): string {
  let all = ''
  for (let index = 0; index < pieces.length; index++) {
    const piece = pieces[index] as string
    all += index % 2 === 0 ? piece : JSON.stringify(piece)
  }
  return all
}

function openFile(file: string, timeLimit: TimeLimit): DatabaseSync {
  try {
    const database = openDatabase(file, timeLimit)
    const { user_version: form } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    if (form === journalForm) return database
    const { tables } = database.prepare('SELECT COUNT(*) AS tables FROM sqlite_schema').get() as { tables: number }
    if (tables === 0) return withTables(database)
    database.close()
  } catch {
    // What cannot be read is not worth keeping.
  }
  removeStore(file)
  return withTables(openDatabase(file, timeLimit))
}

function openDatabase(file: string, timeLimit: TimeLimit): DatabaseSync {
  const database = connect(file, { durable: false, timeLimit })
  database.exec('PRAGMA cache_size = -2048; PRAGMA journal_size_limit = 4194304')
  return database
}

function withTables(database: DatabaseSync): DatabaseSync {
  database.exec(`BEGIN; ${journalTables} PRAGMA user_version = ${journalForm}; COMMIT`)
  return database
}
