/** The control interface, served beside /api: the registry of all worlds, and the operations within each world. */

import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Operation } from '@hyperplane/contract'
import { World } from '@hyperplane/contract/control/world'
import type { pino } from 'pino'
import type { Config } from '../config/config.ts'
import type { ApiRequest, Dispatch } from '../core/pipeline/request.ts'
import { StartRefusal } from '../core/start-refusal.ts'
import { type Clock, formatTime } from '../core/time/clock.ts'
import type { DataFolder } from '../data-folder/folder.ts'
import { hasStore } from '../data-folder/store-files.ts'
import { createEnvelopeWriter } from '../http/envelope.ts'
import type { Site } from '../http/exchange.ts'
import { canonicalNames } from '../http/profiles/names.ts'
import type { HttpServer } from '../http/server.ts'
import type { AppOptions } from '../instance/app-options.ts'
import type { Shared } from '../instance/process-wide.ts'
import { spoolPrefix } from '../worlds/folders.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { WorldHooks } from '../worlds/world-hooks.ts'
import { defaultWorld, type Worlds } from '../worlds/worlds.ts'
import { createControlAccess, createControlAuthenticator } from './access.ts'
import type { WorldsDriver } from './context.ts'
import { Journals } from './journal/journals.ts'
import { worldKinds, worldsDomains } from './operations/index.ts'
import {
  type ControlPipeline,
  type ControlShared,
  controlRouter,
  controlTables,
  openControlPipeline,
  registryFile,
} from './pipeline.ts'
import { WorldControl } from './world-control.ts'
import { orWorldUnusable } from './world-errors.ts'
import { createSpool } from './worlds/import-spool.ts'
import { OwnPorts } from './worlds/own-ports.ts'
import { settingsOf } from './worlds/settings.ts'

export interface ControlOptions {
  readonly config: Config
  readonly options: Pick<AppOptions, 'durable' | 'idleJournalThreads' | 'tell'>
  readonly folder: DataFolder
  readonly shared: Shared
  readonly log: pino.Logger
  readonly real: Clock
  readonly home: () => HostedWorld
}

export class Control {
  readonly site: Omit<Site, 'opening' | 'makeRequestId'>
  readonly #options: ControlOptions
  readonly #shared: ControlShared
  readonly #tablesOfWorld = controlTables(worldKinds)
  readonly #worldControls = new WeakMap<HostedWorld, WorldControl>()
  readonly #ports: OwnPorts
  readonly #ending = new AbortController()
  #origin: URL | undefined
  #worlds!: Worlds
  /** Opened by `begin`, after the world `default`: the start of that world creates the keys of a new data folder. */
  #registry!: ControlPipeline

