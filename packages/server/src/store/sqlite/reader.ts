import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { compileFilter, compileOrderby } from '../compile-query.ts'
import { createPause } from '../pause.ts'
import type { GroupSum, Page, Query, QueryPlan, Reader, Referrer, Row, Scalar, SumQuery, Walk } from '../store.ts'
import type { Table } from '../tables.ts'
import { sqliteDialect } from './dialect.ts'
import { sourceOfSums } from './kept-sums.ts'
import { type FoundPage, type PageQuery, readPage, type Statement } from './page-query.ts'
import { parseDocument } from './parsed-documents.ts'
import { readPlan } from './query-plan.ts'
import { inTime } from './time-limit.ts'

export function referencesOf(table: Table): { kind: string; paths: ReadonlyMap<string, string> } {
  let cached = referencesByTable.get(table)
  if (cached === undefined) {
    const paths = new Map<string, string>()
    for (const { path, kind } of table.references) {
      const text = path.join('/')
      // A path of alternatives may refer to several kinds: read from the document.
      if (paths.has(text)) paths.set(text, '')
      else paths.set(text, kind)
    }
    for (const [path, kind] of paths) if (kind === '') paths.delete(path)
    cached = { kind: table.resource.kind, paths }
    referencesByTable.set(table, cached)
  }
  return cached
}
const referencesByTable = new WeakMap<Table, { kind: string; paths: ReadonlyMap<string, string> }>()

interface Prepared {
  readonly get: StatementSync
  readonly getAny: StatementSync
}

export interface FoundRow {
  readonly sequence: number
  readonly version: number
  readonly document: string
}

const isPublished = 'published = 1'
const maximumStatements = 500
const rowsOfPart = 50

const storedCounts = (publishedOnly: boolean): string => {
  const count = publishedOnly ? 'published' : 'total'
  return `SELECT from_kind AS kind, ${count} AS n FROM referrer_count
    WHERE to_kind = ? AND to_id = ? AND ${count} > 0 ORDER BY from_kind`
}
const computedCounts = (publishedOnly: boolean): string =>
  `SELECT from_kind AS kind, COUNT(DISTINCT from_id) AS n FROM reference
    WHERE to_kind = ? AND to_id = ?${publishedOnly ? ' AND published = 1' : ''} GROUP BY from_kind ORDER BY from_kind`

/** @throws Error for a path without a column: a mistake in the code */
function columnIn({ columnOf, resource }: Table, path: string): string {
  const column = columnOf.get(path)
  if (column === undefined)
    throw new Error(`${resource.kind}.${path} has no column: add it to the kind's indexed paths`)
  return column
}

export class SqliteReader implements Reader {
  protected database: DatabaseSync
  protected readonly tables: ReadonlyMap<string, Table>
  readonly #prepared = new Map<string, Prepared>()
  readonly #statements = new Map<string, StatementSync>()
  readonly #plans = new Map<string, QueryPlan>()

  constructor(database: DatabaseSync, tables: ReadonlyMap<string, Table>) {
    this.database = database
    this.tables = tables
  }

  protected readFrom(database: DatabaseSync): void {
    this.database = database
    this.#prepared.clear()
    this.#statements.clear()
  }

  get kinds(): readonly AnyResource[] {
    return [...this.tables.values()].map(({ resource }) => resource)
  }

  protected table(kind: AnyResource): Table {
    const table = this.tables.get(kind.kind)
    if (table === undefined) throw new Error(`kind ${kind.kind} has no table: is its contract in a namespace?`)
    return table
  }

  protected prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      // Query shapes are few; the bound protects memory from hostile variety.
      if (this.#statements.size >= maximumStatements) this.#statements.clear()
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

  protected storedRow(table: Table, extId: string): FoundRow | undefined {
    return this.#of(table).get.get(extId) as FoundRow | undefined
  }

  async row<R extends AnyResource>(kind: R, extId: string): Promise<Row<EntityOf<R>> | undefined> {
    const table = this.table(kind)
    const found = this.storedRow(table, extId)
    return found === undefined
      ? undefined
      : { entity: parseDocument(found.document), version: found.version, sequence: found.sequence }
  }

  async get<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined> {
    return (await this.row(kind, extId))?.entity
  }

  async has(kind: AnyResource, extId: string): Promise<boolean> {
    const sql = `SELECT 1 FROM ${this.table(kind).name} WHERE ext_id = ? AND published = 1`
    return this.prepare(sql).get(extId) !== undefined
  }

  async pending<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined> {
    const table = this.table(kind)
    const found = this.#of(table).getAny.get(extId) as { document: string } | undefined
    return found === undefined ? undefined : parseDocument(found.document)
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
    const table = this.table(kind)
    const { text, parameters } = this.#select(table, query)
    this.#explain(table, query, text)
    return this.#entities(table, { text, parameters })
  }

  async *findInParts<R extends AnyResource>(kind: R, query: Pick<Query, 'filter'>): AsyncGenerator<EntityOf<R>[]> {
    const table = this.table(kind)
    const where = this.#conditions(table, query)
    const text = `SELECT sequence, document FROM ${table.name} WHERE ${where.text} AND sequence > ?
      ORDER BY sequence LIMIT ${rowsOfPart}`
    const pause = createPause()
    let last: { readonly sequence: number } | undefined
    do {
      const rows = this.prepare(text).all(...where.parameters, last?.sequence ?? 0) as unknown as FoundRow[]
      yield rows.map(({ document }) => parseDocument<EntityOf<R>>(document))
      // undefined: the part was not full, so it is the last one.
      last = rows[rowsOfPart - 1]
      await pause()
    } while (last !== undefined)
  }

  async page<R extends AnyResource>(kind: R, query: Query): Promise<Page<EntityOf<R>>> {
    const { documents, total } = this.readPage(this.pageQuery(kind, query))
    return { entities: documents.map(parseDocument<EntityOf<R>>), total }
  }

  #entities<E>({ resource }: Table, select: Statement): E[] {
    return this.readPage({ kind: resource.kind, select, offset: 0, limit: -1 }).documents.map(parseDocument<E>)
  }

