import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { type Clock, createWorldClock, parseTime, realClock, type WorldClock, worldTimeOf } from '../core/time/clock.ts'
import { hasStore, storeFiles } from '../data-folder/store-files.ts'
import { Fact, type FactStore, factsIn, openSimulatedWorld, type SimulatedWorld } from '../drivers/simulated/world.ts'
import { readSeed, type SeedPlan } from '../seeds/read-seed.ts'
import type { Store } from '../store/store.ts'
import { clockNotes, storedClockState } from './clock-notes.ts'
import { type Identity, identityOf } from './identity.ts'
import type { InstanceOptions } from './options.ts'
import { type InstanceStore, openInstanceStore } from './store.ts'

export interface InstanceState extends InstanceStore, Identity {
  readonly clock: WorldClock
  readonly machineClock: Clock
  readonly world: SimulatedWorld
  readonly filesFolder: string
  readonly plan: SeedPlan | undefined
  readonly notesOfClock: () => Record<string, string> | undefined
}

/** @param opened receives what to close if the opening fails. @throws StartRefusal, StoreRefusal */
export async function openState(opening: InstanceOptions, opened: AsyncDisposableStack): Promise<InstanceState> {
  const { config, options, shared } = opening
  // Read before anything is written: a refused seed leaves a new folder untouched.
  const isNew = !hasStore(storeFiles(config.data).first)
  const planOfNew = isNew ? await readSeed(config.seed, shared.seedThreads) : undefined
  let notesOfClock: InstanceState['notesOfClock'] = () => undefined
  const instanceStore = await openInstanceStore({ ...opening, isNew, alongside: () => notesOfClock() })
  const { store } = instanceStore
  opened.defer(() => store.close())
  // Opening took milliseconds: SQLite reads the whole schema. Other worlds answer in between.
  await new Promise(setImmediate)

  // A store that is not marked as seeded: the previous start was interrupted.
  const isSeeded = store.meta('seeded') !== undefined
  const plan = isSeeded ? undefined : (planOfNew ?? (await readSeed(config.seed, shared.seedThreads)))
  const machineClock = options.realClock ?? realClock
  const clockState = opening.clockState ?? storedClockState(store, config, options.startAt)
  const clock = createWorldClock(
    machineClock,
    clockState?.mode ?? config.clock,
    clockState === undefined
      ? (options.startAt ?? timeInSeed(plan, config))
      : worldTimeOf(clockState, machineClock.now()),
  )
  opened.defer(() => clock.close())
  notesOfClock = clockNotes(store, clock, config, options.startAt)
  const identity = identityOf({ ...instanceStore, plan })
  const world = await openSimulatedWorld(durableFacts(store), clock, identity.worldSeed)
  const filesFolder = join(config.data, 'world')
  mkdirSync(filesFolder, { recursive: true, mode: 0o700 })
  return { ...instanceStore, ...identity, clock, machineClock, world, filesFolder, plan, notesOfClock }
}

const durableFacts = (store: Store): FactStore => ({
  load: () => store.find(Fact),
  put: (facts) => store.transaction((transaction) => factsIn(transaction).put(facts)),
  stage: (facts) => store.stage((transaction) => factsIn(transaction).put(facts)),
  remove: (facts) => store.transaction((transaction) => factsIn(transaction).remove(facts)),
})

/** Only a frozen clock continues at the time of an exported world. */
const timeInSeed = (plan: SeedPlan | undefined, { clock }: Config): number | undefined =>
  plan?.world === undefined || clock !== 'frozen' ? undefined : parseTime(plan.world.time)
