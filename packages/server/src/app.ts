/** The process: the lock of the data folder, the sockets, and the worlds that answer. Tests start the same thing. */

import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { contract } from '@hyperplane/contract'
import { control as controlContract } from '@hyperplane/contract/control'
import { pino } from 'pino'
import type { Config } from './config/config.ts'
import { createControl } from './control/control.ts'
import { StartRefusal } from './core/start-refusal.ts'
import { realClock } from './core/time/clock.ts'
import { openDataFolder } from './data-folder/folder.ts'
import { loadCertificate } from './http/certificate.ts'
import { createWorldCertificates } from './http/certificates/worlds.ts'
import { createEnvelopeWriter } from './http/envelope.ts'
import type { Site } from './http/exchange.ts'
import { createPages } from './http/pages.ts'
import { createApiServer } from './http/server.ts'
import type { AppOptions } from './instance/app-options.ts'
import type { Instance } from './instance/instance.ts'
import { createShared } from './instance/process-wide.ts'
import { seedJsonSchema } from './seeds/json-schema.ts'
import { diskFault } from './store/disk-fault.ts'
import { StoreRefusal } from './store/store.ts'
import { storeAuthorities, storedAuthorities } from './worlds/client-authorities.ts'
import { inOrder } from './worlds/in-order.ts'
import type { HostedWorld } from './worlds/world.ts'
import { createWorlds, defaultWorld, type Worlds } from './worlds/worlds.ts'

/** Free bytes below which not even a request fits on the disk. */
const leastRoom = 128 * 1024

/** Whether a write has failed and would fail again, or is about to; undefined: there is room. */
async function faultOfDisk(worlds: Worlds, folder: string): Promise<string | undefined> {
  const faults = await Promise.all([...worlds.all()].map(({ current }) => current?.store.findFault()))
  const found = faults.find((fault) => fault !== undefined)
  if (found !== undefined) return found
  const { bavail, bfree, blocks, bsize } = await statfs(folder)
  // The superuser may use what is set aside for it. A file system that does not count its blocks says nothing.
  const free = (process.getuid?.() === 0 ? bfree : bavail) * bsize
  return blocks > 0 && free < leastRoom ? 'The disk that holds the data folder is full.' : undefined
}

export interface App
  extends Pick<Instance, 'banner' | 'dispatch' | 'store' | 'clock' | 'runner' | 'drivers' | 'world'> {
  readonly config: Config
  readonly worlds: Worlds
  /** Answers requests for a world, as its sockets do; undefined: there is no such world. */
  siteOf(world: string): Site | undefined
  /** undefined: the control interface is off. */
  readonly controlSite: Site | undefined
  listen(): Promise<{ url: string }>
  close(): Promise<void>
}

/**
 * What lives as long as the process is here: the lock of the folder, the sockets. What hangs on one store is an instance,
 * and a restore puts another one in its place. What stands above, of the world `default`, is told through the app.
 * @throws StartRefusal with cause and remedy in one line
 */
export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  const log = pino(
    { level: options.logLevel ?? 'warn', redact: ['authorization', 'apiKey', 'password', '*.authorization'] },
    pino.destination(2),
  )
  let folder: ReturnType<typeof openDataFolder>
  try {
    folder = openDataFolder(config.data)
  } catch (error) {
    throw refusalToStart(error, config.data)
  }
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

