/** The worlds of a process, by name. `default` lies in the data folder itself, the others below it. */

import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { diskOf } from '../data-folder/disk.ts'
import type { AppOptions } from '../instance/app-options.ts'
import { makeFilesPrivate } from '../store/private-files.ts'
import { createWorldFolders, keyOf } from './folders.ts'
import { wasUsed } from './seeding-mark.ts'
import { createWorld, type HostedWorld, type WorldOptions } from './world.ts'

export const defaultWorld = 'default'
const maximumWorlds = 500

const relaxMillis = 5_000
/** After the last of several removals. */
const quietMillis = 2_000

const seedFileIn = (folder: string): string => join(folder, 'seed.yaml')

/** A seed as text, or in a file that is moved there, is kept with the world. */
export type NewSeed = Exclude<Config['seed'], object> | { readonly text: string } | { readonly moved: string }

/** What a world has of its own; all else is that of the process. */
export interface WorldSettings
  extends Partial<Pick<Config, 'clock' | 'rateLimits' | 'limits' | 'durations' | 'lockout'>> {
  readonly seed?: NewSeed
  /** Time of the world at its beginning, in milliseconds since 1970. */
  readonly startAt?: number
}

export interface WorldsOptions extends Omit<WorldOptions, 'name' | 'localUrl' | 'home' | keyof Own> {
  readonly localUrl: (world: string) => string
}

export interface Worlds {
  /** Where the folders of all but `default` lie. */
  readonly place: string
  /** Whatever the case of the name. */
  get(name: string): HostedWorld | undefined
  all(): Iterable<HostedWorld>
  /** With those that are being made. */
  readonly size: number
  /** How many there may be, with `default`. */
  readonly maximum: number
  /** Folders of worlds that a registry listed, whether this process knows them or not. */
  listed(): readonly string[]
  /** One that lies there already. */
  add(name: string, settings: WorldSettings): HostedWorld
  /** Takes the name for a new one. */
  draft(name: string): Draft
  /** The first half of a removal: its requests under way end, later ones hear that there is no such world. */
  retire(name: string): Promise<void>
  /** The other half, once the registry has forgotten it. */
  remove(name: string): void
  /** Instead of the other half: it is there again. */
  keep(name: string, settings: WorldSettings): Promise<void>
  /** After a start, when all are added: what was left half made goes. @returns folders that belong to none, left as they are */
  tidy(): readonly string[]
  close(): Promise<void>
}

/**
 * A world that is being made: it counts, but nobody finds it before it is whole and published. What is left of one by the
 * death of the process goes at the next start.
 */
export interface Draft {
  /** From a seed. `admin` has the password of this hash. @throws StartRefusal */
  fill(settings: WorldSettings, adminPasswordHash: string): Promise<void>
  /** From where another world is. @throws StartRefusal, StoreRefusal */
  copy(origin: HostedWorld, settings: WorldSettings): Promise<void>
  /** It is one of the worlds. */
  publish(): void
  /** The registry knows it, durably. */
  settle(): void
  /** It goes, published or not. */
  discard(): Promise<void>
}

type Own = Pick<WorldOptions, 'adminPasswordHash' | 'isCopy' | 'isNew'>

