/** The composition root: the only file that names every part. Tests start the same thing. */
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '@hyperplane/contract'
import { pino } from 'pino'
import packageJson from '../package.json' with { type: 'json' }
import type { Config } from './config.ts'
import { createAudit } from './core/audit.ts'
import { type Clock, createWorldClock, formatTime, realClock, type WorldClock } from './core/clock.ts'
import type { Ids, Services, World } from './core/context.ts'
import { createEntityTags } from './core/etag.ts'
import type { Handler, Prepare, Presenter } from './core/handlers.ts'
import { createIdempotency } from './core/idempotency.ts'
import { createKinds } from './core/kinds.ts'
import { hashPassword } from './core/passwords.ts'
import { createPipeline, type Dispatch } from './core/pipeline.ts'
import { createRateLimiter } from './core/rate-limit.ts'
import { coreRecords } from './core/records.ts'
import { recordRetention } from './core/retention.ts'
import { createRouter } from './core/router.ts'
import { type Schedule, startSchedules } from './core/schedules.ts'
import { checkKey, createSealer, makeKeyCheck, WrongMasterKey } from './core/secrets.ts'
import type { TaskDefinition } from './core/tasks/define-task.ts'
import { type RunnerOptions, TaskRunner } from './core/tasks/runner.ts'
import { openDataFolder, readMasterKey, wrongMasterKey } from './data-folder.ts'
import { createAccessControl } from './domains/iam/access.ts'
import { syncSystemRoles } from './domains/iam/catalogue/system-roles.ts'
import { createAuthenticator } from './domains/iam/credentials.ts'
import { iamRecords } from './domains/iam/records.ts'
import { domains } from './domains/index.ts'
import { seedId } from './domains/seed.ts'
import { seedWorld } from './domains/seeds.ts'
import { vmmRecords } from './domains/vmm/records.ts'
import type { Drivers } from './drivers/drivers.ts'
import { createSimulatedDrivers } from './drivers/simulated/index.ts'
import { Fact, type FactStore, factsIn, openSimulatedWorld, type SimulatedWorld } from './drivers/simulated/world.ts'
import { loadCertificate } from './http/certificate.ts'
import { createEnvelopeWriter } from './http/envelope.ts'
import { createPages } from './http/pages.ts'
import { canonicalNames } from './http/profiles/names.ts'
import { createApiServer } from './http/server.ts'
import { readSeed } from './seed-file.ts'
import { StartRefusal } from './start-refusal.ts'
import { openSqliteStore } from './store/sqlite/sqlite-store.ts'
import { type Store, StoreRefusal } from './store/store.ts'
import { tablesOf } from './store/tables.ts'

export interface App {
  readonly config: Config
  /** Lines for the operator at the first start, such as the generated password. */
  readonly banner: readonly string[]
  readonly dispatch: Dispatch
  readonly store: Store
  readonly clock: WorldClock
  readonly runner: TaskRunner<Drivers>
  readonly drivers: Drivers
  /** The simulated infrastructure, for what happens below the interface. */
  readonly world: SimulatedWorld
  listen(): Promise<{ url: string }>
  close(): Promise<void>
}

/** What only tests set. */
export interface AppOptions {
  /** false: commits do not wait for the disk. */
  readonly durable?: boolean
  readonly realClock?: Clock
  readonly beforeStep?: RunnerOptions<Drivers>['beforeStep']
  readonly logLevel?: string
  /** World time at the start, in milliseconds since 1970. */
  readonly startAt?: number
}

/** @throws StartRefusal with cause and remedy in one line */
export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  const log = pino(
    { level: options.logLevel ?? 'warn', redact: ['authorization', 'apiKey', 'password', '*.authorization'] },
    pino.destination(2),
  )
  const folder = openDataFolder(config.data)
  try {
    return await open(config, options, folder, log)
  } catch (error) {
    folder.close()
    throw error instanceof StoreRefusal ? new StartRefusal(error.message, { cause: error }) : error
  }
}