  constructor(options: ControlOptions) {
    const { config, folder, log, real } = options
    const home = () => orWorldUnusable(defaultWorld, () => options.home().instance())
    this.#options = options
    this.#shared = {
      ...{ config, folder, log, real, durable: options.options.durable !== false },
      router: controlRouter(),
      authenticator: createControlAuthenticator(home),
      access: createControlAccess(home),
      passwords: options.shared.passwords,
      anonymous: options.shared.anonymous,
      journals: new Journals({ log, idleThreads: options.options.idleJournalThreads }),
      recording: recordingOf(options.shared),
    }
    this.#ports = new OwnPorts((world) => this.#announcePort(world))
    const { namespaces } = this.#shared.router
    this.site = {
      base: '',
      namespaces,
      envelopes: createEnvelopeWriter({ namespaces }),
      now: () => real.now(),
      dispatch: (request) => this.#dispatch(request),
    }
  }

  ofWorld(world: HostedWorld): WorldHooks {
    let control = this.#worldControls.get(world)
    if (control === undefined) {
      control = new WorldControl({
        shared: this.#shared,
        world,
        tables: this.#tablesOfWorld,
        version: this.#options.shared.version,
        origin: () => this.#urlsOf(world.name, undefined)[0]?.replace(/\/api$/, '') ?? 'https://localhost',
      })
      this.#worldControls.set(world, control)
    }
    return control
  }

  /** Opens the registry, and adds the worlds that it lists. @throws StartRefusal */
  async begin(worlds: Worlds): Promise<void> {
    const { config, log, real } = this.#options
    const file = registryFile(config.data)
    this.#worlds = worlds
    requireRegistry(file, worlds.listed())
    this.#registry = this.#openRegistry(file)
    const { store } = this.#registry
    const rows = await store.find(World)
    if (!rows.some(({ name }) => name === defaultWorld)) {
      const row = { extId: defaultWorld, name: defaultWorld, createTime: formatTime(real.now()) }
      await store.transaction((transaction) => transaction.insert(World, row))
    }
    for (const row of rows) if (row.name !== defaultWorld) worlds.add(row.name, settingsOf(row))
    const unlisted = worlds.tidy()
    if (unlisted.length > 0) log.warn({ folders: unlisted, registry: file }, unlistedFolders)
  }

  async listening(server: HttpServer, url: string): Promise<void> {
    this.#ports.listening(server)
    this.#origin = new URL(url)
    for (const { name, port } of await this.#registry.store.find(World)) {
      if (port === undefined) continue
      await this.#ports.open(name, port).then(
        (opened) => opened.commit(),
        (error: unknown) =>
          this.#options.log.error({ err: error, world: name, port }, "a world's own port cannot be opened"),
      )
    }
  }

  release(): void {
    this.#ending.abort()
    this.#shared.journals.stopWaiting()
    for (const world of this.#worlds.all()) this.#worldControls.get(world)?.release()
  }

  async close(): Promise<void> {
    await this.#registry.close()
    await this.#shared.journals.close()
  }

  #openRegistry(file: string): ControlPipeline {
    const worlds = this.#worlds
    return openControlPipeline({
      shared: this.#shared,
      file,
      tables: controlTables([World]),
      kinds: [World],
      domains: worldsDomains,
      drivers: this.#driver(worlds),
      tagsFrom: this.#options.home,
      elsewhere: (operation, request) => this.#dispatchWithinWorld(operation, request),
      spool: createSpool(worlds.place, spoolPrefix, this.#options.config.importMebibytes * 1024 ** 2),
    })
  }

  #driver(worlds: Worlds): WorldsDriver {
    const { tables, version } = this.#options.shared
    return {
      worlds,
      tables,
      version,
      ports: this.#ports,
      ending: this.#ending.signal,
      urlsOf: (world, ownPort) => this.#urlsOf(world, ownPort),
    }
  }

  /** The world answers operations within it; the registry all others, also those with an unknown world. */
  #dispatch(request: ApiRequest): ReturnType<Dispatch> {
    const [, , , segment, name] = request.path.split('/')
    const world = segment === 'worlds' && name !== undefined ? this.#worlds.get(decoded(name)) : undefined
    if (world === undefined) return this.#registry.dispatch(request)
    const renamed = withWorldName(request, world.name)
    const route = this.#shared.router.route(renamed.method, renamed.path)
    const isWithin = route.found === 'operation' && !Object.hasOwn(worldsDomains, route.operation.stem)
    const hooks = this.ofWorld(world)
    // The world has no control store yet: the registry checks access before one is created.
    return isWithin && hooks.isKept ? hooks.dispatch(renamed) : this.#registry.dispatch(renamed)
  }

  /** For a request that reached the registry because the world had no control store. */
  #dispatchWithinWorld({ stem }: Operation, { path }: ApiRequest): Dispatch | undefined {
    if (Object.hasOwn(worldsDomains, stem)) return undefined
    const world = this.#worlds.get(decoded(path.split('/')[4] ?? ''))
    return world === undefined ? undefined : this.ofWorld(world).dispatch
  }

  #urlsOf(world: string, ownPort: number | undefined): string[] {
    const origin = this.#origin
    if (origin === undefined) return []
    const urlAt = (host: string, port: string | number): string => `${origin.protocol}//${host}:${port}/api`
    const host = world === defaultWorld ? 'localhost' : `${world.toLowerCase()}.localhost`
    return [urlAt(host, origin.port), ...(ownPort === undefined ? [] : [urlAt('localhost', ownPort)])]
  }

  #announcePort(world: string): void {
    const [, url] = this.#urlsOf(world, this.#ports.of(world))
    if (url !== undefined) this.#options.options.tell?.(`World ${world} has a port of its own: ${url}`)
  }
}

/** @throws StartRefusal when folders of worlds exist without a registry: a new registry would make them unreachable */
function requireRegistry(file: string, folders: readonly string[]): void {
  if (folders.length === 0 || hasStore(file)) return
  const names = folders.map((folder) => basename(folder))
  const shown = names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ')
  throw new StartRefusal(
    `The registry of worlds ${file} is ${existsSync(file) ? 'empty' : 'missing'}, and ${dirname(folders[0] as string)} holds the worlds ${shown}: put the registry back, or move these folders away to start without them.`,
  )
}

const unlistedFolders =
  'the registry lists no worlds for these folders, which are left as they are: stop the service and put back the registry that lists them, or move the folders away'

/** Renders the answers of batch elements, which no client receives, in the names of the specification. */
function recordingOf({ router }: Shared): ControlShared['recording'] {
  const { namespaces } = router
  const envelopes = createEnvelopeWriter({ namespaces })
  return {
    naming: { router, names: canonicalNames },
    render({ path, query, profile, trace }, outcome, refused) {
      const now = (): string => formatTime(trace?.began ?? 0)
      const target = { profile, origin: '', base: '/api', path, query, now }
      const answer =
        refused === undefined
          ? outcome && envelopes.reply(outcome.reply, outcome.operation, target)
          : envelopes.refusal(refused, target, '')
      return { status: answer?.status ?? 0, body: answer?.body }
    },
  }
}

/** The request with the name of the world spelled as it was created: names ignore case. */
function withWorldName(request: ApiRequest, name: string): ApiRequest {
  const segments = request.path.split('/')
  segments[4] = encodeURIComponent(name)
  return { ...request, path: segments.join('/') }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
