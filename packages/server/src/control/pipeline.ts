/** The pipeline of the interface, over a store of the control interface's own. */

import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Resource } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import type { pino } from 'pino'
import type { Config } from '../config/config.ts'
import { createAudit } from '../core/access/audit.ts'
import type { Passwords } from '../core/access/passwords.ts'
import { type AnonymousLimit, createRateLimiter } from '../core/access/rate-limit.ts'
import { type Sealer, sealerOf } from '../core/access/secrets.ts'
import { KeyedMutex } from '../core/concurrency/keyed-mutex.ts'
import type { Presenter } from '../core/handlers.ts'
import { createIdempotency } from '../core/idempotency.ts'
import { createEntityTags } from '../core/ids/etag.ts'
import { createIds } from '../core/ids/ids.ts'
import { seedId } from '../core/ids/named-id.ts'
import type { Spool } from '../core/input/spooled-form.ts'
import { createKinds } from '../core/kinds.ts'
import { createPipeline } from '../core/pipeline/dispatch.ts'
import type { Machinery } from '../core/pipeline/machinery.ts'
import type { Dispatch } from '../core/pipeline/request.ts'
import type { AccessControl, Authenticator } from '../core/ports.ts'
import { coreRecords } from '../core/records.ts'
import { createRouter, type Router } from '../core/router.ts'
import { type Clock, createWorldClock } from '../core/time/clock.ts'
import { recordRetention } from '../core/time/retention.ts'
import { startSchedules } from '../core/time/schedules.ts'
import type { Services, World } from '../core/world.ts'
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

/** What all control pipelines of a process share. */
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
  /** How calls of worlds are told apart, and what their answers look like. */
  readonly recording: Pick<RecorderOptions, 'naming' | 'render'>
}

export interface ControlPipeline {
  readonly store: Store
  readonly dispatch: Dispatch
  close(): Promise<void>
  /** The same where the file goes, and the audit trail with it: who is refused meanwhile is not written down. */
  end(): Promise<void>
}

export const controlRouter = (): Router => createRouter([control], { loose: false, base: '' })

/** @param kinds what is stored in this file */
export const controlTables = (kinds: readonly Resource[]): ReadonlyMap<string, Table> =>
  tablesOf([...kinds, ...coreRecords], control.operations)

export interface ControlPipelineOptions<D> {
  readonly shared: ControlShared
  /** Of the store. */
  readonly file: string
  readonly tables: ReadonlyMap<string, Table>
  /** Kinds that the paths of these operations name, and that are stored here. */
  readonly kinds: readonly Resource[]
  readonly domains: Readonly<Record<string, ControlDomain<D>>>
  readonly drivers: D
  /** The world that entity tags follow from; while it is closed they follow from chance. */
  readonly tagsFrom: () => HostedWorld
  /** For forms with parts of any length. */
  readonly spool?: Spool
  /** See `Machinery`. */
  readonly elsewhere?: Machinery<D>['forward']
}

/** The two differ: the world `default` lies where the list of all worlds does. */
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
  // Worlds are made and changed in real time, whatever their own is.
  const clock = createWorldClock(real, 'real')
  const ids = createIds(randomUUID())
  const tagSalt = (): string => {
    const { current } = options.tagsFrom()
    return current === undefined ? chance() : seedId(`control-tags/${current.world.seed}`)
  }
  const tags = createEntityTags(salt('tag.salt', tagSalt))
  const world: World<D> = {
    tenantId: seedId('control'),
    clock,
    ids,
    drivers,
    secrets: {
      open: (kind, extId, path, value) => {
        const sealed = (value as { $sealed?: string } | undefined)?.$sealed
        return sealed === undefined ? undefined : sealer.open(sealed, `${kind}/${extId}/${path}`)
      },
    },
    // The rest of the machinery belongs to worlds: no operation of this interface starts tasks or calls others.
    services: { router, names: canonicalNames, tags, access, authenticator, passwords, tier: config.tier } as Services,
  }
  const domains = Object.values(options.domains)
  const presenters = new Map<string, Presenter<D>[]>()
  for (const [resource, presenter] of domains.flatMap((domain) => domain.presenters))
    presenters.set(resource.kind, [...(presenters.get(resource.kind) ?? []), presenter])
  const byKey = <T>(part: (domain: ControlDomain<D>) => Readonly<Record<string, T>>): ReadonlyMap<string, T> =>
    new Map(
      domains.flatMap((domain) => Object.entries(part(domain)).map(([id, one]) => [`control.${id}`, one] as const)),
    )
  const audit = createAudit(store, clock, ids)
  let isEnding = false
  const turns = new KeyedMutex()
  const turnsOf = byKey((domain) => domain.turns)
  const known = new Set(options.kinds.map(({ kind }) => kind))
  const kinds = createKinds([control])
  const { dispatch } = createPipeline<D>({
    world,
    store,
    router,
    names: canonicalNames,
    // What the path names and another store holds was found by whoever came here.
    kinds: { ...kinds, resource: (kind) => (known.has(kind) ? kinds.resource(kind) : undefined) },
    authenticator,
    access,
    limiter: createRateLimiter({ mode: config.rateLimits, tier: config.tier, anonymous, now: () => real.now() }),
    tags,
    idempotency: createIdempotency({
      clock,
      salt: salt('fingerprint.salt'),
      seal: (text, about) => sealer.seal(text, about),
      open: (sealed, about) => sealer.open(sealed, about),
    }),
    audit: { ...audit, writeAlone: async (entry) => (isEnding ? undefined : audit.writeAlone(entry)) },
    runner: undefined as never,
    handlers: byKey((domain) => domain.handlers),
    rules: byKey((domain) => domain.rules),
    prepares: byKey((domain) => domain.prepares),
    admit: async () => undefined,
    presenters,
    // A repeat of a request waits for the first one, whatever else it says.
    async serialised(operation, input, key, work) {
      const names = turnsOf.get(operation.key)?.(input)
      if (names === undefined) return work()
      const taken = [...names.map((name) => `of ${name}`), ...(key === undefined ? [] : [`request ${key}`])]
      return turns.runExclusive(taken, work)
    },
    ...(options.spool === undefined ? {} : { spool: options.spool }),
    ...(options.elsewhere === undefined ? {} : { forward: options.elsewhere }),
    log,
  })
  const schedules = [recordRetention, ...domains.flatMap((domain) => domain.schedules)]
  const stopSchedules = startSchedules(schedules, { ...world, store, runner: undefined as never }, clock, log)
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
