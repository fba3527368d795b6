/** What hangs on one store: its world and drivers, and the machinery over them. A restore puts another one in its place. */
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '@hyperplane/contract'
import type { pino } from 'pino'
import packageJson from '../package.json' with { type: 'json' }
import type { Config } from './config.ts'
import { createAddressGuard } from './core/address-guard.ts'
import { createAudit } from './core/audit.ts'
import { type Clock, type ClockMode, createWorldClock, formatTime, realClock, type WorldClock } from './core/clock.ts'
import type { Ids, Services, World } from './core/context.ts'
import { createEntityTags } from './core/etag.ts'
import { createIdempotency } from './core/idempotency.ts'
import { createKinds } from './core/kinds.ts'
import { hashPassword } from './core/passwords.ts'
import { createPipeline } from './core/pipeline/dispatch.ts'
import type { Dispatch } from './core/pipeline/request.ts'
import type { Restores } from './core/ports.ts'
import { createRateLimiter } from './core/rate-limit.ts'
import { recordRetention } from './core/retention.ts'
import { createRouter } from './core/router.ts'
import { startSchedules } from './core/schedules.ts'
import { checkKey, createSealer, makeKeyCheck, WrongMasterKey } from './core/secrets.ts'
import { type RunnerOptions, TaskRunner } from './core/tasks/runner.ts'
import { type openDataFolder, readBackupKey, readMasterKey, wrongMasterKey } from './data-folder.ts'
import { admit } from './domains/admission.ts'
import { collectDomains } from './domains/collected.ts'
import { createAccessControl } from './domains/iam/access.ts'
import { syncSystemRoles } from './domains/iam/catalogue/system-roles.ts'
import { createCertificateTrust } from './domains/iam/certificates/trust.ts'
import { createAuthenticator } from './domains/iam/credentials.ts'
import { createServiceIdentity } from './domains/iam/service-identity.ts'
import { type LimitName, limits } from './domains/limits.ts'
import { seedId } from './domains/seed.ts'
import { seedWorld } from './domains/seeds.ts'
import type { Drivers } from './drivers/drivers.ts'
import { Fact, type FactStore, factsIn, openSimulatedWorld, type SimulatedWorld } from './drivers/simulated/world.ts'
import { storeFiles } from './exchange-stores.ts'
import { canonicalNames } from './http/profiles/names.ts'
import { openDrivers } from './open-drivers.ts'
import { createRestores } from './restores.ts'
import { readSeed } from './seed-file.ts'
import { createSnapshots } from './snapshots.ts'
import { openSqliteStore, type QueryTime } from './store/sqlite/sqlite-store.ts'
import type { Store } from './store/store.ts'
import { storeTables } from './store-tables.ts'

/** What only tests set. */
export interface AppOptions {
  /** false: commits do not wait for the disk. */
  readonly durable?: boolean
  readonly queryTime?: QueryTime
  readonly realClock?: Clock
  readonly beforeStep?: RunnerOptions<Drivers>['beforeStep']
  readonly logLevel?: string
  /** World time at the start, in milliseconds since 1970. */
  readonly startAt?: number
  /** Version that it says to have. */
  readonly version?: string
  /** Lower than what holds otherwise. */
  readonly limits?: { readonly [N in LimitName]?: number }
}

export interface Instance {
  /** Lines for the operator at the first start, such as the generated password. */
  readonly banner: readonly string[]
  readonly dispatch: Dispatch
  readonly store: Store
  readonly clock: WorldClock
  readonly runner: TaskRunner<Drivers>
  readonly drivers: Drivers
  /** The simulated infrastructure, for what happens below the interface. */
  readonly world: SimulatedWorld
  readonly clientCertificates: ReturnType<typeof createCertificateTrust>
  readonly namespaces: ReturnType<typeof createRouter>['namespaces']
  close(): Promise<void>
}

