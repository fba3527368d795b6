/** The interface of stores. `sqlite/` (and, later, others) implement it and pass the same conformance suite. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import type { TypedFilter, TypedOrderby } from '../odata/index.ts'

/** A stored entity with what the store knows about it. */
export interface Row<T> {
  readonly entity: T
  /** Rises with every accepted mutation; the entity tag derives from it. */
  readonly version: number
  /** Creation order. */
  readonly sequence: number
}

export interface Query {
  readonly filter?: TypedFilter
  /** A second condition that every row must meet: what the caller may see. */
  readonly scope?: TypedFilter
  /** Only rows that refer to this entity by a declared reference. */
  readonly refersTo?: { readonly kind: string; readonly extId: string }
  readonly orderby?: readonly TypedOrderby[]
  readonly newestFirst?: boolean
  readonly offset?: number
  readonly limit?: number
  /**
   * Limits the time of the query, because a client requested it. Pages always are limited; the service's own queries,
   * and those inside a transaction, never are. @throws QueryStopped
   */
  readonly isBounded?: boolean
  readonly explained?: (plan: QueryPlan) => void
}

/** How the store finds the rows of a query. */
export interface QueryPlan {
  /** Path of the field whose index finds the rows; absent: all rows are scanned. */
  readonly index?: string
  /** Fields that the index was searched by. */
  readonly sought: readonly string[]
  readonly isSorted: boolean
}

/** Rows in the order of one column, between two of its values, both included. */
export interface Walk {
  /** Columns that must have these values. */
  readonly where: Readonly<Record<string, Scalar>>
  /** The column that orders. An index serves the walk where a unique rule lists the columns of `where`, then this one. */
  readonly by: string
  readonly from?: Scalar
  readonly to?: Scalar
  readonly descending?: boolean
  readonly limit?: number
}

export interface Page<T> {
  readonly entities: readonly T[]
  /** Number of all matches, in the same snapshot as the page. */
  readonly total: number
}

export interface Referrer {
  readonly kind: string
  readonly extId: string
  readonly path: string
}

/** Reads see committed state; inside a transaction also its own writes. Rows that are not published yet are invisible. */
export interface Reader {
  /** Every kind that has a table here. */
  readonly kinds: readonly AnyResource[]
  get<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined>
  row<R extends AnyResource>(kind: R, extId: string): Promise<Row<EntityOf<R>> | undefined>
  /** In the order of `extIds`; unknown ids are left out. */
  getMany<R extends AnyResource>(kind: R, extIds: readonly string[]): Promise<EntityOf<R>[]>
  find<R extends AnyResource>(kind: R, query?: Query): Promise<EntityOf<R>[]>
  /** Always bounded, see `Query`. @throws QueryStopped */
  page<R extends AnyResource>(kind: R, query: Query): Promise<Page<EntityOf<R>>>
  count(kind: AnyResource, query?: Query): Promise<number>
  /** The first entity whose fields equal these values (paths of columns). */
  findOne<R extends AnyResource>(kind: R, where: Readonly<Record<string, Scalar>>): Promise<EntityOf<R> | undefined>
  findWhere<R extends AnyResource>(kind: R, where: Readonly<Record<string, Scalar>>): Promise<EntityOf<R>[]>
  /** Costs what it returns, not what the table holds. */
  walk<R extends AnyResource>(kind: R, walk: Walk): Promise<EntityOf<R>[]>
  /** Also finds rows that are not published yet. */
  pending<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined>
  /** The referrers of this entity, ordered by kind and id; including pending rows unless `publishedOnly`. */
  referrers(
    kind: string,
    extId: string,
    limit?: number,
    options?: { from?: string; publishedOnly?: boolean },
  ): Promise<readonly Referrer[]>
  /** Number of referrers by kind. Constant cost for kinds declared `counted`. */
  referrerCounts(
    kind: string,
    extId: string,
    options?: { publishedOnly?: boolean },
  ): Promise<ReadonlyMap<string, number>>
}

export type Scalar = string | number | boolean | null

