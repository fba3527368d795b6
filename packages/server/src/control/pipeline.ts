import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Resource } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import type { pino } from 'pino'
import type { Config } from '../config/config.ts'
import { createAudit } from '../core/access/audit.ts'
import type { Passwords } from '../core/access/passwords.ts'
import type { AnonymousLimit } from '../core/access/rate-limit.ts'
import { type Sealer, sealerOf } from '../core/access/secrets.ts'
import { KeyedMutex } from '../core/concurrency/keyed-mutex.ts'
import { createEntityTags } from '../core/ids/etag.ts'
import { createIds } from '../core/ids/ids.ts'
import { seedId } from '../core/ids/named-id.ts'
import type { Spool } from '../core/input/spooled-form.ts'
import { createKinds } from '../core/kinds.ts'
import { assemble, noTasks } from '../core/pipeline/assemble.ts'
import { collect } from '../core/pipeline/collect.ts'
import type { Machinery } from '../core/pipeline/machinery.ts'
import type { Dispatch } from '../core/pipeline/request.ts'
import type { AccessControl, Authenticator, Tasks } from '../core/ports.ts'
import { coreRecords } from '../core/records.ts'
import { createRouter, type Router } from '../core/router.ts'
import type { TaskStarter } from '../core/tasks/define-task.ts'
import { type Clock, createWorldClock } from '../core/time/clock.ts'
import type { DataFolder } from '../data-folder/folder.ts'
import { readMasterKey } from '../data-folder/folder.ts'
import { canonicalNames } from '../http/profiles/names.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import { metaOrCreate, type Store } from '../store/store.ts'
import { type Table, tablesOf } from '../store/tables.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { ControlDomain } from './context.ts'
import type { Journals } from './journal/journals.ts'
import type { RecorderOptions } from './journal/recorder.ts'

export interface ControlShared {
  readonly config: Config
  readonly folder: DataFolder
  readonly durable: boolean
  readonly real: Clock
  readonly log: pino.Logger
  readonly router: Router
  readonly authenticator: Authenticator
  readonly access: AccessControl
  readonly passwords: Passwords
  readonly anonymous: AnonymousLimit
  readonly journals: Journals
  readonly recording: Pick<RecorderOptions, 'naming' | 'render'>
}

export interface ControlPipeline {
  readonly store: Store
  readonly dispatch: Dispatch
  close(): Promise<void>
  /** Ends the audit trail too, before its file is deleted: requests that are refused from now on are not recorded. */
  end(): Promise<void>
}

export const controlRouter = (): Router => createRouter([control], { loose: false, base: '' })

export const controlTables = (kinds: readonly Resource[]): ReadonlyMap<string, Table> =>
  tablesOf([...kinds, ...coreRecords], control.operations)

export interface ControlPipelineOptions<D> {
  readonly shared: ControlShared
  readonly file: string
  readonly tables: ReadonlyMap<string, Table>
  /** Kinds that the paths of these operations name, and that are stored here. */
  readonly kinds: readonly Resource[]
  readonly domains: Readonly<Record<string, ControlDomain<D>>>
  readonly drivers: D
  /** The salt of entity tags is derived from the seed of this world; random while the world is closed. */
  readonly tagsFrom: () => HostedWorld
  readonly spool?: Spool
  readonly elsewhere?: Machinery<D>['forward']
}

/** Two names, because the world `default` shares its folder with the registry of worlds. */
export const controlStoreFile = (folder: string): string => join(folder, 'control.sqlite')
export const registryFile = (folder: string): string => join(folder, 'worlds.sqlite')

export function openControlPipeline<D>(options: ControlPipelineOptions<D>): ControlPipeline {
  const { shared, drivers } = options
  const { config, real, log, router, authenticator, access, passwords, anonymous } = shared
  let sealer: Sealer
  const store = openSqliteStore({
    file: options.file,
    tables: options.tables,
    seal: (plain, about) => ({ $sealed: sealer.seal(plain, about) }),
    durable: shared.durable,
  })
  sealer = sealerOf(readMasterKey(shared.folder, config.masterKeyFile, false).key, store)
  const chance = (): string => randomBytes(24).toString('base64url')
  const salt = (name: string, make = chance): string => metaOrCreate(store, name, make)
  // Worlds are created and changed in real time, whatever their own clocks show.
  const clock = createWorldClock(real, 'real')
  const ids = createIds(randomUUID())
  const tagSalt = (): string => {
    const { current } = options.tagsFrom()
    return current === undefined ? chance() : seedId(`control-tags/${current.world.seed}`)
  }
  const tags = createEntityTags(salt('tag.salt', tagSalt))
  const domains = Object.values(options.domains)
  const audit = createAudit(store, clock, ids)
  let isEnding = false
  const ownKinds = new Set(options.kinds.map(({ kind }) => kind))
  const kinds = createKinds([control])
  const { dispatch, startSchedules } = assemble<D, Tasks & TaskStarter>({
    owner: 'the control interface',
    tenantId: seedId('control'),
    ...{ clock, ids, drivers, store, sealer },
    // All other services belong to worlds: no operation of this interface starts tasks or calls others.
    services: { router, names: canonicalNames, tags, access, passwords, tier: config.tier },
    operations: collect(domains.map((domain) => ['control', domain] as const)),
    // Path entities of other stores were resolved by the caller; look up only the kinds that this store holds.
    kinds: { ...kinds, resource: (kind) => (ownKinds.has(kind) ? kinds.resource(kind) : undefined) },
    rates: { mode: config.rateLimits, anonymous, now: () => real.now() },
    fingerprintSalt: salt('fingerprint.salt'),
    audit: { ...audit, writeAlone: async (entry) => (isEnding ? undefined : audit.writeAlone(entry)) },
    runner: () => noTasks('the control interface'),
    authenticator: () => authenticator,
    admit: async () => undefined,
    serialised: serialisedBy(domains),
    ...(options.spool === undefined ? {} : { spool: options.spool }),
    ...(options.elsewhere === undefined ? {} : { forward: options.elsewhere }),
    log,
  })
  const stopSchedules = startSchedules()
  async function close(): Promise<void> {
    stopSchedules()
    clock.close()
    await store.transaction(async () => undefined)
    await store.close()
  }
  return {
    store,
    dispatch,
    close,
    end() {
      isEnding = true
      return close()
    },
  }
}

/** Serialises requests that share a key (see `turns`), and repeats of one request. */
function serialisedBy<D>(domains: readonly ControlDomain<D>[]): NonNullable<Machinery<D>['serialised']> {
  const mutex = new KeyedMutex()
  const turnsOf = new Map<string, ControlDomain<D>['turns'][string]>(
    domains.flatMap(({ turns }) => Object.entries(turns).map(([id, each]) => [`control.${id}`, each] as const)),
  )
  return async (operation, input, key, work) => {
    const names = turnsOf.get(operation.key)?.(input)
    if (names === undefined) return work()
    const keys = [...names.map((name) => `of ${name}`), ...(key === undefined ? [] : [`request ${key}`])]
    return mutex.runExclusive(keys, work)
  }
}
