import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { compileFilter } from '../compile-query.ts'
import { type Query, RowMissing, type Transaction, UniqueViolation } from '../store.ts'
import type { Table } from '../tables.ts'
import { sqliteDialect } from './dialect.ts'
import { referencesOf, SqliteReader } from './reader.ts'
import { References } from './references.ts'
import { columnValue } from './schema.ts'

type Doc = Record<string, unknown> & { readonly extId: string }

export type Seal = (plain: string, about: string) => unknown

export class SqliteWriter extends SqliteReader implements Transaction {
  readonly #seal: Seal
  readonly #insertions = new Map<string, StatementSync>()
  readonly changed = new Set<string>()
  readonly #references: References

  constructor(
    database: DatabaseSync,
    tables: ReadonlyMap<string, Table>,
    seal: Seal,
    maximumReferrers?: Readonly<Record<string, number>>,
  ) {
    super(database, tables)
    this.#seal = seal
    this.#references = new References(database, tables, maximumReferrers)
  }

  #insertion(table: Table): StatementSync {
    let insertion = this.#insertions.get(table.name)
    if (insertion === undefined) {
      const names = table.columns.map((column) => column.name)
      insertion = this.database.prepare(
        `INSERT INTO ${table.name} (ext_id, version, published, document${names.map((name) => `, ${name}`).join('')}) VALUES (?, 1, ?, ?${', ?'.repeat(names.length)})`,
      )
      this.#insertions.set(table.name, insertion)
    }
    return insertion
  }

  #changing(kind: AnyResource): Table {
    this.changed.add(kind.kind)
    return this.table(kind)
  }

  async insert<R extends AnyResource>(
    kind: R,
    entity: EntityOf<R>,
    options: { pending?: boolean } = {},
  ): Promise<EntityOf<R>> {
    const table = this.#changing(kind)
    const published = options.pending === true ? 0 : 1
    const stored = this.#sealed(table, entity as Doc)
    const values = table.columns.map((column) => columnValue(stored, column))
    this.#guarded(table, () => this.#insertion(table).run(stored.extId, published, JSON.stringify(stored), ...values))
    this.#references.add(table, stored, published)
    return stored as EntityOf<R>
  }

  async publish(kind: AnyResource, extId: string): Promise<void> {
    const table = this.#changing(kind)
    this.prepare(`UPDATE ${table.name} SET published = 1 WHERE ext_id = ?`).run(extId)
    this.#references.publish(kind.kind, extId)
  }

  async replace<R extends AnyResource>(kind: R, entity: EntityOf<R>): Promise<EntityOf<R>> {
    const before = await this.pending(kind, entity.extId)
    return this.#write(kind, before, entity as Doc, 1) as EntityOf<R>
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
    const before = await this.pending(kind, extId)
    if (before === undefined) throw new RowMissing(kind.kind, extId)
    const merged: Doc = { ...before, ...changes }
    for (const name of Object.keys(merged)) if (merged[name] === undefined) delete merged[name]
    return this.#write(kind, before, merged, rise) as EntityOf<R>
  }

  #write(kind: AnyResource, before: Doc | undefined, entity: Doc, rise: 0 | 1): Doc {
    const table = this.#changing(kind)
    const stored = this.#sealed(table, entity)
    if (before === undefined) throw new RowMissing(kind.kind, stored.extId)
    // Only changed columns: SQLite writes the index of every column in the statement, even if its value stays.
    let text = `UPDATE ${table.name} SET version = version + ?, document = ?`
    const changed: SQLInputValue[] = []
    for (const column of table.columns) {
      const value = columnValue(stored, column)
      if (value === columnValue(before, column)) continue
      text += `, ${column.name} = ?`
      changed.push(value)
    }
    const update = this.prepare(`${text} WHERE ext_id = ?`)
    this.#guarded(table, () => update.run(rise, JSON.stringify(stored), ...changed, stored.extId))
    this.#references.change(table, stored, () => this.#isPublished(table, stored.extId))
    return stored
  }

  #isPublished(table: Table, extId: string): number {
    const row = this.prepare(`SELECT published FROM ${table.name} WHERE ext_id = ?`).get(extId)
    return (row as { published: number }).published
  }

  async touch(kind: AnyResource, extId: string): Promise<void> {
    this.prepare(`UPDATE ${this.#changing(kind).name} SET version = version + 1 WHERE ext_id = ?`).run(extId)
  }

  async remove(kind: AnyResource, extId: string): Promise<void> {
    this.prepare(`DELETE FROM ${this.#changing(kind).name} WHERE ext_id = ?`).run(extId)
    this.#references.remove(kind.kind, extId)
  }

  async removeWhere(kind: AnyResource, filter: NonNullable<Query['filter']>): Promise<number> {
    const table = this.#changing(kind)
    const compiled = compileFilter(filter, {
      columns: table.columnOf,
      dialect: sqliteDialect,
      references: referencesOf(table),
    })
    const removed = this.prepare(`DELETE FROM ${table.name} WHERE ${compiled.sql} RETURNING ext_id`).all(
      ...(compiled.parameters as SQLInputValue[]),
    ) as { ext_id: string }[]
    // Afterwards: the filter may look its rows up by their references.
    if (table.references.length > 0) for (const { ext_id } of removed) this.#references.remove(kind.kind, ext_id)
    return removed.length
  }

  #sealed(table: Table, entity: Doc): Doc {
    let sealed = entity
    for (const path of table.secrets) {
      const about = `${table.resource.kind}/${entity.extId}/${path.join('/')}`
      sealed = sealedAt(sealed, path, (plain) => this.#seal(plain, about)) as Doc
    }
    return sealed
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

function sealedAt(value: unknown, path: readonly string[], seal: (plain: string) => unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => sealedAt(item, path, seal))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (typeof value !== 'object' || value === null) return value
  const [name, ...rest] = path as [string, ...string[]]
  const held = (value as Readonly<Record<string, unknown>>)[name]
  let sealed = held
  if (rest.length > 0) sealed = sealedAt(held, rest, seal)
  else if (isPlain(held)) sealed = seal(typeof held === 'string' ? held : JSON.stringify(held))
  return sealed === held ? value : { ...value, [name]: sealed }
}

/** An object is sealed as a whole, as JSON. */
const isPlain = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null && !Object.hasOwn(value, '$sealed'))
