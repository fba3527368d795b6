/**
 * Facts about the simulated infrastructure, which can differ from the control plane's state (drift) and survive crashes. Cached in memory;
 * durable before a driver call resolves. Times are milliseconds since 1970.
 */
import { anything, type EntityOf, resource, text } from '@hyperplane/contract'
import type { Clock } from '../../core/time/clock.ts'
import type { Staged, Transaction } from '../../store/store.ts'
import type { LogLine } from '../syslog.ts'

export const Fact = resource('internal.v1.world.Fact', {
  fields: { collection: text(), id: text(), value: anything() },
  indexed: ['collection'],
  // Exported in a section of their own.
  leftOut: 'unmentioned',
})

export interface FactStore {
  load(): Promise<readonly EntityOf<typeof Fact>[]>
  put(facts: readonly { collection: string; id: string; value: unknown }[]): Promise<void>
  /** As `put`, with separate promises for written and durable. */
  stage(facts: readonly { collection: string; id: string; value: unknown }[]): Staged<void>
  remove(facts: readonly { collection: string; id: string }[]): Promise<void>
}

type FactWriter = Omit<FactStore, 'load'>

/** Facts of one sort, by id. `T` is plain JSON. */
export interface Collection<T> {
  get(id: string): T | undefined
  all(): ReadonlyMap<string, T>
  put(id: string, value: T): Promise<void>
  /** Atomic, except that removals (`undefined`) become durable last. */
  putAll(values: ReadonlyMap<string, T | undefined>): Promise<void>
  /**
   * As `put`, but resolves when written: durable with or before later writes, so steps of a task share a commit. A failed commit restores
   * the old fact, and `lost` counts it.
   */
  stage(id: string, value: T): Promise<void>
  remove(id: string): Promise<void>
}

export interface SimulatedWorld {
  readonly clock: Clock
  readonly log: WorldLog
  /** Equal seeds give equal worlds. */
  readonly seed: string
  collection<T>(name: string): Collection<T>
  /** `changed` receives the ids of the facts. Returns the end of the watch. */
  watch(collections: readonly string[], changed: (ids: readonly string[]) => void): () => void
  /** The same world, writing in a transaction that is already open (seeding). */
  through(store: FactWriter): SimulatedWorld
  lost(): number
  whyLost(): unknown
}

/** Log lines of clusters. They are not kept. */
interface WorldLog {
  readonly write: (clusterExtId: string, line: LogLine) => void
  readonly watch: (onLine: (clusterExtId: string, line: LogLine) => void) => () => void
}

function createLog(): WorldLog {
  const watchers = new Set<(clusterExtId: string, line: LogLine) => void>()
  return {
    write: (clusterExtId, line) => {
      for (const onLine of watchers) onLine(clusterExtId, line)
    },
    watch: (onLine) => {
      watchers.add(onLine)
      return () => watchers.delete(onLine)
    },
  }
}

export const openSimulatedWorld = async (store: FactStore, clock: Clock, seed: string): Promise<SimulatedWorld> =>
  simulatedWorld(await store.load(), store, clock, seed)

function valuesByCollection(facts: readonly EntityOf<typeof Fact>[]): (name: string) => Map<string, unknown> {
  const collections = new Map<string, Map<string, unknown>>()
  const valuesOf = (name: string): Map<string, unknown> => {
    let values = collections.get(name)
    if (values === undefined) collections.set(name, (values = new Map()))
    return values
  }
  for (const { collection, id, value } of facts) valuesOf(collection).set(id, value)
  return valuesOf
}