async function start(
  config: Config,
  options: AppOptions,
  folder: ReturnType<typeof openDataFolder>,
  log: pino.Logger,
): Promise<App> {
  const real = options.realClock ?? realClock
  const shared = createShared(config, options)
  const scheme = config.http ? 'http' : 'https'
  let port = config.port
  let closing = false
  let listening = false

  const control =
    config.control === 'off'
      ? undefined
      : createControl({ config, options, folder, shared, log, real, home: () => home })
  const worlds: Worlds = createWorlds({
    config,
    options,
    folder,
    shared,
    log,
    // What others are told of a world names its host; `default` is there without.
    localUrl: (name) => `${scheme}://${name === defaultWorld ? '' : `${name}.`}localhost:${port}`,
    controlOf: (world) => control?.ofWorld(world),
    async onOpen({ current }) {
      current?.clientCertificates.onChange(() => void askForCertificates())
      if (listening) await askForCertificates()
    },
  })
  const home = worlds.get(defaultWorld) as HostedWorld
  const opened = await home.instance()
  await control?.begin(worlds)

  const { namespaces } = shared.router
  const envelopes = createEnvelopeWriter({ namespaces })
  /** Ids follow from the world, so they are known while it is open; a world that does not open says so itself. */
  const edgeOf = (world: HostedWorld): Pick<Site, 'opening' | 'makeRequestId'> => ({
    opening() {
      return world.state.is === 'RESTING' ? world.instance().catch(() => undefined) : undefined
    },
    makeRequestId: () => world.current?.makeRequestId() ?? randomUUID(),
  })
  /** One a world, for as long as it is there. */
  const sites = new WeakMap<HostedWorld, Site>()
  function siteOf(world: HostedWorld): Site {
    let site = sites.get(world)
    if (site === undefined) {
      const recorder = control?.ofWorld(world).recorder
      const answering = { dispatch: inOrder(world), recorder, ...edgeOf(world) }
      site = { base: '/api', namespaces, envelopes, now: world.now, ...answering }
      sites.set(world, site)
    }
    return site
  }

  const siteNamed = (name: string): Site | undefined => {
    const world = worlds.get(name)
    return world === undefined ? undefined : siteOf(world)
  }

  const pages = createPages({
    contract: control === undefined ? contract : [...contract, controlContract],
    async whyNotReady() {
      if (closing) return 'the service is stopping'
      if (home.current === undefined) return 'the world default is not open'
      return faultOfDisk(worlds, config.data)
    },
    version: shared.version,
    runningTasks: () => [...worlds.all()].reduce((sum, { current }) => sum + (current?.runner.size() ?? 0), 0),
    documents: { '/docs/seed.schema.json': seedJsonSchema },
  })
  const { certificateOf } = createWorldCertificates({
    data: config.data,
    folderOf: (name) => worlds.get(name)?.config.data,
    now: real.now,
    log,
  })
  const controlSite = control === undefined ? undefined : { ...control.site, ...edgeOf(home), opening: () => undefined }
  const server = createApiServer({
    host: config.host,
    port: config.port,
    ...(config.http ? {} : { tls: { ...loadCertificate(config, new Date(real.now())), certificateOf } }),
    names: config.names,
    publicUrl: config.publicUrl,
    worldSite: siteNamed,
    controlSite,
    pages: pages.answer,
    observe: pages.observe,
    log,
    setTimer: real.setTimer,
  })

  /** Clients are asked for what some world takes; each world judges what they show. */
  async function askForCertificates(): Promise<void> {
    const authorities = await Promise.all([...worlds.all()].map(authoritiesOf))
    server.askForCertificates([...new Set(authorities.flat())])
  }
  /** One that cannot tell, because it is broken or being closed, keeps no other from being asked. */
  async function authoritiesOf({ name, current, config }: HostedWorld): Promise<readonly string[]> {
    try {
      if (current === undefined) return storedAuthorities(config.data)
      const authorities = await current.clientCertificates.authorities()
      storeAuthorities(config.data, authorities)
      return authorities
    } catch (error) {
      if (!closing) log.error({ err: error, world: name }, 'clients are not asked for the certificates of a world')
      return []
    }
  }

  /** What the world answers with now; after a restore that is another one. */
  let last = opened
  const present = (): Instance => {
    last = home.current ?? last
    return last
  }
  return {
    config,
    banner: opened.banner,
    worlds,
    dispatch: home.dispatch,
    siteOf: siteNamed,
    controlSite,
    get store() {
      return present().store
    },
    get clock() {
      return present().clock
    },
    get runner() {
      return present().runner
    },
    get drivers() {
      return present().drivers
    },
    get world() {
      return present().world
    },
    async listen() {
      await askForCertificates()
      const listened = await server.listen()
      listening = true
      port = Number(new URL(listened.url).port)
      await control?.listening(server, listened.url)
      return listened
    },
    async close() {
      if (closing) return
      closing = true
      pages.close()
      control?.release()
      if (listening) await server.close()
      await worlds.close()
      await control?.close()
      folder.close()
    },
  }
}