async function open(
  config: Config,
  options: AppOptions,
  folder: ReturnType<typeof openDataFolder>,
  log: pino.Logger,
): Promise<App> {
  const file = join(config.data, 'world.sqlite')
  const isNew = !existsSync(file)
  // Before anything is written: a refused seed leaves a new folder new.
  const plan = isNew ? readSeed(config.seed) : undefined
  const masterKey = readMasterKey(folder, config.masterKeyFile, isNew)

  const resources = [
    ...new Set(contract.flatMap((namespace) => namespace.resources)),
    ...coreRecords,
    ...iamRecords,
    ...vmmRecords,
    Fact,
  ]
  const operations = contract.flatMap((namespace) => namespace.operations)
  let sealer: ReturnType<typeof createSealer>
  const store = openSqliteStore({
    file,
    tables: tablesOf(resources, operations),
    seal: (plain, about) => ({ $sealed: sealer.seal(plain, about) }),
    durable: options.durable !== false,
  })
  const keyCheck = store.meta('key.check')
  if (keyCheck !== undefined && !checkKey(masterKey.key, keyCheck)) throw wrongMasterKey(folder, masterKey)
  try {
    sealer = createSealer(masterKey.key, {
      load: () => store.meta('key.data'),
      save: (text) => store.setMeta('key.data', text),
    })
  } catch (error) {
    throw error instanceof WrongMasterKey ? wrongMasterKey(folder, masterKey) : error
  }
  if (keyCheck === undefined) store.setMeta('key.check', makeKeyCheck(masterKey.key))
  const meta = (name: string, make: () => string): string => {
    const known = store.meta(name)
    if (known !== undefined) return known
    const made = make()
    store.setMeta(name, made)
    return made
  }

  const real = options.realClock ?? realClock
  const clock = createWorldClock(real, config.clock, options.startAt)
  const ids: Ids = { uuid: randomUUID, random: Math.random, secretBytes: randomBytes }
  const tenantId = meta('tenant', () => (config.seed === 'empty' ? randomUUID() : seedId('tenant')))
  const kinds = createKinds(contract)
  const router = createRouter(contract, { loose: config.versions === 'loose' })
  const tags = createEntityTags(meta('tag.salt', () => randomBytes(24).toString('base64url')))
  const world = await openSimulatedWorld(
    durableFacts(store),
    clock,
    meta('world.seed', () => (config.seed === 'demo' ? 'demo' : randomUUID())),
  )
  const filesFolder = join(config.data, 'world')
  mkdirSync(filesFolder, { recursive: true, mode: 0o700 })
  const drivers = createSimulatedDrivers(world, { folder: filesFolder, durations: config.durations })

  const parts = collectDomains()
  const access = createAccessControl({ store })
  const services: { -readonly [K in keyof Services]: Services[K] } = {
    dispatch: async () => {
      throw new Error('the pipeline is not ready')
    },
    router,
    names: canonicalNames,
    runner: undefined as never,
    authenticator: undefined as never,
    tags,
    access,
    tier: config.tier,
    version: packageJson.version,
    dataFolder: filesFolder,
  }
  const worldContext: World<Drivers> = {
    tenantId,
    clock,
    ids,
    drivers,
    services,
    secrets: {
      open: (kind, extId, path, value) => {
        const sealed = (value as { $sealed?: string } | undefined)?.$sealed
        return sealed === undefined ? undefined : sealer.open(sealed, `${kind}/${extId}/${path}`)
      },
    },
  }
  const runner = new TaskRunner<Drivers>({
    store,
    world: worldContext,
    definitions: parts.tasks,
    durations: config.durations,
    seal: (plain, about) => sealer.seal(plain, about),
    open: (sealed, about) => sealer.open(sealed, about),
    log,
    ...(options.beforeStep === undefined ? {} : { beforeStep: options.beforeStep }),
  })
  services.runner = runner
  const audit = createAudit(store, clock, ids)
  const authenticator = createAuthenticator({ store, clock, real, world: worldContext, audit, lockout: config.lockout })
  services.authenticator = authenticator
  const { dispatch } = createPipeline<Drivers>({
    world: worldContext,
    store,
    router,
    names: canonicalNames,
    kinds,
    authenticator,
    access,
    limiter: createRateLimiter({ mode: config.rateLimits, tier: config.tier, now: () => real.now() }),
    tags,
    idempotency: createIdempotency({
      clock,
      salt: meta('fingerprint.salt', () => randomBytes(24).toString('base64url')),
      seal: (text, about) => sealer.seal(text, about),
      open: (sealed, about) => sealer.open(sealed, about),
    }),
    audit,
    runner,
    handlers: parts.handlers,
    prepares: parts.prepares,
    presenters: parts.presenters,
    log,
  })
  services.dispatch = dispatch

  const banner: string[] = []
  if (store.meta('seeded') === undefined) {
    const password = config.adminPassword ?? generatedPassword()
    if (config.adminPassword === undefined) banner.push(`Password     ${password}   (shown once; kept only as a hash)`)
    const adminPasswordHash = await hashPassword(password)
    await seedWorld({
      plan: plan ?? readSeed(config.seed),
      store,
      world,
      drivers,
      clock,
      ids,
      tenantId,
      adminPasswordHash,
      tier: config.tier,
      version: packageJson.version,
      folder: filesFolder,
    })
    store.setMeta('seeded', formatTime(real.now()))
  }
  await syncSystemRoles(store, tenantId)
  await runner.recover()
  const stopSchedules = startSchedules(
    [...parts.schedules, recordRetention],
    { ...worldContext, store, runner },
    clock,
    log,
  )

  const pages = createPages({
    contract,
    isReady: () => !closing,
    version: packageJson.version,
    runningTasks: () => runner.size(),
  })
  const server = createApiServer({
    host: config.host,
    port: config.port,
    ...(config.http ? {} : { tls: await loadCertificate(config, new Date(real.now())) }),
    names: config.names,
    publicUrl: config.publicUrl,
    dispatch,
    envelopes: createEnvelopeWriter({ namespaces: router.namespaces, now: () => clock.iso() }),
    namespaces: router.namespaces,
    pages: pages.answer,
    observe: pages.observe,
    log,
  })
  let closing = false
  let listening = false
  return {
    config,
    banner,
    dispatch,
    store,
    clock,
    runner,
    drivers,
    world,
    async listen() {
      listening = true
      return server.listen()
    },
    async close() {
      if (closing) return
      closing = true
      stopSchedules()
      pages.close()
      if (listening) await server.close()
      await runner.stop(4000)
      clock.close()
      await store.transaction(async () => undefined)
      store.close()
      folder.close()
    },
  }
}