export interface InstanceOptions {
  readonly config: Config
  readonly options: AppOptions
  readonly folder: ReturnType<typeof openDataFolder>
  readonly log: pino.Logger
  readonly localUrl: () => string
  readonly exchange: Restores['exchange']
  /** Of the instance before it: its time goes on. */
  readonly clockMode?: ClockMode
  readonly startAt?: number
}

/** @throws StartRefusal, StoreRefusal */
export async function openInstance(opening: InstanceOptions): Promise<Instance> {
  const { config, options, folder, log } = opening
  const { first: file, second: secondFile } = storeFiles(config.data)
  const isNew = !existsSync(file)
  // Before anything is written: a refused seed leaves a new folder new.
  const plan = isNew ? readSeed(config.seed) : undefined
  const masterKey = readMasterKey(folder, config.masterKeyFile, isNew)
  const backupKey = readBackupKey(folder, { file: config.backupKeyFile, text: config.backupKey })

  const tables = storeTables()
  let sealer: ReturnType<typeof createSealer>
  const store = openSqliteStore({
    file,
    tables,
    seal: (plain, about) => ({ $sealed: sealer.seal(plain, about) }),
    durable: options.durable !== false,
    ...(options.queryTime === undefined ? {} : { queryTime: options.queryTime }),
    maximumReferrers: { Category: options.limits?.associationsOfCategory ?? limits.associationsOfCategory },
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

  const version = options.version ?? packageJson.version
  const real = options.realClock ?? realClock
  const clock = createWorldClock(real, opening.clockMode ?? config.clock, opening.startAt ?? options.startAt)
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
  const addressGuard = createAddressGuard({ allowed: config.allowAddress })
  if (config.allowAddress.length > 0)
    log.warn({ allowAddress: config.allowAddress }, 'clients may have these networks called')
  const drivers = openDrivers({ config, world, folder: filesFolder, guard: addressGuard, real })

  const parts = collectDomains()
  const access = createAccessControl({ store })
  const clientCertificates = createCertificateTrust({ store, clock, ids, web: drivers.web })
  const restores = createRestores({
    file: secondFile,
    tables,
    masterKey: masterKey.key,
    backupKey: backupKey.key,
    exchange: opening.exchange,
  })
  // What an earlier process did not bring to its end.
  restores.drop()
  const services: { -readonly [K in keyof Services]: Services[K] } = {
    dispatch: async () => {
      throw new Error('the pipeline is not ready')
    },
    router,
    names: canonicalNames,
    runner: undefined as never,
    authenticator: undefined as never,
    clientCertificates,
    identity: createServiceIdentity({ store, clock }),
    publicUrl: () => config.publicUrl ?? opening.localUrl(),
    tags,
    access,
    addressGuard,
    snapshots: createSnapshots({
      file,
      trialFile: join(config.data, 'trial.sqlite'),
      tables,
      masterKey: masterKey.key,
      backupKey: backupKey.key,
    }),
    restores,
    tier: config.tier,
    version,
    dataFolder: filesFolder,
    limits: options.limits ?? {},
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
  const authenticator = createAuthenticator({
    store,
    clock,
    real,
    world: worldContext,
    directory: drivers.directory,
    certificates: clientCertificates,
    audit,
    lockout: config.lockout,
  })
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
    rules: parts.rules,
    prepares: parts.prepares,
    admit,
    presenters: parts.presenters,
    log,
  })
  services.dispatch = dispatch

  const banner: string[] = []
  if (backupKey.isNew) {
    const kept = `shown once; keep a copy elsewhere: without it no backup can be restored`
    banner.push(`Backup key   ${backupKey.key.toString('base64')}   (${kept})`)
  }
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
      version,
      folder: filesFolder,
      backup: { key: backupKey.key, tables, open: (sealed, about) => sealer.open(sealed, about) },
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

  return {
    banner,
    dispatch,
    store,
    clock,
    runner,
    drivers,
    world,
    clientCertificates,
    namespaces: router.namespaces,
    async close() {
      stopSchedules()
      await runner.stop(4000)
      clock.close()
      await store.transaction(async () => undefined)
      await store.close()
    },
  }
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
