/** Source: decision answers-are-kept-for-clients-that-poll. */
import { LRUCache } from 'lru-cache'
import type { Store } from '../../store/store.ts'
import type { Caller } from '../caller.ts'
import type { Trace } from '../recording/trace.ts'
import type { ApiRequest, Outcome } from './request.ts'

/** Entities in all kept answers. */
const maximumEntities = 2000
const maximumTexts = 2000

interface KeptRead {
  readonly caller: Caller
  readonly outcome: Outcome
  readonly trace: Trace | undefined
}

/** Counts for all worlds and sites of the process. */
export const keptReadCounts = { hits: 0, misses: 0 }

/** Answers of reads that follow from the store alone, for clients that poll. The next commit drops all of them. */
export class KeptReads {
  readonly #store: Pick<Store, 'transactions'>
  readonly #kept = new LRUCache<string, KeptRead>({ maxSize: maximumEntities, sizeCalculation: sizeOf })
  readonly #requestedOnce = new Set<string>()
  #transactions = 0

  constructor(store: Pick<Store, 'transactions'>) {
    this.#store = store
  }

  /** undefined: such an answer is never kept. */
  keyOf(
    { method, headers, readBody, onBehalfOf, path, query, profile }: ApiRequest,
    caller: Caller,
  ): string | undefined {
    const { ifMatch, clusterId, lastEventId, range, accept } = headers
    const isConditional = (ifMatch ?? clusterId ?? lastEventId ?? range) !== undefined
    if (method !== 'GET' || readBody !== undefined || onBehalfOf !== undefined || isConditional) return undefined
    return `${path}?${query} ${profile} ${accept} ${caller.extId}`
  }

  find(key: string, caller: Caller, { trace }: ApiRequest): Outcome | undefined {
    this.#dropOld()
    const kept = this.#kept.get(key)
    if (kept === undefined || !isEqual(kept.caller, caller) || (trace !== undefined && kept.trace === undefined)) {
      keptReadCounts.misses++
      return undefined
    }
    keptReadCounts.hits++
    if (trace !== undefined && kept.trace !== undefined) noteAgain(trace, kept.trace)
    return kept.outcome
  }

  /** @param transactionsAtStart `transactions` of the store when the read began */
  keep(key: string, transactionsAtStart: number, read: KeptRead): void {
    this.#dropOld()
    if (transactionsAtStart !== this.#transactions) return
    if (this.#requestedOnce.has(key)) {
      // Texts and bodies of frozen entities are kept too.
      for (const entity of entitiesOf(read)) Object.freeze(entity)
      this.#kept.set(key, read)
    } else if (this.#requestedOnce.size < maximumTexts) this.#requestedOnce.add(key)
  }

  #dropOld(): void {
    if (this.#transactions === this.#store.transactions) return
    this.#transactions = this.#store.transactions
    this.#kept.clear()
    this.#requestedOnce.clear()
  }
}

/** Identifies one sign-in, from any address: each sign-in has its own list of groups. */
const isEqual = (one: Caller, other: Caller): boolean =>
  one === other ||
  (one.groups === other.groups &&
    one.credential === other.credential &&
    one.credentialId === other.credentialId &&
    one.mustChangePassword === other.mustChangePassword)

const entitiesOf = ({ outcome: { reply } }: KeptRead): readonly unknown[] => [reply.data].flat()

const sizeOf = (read: KeptRead): number => entitiesOf(read).length + 1

/** The notes for the journal that a new read would produce. */
function noteAgain(trace: Trace, kept: Trace): void {
  trace.input = kept.input
  trace.target = kept.target
  trace.judged = kept.judged
  trace.decision = kept.decision
  trace.search = kept.search
  for (const rewrite of kept.rewrites ?? []) if (rewrite.place !== 'path') (trace.rewrites ??= []).push(rewrite)
}
