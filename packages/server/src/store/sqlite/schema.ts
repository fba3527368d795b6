import { hash } from 'node:crypto'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { diskFault } from '../disk-fault.ts'
import { makePrivateDatabase } from '../private-files.ts'
import { StoreRefusal } from '../store.ts'
import type { Column, Table } from '../tables.ts'
import { registerFunctions } from './dialect.ts'
import { keepSums } from './kept-sums.ts'
import { keepReferences } from './known-references.ts'
import { keepReferrerCounts } from './referrer-counts.ts'
import type { TimeLimit } from './time-limit.ts'

/** The service refuses a file with a newer format. */
const fileFormat = 1
/** 16 MiB: pages that many commits change are checkpointed once; a commit with a checkpoint takes longer. */
const checkpointPages = 4096
/** 64 MiB: a complete check of a larger file takes longer than a start may. */
const checkedPages = 16_384

const anotherFile = 'Restore it from a backup, or start with another --data folder.'

export interface ConnectionOptions {
  readonly readOnly?: boolean
  /** false: commits do not wait for the disk. */
  readonly durable?: boolean
  /** No other connection: without a write-ahead log each page is written once. */
  readonly isExclusive?: boolean
  readonly timeLimit?: TimeLimit
}

const stepMilliseconds = 4
const createMeta = 'CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID'

export const synchronous = (durable: boolean): string => `PRAGMA synchronous = ${durable ? 'FULL' : 'OFF'}`

export const cacheSize = (kibibytes = 8_192): string => `PRAGMA cache_size = -${kibibytes}`