  protected readPage(query: PageQuery): FoundPage {
    return readPage(this.database, (text) => this.prepare(text), query)
  }

  protected pageQuery(kind: AnyResource, query: Query): PageQuery {
    const table = this.table(kind)
    const bounded = { ...query, isBounded: true }
    const select = this.#select(table, bounded)
    this.#explain(table, query, select.text)
    return {
      kind: kind.kind,
      count: this.#count(table, bounded),
      select,
      offset: query.offset ?? 0,
      limit: query.limit ?? -1,
    }
  }

  #explain(table: Table, { explained }: Query, text: string): void {
    if (explained === undefined) return
    let plan = this.#plans.get(text)
    if (plan === undefined) {
      if (this.#plans.size >= maximumStatements) this.#plans.clear()
      const steps = this.database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[]
      this.#plans.set(text, (plan = readPlan(steps, table)))
    }
    explained(plan)
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
      terms.push(`${columnIn(table, path)} IS ?`)
      parameters.push(typeof value === 'boolean' ? Number(value) : value)
    }
    const text = `SELECT document FROM ${table.name} WHERE ${terms.join(' AND ')} ORDER BY sequence LIMIT ${limit}`
    return this.#entities(table, { text, parameters })
  }

  async sums(kind: AnyResource, query: SumQuery): Promise<readonly GroupSum[]> {
    const table = this.table(kind)
    const { where, by, of } = query
    const groups = by.map((path) => columnIn(table, path)).join(', ')
    const sums = of.map((path) => `SUM(${columnIn(table, path)})`).join(', ')
    const terms = Object.keys(where).map((path) => `${columnIn(table, path)} = ?`)
    const text = `SELECT ${groups}, ${sums} FROM ${sourceOfSums(table, query)} WHERE ${terms.join(' AND ')} GROUP BY ${groups}`
    const parameters = Object.values(where).map((value) => (typeof value === 'boolean' ? Number(value) : value))
    const rows = this.prepare(text).all(...parameters) as Record<string, Scalar>[]
    return rows.map((row) => {
      const values = Object.values(row)
      return { by: values.slice(0, by.length), sums: values.slice(by.length).map(Number) }
    })
  }

  async walk<R extends AnyResource>(kind: R, walk: Walk): Promise<EntityOf<R>[]> {
    const table = this.table(kind)
    const columnOf = (path: string): string => columnIn(table, path)
    const by = columnOf(walk.by)
    // The plus stops SQLite from choosing an index on `published`.
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
    return this.#entities(table, { text, parameters })
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
    return this.countedReferrers(kind, extId, options.publishedOnly === true)
  }

  protected countedReferrers(kind: string, extId: string, publishedOnly: boolean): ReadonlyMap<string, number> {
    const isCounted = this.tables.get(kind)?.resource.counted === true
    const text = isCounted ? storedCounts(publishedOnly) : computedCounts(publishedOnly)
    const rows = this.prepare(text).all(kind, extId) as { kind: string; n: number }[]
    return new Map(rows.map((row) => [row.kind, row.n]))
  }

  #conditions(table: Table, query: Query): { text: string; parameters: SQLInputValue[] } {
    // The time guard comes first: later conditions are evaluated only for rows that pass the earlier ones.
    const terms = query.isBounded === true ? [inTime, isPublished] : [isPublished]
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

  #count(table: Table, query: Query): Statement {
    const where = this.#conditions(table, query)
    // For the whole table, ids and pending rows are counted from indexes, without reading documents.
    const text =
      query.refersTo === undefined && query.filter === undefined && query.scope === undefined
        ? `SELECT (SELECT COUNT(*) FROM ${table.name}) - (SELECT COUNT(*) FROM ${table.name} WHERE published = 0) AS total`
        : `SELECT COUNT(*) AS total FROM ${table.name} WHERE ${where.text}`
    return { text, parameters: where.parameters }
  }

  #select(table: Table, query: Query): Statement {
    const where = this.#conditions(table, query)
    const order = compileOrderby(query.orderby ?? [], { columns: table.columnOf, dialect: sqliteDialect })
    const keys = [...order.terms, `sequence${query.newestFirst === true ? ' DESC' : ''}`].join(', ')
    return {
      text: `SELECT document FROM ${table.name} WHERE ${where.text} ORDER BY ${keys} LIMIT ? OFFSET ?`,
      parameters: [...where.parameters, ...(order.parameters as SQLInputValue[]), query.limit ?? -1, query.offset ?? 0],
    }
  }
}
