import { statSync } from 'node:fs'
import { World, worldOperations } from '@hyperplane/contract/control/world'
import type { Config } from '../../config/config.ts'
import type { Passwords } from '../../core/access/passwords.ts'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { StartRefusal } from '../../core/start-refusal.ts'
import { type ClockMode, formatTime } from '../../core/time/clock.ts'
import { TwoPhaseEffect } from '../../core/two-phase-effect.ts'
import { replaced } from '../../core/updates.ts'
import { storeFiles } from '../../data-folder/store-files.ts'
import { brokenRules } from '../../domains/accounts/password-policy.ts'
import { exportSeed, UnfinishedTasks } from '../../seeds/export-seed.ts'
import { SeedRefusal } from '../../seeds/seed-refusal.ts'
import { StoreRefusal } from '../../store/store.ts'
import { keyOf } from '../../worlds/folders.ts'
import type { HostedWorld } from '../../worlds/world.ts'
import { type Draft, defaultWorld, type NewSeed, type Worlds } from '../../worlds/worlds.ts'
import { implementForWorlds, type WorldsContext, type WorldsReadContext } from '../context.ts'
import { millisecondsOf } from '../duration.ts'
import { orWorldUnusable, worldClosedError } from '../world-errors.ts'
import { waitForTasks } from '../worlds/ended-tasks.ts'
import type { OpenedPort } from '../worlds/own-ports.ts'
import { type NewWorld, rowOf, settingsOf } from '../worlds/settings.ts'

export const world = implementForWorlds(
  worldOperations,
  {
    async createWorld(ctx, { body, prepared }) {
      const { seed, ...settings } = body
      if (seed !== undefined) return createFromSeed(ctx, settings, prepared as Prepared, { text: seed })
      return createFromSeed(ctx, { ...settings, preset: settings.preset ?? 'demo' }, prepared as Prepared)
    },
    // `body.seed` is the digest of the uploaded file, `files.seed` its path.
    importWorld: async (ctx, { body: { seed: _, ...settings }, files, prepared }) =>
      createFromSeed(ctx, settings, prepared as Prepared, { moved: files?.['seed'] as string }),
    async updateWorld(ctx, { body }) {
      const before = ctx.target
      const after = replaced(World, before, body, ctx.version)
      if (after.port === before.port) {
        await ctx.store.replace(World, after)
        return worldView(ctx, after)
      }
      let opened: OpenedPort | undefined
      return new TwoPhaseEffect({
        async make() {
          opened = await openPort(ctx, before.name, after.port)
        },
        async conclude({ store, afterCommit }) {
          await store.replace(World, after)
          afterCommit(() => opened?.commit())
          return worldView(ctx, after, opened)
        },
        giveUp: async () => opened?.rollback(),
      })
    },
    async deleteWorld(ctx) {
      const { extId, name } = ctx.target
      if (keyOf(name) === defaultWorld) throw new ApiError('WORLD_PERMANENT')
      const { worlds, ports } = ctx.drivers
      return new TwoPhaseEffect({
        make: () => worlds.retire(name),
        async conclude({ store, afterCommit }) {
          await store.remove(World, extId)
          afterCommit(() => {
            worlds.remove(name)
            ports.close(name)
          })
          return undefined
        },
        giveUp: async () => worlds.keep(name, settingsOf(ctx.target)),
      })
    },
    async forkWorld(ctx, { body }) {
      const origin = ctx.target
      const { rateLimits, limits, durations, lockout, clock, preset } = origin
      const settings = { rateLimits, limits, durations, lockout, clock, preset }
      return createWorldEffect(ctx, { ...body, ...settings, forkedFrom: origin.name }, (draft, row) =>
        orWorldUnusable(origin.name, () => draft.copy(hostedOf(ctx, origin), settingsOf(row))),
      )
    },
    async resetWorld(ctx) {
      const row = ctx.target
      return new TwoPhaseEffect({
        make: () => orWorldUnusable(row.name, () => hostedOf(ctx, row).reset()),
        async conclude({ store }) {
          await store.touch(World, row.extId)
          return worldView(ctx, row)
        },
      })
    },
    async exportWorld(ctx, { query }) {
      const { name } = ctx.target
      const hosted = hostedOf(ctx, ctx.target)
      const instance = await orWorldUnusable(name, () => hosted.instance())
      const { store, clock } = instance
      const isClosed = (): boolean => hosted.current !== instance
      const isOver = (): boolean => isClosed() || ctx.drivers.ending.aborted
      await waitForTasks({ store, clock, real: ctx.clock, isOver }, millisecondsWithin(query.parameters['within']))
      // Observers write facts shortly after the change that they observe.
      await clock.settled()
      if (isClosed()) throw worldClosedError(name)
      const seed = exportSeed({
        file: storeFiles(hosted.config.data).first,
        tables: ctx.drivers.tables,
        version: ctx.drivers.version,
        time: clock.iso(),
      })
      // The first chunk shows whether the export is refused; after it, the status 200 has been sent.
      const first = await seed.next().catch((error: unknown) => {
        if (!(error instanceof UnfinishedTasks)) throw error
        throw new ApiError('CONFLICT', { fault: `${error.message} ${exportAdvice(clock.mode)}` })
      })
      return { contentType: 'application/yaml', fileName: `${name}.yaml`, content: bytesOf(first, seed) }
    },
  },
  {
    rules: {
      createWorld({ body }) {
        const both = body.preset !== undefined && body.seed !== undefined
        return [...(both ? [invalid('seed', 'expected either preset or seed, found both')] : []), ...faultsOf(body)]
      },
      importWorld: ({ body }) => faultsOf(body),
    },
    prepare: {
      createWorld: ({ services }, { body }) => prepare(services.passwords, body),
      importWorld: ({ services }, { body }) => prepare(services.passwords, body),
    },
    // Operations on one world run one after another. A creation locks the new name.
    turns: {
      createWorld: ({ body }) => [keyOf(body.name)],
      importWorld: ({ body }) => [keyOf(body.name)],
      forkWorld: ({ path, body }) => [keyOf(path.worldName), keyOf(body.name)],
      updateWorld: ({ path }) => [keyOf(path.worldName)],
      deleteWorld: ({ path }) => [keyOf(path.worldName)],
      resetWorld: ({ path }) => [keyOf(path.worldName)],
    },
    present: [[World, async (ctx, worlds) => worlds.map((row: World) => worldView(ctx, row))]],
  },
)

