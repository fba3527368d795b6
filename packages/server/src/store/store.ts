/** Where state is kept. One interface; `sqlite/` (and, later, others) implement it and pass the same conformance suite. */
import type { EntityOf, Resource } from '@hyperplane/contract'
import type { TypedFilter, TypedOrderby } from '../odata/index.ts'

type AnyResource = Resource<any, any>

/** A stored entity with what the store knows about it. */
export interface Row<T> {
  readonly entity: T
  /** Rises with every accepted mutation; what entity tags are made of. */
  readonly version: number
  /** Creation order. */
  readonly sequence: number
}

export interface Query {
  readonly filter?: TypedFilter
  /** A second condition that every row must meet: what the caller may see. */
  readonly scope?: TypedFilter
  /** Only rows that name this entity by a declared reference. */
  readonly refersTo?: { readonly kind: string; readonly extId: string }
  readonly orderby?: readonly TypedOrderby[]
  readonly newestFirst?: boolean
  readonly offset?: number
  readonly limit?: number
  /**
   * A request asks: it takes as long as one query may, and no longer. Pages are always bounded; what the service asks
   * for itself, and inside a transaction, never is. @throws QueryStopped
   */
  readonly isBounded?: boolean
  /** Is told how the rows are found. */
  readonly explained?: (plan: QueryPlan) => void
}

/** How the store finds the rows of a query. */
export interface QueryPlan {
  /** Path of the field whose index leads to the rows; absent: all rows are looked at. */
  readonly index?: string
  /** Fields whose values the index was asked for; of all others each row is read. */
  readonly sought: readonly string[]
  /** The rows are put in order after they were found. */
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
  /** All that match, in the same snapshot as the page. */
  readonly total: number
}

/** One row that names an entity. */
export interface Referrer {
  readonly kind: string
  readonly extId: string
  readonly path: string
}

/** Reads see committed state; inside a transaction also its own writes. Rows that are not published yet are invisible. */
export interface Reader {
  get<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined>
  row<R extends AnyResource>(kind: R, extId: string): Promise<Row<EntityOf<R>> | undefined>
  /** In the order asked; unknown ids are left out. */
  getMany<R extends AnyResource>(kind: R, extIds: readonly string[]): Promise<EntityOf<R>[]>
  find<R extends AnyResource>(kind: R, query?: Query): Promise<EntityOf<R>[]>
  /** Bounded, see there. @throws QueryStopped */
  page<R extends AnyResource>(kind: R, query: Query): Promise<Page<EntityOf<R>>>
  count(kind: AnyResource, query?: Query): Promise<number>
  /** The first entity whose fields equal these values (paths of columns). */
  findOne<R extends AnyResource>(kind: R, where: Readonly<Record<string, Scalar>>): Promise<EntityOf<R> | undefined>
  findWhere<R extends AnyResource>(kind: R, where: Readonly<Record<string, Scalar>>): Promise<EntityOf<R>[]>
  /** Costs what it returns, not what the table holds. */
  walk<R extends AnyResource>(kind: R, walk: Walk): Promise<EntityOf<R>[]>
  /** Also finds rows that are not published yet. */
  pending<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined>
  /** Who names this entity, by kind and id; published and pending rows alike unless told otherwise. */
  referrers(
    kind: string,
    extId: string,
    limit?: number,
    options?: { from?: string; publishedOnly?: boolean },
  ): Promise<readonly Referrer[]>
  /** How many entities name this one, by kind. Of a kind that is declared `counted` it costs the same however many. */
  referrerCounts(
    kind: string,
    extId: string,
    options?: { publishedOnly?: boolean },
  ): Promise<ReadonlyMap<string, number>>
}

export type Scalar = string | number | boolean | null

