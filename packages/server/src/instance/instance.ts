/** What hangs on one store: its world and drivers, and the machinery over them. A restore puts another one in its place. */

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { User } from '@hyperplane/contract/iam/user'
import { createRestores } from '../backups/restores.ts'
import { createSnapshots } from '../backups/snapshots.ts'
import type { Config } from '../config/config.ts'
import { createAddressGuard } from '../core/access/address-guard.ts'
import { createAudit } from '../core/access/audit.ts'
import { generatedPassword } from '../core/access/passwords.ts'
import { createRateLimiter } from '../core/access/rate-limit.ts'
import { createIdempotency } from '../core/idempotency.ts'
import { seedId } from '../core/ids/named-id.ts'
import { createRequestIds } from '../core/ids/request-ids.ts'
import { createPipeline } from '../core/pipeline/dispatch.ts'
import type { Dispatch } from '../core/pipeline/request.ts'
import type { AccessControl, Authenticator } from '../core/ports.ts'
import { TaskRunner } from '../core/tasks/runner.ts'
import { createWorldClock, formatTime, parseTime, realClock, timeOf, type WorldClock } from '../core/time/clock.ts'
import { recordRetention } from '../core/time/retention.ts'
import { startSchedules } from '../core/time/schedules.ts'
import type { Services, World } from '../core/world.ts'
import { hasStore, storeFiles } from '../data-folder/store-files.ts'
import { admit } from '../domains/admission/admission.ts'
import { createAccessControl } from '../domains/iam/access.ts'
import { syncSystemRoles } from '../domains/iam/catalogue/system-roles.ts'
import { createCertificateTrust } from '../domains/iam/certificates/trust.ts'
import { createAuthenticator } from '../domains/iam/credentials.ts'
import { createServiceIdentity } from '../domains/iam/service-identity.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { Fact, type FactStore, factsIn, openSimulatedWorld, type SimulatedWorld } from '../drivers/simulated/world.ts'
import { canonicalNames } from '../http/profiles/names.ts'
import { readSeed, type SeedPlan } from '../seeds/read-seed.ts'
import { seedWorld } from '../seeds/seed-world.ts'
import { startWorldEvents, type WorldEvents } from '../simulation/world-events.ts'
import { diskFault } from '../store/disk-fault.ts'
import type { Store } from '../store/store.ts'
import { clockNotes, keptClock } from './clock-notes.ts'
import { openDrivers } from './drivers.ts'
import { drawnFrom, managerIdOf } from './identity.ts'
import type { InstanceOptions } from './options.ts'
import { openInstanceStore } from './store.ts'

export interface Instance {
  /** Lines for the operator at the first start, such as the generated password. */
  readonly banner: readonly string[]
  readonly dispatch: Dispatch
  /** For a request that brings none. */
  readonly makeRequestId: () => string
  readonly store: Store
  readonly clock: WorldClock
  readonly runner: TaskRunner<Drivers>
  readonly drivers: Drivers
  /** The simulated infrastructure, for what happens below the interface. */
  readonly world: SimulatedWorld
  /** What happens there by itself, or because somebody asked for it. */
  readonly events: WorldEvents
  readonly clientCertificates: ReturnType<typeof createCertificateTrust>
  readonly authenticator: Authenticator
  readonly access: AccessControl
  /** Of the user `admin`, if it still has a password here. */
  adminPasswordHash(): Promise<string | undefined>
  /** Writes down what the clock goes by: a world goes on there after a restart. */
  noteClock(): void
  close(): Promise<void>
}