function millisecondsWithin(text: unknown): number {
  if (text === undefined) return 0
  const found = millisecondsOf(text as string)
  if (found === undefined)
    throw invalid('within', `expected an ISO 8601 duration such as PT30S, found ${JSON.stringify(text)}`)
  return found
}

function exportAdvice(mode: ClockMode): string {
  const first =
    mode === 'frozen'
      ? 'The clock of this world is frozen: advance it until they end (POST …/clock/$actions/advance)'
      : 'Ask with ?within=PT1M, and the export waits for them so long'
  return `${first}; or cancel them; or fork the world: a fork takes them along.`
}

interface Prepared {
  readonly adminPasswordHash?: string
}

/** Hashes before the transaction: it takes long, and needs no store. */
async function prepare(
  passwords: Passwords,
  { adminPassword }: { readonly adminPassword?: string },
): Promise<Prepared> {
  return adminPassword === undefined ? {} : { adminPasswordHash: await passwords.hash(adminPassword) }
}

function faultsOf(body: NewWorld): ApiError[] {
  const { adminPassword, clock } = body
  const faults = brokenRules(adminPassword ?? 'Never.Judged-1', 'admin').map((rule) => invalid('adminPassword', rule))
  if (clock?.mode === 'scaled' && clock.scale === undefined)
    faults.push(invalid('clock/scale', 'is required with the mode scaled: seconds of the world in one real second'))
  if (clock !== undefined && clock.mode !== 'scaled' && clock.scale !== undefined)
    faults.push(invalid('clock/scale', `expected none with the mode ${clock.mode}`))
  if (clock?.startTime !== undefined && (clock.mode ?? 'real') === 'real')
    faults.push(invalid('clock/startTime', 'expected none with the mode real, which follows the time of this machine'))
  return faults
}

function createFromSeed(ctx: WorldsContext, body: NewWorld, prepared: Prepared, seed?: NewSeed): TwoPhaseEffect<World> {
  return createWorldEffect(ctx, body, async (draft, row) => {
    const hash = prepared.adminPasswordHash ?? (await hashOfDefault(ctx))
    try {
      await draft.fill(settingsOf(row, seed), hash)
    } catch (error) {
      if (error instanceof SeedRefusal) refuseAll(error.faults.map(seedFault))
      if (error instanceof StartRefusal || error instanceof StoreRefusal) {
        // The data folder is damaged, and no world was created: 503, not the advice to reset a world.
        throw new ApiError('SERVICE_UNAVAILABLE', { fault: error.message }, { cause: error })
      }
      throw error
    }
  })
}

