/**
 * One world: its folder, the instance that answers for it, and the gate before that. The instance may be closed and opened
 * again behind the gate: to rest, to begin anew from the seed, to go on from a backup.
 */

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { ApiError } from '../core/api-error.ts'
import { createGate } from '../core/concurrency/gate.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest } from '../core/pipeline/request.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { type ClockState, realClock } from '../core/time/clock.ts'
import { diskOf } from '../data-folder/disk.ts'
import { hasStore, removeStore, restorePrevious, storeFiles, swapStoreFiles } from '../data-folder/store-files.ts'
import { canonicalNames } from '../http/profiles/names.ts'
import { type Instance, openInstance } from '../instance/instance.ts'
import type { InstanceOptions } from '../instance/options.ts'
import { diskFault } from '../store/disk-fault.ts'
import { makeFoldersPrivate } from '../store/private-files.ts'
import { StoreRefusal } from '../store/store.ts'
import { baselineOf, filesOf, flushLinks, type Links, shareFiles } from './files.ts'
import { isBeingSeeded, lostStore, markBeingSeeded, markSeeded } from './unfinished-beginning.ts'
import { unusableBecause } from './unusable.ts'
import type { WorldHooks } from './world-hooks.ts'

export interface WorldOptions
  extends Pick<InstanceOptions, 'config' | 'options' | 'folder' | 'shared' | 'log' | 'adminPasswordHash'> {
  readonly name: string
  /** Where clients on this machine reach it. */
  readonly localUrl: () => string
  /** Called with each instance that begins to answer. */
  readonly onOpen: (world: HostedWorld) => Promise<void>
  /** Its store was copied from one that this process has open: nobody searches it for damage. */
  readonly isCopy?: boolean
  /** Its folder was never in use: its seed fills it when it is opened. */
  readonly isNew?: boolean
  /** What the control interface does within it; undefined: there is none. */
  readonly controlOf: (world: HostedWorld) => WorldHooks | undefined
  /** The world `default`, which judges credentials that this one cannot; undefined: this one is `default`. */
  readonly home?: Dispatch
}

export type WorldState = { readonly is: 'OPEN' | 'RESTING' } | { readonly is: 'FAILED'; readonly fault: string }

export interface HostedWorld {
  readonly name: string
  readonly config: Config
  readonly state: WorldState
  /** Opens it if need be; requests of one that does not open are refused. */
  readonly dispatch: Dispatch
  /** The instance that answers now; undefined while it rests, has failed or is exchanged. */
  readonly current: Instance | undefined
  /** @throws StartRefusal, StoreRefusal when it does not open */
  instance(): Promise<Instance>
  /** Time of the world, in milliseconds since 1970; that of the machine while it rests. */
  now(): number
  /** Requests under way end, later ones wait for the next state: that of the seed. */
  reset(): Promise<void>
  /** Copies what it holds into a new folder, as it is between two commits, for good; the copy begins there. */
  copyTo(folder: string): Promise<void>
  /** Gives up memory when no request came since it was asked last; once, until the next request. */
  relaxUnlessUsed(): void
  /** Closes it until its next request. */
  rest(): Promise<void>
  /** It is removed: requests under way end, later ones hear that there is no such world. */
  end(): Promise<void>
  /** Tasks go on in the next process. */
  close(): Promise<void>
}

