/** The embedded store: one SQLite file (WAL), one writer with group commit, one connection for readers. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { EntityOf, Resource } from '@hyperplane/contract'
import { compileFilter, compileOrderby } from '../compile-query.ts'
import {
  type Page,
  type Query,
  type Reader,
  type Referrer,
  type Row,
  RowMissing,
  type Scalar,
  type Store,
  StoreRefusal,
  type Transaction,
  UniqueViolation,
  type Walk,
} from '../store.ts'
import type { Column, Table } from '../tables.ts'
import { registerFunctions, sqliteDialect } from './dialect.ts'

type AnyResource = Resource<any, any>
type Doc = Record<string, any>

/** Format of the file. A newer one is refused, never overwritten. */
const fileFormat = 1
/** Files up to this size (64 MiB) are read whole at the start to find damage. */
const checkedPages = 16_384
/** Requests that share one durable commit. */
const commitGroup = 128

export interface SqliteStoreOptions {
  /** Path of the file. */
  readonly file: string
  readonly tables: ReadonlyMap<string, Table>
  /** Seals the secrets of a document, in place, before it is written. */
  readonly seal: (plain: string, about: string) => unknown
  /** false: commits do not wait for the disk (tests). */
  readonly durable: boolean
}

/** @throws StoreRefusal when the file is damaged, newer than this version, or cannot be opened. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const writer = open(options.file, options.durable, false)
  migrate(writer, options.tables)
  return new SqliteStore(writer, open(options.file, options.durable, true), options)
}

function open(file: string, durable: boolean, readOnly: boolean): DatabaseSync {
  try {
    const database = new DatabaseSync(file, { readOnly, timeout: 5000 })
    if (!readOnly) database.exec('PRAGMA journal_mode = WAL')
    database.exec(
      `PRAGMA synchronous = ${durable ? 'FULL' : 'OFF'}; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -32768`,
    )
    registerFunctions(database)
    return database
  } catch (cause) {
    throw new StoreRefusal(
      `The data file ${file} cannot be read (${(cause as Error).message}). Restore it from a backup, or start with another --data folder.`,
      { cause },
    )
  }
}

function migrate(database: DatabaseSync, tables: ReadonlyMap<string, Table>): void {
  try {
    const { pages } = database.prepare('SELECT page_count AS pages FROM pragma_page_count').get() as { pages: number }
    // Reading everything takes longer than a start may; of a large file only the structure is read.
    if (pages <= checkedPages) {
      const check = database.prepare('PRAGMA quick_check(1)').get() as { quick_check?: string }
      if (check.quick_check !== 'ok') throw new Error(check.quick_check)
      // The whole file passed through the cache, and is not needed there.
      database.exec('PRAGMA shrink_memory')
    }
    database.prepare('SELECT COUNT(*) FROM sqlite_schema').get()
  } catch (cause) {
    throw new StoreRefusal(
      `The data file is damaged (${(cause as Error).message}). Restore it from a backup, or start with another --data folder.`,
      { cause },
    )
  }
  database.exec('CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID')
  const format = database.prepare("SELECT value FROM meta WHERE name = 'format'").get() as { value: string } | undefined
  if (format !== undefined && Number(format.value) > fileFormat) {
    throw new StoreRefusal(
      `The data file has format ${format.value}; this version knows up to ${fileFormat}. Start the version that wrote it, or a later one.`,
    )
  }
  database.exec('BEGIN')
  database.prepare("INSERT OR IGNORE INTO meta VALUES ('format', ?)").run(String(fileFormat))
  database.exec(`CREATE TABLE IF NOT EXISTS reference (
    to_kind TEXT NOT NULL, to_id TEXT NOT NULL, from_kind TEXT NOT NULL, from_id TEXT NOT NULL, path TEXT NOT NULL,
    published INTEGER NOT NULL, PRIMARY KEY (to_kind, to_id, from_kind, from_id, path)) WITHOUT ROWID`)
  database.exec('CREATE INDEX IF NOT EXISTS reference_from ON reference (from_kind, from_id)')
  for (const table of tables.values()) createTable(database, table)
  database.exec('COMMIT')
}

function createTable(database: DatabaseSync, table: Table): void {
  const columns = table.columns.map((column) => `, ${column.name} ${column.affinity}`).join('')
  database.exec(`CREATE TABLE IF NOT EXISTS ${table.name} (
    sequence INTEGER PRIMARY KEY, ext_id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, published INTEGER NOT NULL,
    document TEXT NOT NULL${columns})`)
  const present = new Set(
    (database.prepare(`SELECT name FROM pragma_table_info('${table.name}')`).all() as { name: string }[]).map(
      (row) => row.name,
    ),
  )
  const missing = table.columns.filter((column) => !present.has(column.name))
  for (const column of missing) database.exec(`ALTER TABLE ${table.name} ADD COLUMN ${column.name} ${column.affinity}`)
  if (missing.length > 0) refill(database, table, missing)
  database.exec(`CREATE INDEX IF NOT EXISTS ${table.name}__pending ON ${table.name} (sequence) WHERE published = 0`)
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

function columnValue(document: Doc, column: Column): SQLInputValue {
  let value: any = document
  for (const name of column.path.split('/')) value = value?.[name]
  if (value === undefined || value === null) return null
  if (typeof value === 'boolean') return value ? 1 : 0
  if (column.folded) return String(value).toLowerCase()
  return value
}

/** Paths that name one kind of entity, for look-ups by reference. */
function referencesOf(table: Table): { kind: string; paths: ReadonlyMap<string, string> } {
  let known = referencesByTable.get(table)
  if (known === undefined) {
    const paths = new Map<string, string>()
    for (const { path, kind } of table.references) {
      const text = path.join('/')
      // A path of alternatives may name several kinds: those are read from the document.
      if (paths.has(text)) paths.set(text, '')
      else paths.set(text, kind)
    }
    for (const [path, kind] of paths) if (kind === '') paths.delete(path)
    known = { kind: table.resource.kind, paths }
    referencesByTable.set(table, known)
  }
  return known
}
const referencesByTable = new WeakMap<Table, { kind: string; paths: ReadonlyMap<string, string> }>()

