/** The process: the lock of the data folder, the sockets, and the instance that answers. Tests start the same thing. */
import { contract } from '@hyperplane/contract'
import { pino } from 'pino'
import packageJson from '../package.json' with { type: 'json' }
import type { Config } from './config.ts'
import { realClock } from './core/clock.ts'
import { createGate } from './core/gate.ts'
import { openDataFolder } from './data-folder.ts'
import { exchangeStores, removeStore, storeFiles, takeBack } from './exchange-stores.ts'
import { loadCertificate } from './http/certificate.ts'
import { createEnvelopeWriter } from './http/envelope.ts'
import { createPages } from './http/pages.ts'
import { canonicalNames } from './http/profiles/names.ts'
import { createApiServer } from './http/server.ts'
import { type AppOptions, type Instance, type InstanceOptions, openInstance } from './instance.ts'
import { StartRefusal } from './start-refusal.ts'
import { StoreRefusal } from './store/store.ts'

export interface App
  extends Pick<Instance, 'banner' | 'dispatch' | 'store' | 'clock' | 'runner' | 'drivers' | 'world'> {
  readonly config: Config
  listen(): Promise<{ url: string }>
  close(): Promise<void>
}

/**
 * What lives as long as the process is here: the lock of the folder, the sockets. What hangs on one store is an instance,
 * and a restore puts another one in its place.
 * @throws StartRefusal with cause and remedy in one line
 */
export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  const log = pino(
    { level: options.logLevel ?? 'warn', redact: ['authorization', 'apiKey', 'password', '*.authorization'] },
    pino.destination(2),
  )
  const folder = openDataFolder(config.data)
  try {
    return await start(config, options, folder, log)
  } catch (error) {
    folder.close()
    throw error instanceof StoreRefusal ? new StartRefusal(error.message, { cause: error }) : error
  }
}

async function start(
  config: Config,
  options: AppOptions,
  folder: ReturnType<typeof openDataFolder>,
  log: pino.Logger,
): Promise<App> {
  const files = storeFiles(config.data)
  const gate = createGate(canonicalNames)
  const real = options.realClock ?? realClock
  /** Where clients on this machine reach the service. */
  let localUrl = `${config.http ? 'http' : 'https'}://localhost:${config.port}`
  let exchanging: Promise<void> | undefined
  const opening: InstanceOptions = {
    config,
    options,
    folder,
    log,
    localUrl: () => localUrl,
    async exchange(taskExtIds, stopping, last) {
      await gate.refuse(taskExtIds)
      try {
        await last()
      } catch (error) {
        gate.admit()
        throw error
      }
      // Whoever closes everything meanwhile closes this store.
      if (closing) return rejectedBy(stopping)
      // Not awaited: the end of the present instance waits for the task that asks for it.
      exchanging = putInPlace().catch((error) => log.fatal({ err: error }, 'neither store opens after a restore'))
      return rejectedBy(stopping)
    },
  }
  let instance = await openInstance(opening)
  removeStore(files.kept)
  gate.open(instance.dispatch)

  async function putInPlace(): Promise<void> {
    await gate.hold()
    const { clock } = instance
    const goingOn = { ...opening, clockMode: clock.mode, startAt: clock.now() }
    await instance.close()
    try {
      exchangeStores(files)
      try {
        instance = await openInstance(goingOn)
      } catch (error) {
        takeBack(files)
        throw error
      }
      removeStore(files.kept)
    } catch (error) {
      log.error({ err: error }, 'a restored store could not be put in place; the one before it goes on')
      instance = await openInstance(goingOn)
    }
    attendToCertificates()
    await askForCertificates()
    exchanging = undefined
    gate.open(instance.dispatch)
  }

  const pages = createPages({
    contract,
    isReady: () => !closing && exchanging === undefined,
    version: options.version ?? packageJson.version,
    runningTasks: () => instance.runner.size(),
  })
  const server = createApiServer({
    host: config.host,
    port: config.port,
    ...(config.http ? {} : { tls: await loadCertificate(config, new Date(real.now())) }),
    names: config.names,
    publicUrl: config.publicUrl,
    dispatch: gate.dispatch,
    now: () => instance.clock.now(),
    envelopes: createEnvelopeWriter({ namespaces: instance.namespaces, now: () => instance.clock.iso() }),
    namespaces: instance.namespaces,
    pages: pages.answer,
    observe: pages.observe,
    log,
  })
  const askForCertificates = async (): Promise<void> =>
    server.askForCertificates(await instance.clientCertificates.authorities())
  function attendToCertificates(): void {
    instance.clientCertificates.onChange(() => {
      askForCertificates().catch((error) => {
        if (!closing)
          log.error({ err: error }, 'clients are not asked for the certificates of the providers as they are now')
      })
    })
  }
  attendToCertificates()
  let closing = false
  let listening = false
  return {
    config,
    banner: instance.banner,
    dispatch: gate.dispatch,
    get store() {
      return instance.store
    },
    get clock() {
      return instance.clock
    },
    get runner() {
      return instance.runner
    },
    get drivers() {
      return instance.drivers
    },
    get world() {
      return instance.world
    },
    async listen() {
      listening = true
      await askForCertificates()
      const listened = await server.listen()
      localUrl = `${config.http ? 'http' : 'https'}://localhost:${new URL(listened.url).port}`
      return listened
    },
    async close() {
      if (closing) return
      closing = true
      await exchanging
      pages.close()
      if (listening) await server.close()
      await instance.close()
      folder.close()
    },
  }
}

const rejectedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const told = (): void => reject(signal.reason)
    if (signal.aborted) told()
    else signal.addEventListener('abort', told, { once: true })
  })