/** @throws StoreRefusal */
export function connect(file: string, options: ConnectionOptions): DatabaseSync {
  const { readOnly = false, durable = true, isExclusive: isAlone = false, timeLimit } = options
  let database: DatabaseSync | undefined
  try {
    if (!readOnly) makePrivateDatabase(file)
    database = new DatabaseSync(file, { readOnly, timeout: 5000 })
    if (isAlone) database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = PERSIST')
    else if (!readOnly) database.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = ${checkpointPages}`)
    database.exec(`${synchronous(durable)}; PRAGMA foreign_keys = OFF; ${cacheSize()}`)
    registerFunctions(database, timeLimit)
    return database
  } catch (cause) {
    database?.close()
    throw diskRefusal(cause) ?? unreadable(`The data file ${file} cannot be read`, cause)
  }
}

const unreadable = (what: string, cause: unknown): StoreRefusal =>
  new StoreRefusal(`${what} (${(cause as Error).message}).`, anotherFile, { cause, isDamage: true })

/** undefined: the error has another cause than the disk. */
function diskRefusal(cause: unknown): StoreRefusal | undefined {
  const fault = diskFault(cause)
  return fault === undefined ? undefined : new StoreRefusal(fault, 'Free room on it, then try again.', { cause })
}

export interface MigrationOptions {
  /** Closed by this process: not checked for damage. */
  readonly isOwn?: boolean
}

/** Creates what is missing. @throws StoreRefusal when the file is damaged or newer than this version */
export function migrate(
  database: DatabaseSync,
  tables: ReadonlyMap<string, Table>,
  { isOwn = false }: MigrationOptions = {},
): void {
  try {
    const { pages } = database.prepare('SELECT page_count AS pages FROM pragma_page_count').get() as { pages: number }
    if (pages <= checkedPages && !isOwn) {
      const check = database.prepare('PRAGMA quick_check(1)').get() as { quick_check?: string }
      if (check.quick_check !== 'ok') throw new Error(check.quick_check)
      database.exec('PRAGMA shrink_memory')
    }
    database.prepare('SELECT COUNT(*) FROM sqlite_schema').get()
  } catch (cause) {
    throw diskRefusal(cause) ?? unreadable('The data file is damaged', cause)
  }
  try {
    makeTables(database, tables)
  } catch (cause) {
    throw diskRefusal(cause) ?? cause
  }
}

/** Call it before `migrate`, which would create a thousand indexes in one turn. @throws StoreRefusal when the disk is full */
export async function makeTablesInSteps(database: DatabaseSync, tables: ReadonlyMap<string, Table>): Promise<void> {
  try {
    await makeEachTable(database, tables)
  } catch (cause) {
    throw diskRefusal(cause) ?? cause
  }
}

async function makeEachTable(database: DatabaseSync, tables: ReadonlyMap<string, Table>): Promise<void> {
  database.exec(createMeta)
  let began = performance.now()
  database.exec('BEGIN')
  createReferences(database)
  for (const table of tables.values()) {
    createTable(database, table, undefined)
    if (performance.now() - began < stepMilliseconds) continue
    database.exec('COMMIT')
    await new Promise(setImmediate)
    began = performance.now()
    database.exec('BEGIN')
  }
  noteForms(database, tables)
  keepDerived(database, tables)
  database.exec('COMMIT')
}

function noteForms(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  const write = database.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)')
  write.run('format', String(fileFormat))
  write.run('tables', formOf(tables))
}

function makeTables(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  database.exec(createMeta)
  const format = database.prepare("SELECT value FROM meta WHERE name = 'format'").get() as { value: string } | undefined
  if (format !== undefined && Number(format.value) > fileFormat) {
    throw new StoreRefusal(
      `The data file has format ${format.value}; this version knows up to ${fileFormat}.`,
      'Start the version that wrote it, or a later one.',
    )
  }
  database.exec('BEGIN')
  database.prepare("INSERT OR IGNORE INTO meta VALUES ('format', ?)").run(String(fileFormat))
  const form = formOf(tables)
  const present = database.prepare("SELECT value FROM meta WHERE name = 'tables'").get() as
    | { value: string }
    | undefined
  if (present?.value !== form) {
    createTables(database, tables)
    database.prepare("INSERT OR REPLACE INTO meta VALUES ('tables', ?)").run(form)
  }
  keepDerived(database, tables)
  database.exec('COMMIT')
}

function keepDerived(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  keepReferrerCounts(database, tables)
  keepSums(database, tables)
  keepReferences(database, tables)
}

function createTables(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  createReferences(database)
  const present = presentColumns(database)
  for (const table of tables.values()) createTable(database, table, present.get(table.name))
}

function createReferences(database: DatabaseSync): void {
  database.exec(`CREATE TABLE IF NOT EXISTS reference (
    to_kind TEXT NOT NULL, to_id TEXT NOT NULL, from_kind TEXT NOT NULL, from_id TEXT NOT NULL, path TEXT NOT NULL,
    published INTEGER NOT NULL, PRIMARY KEY (to_kind, to_id, from_kind, from_id, path)) WITHOUT ROWID`)
  database.exec('CREATE INDEX IF NOT EXISTS reference_from ON reference (from_kind, from_id)')
}

function presentColumns(database: DatabaseSync): ReadonlyMap<string, ReadonlySet<string>> {
  const rows = database
    .prepare(
      `SELECT present.name AS "table", columns.name AS "column"
      FROM sqlite_schema AS present, pragma_table_info(present.name) AS columns WHERE present.type = 'table'`,
    )
    .all() as { table: string; column: string }[]
  const byTable = Map.groupBy(rows, ({ table }) => table)
  return new Map([...byTable].map(([table, found]) => [table, new Set(found.map(({ column }) => column))]))
}

/** A file with the same fingerprint needs no changes. */
function formOf(tables: ReadonlyMap<string, Table>): string {
  let form = forms.get(tables)
  if (form === undefined) {
    const shapes = [...tables.values()].map(({ name, columns, unique }) => [
      name,
      columns.map((column) => [column.name, column.path, column.affinity, column.folded]),
      unique.map((rule) => rule.columns),
    ])
    form = hash('sha256', JSON.stringify([rulesOfTables, shapes]), 'base64url')
    forms.set(tables, form)
  }
  return form
}
const forms = new WeakMap<ReadonlyMap<string, Table>, string>()
/** Increased when `createTable` makes something more for the same tables, so that existing files get it too. */
const rulesOfTables = 2

function createTable(database: DatabaseSync, table: Table, present: ReadonlySet<string> | undefined): void {
  if (present === undefined) {
    const columns = table.columns.map((column) => `, ${column.name} ${column.affinity}`).join('')
    database.exec(`CREATE TABLE ${table.name} (
      sequence INTEGER PRIMARY KEY, ext_id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, published INTEGER NOT NULL,
      document TEXT NOT NULL${columns})`)
  } else {
    const missing = table.columns.filter((column) => !present.has(column.name))
    for (const column of missing)
      database.exec(`ALTER TABLE ${table.name} ADD COLUMN ${column.name} ${column.affinity}`)
    if (missing.length > 0) refill(database, table, missing)
  }
  database.exec(`CREATE INDEX IF NOT EXISTS ${table.name}__pending ON ${table.name} (sequence) WHERE published = 0`)
  // A page skips the rows before it in this index, without reading them.
  database.exec(`CREATE INDEX IF NOT EXISTS ${table.name}__published ON ${table.name} (sequence) WHERE published = 1`)
  for (const column of table.columns) {
    if (!column.folded)
      database.exec(
        `CREATE INDEX IF NOT EXISTS ${table.name}__${column.name} ON ${table.name} (${column.name}, sequence)`,
      )
  }
  for (const rule of table.unique) {
    database.exec(
      `CREATE UNIQUE INDEX IF NOT EXISTS ${table.name}__unique_${rule.columns.join('_')} ON ${table.name} (${rule.columns.join(', ')})`,
    )
  }
}

function refill(database: DatabaseSync, table: Table, columns: readonly Column[]): void {
  const write = database.prepare(
    `UPDATE ${table.name} SET ${columns.map((column) => `${column.name} = ?`).join(', ')} WHERE sequence = ?`,
  )
  for (const row of database.prepare(`SELECT sequence, document FROM ${table.name}`).all() as {
    sequence: number
    document: string
  }[]) {
    const document = JSON.parse(row.document)
    write.run(...columns.map((column) => columnValue(document, column)), row.sequence)
  }
}

export function columnValue(document: unknown, column: Column): SQLInputValue {
  let value = document
  for (const name of column.path.split('/')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name]
  if (value === undefined || value === null) return null
  if (typeof value === 'boolean') return value ? 1 : 0
  if (column.folded) return String(value).toLowerCase()
  return value as SQLInputValue
}
