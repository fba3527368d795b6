/** The control interface beside /api: the registry of worlds, and what is done within each. Source: DESIGN C, D. */

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
import { createJournals } from './journal/journals.ts'
import { worldKinds, worldsDomains } from './operations/index.ts'
import {
  type ControlPipeline,
  type ControlShared,
  controlRouter,
  controlTables,
  openControlPipeline,
  registryFile,
} from './pipeline.ts'
import { usable } from './usable.ts'
import { createWorldControl } from './world-control.ts'
import { createSpool } from './worlds/import-spool.ts'
import { OwnPorts } from './worlds/own-ports.ts'
import { settingsOf } from './worlds/settings.ts'

export interface ControlOptions {
  readonly config: Config
  readonly options: Pick<AppOptions, 'durable' | 'tell'>
  readonly folder: DataFolder
  readonly shared: Shared
  readonly log: pino.Logger
  readonly real: Clock
  readonly home: () => HostedWorld
}

export interface Control {
  readonly site: Omit<Site, 'opening' | 'makeRequestId'>
  /** What is kept for, and done within, one world. */
  ofWorld(world: HostedWorld): WorldHooks
  /** The worlds of an earlier process are there again. */
  begin(worlds: Worlds): Promise<void>
  /** What waits for calls ends, so that connections can close. */
  release(): void
  /** Worlds with a port of their own get it. */
  listening(server: HttpServer, url: string): Promise<void>
  close(): Promise<void>
}

export function createControl(options: ControlOptions): Control {
  const { config, folder, log, real } = options
  const { durable, tell } = options.options
  const home = () => usable(defaultWorld, () => options.home().instance())
  const shared: ControlShared = {
    ...{ config, folder, log, real, durable: durable !== false },
    router: controlRouter(),
    authenticator: createControlAuthenticator(home),
    access: createControlAccess(home),
    passwords: options.shared.passwords,
    anonymous: options.shared.anonymous,
    journals: createJournals({ log }),
    recording: recordingOf(options.shared),
  }
  const tablesOfWorld = controlTables(worldKinds)
  /** Each is closed, and forgotten, with its world. */
  const within = new WeakMap<HostedWorld, WorldHooks>()
  let worlds: Worlds
  let origin: URL | undefined
  const ports = new OwnPorts((world) => {
    const [, own] = driver.urlsOf(world, ports.of(world))
    if (own !== undefined) tell?.(`World ${world} has a port of its own: ${own}`)
  })
  const ending = new AbortController()

  const driver: WorldsDriver = {
    get worlds() {
      return worlds
    },
    tables: options.shared.tables,
    version: options.shared.version,
    ports,
    ending: ending.signal,
    urlsOf(world, ownPort) {
      if (origin === undefined) return []
      const at = (host: string, port: string | number): string => `${origin?.protocol}//${host}:${port}/api`
      const byName = world === defaultWorld ? 'localhost' : `${world.toLowerCase()}.localhost`
      return [at(byName, origin.port), ...(ownPort === undefined ? [] : [at('localhost', ownPort)])]
    },
  }
  /** Opened after the world `default`: a new folder gets its keys with it. */
  let registry: ControlPipeline

  /** Operations within a world go there; the registry answers all others, also about worlds that there are not. */
  const dispatch: Dispatch = (request) => {
    const [, , , worldsSegment, name] = request.path.split('/')
    const world = worldsSegment === 'worlds' && name !== undefined ? worlds.get(decoded(name)) : undefined
    if (world === undefined) return registry.dispatch(request)
    const asked = named(request, world.name)
    const route = shared.router.route(asked.method, asked.path)
    const isWithin = route.found === 'operation' && !Object.hasOwn(worldsDomains, route.operation.stem)
    // Where nothing is kept yet, the registry judges who asks before something is.
    return isWithin && ofWorld(world).isKept ? ofWorld(world).dispatch(asked) : registry.dispatch(asked)
  }

  /** Of a request that reached the registry though it is for one world: what answers it. */
  function elsewhere({ stem }: Operation, { path }: ApiRequest): Dispatch | undefined {
    if (Object.hasOwn(worldsDomains, stem)) return undefined
    const world = worlds.get(decoded(path.split('/')[4] ?? ''))
    return world === undefined ? undefined : ofWorld(world).dispatch
  }

  function ofWorld(world: HostedWorld): WorldHooks {
    let control = within.get(world)
    if (control === undefined)
      within.set(
        world,
        (control = createWorldControl({
          ...{ shared, world, tables: tablesOfWorld, version: options.shared.version },
          origin: () => driver.urlsOf(world.name, undefined)[0]?.replace(/\/api$/, '') ?? 'https://localhost',
        })),
      )
    return control
  }

  return {
    site: {
      base: '',
      namespaces: shared.router.namespaces,
      envelopes: createEnvelopeWriter({ namespaces: shared.router.namespaces }),
      now: () => real.now(),
      dispatch,
    },
    ofWorld,
    async begin(all) {
      worlds = all
      requireRegistry(registryFile(config.data), worlds.listed())
      registry = openControlPipeline({
        shared,
        file: registryFile(config.data),
        tables: controlTables([World]),
        kinds: [World],
        domains: worldsDomains,
        drivers: driver,
        tagsFrom: options.home,
        elsewhere,
        spool: createSpool(worlds.place, spoolPrefix, config.importMebibytes * 1024 ** 2),
      })
      const rows = await registry.store.find(World)
      if (!rows.some(({ name }) => name === defaultWorld)) {
        const row = { extId: defaultWorld, name: defaultWorld, createTime: formatTime(real.now()) }
        await registry.store.transaction((transaction) => transaction.insert(World, row))
      }
      for (const row of rows) if (row.name !== defaultWorld) worlds.add(row.name, settingsOf(row))
      const unknown = worlds.tidy()
      if (unknown.length > 0) log.warn({ folders: unknown, registry: registryFile(config.data) }, foldersOfNone)
    },
    async listening(listened, url) {
      ports.listening(listened)
      origin = new URL(url)
      for (const { name, port } of await registry.store.find(World)) {
        if (port === undefined) continue
        await ports.open(name, port).then(
          (opened) => opened.keep(),
          (error: unknown) => log.error({ err: error, world: name, port }, "a world's own port cannot be opened"),
        )
      }
    },
    release() {
      ending.abort()
      shared.journals.release()
      for (const world of worlds.all()) within.get(world)?.release()
    },
    async close() {
      await registry.close()
      await shared.journals.close()
    },
  }
}

