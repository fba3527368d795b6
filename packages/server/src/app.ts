import type { Server } from 'node:net'
import { contract } from '@hyperplane/contract'
import { control as controlContract } from '@hyperplane/contract/control'
import { pino } from 'pino'
import { ClientAuthorities } from './app/client-authorities.ts'
import { diskSpaceFault } from './app/disk-space.ts'
import { standbySocket } from './app/standby.ts'
import { WorldSites } from './app/world-sites.ts'
import type { Config } from './config/config.ts'
import { Control } from './control/control.ts'
import { StartRefusal } from './core/start-refusal.ts'
import { realClock } from './core/time/clock.ts'
import { openDataFolder } from './data-folder/folder.ts'
import { loadCertificate } from './http/certificate.ts'
import { createWorldCertificates } from './http/certificates/worlds.ts'
import type { Site } from './http/exchange.ts'
import { createPages, type Pages } from './http/pages.ts'
import { createApiServer } from './http/server.ts'
import { ServiceCertificate } from './http/service-certificate.ts'
import type { AppOptions } from './instance/app-options.ts'
import type { Instance } from './instance/instance.ts'
import { createShared, type Shared } from './instance/process-wide.ts'
import { seedJsonSchema } from './seeds/json-schema.ts'
import { diskFault } from './store/disk-fault.ts'
import { StoreRefusal } from './store/store.ts'
import type { HostedWorld } from './worlds/world.ts'
import { createWorlds, defaultWorld, type Worlds } from './worlds/worlds.ts'

/** Members of the world `default`, also after a restore has replaced its instance. */
export interface App
  extends Pick<Instance, 'banner' | 'dispatch' | 'store' | 'clock' | 'runner' | 'drivers' | 'world'> {
  readonly config: Config
  readonly worlds: Worlds
  siteOf(world: string): Site | undefined
  readonly controlSite: Site | undefined
  /** @param open listens on the port already, and gets no further connections */
  listen(open?: Server): Promise<{ url: string }>
  close(): Promise<void>
}

type DataFolder = ReturnType<typeof openDataFolder>

/** @throws StartRefusal */
export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  let folder: DataFolder
  try {
    // A standby forwards clients, and tries again later.
    folder = openDataFolder(config.data, config.standby ? 0 : undefined)
  } catch (error) {
    throw refusalToStart(error, config.data)
  }
  const log = pino(
    { level: options.logLevel ?? 'warn', redact: ['authorization', 'apiKey', 'password', '*.authorization'] },
    pino.destination(2),
  )
  try {
    return await start(config, options, folder, log)
  } catch (error) {
    folder.close()
    throw refusalToStart(error, config.data)
  }
}

function refusalToStart(error: unknown, folder: string): unknown {
  const fault = diskFault(error)
  if (fault !== undefined)
    return new StartRefusal(
      `${fault.replace('the data folder', `the data folder ${folder}`)} Free room on it, or choose another folder with --data, then start again.`,
      { cause: error },
    )
  return error instanceof StoreRefusal ? new StartRefusal(error.message, { cause: error }) : error
}

async function start(config: Config, options: AppOptions, folder: DataFolder, log: pino.Logger): Promise<App> {
  const real = options.realClock ?? realClock
  const shared = createShared(config, options)
  const scheme = config.http ? 'http' : 'https'
  const state = { port: config.port, isListening: false, isClosing: false }

  const certificate = config.http
    ? undefined
    : new ServiceCertificate(loadCertificate(config, new Date(real.now())), config.tlsCert !== undefined)
  const control =
    config.control === 'off' ? undefined : new Control({ config, options, folder, shared, log, real, home: () => home })
  const worlds: Worlds = createWorlds({
    ...{ config, options, folder, shared, log, serviceTls: certificate },
    localUrl: (name) => `${scheme}://${name === defaultWorld ? '' : `${name}.`}localhost:${state.port}`,
    controlOf: (world) => control?.ofWorld(world),
    async onOpen({ current }) {
      current?.clientCertificates.onChange(() => void authorities.refresh())
      if (state.isListening) await authorities.refresh()
    },
  })
  const home = defaultWorldOf(worlds)
  const opened = await home.instance()
  await control?.begin(worlds)

  const sites = new WorldSites(worlds, control, shared.router.namespaces)
  const controlSite = sites.control(home)
  const isClosing = (): boolean => state.isClosing
  const pages = createServicePages({ config, shared, worlds, hasControl: control !== undefined, isClosing })
  const { certificateOf } = createWorldCertificates({
    data: config.data,
    folderOf: (name) => worlds.get(name)?.config.data,
    now: real.now,
    log,
  })
  const server = createApiServer({
    ...{ host: config.host, port: config.port, names: config.names, publicUrl: config.publicUrl },
    tls: certificate && { ...certificate.current, certificateOf },
    worldSite: (name) => sites.get(name),
    ...{ controlSite, pages: pages.answer, observe: pages.observe, log, setTimer: real.setTimer },
    standbySocket: config.standby ? standbySocket(config) : undefined,
  })
  certificate?.attach(server)
  const authorities = new ClientAuthorities(worlds, server, log, isClosing)

  return createAppObject(
    { config, worlds, home, opened, sites, controlSite },
    {
      async listen(open) {
        await authorities.refresh()
        const { url } = await server.listen(open)
        state.isListening = true
        state.port = Number(new URL(url).port)
        await control?.listening(server, url)
        return { url }
      },
      async close() {
        if (state.isClosing) return
        state.isClosing = true
        pages.close()
        control?.release()
        if (state.isListening) await server.close()
        await worlds.close()
        await control?.close()
        folder.close()
      },
    },
  )
}

function defaultWorldOf(worlds: Worlds): HostedWorld {
  const home = worlds.get(defaultWorld)
  if (home === undefined) throw new Error(`the world ${defaultWorld} is missing`)
  return home
}

interface PagesContext {
  readonly config: Config
  readonly shared: Shared
  readonly worlds: Worlds
  readonly hasControl: boolean
  readonly isClosing: () => boolean
}

function createServicePages({ config, shared, worlds, hasControl, isClosing }: PagesContext): Pages {
  return createPages({
    contract: hasControl ? [...contract, controlContract] : contract,
    async whyNotReady() {
      if (isClosing()) return 'the service is stopping'
      if (worlds.get(defaultWorld)?.current === undefined) return 'the world default is not open'
      return diskSpaceFault(worlds, config.data)
    },
    version: shared.version,
    runningTasks: () => [...worlds.all()].reduce((sum, { current }) => sum + (current?.runner.size() ?? 0), 0),
    documents: { '/docs/seed.schema.json': seedJsonSchema },
  })
}

interface AppParts extends Pick<App, 'config' | 'worlds' | 'controlSite'> {
  readonly home: HostedWorld
  readonly opened: Instance
  readonly sites: WorldSites
}

function createAppObject(parts: AppParts, lifecycle: Pick<App, 'listen' | 'close'>): App {
  const { config, worlds, controlSite, home, opened, sites } = parts
  let latest = opened
  /** While `default` has no instance, the previous one stays visible. */
  const instance = (): Instance => {
    latest = home.current ?? latest
    return latest
  }
  return {
    ...{ config, worlds, controlSite, banner: opened.banner, dispatch: home.dispatch },
    ...lifecycle,
    siteOf: (name) => sites.get(name),
    get store() {
      return instance().store
    },
    get clock() {
      return instance().clock
    },
    get runner() {
      return instance().runner
    },
    get drivers() {
      return instance().drivers
    },
    get world() {
      return instance().world
    },
  }
}