interface Prepared {
  readonly get: StatementSync
  readonly getAny: StatementSync
}

interface FoundRow {
  readonly sequence: number
  readonly version: number
  readonly document: string
}

const isPublished = 'published = 1'

/** Rows, and counts of referrers, that are remembered until the next commit; longer documents are not. */
const maximumRemembered = 2000
const maximumRememberedLength = 8192

/** Reads over one connection. */
class SqliteReader implements Reader {
  protected readonly database: DatabaseSync
  protected readonly tables: ReadonlyMap<string, Table>
  readonly #prepared = new Map<string, Prepared>()
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync, tables: ReadonlyMap<string, Table>) {
    this.database = database
    this.tables = tables
  }

  protected table(kind: AnyResource): Table {
    const table = this.tables.get(kind.kind)
    if (table === undefined) throw new Error(`kind ${kind.kind} has no table: is its contract in a namespace?`)
    return table
  }

  protected prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      // Shapes of queries are few; the bound keeps a hostile variety of filters from filling memory.
      if (this.#statements.size >= 500) this.#statements.clear()
      statement = this.database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #of(table: Table): Prepared {
    let prepared = this.#prepared.get(table.name)
    if (prepared === undefined) {
      const columns = 'sequence, version, document'
      prepared = {
        get: this.database.prepare(`SELECT ${columns} FROM ${table.name} WHERE ext_id = ? AND published = 1`),
        getAny: this.database.prepare(`SELECT ${columns} FROM ${table.name} WHERE ext_id = ?`),
      }
      this.#prepared.set(table.name, prepared)
    }
    return prepared
  }

  protected found(table: Table, extId: string): FoundRow | undefined {
    return this.#of(table).get.get(extId) as FoundRow | undefined
  }

  async row<R extends AnyResource>(kind: R, extId: string): Promise<Row<EntityOf<R>> | undefined> {
    const found = this.found(this.table(kind), extId)
    return found === undefined
      ? undefined
      : { entity: JSON.parse(found.document), version: found.version, sequence: found.sequence }
  }

  async get<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined> {
    return (await this.row(kind, extId))?.entity
  }

  async pending<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined> {
    const found = this.#of(this.table(kind)).getAny.get(extId) as { document: string } | undefined
    return found === undefined ? undefined : JSON.parse(found.document)
  }

  async getMany<R extends AnyResource>(kind: R, extIds: readonly string[]): Promise<EntityOf<R>[]> {
    const found: EntityOf<R>[] = []
    for (const extId of extIds) {
      const entity = await this.get(kind, extId)
      if (entity !== undefined) found.push(entity)
    }
    return found
  }

  async find<R extends AnyResource>(kind: R, query: Query = {}): Promise<EntityOf<R>[]> {
    const { text, parameters } = this.#select(this.table(kind), query)
    const rows = this.prepare(text).all(...parameters) as { document: string }[]
    return rows.map((row) => JSON.parse(row.document))
  }

  async page<R extends AnyResource>(kind: R, query: Query): Promise<Page<EntityOf<R>>> {
    // Two statements without an await between them, in one read transaction: one snapshot.
    const table = this.table(kind)
    const select = this.#select(table, query)
    const count = this.#count(table, query)
    const inTransaction = this.database.isTransaction
    if (!inTransaction) this.database.exec('BEGIN')
    try {
      const total = (this.prepare(count.text).get(...count.parameters) as { total: number }).total
      const rows =
        query.limit === 0 || (query.offset ?? 0) >= total
          ? []
          : (this.prepare(select.text).all(...select.parameters) as { document: string }[])
      return { entities: rows.map((row) => JSON.parse(row.document)), total }
    } finally {
      if (!inTransaction) this.database.exec('COMMIT')
    }
  }

  async count(kind: AnyResource, query: Query = {}): Promise<number> {
    const { text, parameters } = this.#count(this.table(kind), query)
    return (this.prepare(text).get(...parameters) as { total: number }).total
  }

  async findOne<R extends AnyResource>(
    kind: R,
    where: Readonly<Record<string, Scalar>>,
  ): Promise<EntityOf<R> | undefined> {
    return (await this.#where(kind, where, 1))[0]
  }

  async findWhere<R extends AnyResource>(kind: R, where: Readonly<Record<string, Scalar>>): Promise<EntityOf<R>[]> {
    return this.#where(kind, where, -1)
  }

  async #where<R extends AnyResource>(
    kind: R,
    where: Readonly<Record<string, Scalar>>,
    limit: number,
  ): Promise<EntityOf<R>[]> {
    const table = this.table(kind)
    const terms = ['published = 1']
    const parameters: SQLInputValue[] = []
    for (const [path, value] of Object.entries(where)) {
      const column = table.columnOf.get(path)
      if (column === undefined)
        throw new Error(`${kind.kind}.${path} has no column: add it to the kind's indexed paths`)
      terms.push(`${column} IS ?`)
      parameters.push(typeof value === 'boolean' ? Number(value) : value)
    }
    const text = `SELECT document FROM ${table.name} WHERE ${terms.join(' AND ')} ORDER BY sequence LIMIT ${limit}`
    return (this.prepare(text).all(...parameters) as { document: string }[]).map((row) => JSON.parse(row.document))
  }

  async walk<R extends AnyResource>(kind: R, walk: Walk): Promise<EntityOf<R>[]> {
    const table = this.table(kind)
    const columnOf = (path: string): string => {
      const column = table.columnOf.get(path)
      if (column === undefined)
        throw new Error(`${kind.kind}.${path} has no column: add it to the kind's indexed paths`)
      return column
    }
    const by = columnOf(walk.by)
    // The plus keeps `published` out of the choice of an index.
    const terms = ['+published = 1']
    const parameters: SQLInputValue[] = []
    const add = (term: string, value: Scalar): void => {
      terms.push(term)
      parameters.push(typeof value === 'boolean' ? Number(value) : value)
    }
    for (const [path, value] of Object.entries(walk.where)) add(`${columnOf(path)} = ?`, value)
    if (walk.from !== undefined) add(`${by} >= ?`, walk.from)
    if (walk.to !== undefined) add(`${by} <= ?`, walk.to)
    const order = `${by}${walk.descending === true ? ' DESC' : ''} LIMIT ${walk.limit ?? -1}`
    const text = `SELECT document FROM ${table.name} WHERE ${terms.join(' AND ')} ORDER BY ${order}`
    return (this.prepare(text).all(...parameters) as { document: string }[]).map((row) => JSON.parse(row.document))
  }

  async referrers(
    kind: string,
    extId: string,
    limit = 100,
    options: { from?: string; publishedOnly?: boolean } = {},
  ): Promise<readonly Referrer[]> {
    const from = options.from === undefined ? [] : [options.from]
    const rows = this.prepare(
      `SELECT from_kind AS kind, from_id AS extId, path FROM reference WHERE to_kind = ? AND to_id = ?${
        from.length === 0 ? '' : ' AND from_kind = ?'
      }${options.publishedOnly === true ? ' AND published = 1' : ''} ORDER BY from_kind, from_id LIMIT ?`,
    ).all(kind, extId, ...from, limit)
    return rows as unknown as Referrer[]
  }

  async referrerCounts(
    kind: string,
    extId: string,
    options: { publishedOnly?: boolean } = {},
  ): Promise<ReadonlyMap<string, number>> {
    const rows = this.prepare(
      `SELECT from_kind AS kind, COUNT(DISTINCT from_id) AS n FROM reference WHERE to_kind = ? AND to_id = ?${
        options.publishedOnly === true ? ' AND published = 1' : ''
      } GROUP BY from_kind ORDER BY from_kind`,
    ).all(kind, extId) as { kind: string; n: number }[]
    return new Map(rows.map((row) => [row.kind, row.n]))
  }

  #conditions(table: Table, query: Query): { text: string; parameters: SQLInputValue[] } {
    const terms = [isPublished]
    const parameters: SQLInputValue[] = []
    if (query.refersTo !== undefined) {
      terms.push('ext_id IN (SELECT from_id FROM reference WHERE to_kind = ? AND to_id = ? AND from_kind = ?)')
      parameters.push(query.refersTo.kind, query.refersTo.extId, table.resource.kind)
    }
    for (const filter of [query.filter, query.scope]) {
      if (filter === undefined) continue
      const compiled = compileFilter(filter, {
        columns: table.columnOf,
        dialect: sqliteDialect,
        references: referencesOf(table),
      })
      terms.push(`(${compiled.sql})`)
      parameters.push(...(compiled.parameters as SQLInputValue[]))
    }
    return { text: terms.join(' AND '), parameters }
  }

  #count(table: Table, query: Query): { text: string; parameters: SQLInputValue[] } {
    const where = this.#conditions(table, query)
    // Of the whole table: the ids and the few pending rows are counted from indexes, and no document is read.
    const text =
      where.text === isPublished
        ? `SELECT (SELECT COUNT(*) FROM ${table.name}) - (SELECT COUNT(*) FROM ${table.name} WHERE published = 0) AS total`
        : `SELECT COUNT(*) AS total FROM ${table.name} WHERE ${where.text}`
    return { text, parameters: where.parameters }
  }

  #select(table: Table, query: Query): { text: string; parameters: SQLInputValue[] } {
    const where = this.#conditions(table, query)
    const order = compileOrderby(query.orderby ?? [], { columns: table.columnOf, dialect: sqliteDialect })
    const keys = [...order.terms, `sequence${query.newestFirst === true ? ' DESC' : ''}`].join(', ')
    return {
      text: `SELECT document FROM ${table.name} WHERE ${where.text} ORDER BY ${keys} LIMIT ? OFFSET ?`,
      parameters: [...where.parameters, ...(order.parameters as SQLInputValue[]), query.limit ?? -1, query.offset ?? 0],
    }
  }
}