export function simulatedWorld(
  facts: readonly EntityOf<typeof Fact>[],
  store: FactWriter,
  clock: Clock,
  seed: string,
): SimulatedWorld {
  const valuesOf = valuesByCollection(facts)
  const watchers = new Map<string, Set<(ids: readonly string[]) => void>>()
  const log = createLog()
  let lost = 0
  let whyLost: unknown
  const worldOn = (writer: FactWriter): SimulatedWorld => ({
    clock,
    log,
    seed,
    through: (other) => worldOn(other),
    lost: () => lost,
    whyLost: () => whyLost,
    watch(names, changed) {
      for (const name of names) watchers.set(name, (watchers.get(name) ?? new Set()).add(changed))
      return () => {
        for (const name of names) watchers.get(name)?.delete(changed)
      }
    },
    collection<T>(name: string): Collection<T> {
      const values = valuesOf(name) as Map<string, T>
      const set = (facts: ReadonlyMap<string, T | undefined>): void => {
        for (const [id, value] of facts) {
          if (value === undefined) values.delete(id)
          else values.set(id, value)
        }
        for (const changed of watchers.get(name) ?? []) changed([...facts.keys()])
      }
      /** `undefined` removes. */
      const change = async (facts: ReadonlyMap<string, T | undefined>): Promise<void> => {
        const before = new Map([...facts.keys()].map((id) => [id, values.get(id)]))
        // Memory first: a concurrent call must see this change.
        set(facts)
        try {
          const put = [...facts].flatMap(([id, value]) => (value === undefined ? [] : { collection: name, id, value }))
          const removed = [...facts].flatMap(([id, value]) => (value === undefined ? { collection: name, id } : []))
          if (put.length > 0) await writer.put(put)
          if (removed.length > 0) await writer.remove(removed)
        } catch (error) {
          set(before)
          throw error
        }
      }
      return {
        get: (id) => values.get(id),
        all: () => values,
        put: (id, value) => change(new Map([[id, value]])),
        putAll: (added) => change(added),
        async stage(id, value) {
          const before = new Map([[id, values.get(id)]])
          set(new Map([[id, value]]))
          const { applied, durable } = writer.stage([{ collection: name, id, value }])
          durable.catch((error: unknown) => {
            lost++
            whyLost = error
            set(before)
          })
          await applied.catch((error) => {
            set(before)
            throw error
          })
        },
        async remove(id) {
          if (values.has(id)) await change(new Map([[id, undefined]]))
        },
      }
    },
  })
  return worldOn(store)
}

/** Views of the facts of a host, kept until a fact changes, because lists ask for each host in turn. */
export function viewsByHost<T, V extends { readonly hostExtId: string }>(
  collection: string,
  viewsOf: (facts: ReadonlyMap<string, T>) => readonly V[],
): (world: SimulatedWorld, hostExtId: string) => readonly V[] {
  const indexes = new WeakMap<ReadonlyMap<string, T>, { byHost?: ReadonlyMap<string, readonly V[]> }>()
  return (world, hostExtId) => {
    const facts = world.collection<T>(collection).all()
    let index = indexes.get(facts)
    if (index === undefined) {
      const kept: { byHost?: ReadonlyMap<string, readonly V[]> } = {}
      indexes.set(facts, (index = kept))
      world.watch([collection], () => delete kept.byHost)
    }
    index.byHost ??= Map.groupBy(viewsOf(facts), (view) => view.hostExtId)
    return index.byHost.get(hostExtId) ?? []
  }
}

export function factsIn(transaction: Transaction): FactWriter {
  const key = (fact: { collection: string; id: string }): string => `${fact.collection}/${fact.id}`
  const put: FactWriter['put'] = async (facts) => {
    for (const fact of facts) {
      const row = { extId: key(fact), ...fact }
      if ((await transaction.pending(Fact, row.extId)) === undefined) await transaction.insert(Fact, row)
      else await transaction.replace(Fact, row)
    }
  }
  return {
    put,
    // The owner of the transaction learns whether it becomes durable.
    stage: (facts) => ({ applied: put(facts), durable: Promise.resolve() }),
    async remove(facts) {
      for (const fact of facts) await transaction.remove(Fact, key(fact))
    },
  }
}