export interface Transaction extends Reader {
  /**
   * Stores a new entity. `pending`: holds its unique values and references, but stays invisible until `publish`.
   * @throws UniqueViolation, TooManyReferrers
   */
  insert<R extends AnyResource>(kind: R, entity: EntityOf<R>, options?: { pending?: boolean }): Promise<EntityOf<R>>
  publish(kind: AnyResource, extId: string): Promise<void>
  replace<R extends AnyResource>(kind: R, entity: EntityOf<R>): Promise<EntityOf<R>>
  /** Merges these top-level fields (undefined removes) and raises the version. */
  update<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>>
  /** As `update`, without raising the version: observations, counters, times of use. */
  observe<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>>
  /** Raises the version only, because something that belongs to the entity changed. */
  touch(kind: AnyResource, extId: string): Promise<void>
  remove(kind: AnyResource, extId: string): Promise<void>
  /** Removes every matching row; returns their number. */
  removeWhere(kind: AnyResource, filter: TypedFilter): Promise<number>
}

export interface Staged<T> {
  /** The result of `work`: later transactions see what it wrote, readers do not yet. Rejected: it was rolled back. */
  readonly applied: Promise<T>
  /** The commit. Refused work needs none. */
  readonly durable: Promise<void>
}

/** A value in the store's metadata, created on first use. */
export function metaOrCreate(store: Pick<Store, 'meta' | 'setMeta'>, name: string, make: () => string): string {
  const stored = store.meta(name)
  if (stored !== undefined) return stored
  const created = make()
  store.setMeta(name, created)
  return created
}

export interface Store extends Reader {
  /**
   * Runs `work` alone, and commits what it wrote, durably, before the promise resolves; a throw rolls it back.
   * `work` only awaits its transaction: everybody else's writes wait for it.
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** As `transaction`, for bulk data in a store without other writers. */
  bulkLoad<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /**
   * As `transaction`, for a caller that makes many writes one after another and waits for the disk at the end: writes
   * between `applied` and `durable` may share a commit, as long as nobody else waits for it.
   */
  stage<T>(work: (transaction: Transaction) => Promise<T>): Staged<T>
  /**
   * Calls `changed` after each commit that may have written rows of these kinds. Returns the function that ends the
   * watch.
   */
  watch(kinds: readonly AnyResource[], changed: () => void): () => void
  meta(name: string): string | undefined
  setMeta(name: string, value: string): void
  setMetas(values: Readonly<Record<string, string>>): void
  /**
   * Copies all committed data to a new file, between two commits: writes wait, reads continue. `beside` runs at the
   * moment that is copied.
   */
  copyTo(file: string, beside?: () => void): Promise<void>
  /** The last disk fault of a write; undefined: none, or the disk accepts writes again. */
  readonly fault: string | undefined
  /** As `fault`, checked by a new write if there was a fault. */
  findFault(): Promise<string | undefined>
  releaseMemory(): void
  /** Stops running bounded queries. Without any, everything is closed when this returns. */
  close(): Promise<void>
}

export class UniqueViolation extends Error {
  readonly kind: string
  readonly fields: readonly string[]
  /** Key of the namespace's error for this rule. */
  readonly error: string | undefined
  constructor(kind: string, fields: readonly string[], error: string | undefined) {
    super(`unique values of ${kind}: ${fields.join(', ')}`)
    this.kind = kind
    this.fields = fields
    this.error = error
  }
}

/** A bounded query was stopped: it ran too long, too many wait before it, or the store closes. */
export class QueryStopped extends Error {
  readonly why: 'too long' | 'busy' | 'closing'
  constructor(why: QueryStopped['why']) {
    super(`a query was stopped: ${why}`)
    this.why = why
  }
}

/** The limit of referrers of an entity is reached. */
export class TooManyReferrers extends Error {
  /** For people: `category`. */
  readonly title: string
  readonly extId: string
  readonly maximum: number
  readonly found: number
  constructor(title: string, extId: string, maximum: number, found: number) {
    super(`${found} name the ${title} ${extId}`)
    this.title = title
    this.extId = extId
    this.maximum = maximum
    this.found = found
  }
}

/** The entity was removed between its look-up and its write. */
export class RowMissing extends Error {
  constructor(kind: string, extId: string) {
    super(`no row ${extId} of ${kind}`)
  }
}

/** A commit failed because an earlier commit, on which it depends, failed. */
export class EarlierCommitFailed extends Error {
  constructor(options?: ErrorOptions) {
    super('an earlier commit failed, on which this one depends', options)
  }
}

/** The data file cannot be used as it is; the message gives the reason and the remedy. */
export class StoreRefusal extends Error {
  readonly what: string
  /** The file is unusable: a backup must replace it. */
  readonly isDamage: boolean
  constructor(what: string, remedy: string, options: ErrorOptions & { readonly isDamage?: boolean } = {}) {
    super(`${what} ${remedy}`, options)
    this.what = what
    this.isDamage = options.isDamage === true
  }
}
