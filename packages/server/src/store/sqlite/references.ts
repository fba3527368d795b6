/** The limit is checked where a reference is written, so that it holds for every kind. Source: platform.md 1. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { TooManyReferrers } from '../store.ts'
import { eachReference, type Reference, type Table } from '../tables.ts'

export class References {
  readonly #limits = new Map<string, { readonly title: string; readonly maximum: number }>()
  readonly #insert: StatementSync
  readonly #of: StatementSync
  readonly #remove: StatementSync
  readonly #removeAll: StatementSync
  readonly #publish: StatementSync
  readonly #count: StatementSync

  /** Limits of referrers by counted kind; other kinds have none. */
  constructor(
    database: DatabaseSync,
    tables: ReadonlyMap<string, Table>,
    maxima: Readonly<Record<string, number>> = {},
  ) {
    for (const [kind, maximum] of Object.entries(maxima)) {
      const resource = tables.get(kind)?.resource
      if (resource === undefined) continue
      if (resource.counted !== true) throw new Error(`${kind} has a maximum of referrers: declare it counted`)
      this.#limits.set(kind, { title: resource.title, maximum })
    }
    const isFrom = 'from_kind = ? AND from_id = ?'
    this.#insert = database.prepare('INSERT INTO reference VALUES (?, ?, ?, ?, ?, ?)')
    this.#of = database.prepare(`SELECT to_kind AS kind, to_id AS extId, path FROM reference WHERE ${isFrom}`)
    this.#remove = database.prepare(`DELETE FROM reference WHERE to_kind = ? AND to_id = ? AND ${isFrom} AND path = ?`)
    this.#removeAll = database.prepare(`DELETE FROM reference WHERE ${isFrom}`)
    this.#publish = database.prepare(`UPDATE reference SET published = 1 WHERE ${isFrom}`)
    this.#count = database.prepare('SELECT SUM(total) AS found FROM referrer_count WHERE to_kind = ? AND to_id = ?')
  }

  /** @throws TooManyReferrers */
  add(table: Table, document: { readonly extId: string }, published: number): void {
    if (table.references.length === 0) return
    const from = table.resource.kind
    for (const { kind, extId, path } of referencesIn(table, document).values()) {
      this.#insert.run(kind, extId, from, document.extId, path, published)
      this.#check(kind, extId)
    }
  }

  /** Unchanged references are not written again. @throws TooManyReferrers */
  change(table: Table, document: { readonly extId: string }, isPublished: () => number): void {
    if (table.references.length === 0) return
    const from = table.resource.kind
    const { extId: fromId } = document
    const before = this.#of.all(from, fromId) as unknown as Reference[]
    const added = referencesIn(table, document)
    const removed = before.filter((reference) => !added.delete(keyOf(reference)))
    for (const { kind, extId, path } of removed) this.#remove.run(kind, extId, from, fromId, path)
    if (added.size === 0) return
    const published = isPublished()
    for (const { kind, extId, path } of added.values()) {
      this.#insert.run(kind, extId, from, fromId, path, published)
      if (!before.some((former) => former.kind === kind && former.extId === extId)) this.#check(kind, extId)
    }
  }

  publish(kind: string, extId: string): void {
    this.#publish.run(kind, extId)
  }

  remove(kind: string, extId: string): void {
    this.#removeAll.run(kind, extId)
  }

  #check(kind: string, extId: string): void {
    const limit = this.#limits.get(kind)
    if (limit === undefined) return
    const { found } = this.#count.get(kind, extId) as { found: number }
    if (found > limit.maximum) throw new TooManyReferrers(limit.title, extId, limit.maximum, found)
  }
}

const keyOf = ({ kind, extId, path }: Reference): string => `${kind} ${extId} ${path}`

const referencesIn = (table: Table, document: unknown): Map<string, Reference> =>
  new Map([...eachReference(table, document)].map((reference) => [keyOf(reference), reference]))
