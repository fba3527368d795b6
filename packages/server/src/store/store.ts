/** Implementations pass the same conformance suite. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import type { TypedFilter, TypedOrderby } from '../odata/index.ts'

export interface Row<T> {
  readonly entity: T
  /** Rises with every accepted mutation; the entity tag derives from it. */
  readonly version: number
  readonly sequence: number
}

export interface Query {
  readonly filter?: TypedFilter
  readonly scope?: TypedFilter
  readonly refersTo?: { readonly kind: string; readonly extId: string }
  readonly orderby?: readonly TypedOrderby[]
  readonly newestFirst?: boolean
  readonly offset?: number
  readonly limit?: number
  /** For queries of clients. Pages are always limited; queries inside a transaction never. @throws QueryStopped */
  readonly isBounded?: boolean
  readonly explained?: (plan: QueryPlan) => void
}

export interface QueryPlan {
  /** Absent: all rows are scanned. */
  readonly index?: string
  readonly sought: readonly string[]
  readonly isSorted: boolean
}

/** Rows in the order of one column, between two values, both included. */
export interface Walk {
  readonly where: Readonly<Record<string, Scalar>>
  /** Needs a unique rule with the columns of `where`, then this one, as its index. */
  readonly by: string
  readonly from?: Scalar
  readonly to?: Scalar
  readonly descending?: boolean
  readonly limit?: number
}

export interface SumQuery {
  readonly where: Readonly<Record<string, Scalar>>
  readonly by: readonly string[]
  readonly of: readonly string[]
}

export interface GroupSum {
  readonly by: readonly Scalar[]
  readonly sums: readonly number[]
}

export interface Page<T> {
  readonly entities: readonly T[]
  readonly total: number
}

export interface Referrer {
  readonly kind: string
  readonly extId: string
  readonly path: string
}

/** Reads see committed, published rows; inside a transaction also its own writes. */
export interface Reader {
  readonly kinds: readonly AnyResource[]
  get<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined>
  /** Reads no document: cheaper than `get` in a transaction. */
  has(kind: AnyResource, extId: string): Promise<boolean>
  row<R extends AnyResource>(kind: R, extId: string): Promise<Row<EntityOf<R>> | undefined>
  /** In the order of `extIds`; unknown ids are left out. */
  getMany<R extends AnyResource>(kind: R, extIds: readonly string[]): Promise<EntityOf<R>[]>
  find<R extends AnyResource>(kind: R, query?: Query): Promise<EntityOf<R>[]>
  /** For thousands of rows: some at a time, with turns of the event loop between. A row that changes meanwhile is seen at most once. */
  findInParts<R extends AnyResource>(kind: R, query: Pick<Query, 'filter'>): AsyncIterable<EntityOf<R>[]>
  /** Always bounded, see `Query`. @throws QueryStopped */
  page<R extends AnyResource>(kind: R, query: Query): Promise<Page<EntityOf<R>>>
  count(kind: AnyResource, query?: Query): Promise<number>
  findOne<R extends AnyResource>(kind: R, where: Readonly<Record<string, Scalar>>): Promise<EntityOf<R> | undefined>
  findWhere<R extends AnyResource>(kind: R, where: Readonly<Record<string, Scalar>>): Promise<EntityOf<R>[]>
  /** Costs what it returns, not what the table holds. */
  walk<R extends AnyResource>(kind: R, walk: Walk): Promise<EntityOf<R>[]>
  /** For each group of rows with equal `by`, pending rows included; booleans are 0 and 1. Fast for kinds that declare these as `summed`. */
  sums(kind: AnyResource, query: SumQuery): Promise<readonly GroupSum[]>
  /** Also finds rows that are not published yet. */
  pending<R extends AnyResource>(kind: R, extId: string): Promise<EntityOf<R> | undefined>
  /** Ordered by kind and id; including pending rows unless `publishedOnly`. */
  referrers(
    kind: string,
    extId: string,
    limit?: number,
    options?: { from?: string; publishedOnly?: boolean },
  ): Promise<readonly Referrer[]>
  /** Constant cost for kinds declared `counted`. */
  referrerCounts(
    kind: string,
    extId: string,
    options?: { publishedOnly?: boolean },
  ): Promise<ReadonlyMap<string, number>>
}