/** @throws ApiError 400 when `default` has no admin password: no user could sign in to the new world */
async function hashOfDefault({ drivers }: WorldsContext): Promise<string> {
  const home = drivers.worlds.get(defaultWorld)
  const hash = await (await home?.instance())?.adminPasswordHash()
  const fault = 'is required here: the world default has no user admin with a password that a new world could take over'
  if (hash === undefined) throw invalid('adminPassword', fault)
  return hash
}

function createWorldEffect(ctx: WorldsContext, body: NewWorld, build: (draft: Draft, row: World) => Promise<void>) {
  const row = rowOf(body, formatTime(ctx.clock.now()))
  let draft: Draft | undefined
  let opened: OpenedPort | undefined
  return new TwoPhaseEffect<World>({
    async make() {
      draft = draftOf(ctx.drivers.worlds, body.name)
      await build(draft, row)
      // The creation fails if the port is taken.
      opened = await openPort(ctx, body.name, body.port)
    },
    async conclude({ store, afterCommit }) {
      await store.insert(World, row)
      draft?.publish()
      afterCommit(() => {
        opened?.commit()
        draft?.settle()
      })
      return worldView(ctx, row, opened)
    },
    async giveUp() {
      opened?.rollback()
      await draft?.discard()
    },
  })
}

function draftOf(worlds: Worlds, name: string): Draft {
  if (worlds.get(name) !== undefined) throw new ApiError('WORLD_EXISTS', { name })
  const { size, maximum } = worlds
  if (size >= maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: 'Worlds', maximum, found: size + 1 })
  return worlds.draft(name)
}

const seedFault = ({ line, column, path, message }: SeedRefusal['faults'][number]): ApiError =>
  invalid(
    'seed',
    [line === undefined ? '' : `line ${line}, column ${column ?? 1}: `, path && `${path}: `, message].join(''),
  )

async function openPort({ drivers }: WorldsContext, name: string, port: number | undefined): Promise<OpenedPort> {
  try {
    return await drivers.ports.open(name, port)
  } catch (error) {
    const fault = `Port ${port} cannot be opened (${(error as NodeJS.ErrnoException).code}): choose another, or 0 for a free one.`
    throw new ApiError('CONFLICT', { fault })
  }
}

/** @throws ApiError 503 for a row whose world is being removed */
function hostedOf({ drivers }: WorldsReadContext, { name }: World): HostedWorld {
  const hosted = drivers.worlds.get(name)
  if (hosted === undefined) throw worldClosedError(name)
  return hosted
}

function worldView(
  { drivers }: WorldsReadContext,
  row: World,
  own: Pick<OpenedPort, 'port'> = { port: drivers.ports.of(row.name) },
): World {
  const hosted = drivers.worlds.get(row.name)
  if (hosted === undefined) return row
  const { state, config } = hosted
  const port = own.port ?? row.port
  return {
    ...settingsView(config),
    ...row,
    ...(port === undefined ? {} : { port }),
    // The time of a closed world is unknown until it opens.
    ...(state.is === 'OPEN' ? { time: formatTime(hosted.now()) } : {}),
    state: state.is,
    ...(state.is === 'FAILED' ? { fault: state.fault } : {}),
    urls: drivers.urlsOf(row.name, own.port),
    sizeBytes: sizeOf(storeFiles(config.data).first),
  }
}

const settingsView = ({ rateLimits, limits, durations, lockout, clock }: Config) => ({
  rateLimits,
  limits,
  durations,
  lockout,
  clock: typeof clock === 'number' ? { mode: 'scaled' as const, scale: clock } : { mode: clock },
})

const sizeOf = (file: string): number =>
  [file, `${file}-wal`].reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)

/** An iterator: `return` of a generator that never started would not end `rest`. */
function bytesOf(first: IteratorResult<string>, rest: AsyncGenerator<string>): AsyncIterableIterator<Uint8Array> {
  const encoder = new TextEncoder()
  let pending: IteratorResult<string> | undefined = first
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      const { done, value } = pending ?? (await rest.next())
      pending = undefined
      return done === true ? { done, value: undefined } : { done: false, value: encoder.encode(value) }
    },
    async return() {
      await rest.return(undefined)
      return { done: true, value: undefined }
    },
  }
}