export function createWorld(options: WorldOptions): HostedWorld {
  const { name, config, log } = options
  const folder = config.data
  const files = storeFiles(folder)
  const beginning = baselineOf(folder)
  const disk = diskOf(options.options)
  /** The store that a reset begins with, and the one that is kept to begin with, until they have their names. */
  const next = `${files.first}.new`
  const unfinishedBeginning = `${beginning.store}.new`
  const gate = createGate(canonicalNames)
  let instance: Instance | undefined
  let opening: Promise<Instance> | undefined
  let fault: string | undefined
  /** How the clock stood when it was last closed here. */
  let clockState: ClockState | undefined
  let wasOpen = options.isCopy === true
  let { adminPasswordHash } = options
  let closing = false
  let isNew = options.isNew === true
  /** Files of a state that was left, also by an earlier process. */
  const leftFiles = `${filesOf(folder)}-before`
  const leftStore = `${files.first}-before`
  let removing = removeLeft([leftFiles, leftStore, next, unfinishedBeginning])
  /** Whether a request came since it was last asked to relax. */
  let used: 'since' | 'before' | 'never' = 'never'
  /** Exchanges follow one another. */
  let changing: Promise<unknown> = Promise.resolve()
  let changes = 0

  /** A refusal that administrators alone are told; without another world to judge who asks, everybody is. */
  const misdirected = (request: ApiRequest, refusal: ApiError): Promise<Outcome> =>
    options.home === undefined
      ? Promise.reject(new RefusedRequest(refusal, undefined, undefined, {}))
      : options.home({ ...request, misdirected: refusal })
  const refusing: Dispatch = (request) =>
    misdirected(request, new ApiError('WORLD_UNUSABLE', { name, fault: fault ?? '' }))
  const gone: Dispatch = (request) =>
    misdirected(request, new ApiError('WORLD_NOT_FOUND', { kind: 'world', id: name, attribute: 'X-World, host' }))

  async function exchange(taskExtIds: readonly string[], stopping: AbortSignal, last: () => Promise<void>) {
    const refused = gate.refuse(taskExtIds)
    options.controlOf(world)?.release()
    await refused
    try {
      await last()
    } catch (error) {
      options.controlOf(world)?.resume()
      gate.admit()
      throw error
    }
    // Whoever closes everything meanwhile closes this store. Not awaited: the end of the present instance waits for the
    // task that asks for it.
    if (!closing) {
      inTurn(putInPlace).catch((error) => log.fatal({ err: error, world: name }, 'neither store opens after a restore'))
    }
    return rejectedBy(stopping)
  }

  async function open(): Promise<Instance> {
    const control = options.controlOf(world)
    if (!hasStore(files.first)) {
      if (isNew) markBeingSeeded(folder)
      else if (!isBeingSeeded(folder)) throw lostStore(folder, name === 'default')
      // A first start or a reset was cut short, or the world is new: what is kept for it belongs to no state.
      await control?.clear()
      removeStore(files.first)
      await copyBeginning()
      await layBeginning()
    }
    if (!wasOpen) makeFoldersPrivate(folder)
    await control?.opening()
    const opened = await openInstance({
      ...options,
      ...(adminPasswordHash === undefined ? {} : { adminPasswordHash }),
      exchange,
      recorder: control?.recorder,
      faults: control?.faultsOf,
      isOwn: wasOpen,
      ...(clockState === undefined ? {} : { clockState }),
      whenNew: async (store) => {
        if (config.control === 'off') return
        await removing
        // Under its name when it is whole: the world would begin with half of it ever after.
        for (const file of [beginning.store, unfinishedBeginning]) removeStore(file)
        rmSync(beginning.files, { recursive: true, force: true })
        const links: Links[] = []
        await store.copyTo(unfinishedBeginning, () => void links.push(shareFiles(filesOf(folder), beginning.files)))
        await Promise.all([disk.flush(unfinishedBeginning), ...links.map((each) => flushLinks(disk, each))])
        renameSync(unfinishedBeginning, beginning.store)
        await disk.flushFolder(folder)
      },
    })
    try {
      markSeeded(folder)
      isNew = false
      wasOpen = true
      used = 'since'
      instance = opened
      await options.onOpen(world)
      removeStore(files.kept)
    } catch (error) {
      // Closed before anybody opens the store again: two instances must not share one file.
      instance = undefined
      await opened.close()
      throw error
    }
    return opened
  }

  /** Opens it once, whoever asks; after a failure it is tried again when asked again. */
  function begin(): Promise<Instance> {
    opening ??= open().then(
      (opened) => {
        fault = undefined
        gate.open(opened.dispatch)
        return opened
      },
      (error: Error) => {
        opening = undefined
        fault = unusableBecause(error)
        // Whoever starts the process, or asks for the world, is told of a refusal; anything else is a bug.
        const isRefusal =
          error instanceof StartRefusal || error instanceof StoreRefusal || diskFault(error) !== undefined
        if (!isRefusal) log.error({ err: error, world: name }, 'a world does not open')
        gate.open(refusing)
        throw error
      },
    )
    return opening
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    changes++
    const done = changing.then(work, work)
    changing = done.then(
      () => void changes--,
      () => void changes--,
    )
    return done
  }

  /** Not beside an exchange, which opens what it leaves itself. */
  async function beginInTurn(): Promise<Instance> {
    while (changes > 0) await changing
    if (closing) throw new ApiError('SERVICE_UNAVAILABLE', { fault: `The world ${name} is being closed.` })
    return begin()
  }

  async function shut(): Promise<void> {
    // First: it lets in who waits for it.
    const open = await opening?.catch(() => undefined)
    const held = gate.hold()
    options.controlOf(world)?.release()
    await held
    opening = undefined
    instance = undefined
    if (open === undefined) return
    clockState = open.clock.state()
    await open.close()
  }

  async function putInPlace(): Promise<void> {
    await shut()
    try {
      await swapStoreFiles(files, disk)
      try {
        await open()
      } catch (error) {
        await restorePrevious(files, disk)
        throw error
      }
    } catch (error) {
      log.error({ err: error }, 'a restored store could not be put in place; the one before it goes on')
    }
    if (instance === undefined) await begin()
    else {
      opening = Promise.resolve(instance)
      gate.open((instance as Instance).dispatch)
    }
  }

  async function startAnew(): Promise<void> {
    // Where nothing was kept to begin with, it is filled again; who administers it stays who it was.
    adminPasswordHash ??= await (await begin().catch(() => undefined))?.adminPasswordHash()
    // Beside the end of the present state, which goes when this one is on the disk.
    const copied = copyBeginning()
    copied.catch(() => undefined)
    await shut()
    try {
      await copied
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      markBeingSeeded(folder)
      await leaveState()
      await options.controlOf(world)?.clear()
      clockState = beginningOfTime()
      await layBeginning()
    } finally {
      // Also where that failed: somebody may wait for it.
      await begin()
    }
  }

  /** On the disk, beside what is there now; nothing where nothing was kept to begin with. */
  async function copyBeginning(): Promise<void> {
    if (!existsSync(beginning.store)) return
    await removing
    await disk.copy(beginning.store, next)
    await disk.flush(next)
  }

  /** The store goes first, and comes last: where a crash leaves none, all that makes a reset happens again. */
  async function leaveState(): Promise<void> {
    await removing
    // Removed apart: the system takes its time over a large one.
    if (existsSync(files.first)) renameSync(files.first, leftStore)
    // Somebody may still read it (an export): without its log it would be half of a state, and does not come back.
    if (existsSync(`${files.first}-wal`)) await disk.flushFolder(folder)
    // Its log would be read into the next one.
    for (const file of [files.first, files.second, files.kept]) removeStore(file)
  }

  /** The copy of the beginning takes the place of what was left; where nothing was kept, the seed fills it when it is opened. */
  async function layBeginning(): Promise<void> {
    await removing
    if (existsSync(filesOf(folder))) renameSync(filesOf(folder), leftFiles)
    removing = removeLeft([leftFiles, leftStore])
    if (!existsSync(beginning.store)) return
    await flushLinks(disk, shareFiles(beginning.files, filesOf(folder)))
    renameSync(next, files.first)
    await disk.flushFolder(folder)
  }

  /** Never rejects: what could not be removed is left to the next start. */
  async function removeLeft(paths: readonly string[]): Promise<void> {
    try {
      for (const path of paths) await rm(path, { recursive: true, force: true })
    } catch (error) {
      log.warn({ err: error, world: name }, 'files of a state that was left cannot be removed')
    }
  }

  /** A clock that stands begins where it stood, as the seed's times are told from there; one that goes, now. */
  function beginningOfTime(): ClockState | undefined {
    const real = (options.options.realClock ?? realClock).now()
    const world = options.options.startAt ?? real
    return config.clock === 'frozen' ? undefined : { mode: config.clock, world, real }
  }

  const world: HostedWorld = {
    name,
    config,
    get state(): WorldState {
      if (fault !== undefined) return { is: 'FAILED', fault }
      return { is: instance === undefined ? 'RESTING' : 'OPEN' }
    },
    async dispatch(request) {
      // A request without credentials wakes no world: the time that takes would tell that the world exists.
      if (instance === undefined && opening === undefined && options.home !== undefined && !isAttempt(request))
        return options.home({ ...request, misdirected: new ApiError('AUTHENTICATION_REQUIRED') })
      used = 'since'
      if (instance === undefined && opening === undefined && !closing) void beginInTurn().catch(() => undefined)
      return gate.dispatch(request)
    },
    get current() {
      return instance
    },
    instance: beginInTurn,
    now: () => (instance?.clock ?? options.options.realClock ?? realClock).now(),
    reset: () => inTurn(startAnew),
    copyTo: (target) =>
      inTurn(async () => {
        const { store } = await begin()
        mkdirSync(target, { recursive: true, mode: 0o700 })
        const begun = baselineOf(target)
        const { first } = storeFiles(target)
        const links: Links[] = []
        await store.copyTo(begun.store, () => {
          for (const place of [filesOf(target), begun.files]) links.push(shareFiles(filesOf(folder), place))
        })
        await disk.copy(begun.store, first)
        await Promise.all([first, begun.store].map((file) => disk.flush(file)))
        await Promise.all(links.map((each) => flushLinks(disk, each)))
        await disk.flushFolder(target)
      }),
    relaxUnlessUsed() {
      if (used === 'since') used = 'before'
      else if (used === 'before') {
        used = 'never'
        instance?.store.releaseMemory()
      }
    },
    rest: () => inTurn(shut),
    async end() {
      closing = true
      await inTurn(shut)
      gate.open(gone)
      await world.close()
    },
    async close() {
      closing = true
      // Its tasks are told at once, unless an exchange has to end first.
      const closed = changes === 0 ? instance : undefined
      await closed?.close()
      await changing
      const open = await opening?.catch(() => undefined)
      if (open !== closed) await open?.close()
      await options.controlOf(world)?.close()
      await removing
    },
  }
  return world
}

/** The request brings credentials, or comes from a task of the world itself. */
const isAttempt = ({ headers, certificate, onBehalfOf }: ApiRequest): boolean =>
  [headers.authorization, headers.apiKey, certificate, onBehalfOf].some((given) => given !== undefined)

const rejectedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const told = (): void => reject(signal.reason)
    if (signal.aborted) told()
    else signal.addEventListener('abort', told, { once: true })
  })