export type Scalar = string | number | boolean | null

export interface Transaction extends Reader {
  /** `pending`: reserves unique values, invisible until `publish`. @throws UniqueViolation, TooManyReferrers */
  insert<R extends AnyResource>(kind: R, entity: EntityOf<R>, options?: { pending?: boolean }): Promise<EntityOf<R>>
  publish(kind: AnyResource, extId: string): Promise<void>
  replace<R extends AnyResource>(kind: R, entity: EntityOf<R>): Promise<EntityOf<R>>
  /** Merges top-level fields (undefined removes) and raises the version. */
  update<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>>
  /** Keeps the version: for observations, counters, times of use. */
  observe<R extends AnyResource>(kind: R, extId: string, changes: Partial<EntityOf<R>>): Promise<EntityOf<R>>
  /** Raises the version, because something that belongs to the entity changed. */
  touch(kind: AnyResource, extId: string): Promise<void>
  remove(kind: AnyResource, extId: string): Promise<void>
  removeWhere(kind: AnyResource, filter: TypedFilter): Promise<number>
}

export interface Staged<T> {
  /** Later transactions see the writes, readers do not yet. Rejected: rolled back. */
  readonly applied: Promise<T>
  /** The commit. Refused work needs none. */
  readonly durable: Promise<void>
}

export function metaOrCreate(store: Pick<Store, 'meta' | 'setMeta'>, name: string, make: () => string): string {
  const stored = store.meta(name)
  if (stored !== undefined) return stored
  const created = make()
  store.setMeta(name, created)
  return created
}

export interface Store extends Reader {
  /** Durable when resolved; a throw rolls back. `work` only awaits its transaction: all other writes wait for it. */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** For a store without other users, which is created again if the process ends meanwhile. */
  bulkLoad<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** For many writes in a row: those between `applied` and `durable` may share a commit. */
  stage<T>(work: (transaction: Transaction) => Promise<T>): Staged<T>
  /** Called after each commit that may have written such rows. Returns the unsubscribe function. */
  watch(kinds: readonly AnyResource[], changed: () => void): () => void
  meta(name: string): string | undefined
  setMeta(name: string, value: string): void
  setMetas(values: Readonly<Record<string, string>>): void
  /** Between two commits: writes wait, reads continue. `beside` runs at the moment that is copied. */
  copyTo(file: string, beside?: () => void): Promise<void>
  /** Ended transactions, committed or not: earlier reads stay true until the number changes. */
  readonly transactions: number
  /** undefined: the disk accepts writes. */
  readonly fault: string | undefined
  /** As `fault`; tries a write if there was one. */
  findFault(): Promise<string | undefined>
  releaseMemory(): void
  /** Stops bounded queries. Without any, everything is closed when this returns. */
  close(): Promise<void>
}

export class UniqueViolation extends Error {
  readonly kind: string
  readonly fields: readonly string[]
  readonly error: string | undefined
  constructor(kind: string, fields: readonly string[], error: string | undefined) {
    super(`unique values of ${kind}: ${fields.join(', ')}`)
    this.kind = kind
    this.fields = fields
    this.error = error
  }
}

export class QueryStopped extends Error {
  readonly why: 'too long' | 'busy' | 'closing'
  constructor(why: QueryStopped['why']) {
    super(`a query was stopped: ${why}`)
    this.why = why
  }
}

export class TooManyReferrers extends Error {
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

export class RowMissing extends Error {
  constructor(kind: string, extId: string) {
    super(`no row ${extId} of ${kind}`)
  }
}

export class EarlierCommitFailed extends Error {
  constructor(options?: ErrorOptions) {
    super('an earlier commit failed, on which this one depends', options)
  }
}

export class StoreRefusal extends Error {
  readonly what: string
  /** A backup must replace the file. */
  readonly isDamage: boolean
  constructor(what: string, remedy: string, options: ErrorOptions & { readonly isDamage?: boolean } = {}) {
    super(`${what} ${remedy}`, options)
    this.what = what
    this.isDamage = options.isDamage === true
  }
}