/** @throws StartRefusal: with a new registry nobody could reach the worlds that lie there */
function requireRegistry(file: string, folders: readonly string[]): void {
  if (folders.length === 0 || hasStore(file)) return
  const names = folders.map((folder) => basename(folder))
  const shown = names.length > 5 ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more` : names.join(', ')
  throw new StartRefusal(
    `The registry of worlds ${file} is ${existsSync(file) ? 'empty' : 'missing'}, and ${dirname(folders[0] as string)} holds the worlds ${shown}: put the registry back, or move these folders away to start without them.`,
  )
}

const foldersOfNone =
  'the registry lists no worlds for these folders, which are left as they are: stop the service and put back the registry that lists them, or move the folders away'

/** Elements of batches are answered to nobody: they are told as they would be in the names of the specification. */
function recordingOf({ router }: Shared): ControlShared['recording'] {
  const { namespaces } = router
  const envelopes = createEnvelopeWriter({ namespaces })
  return {
    naming: { router, names: canonicalNames },
    render({ path, query, profile, trace }, outcome, refused) {
      const now = (): string => formatTime(trace?.began ?? 0)
      const asked = { profile, origin: '', base: '/api', path, query, now }
      const answer =
        refused === undefined
          ? outcome && envelopes.reply(outcome.reply, outcome.operation, asked)
          : envelopes.refusal(refused, asked, '')
      return { status: answer?.status ?? 0, body: answer?.body }
    },
  }
}

/** The same request for the world as it is spelled. */
function named(request: ApiRequest, name: string): ApiRequest {
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
