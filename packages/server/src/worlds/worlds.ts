/** The folder of `default` is the data folder; the others lie below it. */

import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Disk, diskOf } from '../data-folder/disk.ts'
import { makeFilesPrivate } from '../store/private-files.ts'
import { createWorldFolders, keyOf, type WorldFolders } from './folders.ts'
import { wasUsed } from './seeding-mark.ts'
import { createWorld, type HostedWorld, type WorldOptions } from './world.ts'

export const defaultWorld = 'default'
const maximumWorlds = 500

const relaxMillis = 5_000
const quietMillis = 2_000

const seedFileIn = (folder: string): string => join(folder, 'seed.yaml')

export type NewSeed = Exclude<Config['seed'], object> | { readonly text: string } | { readonly moved: string }

export interface WorldSettings
  extends Partial<Pick<Config, 'clock' | 'rateLimits' | 'limits' | 'durations' | 'lockout'>> {
  readonly seed?: NewSeed
  readonly startAt?: number
}

export interface WorldsOptions extends Omit<WorldOptions, 'name' | 'localUrl' | 'home' | keyof Own> {
  readonly localUrl: (world: string) => string
}

export interface Worlds {
  readonly place: string
  get(name: string): HostedWorld | undefined
  all(): Iterable<HostedWorld>
  readonly size: number
  readonly maximum: number
  listed(): readonly string[]
  add(name: string, settings: WorldSettings): HostedWorld
  draft(name: string): Draft
  /** Before the registry forgets the world: later requests do not find it. */
  retire(name: string): Promise<void>
  /** After the registry has forgotten the world. */
  remove(name: string): void
  /** Undoes `retire`. */
  keep(name: string, settings: WorldSettings): Promise<void>
  /** Call it once, after all `add`. @returns folders that belong to no world, which stay */
  tidy(): readonly string[]
  close(): Promise<void>
}

/** Requests find it only after `publish`; after a crash the next start removes it. */
export interface Draft {
  /** @param adminPasswordHash of `admin` @throws StartRefusal */
  fill(settings: WorldSettings, adminPasswordHash: string): Promise<void>
  /** @throws StartRefusal, StoreRefusal */
  copy(origin: HostedWorld, settings: WorldSettings): Promise<void>
  publish(): void
  /** Call once the registry has stored the world durably. */
  settle(): void
  discard(): Promise<void>
}

type Own = Pick<WorldOptions, 'adminPasswordHash' | 'isCopy' | 'isNew'>

export const createWorlds = (options: WorldsOptions): Worlds => new WorldsOfProcess(options)

class WorldsOfProcess implements Worlds {
  readonly place: string
  readonly maximum: number
  readonly #options: WorldsOptions
  readonly #folders: WorldFolders
  readonly #disk: Disk
  readonly #worlds = new Map<string, HostedWorld>()
  readonly #drafts = new Set<string>()
  readonly #pending = new Set<Promise<unknown>>()
  readonly #relaxing: NodeJS.Timeout
  #removalNotice: NodeJS.Timeout | undefined