/** Everything that the domains declare, by the keys of the contract. */
function collectDomains(): {
  handlers: ReadonlyMap<string, Handler<Drivers, any>>
  prepares: ReadonlyMap<string, Prepare<Drivers, any>>
  presenters: ReadonlyMap<string, readonly Presenter<Drivers>[]>
  tasks: ReadonlyMap<string, TaskDefinition<Drivers, any>>
  schedules: readonly Schedule<Drivers>[]
} {
  const handlers = new Map<string, Handler<Drivers, any>>()
  const prepares = new Map<string, Prepare<Drivers, any>>()
  const presenters = new Map<string, Presenter<Drivers>[]>()
  const tasks = new Map<string, TaskDefinition<Drivers, any>>()
  const schedules: Schedule<Drivers>[] = []
  for (const [prefix, kinds] of Object.entries(domains)) {
    for (const domain of Object.values(kinds)) {
      for (const [id, handler] of Object.entries(domain.handlers)) handlers.set(`${prefix}.${id}`, handler)
      for (const [id, prepare] of Object.entries(domain.prepares)) prepares.set(`${prefix}.${id}`, prepare)
      for (const [resource, presenter] of domain.presenters) {
        presenters.set(resource.kind, [...(presenters.get(resource.kind) ?? []), presenter])
      }
      for (const task of domain.tasks) {
        if (tasks.has(task.name)) throw new Error(`two task definitions are called ${task.name}`)
        tasks.set(task.name, task)
      }
      schedules.push(...domain.schedules)
    }
  }
  return { handlers, prepares, presenters, tasks, schedules }
}

/** The world's facts in the store's own file, each write durable on its own. */
const durableFacts = (store: Store): FactStore => ({
  load: () => store.find(Fact),
  put: (facts) => store.transaction((transaction) => factsIn(transaction).put(facts)),
  remove: (facts) => store.transaction((transaction) => factsIn(transaction).remove(facts)),
})

/** 20 characters that satisfy the password policy and can be typed. */
function generatedPassword(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
  const body = [...randomBytes(16)].map((byte) => letters[byte % letters.length]).join('')
  return `Hp9.${body}`
}