export interface Transaction extends Reader {
  /**
   * Stores a new entity. `pending`: its unique values and references are held, but nobody sees it before `publish`.
   * @throws UniqueViolation, TooManyReferrers
   */
  insert<R extends AnyResource>(kind: R, entity: EntityOf<R>, options?: { pending?: boolean }): Promise<EntityOf<R>>
  /** Makes a pending entity visible. */
  publish(kind: AnyResource, extId: string): Promise<void>
  /** Replaces an entity and raises its version. */
  replace<R extends AnyResource>(kind: R, entity: EntityOf<R>): Promise<EntityOf<R>>
  /** Merges these top-level fields (undefined removes) and raises the version. */
  update<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>>
  /** The same without raising the version: observations, counters, times of use. */
  observe<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>>
  /** Raises the version only: something that belongs to the entity changed. */
  touch(kind: AnyResource, extId: string): Promise<void>
  remove(kind: AnyResource, extId: string): Promise<void>
  /** Removes every row that matches; answers how many. */
  removeWhere(kind: AnyResource, filter: TypedFilter): Promise<number>
}

export interface Staged<T> {
  /** The end of `work`: transactions that begin later see what it wrote, readers do not yet. A throw rolled it back. */
  readonly applied: Promise<T>
  /** The commit. Rejected where that fails; what was refused needs none. */
  readonly durable: Promise<void>
}

/** A word that the store keeps, made where it is not there yet. */
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
  /** The same of very much, in a store that nobody else writes to: as little of it as can be is done at once. */
  bulkLoad<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /**
   * The same for one who does many things one after another and waits for the disk at the end: what is asked for between
   * `applied` and `durable` may share the commit, as long as nobody else waits for it.
   */
  stage<T>(work: (transaction: Transaction) => Promise<T>): Staged<T>
  /** Calls `changed` after each commit that may have written rows of these kinds; the answer ends that. */
  watch(kinds: readonly AnyResource[], changed: () => void): () => void
  meta(name: string): string | undefined
  setMeta(name: string, value: string): void
  /** All or none. */
  setMetas(values: Readonly<Record<string, string>>): void
  /**
   * Writes all that is committed to a new file, between two commits: writes wait, reads go on. `beside` is done in the moment that
   * is copied.
   */
  copyTo(file: string, beside?: () => void): Promise<void>
  /** Why the last write failed that the disk did not take; undefined: none did, or the disk takes writes again. */
  readonly fault: string | undefined
  /** The same, found out by a write where a write has failed. */
  findFault(): Promise<string | undefined>
  /** Gives up what is only kept to answer sooner. */
  releaseMemory(): void
  /** Bounded queries that still run are stopped. Without any, everything is closed when this returns. */
  close(): Promise<void>
}

/** Two entities may not share these values. */
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

/** A bounded query was given up: it ran too long, too many wait before it, or the store closes. */
export class QueryStopped extends Error {
  readonly why: 'too long' | 'busy' | 'closing'
  constructor(why: QueryStopped['why']) {
    super(`a query was stopped: ${why}`)
    this.why = why
  }
}

/** As many entities name this one as may. */
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

/** The entity vanished between the moment it was named and the moment it was written. */
export class RowMissing extends Error {
  constructor(kind: string, extId: string) {
    super(`no row ${extId} of ${kind}`)
  }
}

/** A commit that an earlier one has to precede: that one failed, so this one does not happen either. */
export class EarlierCommitFailed extends Error {
  constructor(options?: ErrorOptions) {
    super('an earlier commit failed, on which this one depends', options)
  }
}

/** The data file cannot be used as it is; the message says why, and what to do before the service starts. */
export class StoreRefusal extends Error {
  /** What is wrong. */
  readonly what: string
  /** The file is of no use: another takes its place. */
  readonly isDamage: boolean
  constructor(what: string, remedy: string, options: ErrorOptions & { readonly isDamage?: boolean } = {}) {
    super(`${what} ${remedy}`, options)
    this.what = what
    this.isDamage = options.isDamage === true
  }
}