/** @throws StartRefusal, StoreRefusal */
export async function openInstance(opening: InstanceOptions): Promise<Instance> {
  const { config, options, shared, log } = opening
  const { kinds, router, domains, tables, passwords, seedThreads, version } = shared
  const { first: file, second: secondFile } = storeFiles(config.data)
  // Before anything is written: a refused seed leaves a new folder new.
  const plan = hasStore(file) ? undefined : await readSeed(config.seed, seedThreads)
  // What is open when something goes wrong is closed, the last first.
  await using unfinished = new AsyncDisposableStack()
  let notesOfClock: ReturnType<typeof clockNotes> = () => undefined
  const { store, sealer, masterKey, backupKey, meta } = openInstanceStore({
    ...opening,
    isNew: plan !== undefined,
    alongside: () => notesOfClock(),
  })
  unfinished.defer(() => store.close())

  // Again where an earlier start did not come to its end.
  const asked = store.meta('seeded') === undefined ? (plan ?? (await readSeed(config.seed, seedThreads))) : undefined
  const real = options.realClock ?? realClock
  const clockState = opening.clockState ?? keptClock(store, config, options.startAt)
  const clock = createWorldClock(
    real,
    clockState?.mode ?? config.clock,
    clockState === undefined ? (options.startAt ?? timeInSeed(asked, config)) : timeOf(clockState, real.now()),
  )
  unfinished.defer(() => clock.close())
  notesOfClock = clockNotes(store, clock, config, options.startAt)
  const { tenantId, worldSeed, opened, ids, tags } = drawnFrom({ store, meta, asked })
  const world = await openSimulatedWorld(durableFacts(store), clock, worldSeed)
  const filesFolder = join(config.data, 'world')
  mkdirSync(filesFolder, { recursive: true, mode: 0o700 })
  const called = { allowed: config.allowAddress, isOffline: config.offline }
  const addressGuard = createAddressGuard(called)
  const registrationGuard = createAddressGuard({ ...called, isClosed: !config.allowOutbound })
  if (config.allowAddress.length > 0)
    log.warn({ allowAddress: config.allowAddress }, 'clients may have these networks called')
  const faults = opening.faults?.({ seed: world.seed, clock })
  const { name, localUrl } = opening
  const drivers = openDrivers({
    ...{ config, name, localUrl, world, folder: filesFolder, guard: addressGuard, registrationGuard, real, faults },
  })

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
    passwords,
    identity: createServiceIdentity({ store, clock }),
    publicUrl: () => config.publicUrl ?? opening.localUrl(),
    tags,
    access,
    addressGuard,
    registrationGuard,
    snapshots: createSnapshots({
      file,
      trialFile: join(config.data, 'trial.sqlite'),
      tables,
      masterKey: masterKey.key,
      backupKey: backupKey.key,
      isWaitedFor: () => clock.mode === 'frozen',
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
    definitions: domains.tasks,
    durations: config.durations,
    seal: (plain, about) => sealer.seal(plain, about),
    open: (sealed, about) => sealer.open(sealed, about),
    lostEffects: () => world.lost(),
    whyLost: () => world.whyLost(),
    log,
    ...(options.beforeStep === undefined ? {} : { beforeStep: options.beforeStep }),
    ...(faults === undefined ? {} : { faults }),
  })
  unfinished.defer(() => runner.stop(stopMillis))
  services.runner = runner
  const audit = createAudit(store, clock, ids.of('audit'))
  const authenticator = createAuthenticator({
    store,
    clock,
    real,
    world: worldContext,
    directory: drivers.directory,
    certificates: clientCertificates,
    audit,
    lockout: config.lockout,
    failures: shared.failedSignIns,
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
    limiter: createRateLimiter({
      mode: config.rateLimits,
      tier: config.tier,
      anonymous: shared.anonymous,
      now: () => (config.limits === 'world-clock' ? clock : real).now(),
    }),
    tags,
    idempotency: createIdempotency({
      clock,
      salt: meta('fingerprint.salt', () => randomBytes(24).toString('base64url')),
      seal: (text, about) => sealer.seal(text, about),
      open: (sealed, about) => sealer.open(sealed, about),
    }),
    audit,
    runner,
    handlers: domains.handlers,
    rules: domains.rules,
    prepares: domains.prepares,
    admit,
    presenters: domains.presenters,
    ...(faults === undefined ? {} : { faults }),
    log,
  })
  services.dispatch = opening.recorder?.elements(dispatch) ?? dispatch

  const banner: string[] = []
  if (backupKey.isNew) {
    const kept = `shown once; keep a copy elsewhere: without it no backup can be restored`
    banner.push(`Backup key   ${backupKey.key.toString('base64')}   (${kept})`)
  }
  if (asked !== undefined) {
    const adminPasswordHash = opening.adminPasswordHash ?? (await newPassword())
    await seedWorld({
      plan: asked,
      random: world.seed,
      store,
      world,
      drivers,
      clock,
      tenantId,
      managerExtId: managerIdOf(world.seed, config, opening.name),
      adminPasswordHash,
      tier: config.tier,
      version,
      folder: filesFolder,
      backup: { key: backupKey.key, tables, open: (sealed, about) => sealer.open(sealed, about) },
      machinery: { services, secrets: worldContext.secrets, kinds },
    })
    store.setMetas({ seeded: formatTime(real.now()), opened: '0' })
    await opening.whenNew?.(store)
  }
  store.setMeta('opened', String(opened + 1))

  function noteClock(): void {
    const notes = notesOfClock()
    if (notes !== undefined) store.setMetas(notes)
  }

  async function newPassword(): Promise<string> {
    const password = config.adminPassword ?? generatedPassword()
    if (config.adminPassword === undefined) banner.push(`Password     ${password}   (shown once; kept only as a hash)`)
    return passwords.hash(password)
  }
  await syncSystemRoles(store, tenantId)
  await runner.recover()
  const stopSchedules = startSchedules(
    [...domains.schedules, recordRetention],
    { ...worldContext, store, runner },
    clock,
    log,
  )
  unfinished.defer(stopSchedules)
  const events = startWorldEvents({ store, world, clock, drivers, ids: ids.of('events'), log })

  // From here on, `close` does it.
  unfinished.move()
  return {
    banner,
    dispatch,
    makeRequestId: createRequestIds(ids.of('requests')),
    store,
    clock,
    runner,
    drivers,
    world,
    events,
    clientCertificates,
    authenticator,
    access,
    adminPasswordHash: async () => (await store.get(User, seedId('user/admin')))?.passwordHash,
    noteClock,
    async close() {
      stopSchedules()
      await Promise.all([runner.stop(stopMillis), events.close()])
      clock.close()
      try {
        noteClock()
        await store.transaction(async () => undefined)
      } catch (error) {
        // What was answered is durable already; the clock goes on from its last note.
        if (diskFault(error) === undefined) throw error
        log.warn({ err: error }, 'the time at the end of a world cannot be written')
      } finally {
        await store.close()
      }
    },
  }
}

/** How long tasks have to come to a good point. */
const stopMillis = 4000

/** The world's facts in the store's own file. */
const durableFacts = (store: Store): FactStore => ({
  load: () => store.find(Fact),
  put: (facts) => store.transaction((transaction) => factsIn(transaction).put(facts)),
  stage: (facts) => store.stage((transaction) => factsIn(transaction).put(facts)),
  remove: (facts) => store.transaction((transaction) => factsIn(transaction).remove(facts)),
})

/** A clock that stands goes on where that of an exported world was; one that goes tells the time. */
const timeInSeed = (plan: SeedPlan | undefined, { clock }: Config): number | undefined =>
  plan?.world === undefined || clock !== 'frozen' ? undefined : parseTime(plan.world.time)
