/** One SQLite file (WAL): one writer with group commit, one connection for readers, a thread for slow queries. */
import type { DatabaseSync } from 'node:sqlite'
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { LRUCache } from 'lru-cache'
import { diskFault } from '../disk-fault.ts'
import { flushFile } from '../flush.ts'
import { markLoaded, markLoading } from '../loading-mark.ts'
import { hashOf, ReadBefore } from '../read-before.ts'
import type { Page, Query, Staged, Store, Transaction } from '../store.ts'
import type { Table } from '../tables.ts'
import { checkpointWal } from './checkpoint-wal.ts'
import { copyDatabase } from './copy.ts'
import type { FoundPage, PageQuery } from './page-query.ts'
import { parseDocument } from './parsed-documents.ts'
import { type FoundRow, SqliteReader } from './reader.ts'
import { cacheSize, connect, migrate, synchronous } from './schema.ts'
import { SlowQueries } from './slow-queries.ts'
import { TimeIsUp, TimeLimit } from './time-limit.ts'
import { type Seal, SqliteWriter } from './writer.ts'

const commitGroup = 128
/** Others wait while staged work, which arrives one by one, extends a commit. */
const stagedGroup = 16

export interface SqliteStoreOptions {
  readonly file: string
  readonly tables: ReadonlyMap<string, Table>
  readonly seal: Seal
  readonly durable: boolean
  readonly queryTime?: QueryTime
  /** Written with each commit, if changed. */
  readonly notesOfCommit?: () => Readonly<Record<string, string>> | undefined
  readonly isOwn?: boolean
  readonly maximumReferrers?: Readonly<Record<string, number>>
}

/** Milliseconds, for one bounded query. */
export interface QueryTime {
  /** Processor time after which the main thread stops a query; the thread for slow queries then runs it from the beginning. */
  readonly mainThread: number
  /** Real time after which the thread for slow queries refuses the query. */
  readonly ownThread: number
}

/** Source: conventions 10.3 (5 s). */
const defaultQueryTime: QueryTime = { mainThread: 20, ownThread: 5000 }

/** @throws StoreRefusal when the file is damaged, newer than this version, or cannot be opened. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const timeLimit = new TimeLimit()
  const writer = connect(options.file, { durable: options.durable, timeLimit })
  try {
    migrate(writer, options.tables, options)
    return new SqliteStore(writer, options, timeLimit)
  } catch (error) {
    writer.close()
    throw error
  }
}

/** A commit writes all changed pages of the cache, without a pause: this many take a few milliseconds. */
const loadingKibibytes = 4096

/** Entries of each cache; longer documents are not cached. */
const maximumCached = 2000
const maximumCachedLength = 8192

/** UTF-16 units: of all cached results, and of one. */
const maximumResults = 2 * 1024 * 1024
const maximumResult = 1024 * 1024

function cache<T>(entries: Map<string, T>, key: string, value: T): void {
  if (entries.size >= maximumCached) entries.clear()
  entries.set(key, value)
}

const sizeOf = ({ documents }: FoundPage, key: string): number =>
  documents.reduce((sum, { length }) => sum + length, key.length)

interface Job {
  readonly work: (transaction: Transaction) => Promise<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
  applied?(result: Promise<unknown>): void
}

