/** A gate in front of an instance, which is closed and opened again for a rest, a reset or a restore. */

import { mkdirSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { ApiError } from '../core/api-error.ts'
import { createGate } from '../core/concurrency/gate.ts'
import { type ApiRequest, type Dispatch, RefusedRequest } from '../core/pipeline/request.ts'
import type { Restores } from '../core/ports.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { type ClockState, realClock } from '../core/time/clock.ts'
import { type Disk, diskOf } from '../data-folder/disk.ts'
import {
  hasStore,
  removeStoreOffThread,
  restorePrevious,
  storeFiles,
  swapStoreFiles,
} from '../data-folder/store-files.ts'
import { canonicalNames } from '../http/profiles/names.ts'
import { type Instance, openInstance } from '../instance/instance.ts'
import type { InstanceOptions } from '../instance/options.ts'
import { diskFault } from '../store/disk-fault.ts'
import { makeFoldersPrivate } from '../store/private-files.ts'
import { StoreRefusal } from '../store/store.ts'
import { isBeingSeeded, lostStore, markBeingSeeded, markSeeded } from './seeding-mark.ts'
import { unusableBecause } from './unusable.ts'
import { WorldFiles } from './world-files.ts'
import type { WorldHooks } from './world-hooks.ts'

export interface WorldOptions
  extends Pick<
    InstanceOptions,
    'config' | 'options' | 'folder' | 'shared' | 'log' | 'adminPasswordHash' | 'serviceTls'
  > {
  readonly name: string
  readonly localUrl: () => string
  readonly onOpen: (world: HostedWorld) => Promise<void>
  /** Copied from an open store: not checked for damage. */
  readonly isCopy?: boolean
  readonly isNew?: boolean
  readonly controlOf: (world: HostedWorld) => WorldHooks | undefined
  /** The world `default`, which judges credentials while this one cannot; undefined: this is `default`. */
  readonly home?: Dispatch
}

export type WorldState = { readonly is: 'OPEN' | 'RESTING' } | { readonly is: 'FAILED'; readonly fault: string }

export interface HostedWorld {
  readonly name: string
  readonly config: Config
  readonly state: WorldState
  readonly dispatch: Dispatch
  /** undefined while the world rests, has failed or is being replaced. */
  readonly current: Instance | undefined
  /** @throws StartRefusal, StoreRefusal */
  instance(): Promise<Instance>
  /** The machine's time while the world rests. */
  readonly now: () => number
  reset(): Promise<void>
  /** Between two commits, durable; the copy's baseline too. */
  copyTo(folder: string): Promise<void>
  /** Frees memory if no request came since the previous call. */
  relaxUnlessUsed(): void
  rest(): Promise<void>
  end(): Promise<void>
  /** Tasks resume in the next process. */
  close(): Promise<void>
}

export const createWorld = (options: WorldOptions): HostedWorld => new World(options)

class World implements HostedWorld {
  readonly name: string
  readonly config: Config
  readonly #options: WorldOptions
  readonly #disk: Disk
  readonly #stores: ReturnType<typeof storeFiles>
  readonly #files: WorldFiles
  readonly #gate = createGate(canonicalNames)
  #instance: Instance | undefined
  #opening: Promise<Instance> | undefined
  #fault: string | undefined
  #clockState: ClockState | undefined
  #wasOpen: boolean
  #isNew: boolean
  #isClosing = false
  #adminPasswordHash: string | undefined
  /** Counted in calls of `relaxUnlessUsed`; `never`: memory is free already. */
  #lastUse: 'since' | 'before' | 'never' = 'never'
  /** Changes (reset, rest, restore, copy) run one after another. */
  #lastChange: Promise<unknown> = Promise.resolve()
  #pendingChanges = 0

  constructor(options: WorldOptions) {
    const { name, config, log } = options
    this.name = name
    this.config = config
    this.#options = options
    this.#disk = diskOf(options.options)
    this.#stores = storeFiles(config.data)
    this.#files = new WorldFiles({ folder: config.data, name, disk: this.#disk, log })
    this.#wasOpen = options.isCopy === true
    this.#isNew = options.isNew === true
    this.#adminPasswordHash = options.adminPasswordHash
  }

  get state(): WorldState {
    if (this.#fault !== undefined) return { is: 'FAILED', fault: this.#fault }
    return { is: this.#instance === undefined ? 'RESTING' : 'OPEN' }
  }

  get current(): Instance | undefined {
    return this.#instance
  }

  readonly now = (): number => (this.#instance?.clock ?? this.#options.options.realClock ?? realClock).now()

  readonly dispatch: Dispatch = (request) => {
    const { home } = this.#options
    const isResting = this.#instance === undefined && this.#opening === undefined
    // A request without credentials opens no world: the time that takes would reveal that it exists.
    if (isResting && home !== undefined && !hasCredentials(request))
      return home({ ...request, misdirected: new ApiError('AUTHENTICATION_REQUIRED') })
    this.#lastUse = 'since'
    if (isResting && !this.#isClosing) void this.instance().catch(() => undefined)
    return this.#gate.dispatch(request)
  }

  /** Waits for changes, because a change opens the instance itself. */
  async instance(): Promise<Instance> {
    while (this.#pendingChanges > 0) await this.#lastChange
    if (this.#isClosing) throw new ApiError('SERVICE_UNAVAILABLE', { fault: `The world ${this.name} is being closed.` })
    return this.#begin()
  }

  reset(): Promise<void> {
    return this.#change(() => this.#resetToBaseline())
  }

  copyTo(folder: string): Promise<void> {
    return this.#change(async () => this.#files.copyTo(folder, (await this.#begin()).store))
  }

  relaxUnlessUsed(): void {
    if (this.#lastUse === 'since') this.#lastUse = 'before'
    else if (this.#lastUse === 'before') {
      this.#lastUse = 'never'
      this.#instance?.store.releaseMemory()
    }
  }

  rest(): Promise<void> {
    return this.#change(() => this.#closeInstance())
  }

  async end(): Promise<void> {
    this.#isClosing = true
    await this.#change(() => this.#closeInstance())
    const removed = { kind: 'world', id: this.name, attribute: 'X-World, host' }
    this.#gate.open((request) => this.#misdirected(request, new ApiError('WORLD_NOT_FOUND', removed)))
    await this.close()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    const closed = this.#pendingChanges === 0 ? this.#instance : undefined
    await closed?.close()
    await this.#lastChange
    const open = await this.#opening?.catch(() => undefined)
    if (open !== closed) await open?.close()
    await this.#hooks()?.close()
    await this.#files.removed()
  }

  #hooks(): WorldHooks | undefined {
    return this.#options.controlOf(this)
  }

  /** Only administrators see the refusal; without `default` nobody can be identified, so everybody does. */
  #misdirected(request: ApiRequest, refusal: ApiError): ReturnType<Dispatch> {
    const { home } = this.#options
    return home === undefined
      ? Promise.reject(new RefusedRequest(refusal, undefined, undefined, {}))
      : home({ ...request, misdirected: refusal })
  }

  /** After a failure the next caller tries again. */
  #begin(): Promise<Instance> {
    this.#opening ??= this.#open().then(
      (instance) => {
        this.#fault = undefined
        this.#gate.open(instance.dispatch)
        return instance
      },
      (error: Error) => {
        this.#refuseBecause(error)
        throw error
      },
    )
    return this.#opening
  }

  #refuseBecause(error: Error): void {
    const { name } = this
    this.#opening = undefined
    this.#fault = unusableBecause(error)
    const isRefusal = error instanceof StartRefusal || error instanceof StoreRefusal || diskFault(error) !== undefined
    if (!isRefusal) this.#options.log.error({ err: error, world: name }, 'a world does not open')
    this.#gate.open((request) =>
      this.#misdirected(request, new ApiError('WORLD_UNUSABLE', { name, fault: this.#fault ?? '' })),
    )
  }

  async #open(): Promise<Instance> {
    const { config } = this
    const hooks = this.#hooks()
    if (!hasStore(this.#stores.first)) await this.#prepareNewStore(hooks)
    if (!this.#wasOpen) makeFoldersPrivate(config.data)
    await hooks?.opening()
    const opened = await openInstance({
      ...this.#options,
      adminPasswordHash: this.#adminPasswordHash,
      exchange: this.#exchange,
      recorder: hooks?.recorder,
      faults: hooks === undefined ? undefined : (world) => hooks.faultsOf(world),
      isOwn: this.#wasOpen,
      clockState: this.#clockState,
      // Only the control interface can reset a world.
      whenNew: async (store) => (config.control === 'off' ? undefined : this.#files.keepBaseline(store)),
    })
    try {
      markSeeded(config.data)
      this.#isNew = false
      this.#wasOpen = true
      this.#lastUse = 'since'
      this.#instance = opened
      await this.#options.onOpen(this)
      await removeStoreOffThread(this.#stores.kept)
    } catch (error) {
      // Two instances must not share one store file.
      this.#instance = undefined
      await opened.close()
      throw error
    }
    return opened
  }

  /** Also after an interrupted first start or reset. @throws StoreRefusal for a lost store */
  async #prepareNewStore(hooks: WorldHooks | undefined): Promise<void> {
    const { data } = this.config
    if (this.#isNew) markBeingSeeded(data)
    else if (!isBeingSeeded(data)) throw lostStore(data, this.name === 'default')
    // Fault rules and journals of the interrupted state do not belong to the next one.
    await hooks?.clear()
    await removeStoreOffThread(this.#stores.first)
    await this.#files.copyBaseline()
    await this.#files.installBaseline()
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    this.#pendingChanges++
    const done = this.#lastChange.then(work, work)
    const ended = (): void => {
      this.#pendingChanges--
    }
    this.#lastChange = done.then(ended, ended)
    return done
  }

  async #closeInstance(): Promise<void> {
    // An opening lets waiting requests in when it ends, so it ends before the gate is held.
    const open = await this.#opening?.catch(() => undefined)
    const held = this.#gate.hold()
    this.#hooks()?.release()
    await held
    this.#opening = undefined
    this.#instance = undefined
    if (open === undefined) return
    this.#clockState = open.clock.state()
    await open.close()
  }

  async #resetToBaseline(): Promise<void> {
    const { data } = this.config
    // Without a baseline the seed is applied again: keep the admin password.
    this.#adminPasswordHash ??= await (await this.#begin().catch(() => undefined))?.adminPasswordHash()
    // During the running requests; the state is discarded only when the copy is durable.
    const copied = this.#files.copyBaseline()
    copied.catch(() => undefined)
    await this.#closeInstance()
    try {
      await copied
      mkdirSync(data, { recursive: true, mode: 0o700 })
      markBeingSeeded(data)
      await this.#files.discardStore()
      await this.#hooks()?.clear()
      this.#clockState = this.#initialClockState()
      await this.#files.installBaseline()
    } finally {
      // After a failure too: requests may wait at the gate.
      await this.#begin()
    }
  }

  /** A frozen clock starts at the time that the seed's times refer to; others start now. */
  #initialClockState(): ClockState | undefined {
    const { realClock: machineClock = realClock, startAt } = this.#options.options
    const real = machineClock.now()
    const { clock } = this.config
    return clock === 'frozen' ? undefined : { mode: clock, world: startAt ?? real, real }
  }

  readonly #exchange: Restores['exchange'] = async (taskExtIds, stopping, last) => {
    const refused = this.#gate.refuse(taskExtIds)
    this.#hooks()?.release()
    await refused
    try {
      await last()
    } catch (error) {
      this.#hooks()?.resume()
      this.#gate.admit()
      throw error
    }
    // Not awaited: the instance closes only when the task that called this has ended.
    if (!this.#isClosing) {
      this.#change(() => this.#openRestored()).catch((error) =>
        this.#options.log.fatal({ err: error, world: this.name }, 'neither store opens after a restore'),
      )
    }
    return rejectedBy(stopping)
  }

  async #openRestored(): Promise<void> {
    await this.#closeInstance()
    let restored: Instance | undefined
    try {
      await swapStoreFiles(this.#stores, this.#disk)
      try {
        restored = await this.#open()
      } catch (error) {
        await restorePrevious(this.#stores, this.#disk)
        throw error
      }
    } catch (error) {
      const { log } = this.#options
      log.error({ err: error }, 'a restored store could not be put in place; the previous store continues')
    }
    if (restored === undefined) await this.#begin()
    else {
      this.#opening = Promise.resolve(restored)
      this.#gate.open(restored.dispatch)
    }
  }
}

/** Also for a request that a task sends to its own world. */
const hasCredentials = ({ headers, certificate, onBehalfOf }: ApiRequest): boolean =>
  [headers.authorization, headers.apiKey, certificate, onBehalfOf].some((given) => given !== undefined)

const rejectedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