export function createWorlds(options: WorldsOptions): Worlds {
  const { config, options: appOptions } = options
  const place = join(config.data, 'worlds')
  const folders = createWorldFolders(place)
  const disk = diskOf(appOptions)
  const worlds = new Map<string, HostedWorld>()
  /** Keys of those that are being made. */
  const drafts = new Set<string>()
  /** The end of each that is being made, or whose folder is being removed. */
  const underWay = new Set<Promise<unknown>>()

  function make(name: string, data: string, settings: WorldSettings, own: Own = {}): HostedWorld {
    const { startAt, seed: given, ...set } = settings
    const isFile = typeof given === 'object' || (given === undefined && name !== defaultWorld)
    const seed: Config['seed'] = isFile ? { file: seedFileIn(data) } : ((given as Config['seed']) ?? config.seed)
    const { startAt: _, ...shared } = appOptions
    const optionsOfWorld: AppOptions =
      name === defaultWorld ? appOptions : { ...shared, ...(startAt === undefined ? {} : { startAt }) }
    return createWorld({
      ...options,
      name,
      ...(name === defaultWorld
        ? {}
        : { home: (request) => (worlds.get(defaultWorld) as HostedWorld).dispatch(request) }),
      config: { ...config, ...set, seed, data },
      options: optionsOfWorld,
      localUrl: () => options.localUrl(name),
      // Others learn of it when it is published.
      onOpen: async (world) => (worlds.get(keyOf(name)) === world ? options.onOpen(world) : undefined),
      ...own,
    })
  }

  /** The world may have to be filled from it again. */
  async function keepSeed(folder: string, given: NewSeed | undefined): Promise<void> {
    if (typeof given !== 'object') return
    const file = seedFileIn(folder)
    if ('text' in given) await writeFile(file, given.text, { mode: 0o600 })
    else await rename(given.moved, file)
    await disk.flush(file)
  }

  function put(world: HostedWorld): HostedWorld {
    worlds.set(keyOf(world.name), world)
    return world
  }

  function during<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    const end = (): void => void underWay.delete(work)
    work.then(end, end)
    return work
  }

  function draft(name: string): Draft {
    let hasFolder = false
    let world: HostedWorld | undefined
    drafts.add(keyOf(name))
    const { promise, resolve } = Promise.withResolvers<void>()
    void during(promise)
    async function build(how: (folder: string) => Promise<HostedWorld>): Promise<void> {
      const folder = folders.begin(name)
      hasFolder = true
      world = await how(folder)
      await world.instance()
    }
    return {
      fill: (settings, adminPasswordHash) =>
        build(async (folder) => {
          await keepSeed(folder, settings.seed)
          return make(name, folder, settings, { adminPasswordHash, isNew: true })
        }),
      copy: (origin, settings) =>
        build(async (folder) => {
          await origin.copyTo(folder)
          return make(name, folder, settings, { isCopy: true })
        }),
      publish() {
        const made = put(world as HostedWorld)
        drafts.delete(keyOf(name))
        options
          .onOpen(made)
          .catch((error) => options.log.error({ err: error, world: name }, 'a new world is not told of'))
      },
      settle() {
        resolve()
        folders.settle(name)
      },
      async discard() {
        try {
          if (world !== undefined && worlds.get(keyOf(name)) === world) worlds.delete(keyOf(name))
          await world?.end()
          if (hasFolder) await folders.remove(name)
        } finally {
          drafts.delete(keyOf(name))
          resolve()
        }
      },
    }
  }

  let noticing: NodeJS.Timeout | undefined
  /** Told once for many removals in a row. */
  function noticeRemoval(): void {
    if (appOptions.worldsGone === undefined) return
    clearTimeout(noticing)
    noticing = setTimeout(appOptions.worldsGone, quietMillis)
    noticing.unref()
  }

  /** Worlds that nobody called for a while keep nothing in memory that they can read again. */
  const relaxing = setInterval(() => {
    for (const world of worlds.values()) world.relaxUnlessUsed()
  }, relaxMillis)
  relaxing.unref()

  put(make(defaultWorld, config.data, {}, { isNew: !wasUsed(config.data) }))
  return {
    place,
    get: (name) => worlds.get(keyOf(name)),
    all: () => worlds.values(),
    get size() {
      return worlds.size + drafts.size
    },
    maximum: appOptions.limits?.worlds ?? maximumWorlds,
    listed: () => folders.listed(),
    add(name, settings) {
      makeFilesPrivate(folders.of(name))
      return put(make(name, folders.of(name), settings))
    },
    draft,
    async retire(name) {
      folders.release(name)
      await worlds.get(keyOf(name))?.end()
    },
    remove(name) {
      worlds.delete(keyOf(name))
      during(folders.remove(name))
        .catch((error) => {
          options.log.error({ err: error, world: name }, 'the folder of a removed world is left to the next start')
        })
        .finally(noticeRemoval)
    },
    async keep(name, settings) {
      // Where it failed before its end: two would have the same store open.
      await worlds.get(keyOf(name))?.end()
      folders.settle(name)
      put(make(name, folders.of(name), settings))
    },
    tidy: () => folders.tidy((key) => worlds.has(key)),
    async close() {
      clearInterval(relaxing)
      clearTimeout(noticing)
      const present = new Set(worlds.values())
      await Promise.all([...present].map((world) => world.close()))
      await Promise.allSettled(underWay)
      // What was being made when the others were told is whole by now.
      const made = [...worlds.values()].filter((world) => !present.has(world))
      await Promise.all(made.map((world) => world.close()))
    },
  }
}