class SqliteStore extends SqliteReader implements Store {
  /** Since the last commit, so unchanged. Read synchronously, so that no commit comes between reading and caching. */
  readonly #rows = new Map<string, FoundRow>()
  readonly #counts = new Map<string, ReadonlyMap<string, number>>()
  /** For clients that poll. Results of a kind that has changed since are never found again. */
  readonly #results = new LRUCache<string, FoundPage>({
    maxSize: maximumResults,
    maxEntrySize: maximumResult,
    sizeCalculation: sizeOf,
  })
  readonly #readBefore = new ReadBefore(maximumResults)
  readonly #changes = new Map<string, number>()
  readonly #writerDatabase: DatabaseSync
  readonly #writer: SqliteWriter
  readonly #queue: Job[] = []
  readonly #betweenCommits: (() => void | Promise<void>)[] = []
  readonly #watchers = new Set<{ readonly kinds: ReadonlySet<string>; readonly changed: () => void }>()
  #running = false
  #transactions = 0
  #fault: string | undefined
  readonly #file: string
  readonly #isDurable: boolean
  readonly #alongside: SqliteStoreOptions['notesOfCommit']
  readonly #timeLimit: TimeLimit
  readonly #queryTime: QueryTime
  readonly #slowQueries: SlowQueries
  readonly #slowTexts = new Map<string, true>()

  constructor(writer: DatabaseSync, options: SqliteStoreOptions, timeLimit: TimeLimit) {
    super(connect(options.file, { readOnly: true, timeLimit }), options.tables)
    this.#writerDatabase = writer
    this.#writer = new SqliteWriter(writer, options.tables, options.seal, options.maximumReferrers)
    this.#file = options.file
    this.#isDurable = options.durable
    this.#alongside = options.notesOfCommit
    this.#timeLimit = timeLimit
    this.#queryTime = options.queryTime ?? defaultQueryTime
    this.#slowQueries = new SlowQueries({ file: options.file, limitMilliseconds: this.#queryTime.ownThread })
  }

  override async page<R extends AnyResource>(kind: R, query: Query): Promise<Page<EntityOf<R>>> {
    const { documents, total } = await this.#bounded(this.pageQuery(kind, query))
    return { entities: documents.map(parseDocument<EntityOf<R>>), total }
  }

  override async find<R extends AnyResource>(kind: R, query: Query = {}): Promise<EntityOf<R>[]> {
    if (query.isBounded !== true) return super.find(kind, query)
    const { count: _, ...withoutCount } = this.pageQuery(kind, query)
    return (await this.#bounded(withoutCount)).documents.map(parseDocument<EntityOf<R>>)
  }

  /** Slow queries are detected by running them; the same text goes to the thread directly, until it is quick. */
  async #bounded(query: PageQuery): Promise<FoundPage> {
    const text = `${query.count?.text} ${query.select.text}`
    if (!this.#slowTexts.has(text)) {
      try {
        return this.#timeLimit.withinProcessorTime(this.#queryTime.mainThread, () => this.readPage(query))
      } catch (error) {
        if (!(error instanceof TimeIsUp)) throw error
        cache(this.#slowTexts, text, true)
      }
    }
    const { page, milliseconds } = await this.#slowQueries.run(query)
    if (milliseconds < this.#queryTime.mainThread / 2) this.#slowTexts.delete(text)
    return page
  }

  protected override readPage(query: PageQuery): FoundPage {
    const { kind, select, count, offset, limit } = query
    const statement = `${select.text} ${JSON.stringify([select.parameters, count?.parameters, offset, limit])}`
    const key = `${this.#changes.get(kind)} ${statement}`
    const cached = this.#results.get(key)
    if (cached !== undefined) return cached
    const page = super.readPage(query)
    if (this.#readBefore.note(hashOf(statement), sizeOf(page, key))) this.#results.set(key, page)
    return page
  }

  #forgetReads(): void {
    this.#rows.clear()
    this.#counts.clear()
  }

  protected override storedRow(table: Table, extId: string): FoundRow | undefined {
    const key = `${table.name} ${extId}`
    const cached = this.#rows.get(key)
    if (cached !== undefined) return cached
    const found = super.storedRow(table, extId)
    if (found !== undefined && found.document.length <= maximumCachedLength) cache(this.#rows, key, found)
    return found
  }

  protected override countedReferrers(
    kind: string,
    extId: string,
    publishedOnly: boolean,
  ): ReadonlyMap<string, number> {
    const key = `${kind} ${extId} ${publishedOnly}`
    let counts = this.#counts.get(key)
    if (counts === undefined) {
      counts = super.countedReferrers(kind, extId, publishedOnly)
      cache(this.#counts, key, counts)
    }
    return counts
  }

  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => this.#enqueue({ work, resolve, reject }))
  }

  stage<T>(work: (transaction: Transaction) => Promise<T>): Staged<T> {
    const applied = Promise.withResolvers<T>()
    const durable = new Promise<void>((resolve, reject) =>
      this.#enqueue({
        work,
        applied: (result) => applied.resolve(result as Promise<T>),
        resolve: () => resolve(),
        reject: (error) => {
          // If the transaction failed before `work` ran, `applied` must reject too; otherwise it is settled already.
          applied.reject(error)
          reject(error)
        },
      }),
    )
    return { applied: applied.promise, durable }
  }

  /**
   * Without the write-ahead log: its commit would compute the checksums of pages that were written twice again, for tens of milliseconds. Only
   * the sole connection can leave the log, so readers use the writer's meanwhile. After a failure the mark stays: the store is to be made again.
   */
  async bulkLoad<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    await markLoading(this.#file)
    const database = this.#writerDatabase
    this.database.close()
    this.readFrom(database)
    try {
      database.exec(`PRAGMA journal_mode = DELETE; ${cacheSize(loadingKibibytes)}; ${synchronous(false)}`)
      const result = await this.transaction(work)
      // Before the log is in use: closing another descriptor of the file releases the locks that SQLite holds then.
      if (this.#isDurable) await flushFile(this.#file)
      this.#endLoad()
      await markLoaded(this.#file)
      return result
    } catch (error) {
      try {
        this.#endLoad()
      } catch {
        // The first error says why.
      }
      throw error
    }
  }

  #endLoad(): void {
    if (this.database !== this.#writerDatabase) return
    this.#writerDatabase.exec(`${synchronous(this.#isDurable)}; PRAGMA journal_mode = WAL; ${cacheSize()}`)
    // The first read opens the log. SQLite may refuse a checkpoint before it: "database table is locked".
    this.meta('seeded')
    this.readFrom(connect(this.#file, { readOnly: true, timeLimit: this.#timeLimit }))
    this.#forgetReads()
    this.#results.clear()
  }

  async copyTo(file: string, beside?: () => void): Promise<void> {
    await checkpointWal(this.#file)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#betweenCommits.push(async () => {
      try {
        await copyDatabase(this.#writerDatabase, file, beside)
        resolve()
      } catch (error) {
        reject(error)
      }
    })
    this.#begin()
    return promise
  }

  #enqueue(job: Job): void {
    this.#queue.push(job)
    this.#begin()
  }

  #begin(): void {
    if (this.#running) return
    this.#running = true
    // Requests of the same turn of the event loop share the commit.
    setImmediate(() => void this.#drain())
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0 || this.#betweenCommits.length > 0) {
      for (const work of this.#betweenCommits.splice(0)) await work()
      if (this.#queue.length > 0) await this.#commit(this.#queue.splice(0, commitGroup))
      // Yield to the event loop between commits, or a caller that keeps queueing writes (a batch) starves socket I/O.
      await new Promise(setImmediate)
    }
    this.#running = false
  }

  /** A savepoint for each job; results are sent only after the commit. Never throws. */
  async #commit(jobs: Job[]): Promise<void> {
    const database = this.#writerDatabase
    const settle: (() => void)[] = []
    try {
      database.exec('BEGIN IMMEDIATE')
      for (const job of jobs) {
        database.exec('SAVEPOINT job')
        const { applied } = job
        try {
          const value = await job.work(this.#writer)
          applied?.(Promise.resolve(value))
          settle.push(() => job.resolve(value))
        } catch (error) {
          this.#noteFault(error)
          // On a full disk SQLite may roll the whole transaction back: the savepoint is lost, and all jobs with it.
          if (!database.isTransaction) throw error
          database.exec('ROLLBACK TO job')
          applied?.(Promise.reject(error))
          settle.push(() => (applied === undefined ? job.reject(error) : job.resolve(undefined)))
        }
        database.exec('RELEASE job')
        if (job === jobs.at(-1) && jobs.length < stagedGroup && jobs.every((each) => each.applied !== undefined))
          jobs.push(...(await this.#nextStaged()))
      }
      const notes = this.#alongside?.()
      if (notes !== undefined) this.setMetas(notes)
      database.exec('COMMIT')
      this.#transactions++
      this.#forgetReads()
      for (const kind of this.#writer.changed) this.#changes.set(kind, (this.#changes.get(kind) ?? 0) + 1)
      this.#notifyWatchers()
    } catch (error) {
      this.#noteFault(error)
      this.#rollBack()
      this.#transactions++
      for (const job of jobs) job.reject(error)
      return
    }
    for (const answer of settle) answer()
  }

  get transactions(): number {
    return this.#transactions
  }

  get fault(): string | undefined {
    return this.#fault
  }

  #noteFault(error: unknown): void {
    this.#fault = diskFault(error) ?? this.#fault
  }

  async findFault(): Promise<string | undefined> {
    if (this.#fault === undefined) return undefined
    try {
      // As large as a few requests: a disk with a single free page would be full again at once.
      await this.transaction(async () => this.setMeta('room', '.'.repeat(64 * 1024)))
      this.#fault = undefined
      await this.transaction(async () => this.setMeta('room', ''))
    } catch (error) {
      this.#noteFault(error)
    }
    return this.#fault
  }

  /** Resolves when work that was queued in reaction to the last result has arrived. */
  async #nextStaged(): Promise<Job[]> {
    await new Promise<void>((resolve) => process.nextTick(resolve))
    return this.#queue.splice(0, stagedGroup)
  }

  /** Never throws: all callers get their error, and the next transaction begins. */
  #rollBack(): void {
    const database = this.#writerDatabase
    try {
      // SQLite may have rolled back itself (a full disk).
      if (database.isOpen && database.isTransaction) database.exec('ROLLBACK')
    } catch {
      // An open transaction makes the next BEGIN fail, which is reported.
    }
  }

  watch(kinds: readonly AnyResource[], changed: () => void): () => void {
    const watcher = { kinds: new Set<string>(kinds.map(({ kind }) => kind)), changed }
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  #notifyWatchers(): void {
    const { changed } = this.#writer
    for (const watcher of this.#watchers) if ([...changed].some((kind) => watcher.kinds.has(kind))) watcher.changed()
    changed.clear()
  }

  meta(name: string): string | undefined {
    return (
      this.#writerDatabase.prepare('SELECT value FROM meta WHERE name = ?').get(name) as { value: string } | undefined
    )?.value
  }

  setMeta(name: string, value: string): void {
    this.setMetas({ [name]: value })
  }

  setMetas(values: Readonly<Record<string, string>>): void {
    const rows = Object.entries(values)
    const places = rows.map(() => '(?, ?)').join(', ')
    this.#writerDatabase.prepare(`INSERT OR REPLACE INTO meta VALUES ${places}`).run(...rows.flat())
  }

  releaseMemory(): void {
    this.#forgetReads()
    this.#results.clear()
    this.database.exec('PRAGMA shrink_memory')
    this.#betweenCommits.push(() => this.#writerDatabase.exec('PRAGMA shrink_memory'))
    this.#begin()
  }

  async close(): Promise<void> {
    // Before the writer's connection: the last connection to close checkpoints the file, which only the writer can do.
    await this.#slowQueries.close()
    if (this.database !== this.#writerDatabase) this.database.close()
    this.#writerDatabase.close()
  }
}