interface Written {
  readonly insert: StatementSync
  readonly replace: StatementSync
}

/** Writes of one transaction; reads see them. */
class SqliteWriter extends SqliteReader implements Transaction {
  readonly #options: SqliteStoreOptions
  readonly #written = new Map<string, Written>()

  constructor(database: DatabaseSync, options: SqliteStoreOptions) {
    super(database, options.tables)
    this.#options = options
  }

  #statements(table: Table): Written {
    let written = this.#written.get(table.name)
    if (written === undefined) {
      const names = table.columns.map((column) => column.name)
      written = {
        insert: this.database.prepare(
          `INSERT INTO ${table.name} (ext_id, version, published, document${names.map((name) => `, ${name}`).join('')}) VALUES (?, 1, ?, ?${', ?'.repeat(names.length)})`,
        ),
        replace: this.database.prepare(
          `UPDATE ${table.name} SET version = version + ?, document = ?${names.map((name) => `, ${name} = ?`).join('')} WHERE ext_id = ?`,
        ),
      }
      this.#written.set(table.name, written)
    }
    return written
  }

  async insert<R extends AnyResource>(
    kind: R,
    entity: EntityOf<R>,
    options: { pending?: boolean } = {},
  ): Promise<EntityOf<R>> {
    const table = this.table(kind)
    const published = options.pending === true ? 0 : 1
    const stored = this.#sealed(table, entity as Doc)
    const values = table.columns.map((column) => columnValue(stored, column))
    this.#guarded(table, () =>
      this.#statements(table).insert.run(stored['extId'], published, JSON.stringify(stored), ...values),
    )
    this.#refer(table, stored, published)
    return stored as EntityOf<R>
  }

  async publish(kind: AnyResource, extId: string): Promise<void> {
    const table = this.table(kind)
    this.prepare(`UPDATE ${table.name} SET published = 1 WHERE ext_id = ?`).run(extId)
    this.prepare('UPDATE reference SET published = 1 WHERE from_kind = ? AND from_id = ?').run(kind.kind, extId)
  }

  async replace<R extends AnyResource>(kind: R, entity: EntityOf<R>): Promise<EntityOf<R>> {
    return this.#write(kind, entity as Doc, 1) as EntityOf<R>
  }

  async update<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>> {
    return this.#merge(kind, extId, changes, 1)
  }

  async observe<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>> {
    return this.#merge(kind, extId, changes, 0)
  }

  async #merge<R extends AnyResource>(
    kind: R,
    extId: string,
    changes: Partial<EntityOf<R>>,
    rise: 0 | 1,
  ): Promise<EntityOf<R>> {
    const stored = await this.pending(kind, extId)
    if (stored === undefined) throw new RowMissing(kind.kind, extId)
    const merged: Doc = { ...stored, ...changes }
    for (const name of Object.keys(merged)) if (merged[name] === undefined) delete merged[name]
    return this.#write(kind, merged, rise) as EntityOf<R>
  }

  #write(kind: AnyResource, entity: Doc, rise: 0 | 1): Doc {
    const table = this.table(kind)
    const stored = this.#sealed(table, entity)
    const values = table.columns.map((column) => columnValue(stored, column))
    const result = this.#guarded(table, () =>
      this.#statements(table).replace.run(rise, JSON.stringify(stored), ...values, stored['extId']),
    )
    if (result.changes === 0) throw new RowMissing(kind.kind, stored['extId'])
    if (table.references.length > 0) {
      const row = this.prepare(`SELECT published FROM ${table.name} WHERE ext_id = ?`).get(stored['extId']) as {
        published: number
      }
      this.prepare('DELETE FROM reference WHERE from_kind = ? AND from_id = ?').run(kind.kind, stored['extId'])
      this.#refer(table, stored, row.published)
    }
    return stored
  }

  async touch(kind: AnyResource, extId: string): Promise<void> {
    this.prepare(`UPDATE ${this.table(kind).name} SET version = version + 1 WHERE ext_id = ?`).run(extId)
  }

  async remove(kind: AnyResource, extId: string): Promise<void> {
    this.prepare(`DELETE FROM ${this.table(kind).name} WHERE ext_id = ?`).run(extId)
    this.prepare('DELETE FROM reference WHERE from_kind = ? AND from_id = ?').run(kind.kind, extId)
  }

  async removeWhere(kind: AnyResource, filter: NonNullable<Query['filter']>): Promise<number> {
    const table = this.table(kind)
    const compiled = compileFilter(filter, {
      columns: table.columnOf,
      dialect: sqliteDialect,
      references: referencesOf(table),
    })
    const parameters = compiled.parameters as SQLInputValue[]
    if (table.references.length > 0) {
      this.prepare(
        `DELETE FROM reference WHERE from_kind = ? AND from_id IN (SELECT ext_id FROM ${table.name} WHERE ${compiled.sql})`,
      ).run(kind.kind, ...parameters)
    }
    return Number(this.prepare(`DELETE FROM ${table.name} WHERE ${compiled.sql}`).run(...parameters).changes)
  }

  #refer(table: Table, document: Doc, published: number): void {
    if (table.references.length === 0) return
    const insert = this.prepare('INSERT OR IGNORE INTO reference VALUES (?, ?, ?, ?, ?, ?)')
    for (const reference of table.references) {
      const path = reference.path.join('/')
      for (const id of valuesAt(document, reference.path)) {
        if (typeof id === 'string')
          insert.run(reference.kind, id, table.resource.kind, document['extId'], path, published)
      }
    }
  }

  #sealed(table: Table, entity: Doc): Doc {
    if (table.secrets.length === 0) return entity
    const copy = structuredClone(entity)
    for (const path of table.secrets) {
      sealAt(copy, path, (plain) =>
        this.#options.seal(plain, `${table.resource.kind}/${copy['extId']}/${path.join('/')}`),
      )
    }
    return copy
  }

  #guarded<T>(table: Table, write: () => T): T {
    try {
      return write()
    } catch (error) {
      const message = (error as Error).message
      if (!message.startsWith('UNIQUE constraint failed')) throw error
      const failed = message
        .slice(message.indexOf(':') + 1)
        .split(',')
        .map((text) => text.trim().split('.')[1])
      const rule = table.unique.find((candidate) => candidate.columns.join() === failed.join())
      throw new UniqueViolation(table.resource.kind, rule?.fields ?? ['extId'], rule?.error)
    }
  }
}

