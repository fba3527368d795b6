/** The worlds of a process, by name. `default` lies in the data folder itself, the others below it. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { AppOptions } from '../instance.ts'
import { createWorld, type HostedWorld, type WorldOptions } from './world.ts'

export const defaultWorld = 'default'
const maximumWorlds = 500

const relaxMillis = 5_000

/** A seed as text is kept with the world. */
export type NewSeed = Exclude<Config['seed'], object> | { readonly text: string }

/** What a world has of its own; all else is that of the process. */
export interface WorldSettings
  extends Partial<Pick<Config, 'clock' | 'rateLimits' | 'limits' | 'durations' | 'lockout'>> {
  readonly seed?: NewSeed
  /** Time of the world at its beginning, in milliseconds since 1970. */
  readonly startAt?: number
}

export interface WorldsOptions extends Omit<WorldOptions, 'name' | 'localUrl' | 'adminPasswordHash'> {
  readonly localUrl: (world: string) => string
}

export interface Worlds {
  /** Whatever the case of the name. */
  get(name: string): HostedWorld | undefined
  all(): Iterable<HostedWorld>
  readonly size: number
  /** How many there may be, with `default`. */
  readonly maximum: number
  /** One that lies there already. */
  add(name: string, settings: WorldSettings): HostedWorld
  /** A new one, filled and open. `admin` has the password of this hash. @throws StartRefusal, and there is none */
  create(name: string, settings: WorldSettings, adminPasswordHash: string | undefined): Promise<HostedWorld>
  /** One that goes on from where another is. */
  fork(origin: HostedWorld, name: string, settings: WorldSettings): Promise<HostedWorld>
  remove(name: string): Promise<void>
  /** Folders that belong to none go. */
  tidy(): void
  close(): Promise<void>
}

/** How names are compared. */
export const keyOf = (name: string): string => name.toLowerCase()

export function createWorlds(options: WorldsOptions): Worlds {
  const { config, options: appOptions } = options
  const place = join(config.data, 'worlds')
  const folderOf = (name: string): string => join(place, keyOf(name))
  const worlds = new Map<string, HostedWorld>()

  function make(name: string, data: string, settings: WorldSettings, adminPasswordHash?: string): HostedWorld {
    const { startAt, seed: given, ...own } = settings
    const file = join(data, 'seed.yaml')
    if (typeof given === 'object') writeFileSync(file, given.text, { mode: 0o600 })
    const isFile = typeof given === 'object' || (given === undefined && name !== defaultWorld)
    const seed: Config['seed'] = isFile ? { file } : ((given as Config['seed']) ?? config.seed)
    const { startAt: _, ...shared } = appOptions
    const optionsOfWorld: AppOptions =
      name === defaultWorld ? appOptions : { ...shared, ...(startAt === undefined ? {} : { startAt }) }
    const world = createWorld({
      ...options,
      name,
      config: { ...config, ...own, seed, data },
      options: optionsOfWorld,
      localUrl: () => options.localUrl(name),
      ...(adminPasswordHash === undefined ? {} : { adminPasswordHash }),
    })
    worlds.set(keyOf(name), world)
    return world
  }

  /** Fills its folder under another name first: a folder with a world's name holds a whole world. */
  async function fill(name: string, how: (folder: string) => Promise<HostedWorld>): Promise<HostedWorld> {
    const folder = folderOf(name)
    mkdirSync(place, { recursive: true, mode: 0o700 })
    try {
      return await how(folder)
    } catch (error) {
      const unfinished = worlds.get(keyOf(name))
      worlds.delete(keyOf(name))
      await unfinished?.end()
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  /** Worlds that nobody called for a while keep nothing in memory that they can read again. */
  const relaxing = setInterval(() => {
    for (const world of worlds.values()) world.relaxUnlessUsed()
  }, relaxMillis)
  relaxing.unref()

  worlds.set(defaultWorld, make(defaultWorld, config.data, {}))
  return {
    get: (name) => worlds.get(keyOf(name)),
    all: () => worlds.values(),
    get size() {
      return worlds.size
    },
    maximum: appOptions.limits?.worlds ?? maximumWorlds,
    add: (name, settings) => make(name, folderOf(name), settings),
    create: (name, settings, adminPasswordHash) =>
      fill(name, async (folder) => {
        mkdirSync(folder, { mode: 0o700 })
        const world = make(name, folder, settings, adminPasswordHash)
        await world.instance()
        return world
      }),
    fork: (origin, name, settings) =>
      fill(name, async (folder) => {
        await origin.copyTo(folder)
        const world = make(name, folder, settings)
        await world.instance()
        return world
      }),
    async remove(name) {
      const world = worlds.get(keyOf(name))
      worlds.delete(keyOf(name))
      await world?.end()
      const folder = folderOf(name)
      if (!existsSync(folder)) return
      // One step: a folder that is half removed is nobody's.
      const removed = join(place, `.removed-${keyOf(name)}`)
      rmSync(removed, { recursive: true, force: true })
      renameSync(folder, removed)
      rmSync(removed, { recursive: true, force: true })
    },
    tidy() {
      if (!existsSync(place)) return
      for (const name of readdirSync(place)) {
        if (!worlds.has(name)) rmSync(join(place, name), { recursive: true, force: true })
      }
    },
    async close() {
      clearInterval(relaxing)
      await Promise.all([...worlds.values()].map((world) => world.close()))
    },
  }
}
