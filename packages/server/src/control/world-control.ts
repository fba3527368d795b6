/** The control interface of one world. Copies of the world lack its fault rules and journal; resets remove them. */
import { existsSync } from 'node:fs'
import { FaultRule } from '@hyperplane/contract/control/fault'
import { Refusal } from '../core/api-error.ts'
import type { FaultyWorld } from '../core/faults.ts'
import { type Dispatch, RefusedRequest } from '../core/pipeline/request.ts'
import type { CallRecorder } from '../core/recording/recording.ts'
import { removeStore } from '../data-folder/store-files.ts'
import type { Instance } from '../instance/instance.ts'
import { createStoreFile } from '../store/sqlite/new-store.ts'
import type { Table } from '../store/tables.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { WorldHooks } from '../worlds/world-hooks.ts'
import type { WorldDriver } from './context.ts'
import { WorldFaults } from './faults/faults-of-world.ts'
import { RuleBook, type StoredCounts } from './faults/rule-book.ts'
import type { Journal } from './journal/journals.ts'
import { createRecorder } from './journal/recorder.ts'
import { worldDomains, worldKinds } from './operations/index.ts'
import { loadJournalSettings } from './operations/journal.ts'
import { type ControlPipeline, type ControlShared, controlStoreFile, openControlPipeline } from './pipeline.ts'
import { orWorldUnusable, worldClosedError } from './world-errors.ts'

export interface WorldControlOptions {
  readonly shared: ControlShared
  readonly world: HostedWorld
  readonly tables: ReadonlyMap<string, Table>
  readonly origin: () => string
  readonly version: string
}

export class WorldControl implements WorldHooks {
  readonly #shared: ControlShared
  readonly #world: HostedWorld
  readonly #tables: ReadonlyMap<string, Table>
  readonly #folder: string
  readonly #file: string
  readonly #driver: WorldDriver
  readonly #rules: RuleBook
  #pipeline: Promise<ControlPipeline> | undefined
  #journal: Journal | undefined
  /** False until the stored settings are read: they may turn recording off, or keep more calls than the default. */
  #areSettingsKnown: boolean
  #faults: WorldFaults | undefined
  #isClosed = false
  #clearing: Promise<void> | undefined
  #closings = 0
  /** A reset waits for transactions of requests that wait for the instance, so these must be rejected. */
  readonly #abandonWaits = new Set<() => void>()
  readonly recorder: CallRecorder

  constructor({ shared, world, tables, origin, version }: WorldControlOptions) {
    this.#shared = shared
    this.#world = world
    this.#tables = tables
    this.#folder = world.config.data
    this.#file = controlStoreFile(this.#folder)
    this.#journal = shared.journals.of(this.#folder)
    this.#areSettingsKnown = !existsSync(this.#file)
    this.#rules = new RuleBook({ log: shared.log, saveCounts: (counts) => this.#saveCounts(counts) })
    const openJournal = (): Journal => this.#openJournal()
    this.#driver = {
      world,
      version,
      get origin() {
        return origin()
      },
      instance: () => this.#instance(),
      faults: this.#rules,
      get journal() {
        return openJournal()
      },
    }
    this.recorder = createRecorder({
      ...shared.recording,
      journal: () => this.#journal,
      areSettingsKnown: () => this.#areSettingsKnown,
      now: world.now,
    })
  }

  get isKept(): boolean {
    return this.#pipeline !== undefined || existsSync(this.#file)
  }

  readonly dispatch: Dispatch = async (request) => {
    await this.#clearing?.catch(() => undefined)
    const before = this.#closings
    try {
      return await (await this.#open()).dispatch(request)
    } catch (error) {
      const isRefusal = error instanceof RefusedRequest && error.refusal instanceof Refusal
      if (isRefusal || this.#closings === before) throw error
      // The store was closed during the request: whatever failed, the client may try again.
      throw new RefusedRequest(worldClosedError(this.#world.name), undefined, undefined, {})
    }
  }

  async opening(): Promise<void> {
    if (existsSync(this.#file)) await this.#open()
  }

  readonly faultsOf = (world: FaultyWorld): WorldFaults => (this.#faults = new WorldFaults(this.#rules, world))

  release(): void {
    this.#closings++
    this.#faults?.release()
  }

  resume(): void {
    this.#faults?.resume()
  }

  clear(): Promise<void> {
    this.#closings++
    const clearing = this.#removeStored().finally(() => {
      this.#clearing = undefined
    })
    this.#clearing = clearing
    for (const abandon of this.#abandonWaits) abandon()
    return clearing
  }

  async close(): Promise<void> {
    this.#closings++
    this.#isClosed = true
    await this.#closePipeline('close')
    this.#journal = undefined
    await this.#shared.journals.closeJournal(this.#folder)
  }

  #open(): Promise<ControlPipeline> {
    if (this.#isClosed) return Promise.reject(worldClosedError(this.#world.name))
    // A failed opening is forgotten: the next request tries again.
    this.#pipeline ??= this.#openPipeline().catch((error) => {
      this.#pipeline = undefined
      throw error
    })
    return this.#pipeline
  }

  async #openPipeline(): Promise<ControlPipeline> {
    // Opening would make all tables of a new file in one turn of the event loop.
    if (!existsSync(this.#file)) await createStoreFile(this.#file, this.#tables)
    const opened = openControlPipeline({
      shared: this.#shared,
      file: this.#file,
      tables: this.#tables,
      kinds: worldKinds,
      domains: worldDomains,
      drivers: this.#driver,
      tagsFrom: () => this.#world,
    })
    try {
      this.#journal?.configure(await loadJournalSettings(opened.store))
      this.#areSettingsKnown = true
      this.#rules.load(await opened.store.find(FaultRule))
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  async #closePipeline(how: 'close' | 'end'): Promise<void> {
    await this.#rules.countsWritten()
    const pipeline = this.#pipeline
    this.#pipeline = undefined
    await (await pipeline?.catch(() => undefined))?.[how]()
  }

  async #removeStored(): Promise<void> {
    await this.#closePipeline('end')
    this.#rules.load([])
    removeStore(this.#file)
    try {
      await this.#shared.journals.remove(this.#folder)
    } finally {
      // The old journal takes no more calls, even if its files could not be removed.
      this.#journal = this.#shared.journals.of(this.#folder)
      this.#areSettingsKnown = true
    }
  }

  async #saveCounts(counts: readonly StoredCounts[]): Promise<void> {
    const { store } = (await this.#pipeline) ?? {}
    await store?.transaction(async (transaction) => {
      for (const { extId, ...values } of counts)
        if (await transaction.has(FaultRule, extId)) await transaction.observe(FaultRule, extId, values)
    })
  }

  #openJournal(): Journal {
    if (this.#journal === undefined) throw worldClosedError(this.#world.name)
    return this.#journal
  }

  async #instance(): Promise<Instance> {
    const abandoned = Promise.withResolvers<never>()
    const abandon = () => abandoned.reject(worldClosedError(this.#world.name))
    if (this.#clearing !== undefined) abandon()
    this.#abandonWaits.add(abandon)
    try {
      return await orWorldUnusable(this.#world.name, () => Promise.race([abandoned.promise, this.#world.instance()]))
    } finally {
      this.#abandonWaits.delete(abandon)
    }
  }
}