/** Every value at a path, through collections. */
export function* valuesAt(value: unknown, path: readonly string[]): Generator<unknown> {
  if (Array.isArray(value)) {
    for (const item of value) yield* valuesAt(item, path)
  } else if (path.length === 0) {
    if (value !== undefined && value !== null) yield value
  } else if (typeof value === 'object' && value !== null) {
    yield* valuesAt((value as Doc)[path[0] as string], path.slice(1))
  }
}

function sealAt(value: unknown, path: readonly string[], seal: (plain: string) => unknown): void {
  if (Array.isArray(value)) {
    for (const item of value) sealAt(item, path, seal)
  } else if (typeof value === 'object' && value !== null) {
    const holder = value as Doc
    const name = path[0] as string
    if (path.length > 1) sealAt(holder[name], path.slice(1), seal)
    else if (isPlain(holder[name]))
      holder[name] = seal(typeof holder[name] === 'string' ? holder[name] : JSON.stringify(holder[name]))
  }
}

/** A secret that is not sealed yet. One that is an object is sealed whole, as JSON. */
const isPlain = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null && !Object.hasOwn(value, '$sealed'))

interface Job {
  readonly work: (transaction: Transaction) => Promise<unknown>
  readonly resolve: (value: any) => void
  readonly reject: (error: unknown) => void
}