  constructor(options: WorldsOptions) {
    const { config, options: appOptions } = options
    this.#options = options
    this.place = join(config.data, 'worlds')
    this.maximum = appOptions.limits?.worlds ?? maximumWorlds
    this.#folders = createWorldFolders(this.place)
    this.#disk = diskOf(appOptions)
    this.#relaxing = setInterval(() => {
      for (const world of this.#worlds.values()) world.relaxUnlessUsed()
    }, relaxMillis)
    this.#relaxing.unref()
    this.#put(this.#create(defaultWorld, config.data, {}, { isNew: !wasUsed(config.data) }))
  }

  get(name: string): HostedWorld | undefined {
    return this.#worlds.get(keyOf(name))
  }

  all(): Iterable<HostedWorld> {
    return this.#worlds.values()
  }

  get size(): number {
    return this.#worlds.size + this.#drafts.size
  }

  listed(): readonly string[] {
    return this.#folders.listed()
  }

  add(name: string, settings: WorldSettings): HostedWorld {
    const folder = this.#folders.of(name)
    makeFilesPrivate(folder)
    return this.#put(this.#create(name, folder, settings))
  }

  draft(name: string): Draft {
    this.#drafts.add(keyOf(name))
    const ended = Promise.withResolvers<void>()
    void this.#track(ended.promise)
    return new DraftOfWorld({
      name,
      folders: this.#folders,
      disk: this.#disk,
      create: (folder, settings, own) => this.#create(name, folder, settings, own),
      publish: (world) => this.#publish(world),
      withdraw: (world) => this.#withdraw(name, world),
      end: () => {
        this.#drafts.delete(keyOf(name))
        ended.resolve()
      },
      settled: ended.resolve,
    })
  }

  async retire(name: string): Promise<void> {
    this.#folders.release(name)
    await this.get(name)?.end()
  }

  remove(name: string): void {
    this.#worlds.delete(keyOf(name))
    this.#track(this.#folders.remove(name))
      .catch((error) => {
        const message = 'the folder of a removed world cannot be removed; the next start tries again'
        this.#options.log.error({ err: error, world: name }, message)
      })
      .finally(() => this.#noticeRemoval())
  }

  async keep(name: string, settings: WorldSettings): Promise<void> {
    // A failed removal may leave the instance open; two instances must not share one store file.
    await this.get(name)?.end()
    this.#folders.settle(name)
    this.#put(this.#create(name, this.#folders.of(name), settings))
  }

  tidy(): readonly string[] {
    return this.#folders.tidy((key) => this.#worlds.has(key))
  }

  async close(): Promise<void> {
    clearInterval(this.#relaxing)
    clearTimeout(this.#removalNotice)
    const present = new Set(this.#worlds.values())
    await Promise.all([...present].map((world) => world.close()))
    await Promise.allSettled(this.#pending)
    const later = [...this.#worlds.values()].filter((world) => !present.has(world))
    await Promise.all(later.map((world) => world.close()))
  }

  #create(name: string, data: string, settings: WorldSettings, own: Own = {}): HostedWorld {
    const { config, options: appOptions, localUrl, onOpen } = this.#options
    const { startAt, seed: given, ...set } = settings
    const isDefault = name === defaultWorld
    const isFile = typeof given === 'object' || (given === undefined && !isDefault)
    const seed: Config['seed'] = isFile ? { file: seedFileIn(data) } : (given ?? config.seed)
    const { startAt: _, ...shared } = appOptions
    return createWorld({
      ...this.#options,
      name,
      ...(isDefault ? {} : { home: (request) => this.#home().dispatch(request), serviceTls: undefined }),
      config: { ...config, ...set, seed, data },
      options: isDefault ? appOptions : { ...shared, startAt },
      localUrl: () => localUrl(name),
      onOpen: async (world) => (this.get(name) === world ? onOpen(world) : undefined),
      ...own,
    })
  }

  #home(): HostedWorld {
    return this.get(defaultWorld) as HostedWorld
  }

  #put(world: HostedWorld): HostedWorld {
    this.#worlds.set(keyOf(world.name), world)
    return world
  }

  #publish(world: HostedWorld): void {
    const { onOpen, log } = this.#options
    this.#put(world)
    this.#drafts.delete(keyOf(world.name))
    onOpen(world).catch((error) => log.error({ err: error, world: world.name }, 'a new world cannot be announced'))
  }

  #withdraw(name: string, world: HostedWorld | undefined): void {
    if (world !== undefined && this.get(name) === world) this.#worlds.delete(keyOf(name))
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work)
    const end = (): void => void this.#pending.delete(work)
    work.then(end, end)
    return work
  }

  #noticeRemoval(): void {
    const { worldsGone } = this.#options.options
    if (worldsGone === undefined) return
    clearTimeout(this.#removalNotice)
    this.#removalNotice = setTimeout(worldsGone, quietMillis)
    this.#removalNotice.unref()
  }
}

interface DraftOptions {
  readonly name: string
  readonly folders: WorldFolders
  readonly disk: Disk
  readonly create: (folder: string, settings: WorldSettings, own: Own) => HostedWorld
  readonly publish: (world: HostedWorld) => void
  readonly withdraw: (world: HostedWorld | undefined) => void
  readonly settled: () => void
  readonly end: () => void
}

class DraftOfWorld implements Draft {
  readonly #options: DraftOptions
  #hasFolder = false
  #world: HostedWorld | undefined

  constructor(options: DraftOptions) {
    this.#options = options
  }

  fill(settings: WorldSettings, adminPasswordHash: string): Promise<void> {
    return this.#build(async (folder) => {
      await this.#storeSeed(folder, settings.seed)
      return this.#options.create(folder, settings, { adminPasswordHash, isNew: true })
    })
  }

  copy(origin: HostedWorld, settings: WorldSettings): Promise<void> {
    return this.#build(async (folder) => {
      await origin.copyTo(folder)
      return this.#options.create(folder, settings, { isCopy: true })
    })
  }

  publish(): void {
    if (this.#world === undefined) throw new Error(`the world ${this.#options.name} is published before it is filled`)
    this.#options.publish(this.#world)
  }

  settle(): void {
    this.#options.settled()
    this.#options.folders.settle(this.#options.name)
  }

  async discard(): Promise<void> {
    const { name, folders, withdraw, end } = this.#options
    try {
      withdraw(this.#world)
      await this.#world?.end()
      if (this.#hasFolder) await folders.remove(name)
    } finally {
      end()
    }
  }

  async #build(create: (folder: string) => Promise<HostedWorld>): Promise<void> {
    const folder = this.#options.folders.begin(this.#options.name)
    this.#hasFolder = true
    this.#world = await create(folder)
    await this.#world.instance()
  }

  /** Stored, because a reset without a baseline needs the seed again. */
  async #storeSeed(folder: string, given: NewSeed | undefined): Promise<void> {
    if (typeof given !== 'object') return
    const file = seedFileIn(folder)
    if ('text' in given) await writeFile(file, given.text, { mode: 0o600 })
    else await rename(given.moved, file)
    await this.#options.disk.flush(file)
  }
}