function remember<T>(known: Map<string, T>, key: string, value: T): void {
  if (known.size >= maximumRemembered) known.clear()
  known.set(key, value)
}

class SqliteStore extends SqliteReader implements Store {
  /** What was read since the last commit: nothing can have changed, and asking again costs most of a read. */
  readonly #rows = new Map<string, FoundRow>()
  readonly #counts = new Map<string, ReadonlyMap<string, number>>()
  readonly #writerDatabase: DatabaseSync
  readonly #writer: SqliteWriter
  readonly #queue: Job[] = []
  #running = false

  constructor(writer: DatabaseSync, reader: DatabaseSync, options: SqliteStoreOptions) {
    super(reader, options.tables)
    this.#writerDatabase = writer
    this.#writer = new SqliteWriter(writer, options)
  }

  protected override found(table: Table, extId: string): FoundRow | undefined {
    const key = `${table.name} ${extId}`
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    const found = super.found(table, extId)
    if (found !== undefined && found.document.length <= maximumRememberedLength) remember(this.#rows, key, found)
    return found
  }

  override async referrerCounts(
    kind: string,
    extId: string,
    options: { publishedOnly?: boolean } = {},
  ): Promise<ReadonlyMap<string, number>> {
    const key = `${kind} ${extId} ${options.publishedOnly === true}`
    let counts = this.#counts.get(key)
    if (counts === undefined) {
      counts = await super.referrerCounts(kind, extId, options)
      remember(this.#counts, key, counts)
    }
    return counts
  }

  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve, reject })
      if (!this.#running) {
        this.#running = true
        // Requests that arrive in the same turn share the commit.
        setImmediate(() => void this.#drain())
      }
    })
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, commitGroup))
    this.#running = false
  }

  /** Runs each job in its own savepoint and commits them together; answers go out only after the commit. */
  async #commit(jobs: readonly Job[]): Promise<void> {
    const database = this.#writerDatabase
    const settle: (() => void)[] = []
    try {
      database.exec('BEGIN IMMEDIATE')
      for (const job of jobs) {
        database.exec('SAVEPOINT job')
        try {
          const value = await job.work(this.#writer)
          settle.push(() => job.resolve(value))
        } catch (error) {
          database.exec('ROLLBACK TO job')
          settle.push(() => job.reject(error))
        }
        database.exec('RELEASE job')
      }
      database.exec('COMMIT')
      this.#rows.clear()
      this.#counts.clear()
    } catch (error) {
      // Closed meanwhile: there is nothing to roll back, and everybody is told.
      if (database.isOpen && database.isTransaction) database.exec('ROLLBACK')
      for (const job of jobs) job.reject(error)
      return
    }
    for (const answer of settle) answer()
  }

  meta(name: string): string | undefined {
    return (
      this.#writerDatabase.prepare('SELECT value FROM meta WHERE name = ?').get(name) as { value: string } | undefined
    )?.value
  }

  setMeta(name: string, value: string): void {
    this.#writerDatabase.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)').run(name, value)
  }

  close(): void {
    this.database.close()
    this.#writerDatabase.close()
  }
}
