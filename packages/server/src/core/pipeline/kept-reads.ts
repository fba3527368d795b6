/** Source: decision answers-are-kept-for-clients-that-poll. */
import type { Operation } from '@hyperplane/contract'
import { LRUCache } from 'lru-cache'
import { hashOf, ReadBefore } from '../../store/read-before.ts'
import type { Store } from '../../store/store.ts'
import type { Caller } from '../caller.ts'
import type { AccessControl } from '../ports.ts'
import type { Trace } from '../recording/trace.ts'
import type { ApiRequest, Outcome, RenderedAnswer } from './request.ts'

/** Entities in all kept answers. */
const maximumEntities = 2000

export interface KeptRead {
  readonly operation: Operation
  readonly caller: Caller
  readonly outcome: Outcome
  readonly trace: Trace | undefined
  readonly rendered: RenderedAnswer
  /** For fault rules, if any asked for names when the answer was read. */
  readonly names?: readonly string[]
}

/** Counts for all worlds and sites of the process. */
export const keptReadCounts = { hits: 0, misses: 0 }

/** Answers that follow from the store alone, for clients that poll; the next commit or change of rights drops all of them. */
export class KeptReads {
  readonly #store: Pick<Store, 'transactions'>
  readonly #access: Pick<AccessControl, 'changes'>
  readonly #kept = new LRUCache<string, KeptRead>({ maxSize: maximumEntities, sizeCalculation: sizeOf })
  /** A client that walks through all pages of a long list keeps none of them. */
  readonly #readBefore = new ReadBefore(maximumEntities)
  #readAt = 0

  constructor(store: Pick<Store, 'transactions'>, access: Pick<AccessControl, 'changes'>) {
    this.#store = store
    this.#access = access
  }

  /** Rises with every change that can affect an answer. Rights change a moment after the commit that stores them. */
  get now(): number {
    return this.#store.transactions + (this.#access.changes ?? 0)
  }

  /** False: such an answer is never kept. */
  mayHold({ method, headers, readBody, onBehalfOf, misdirected }: ApiRequest): boolean {
    if (method !== 'GET' || this.#access.changes === undefined) return false
    const { ifMatch, clusterId, lastEventId, range } = headers
    const isConditional = (ifMatch ?? clusterId ?? lastEventId ?? range) !== undefined
    return !isConditional && readBody === undefined && onBehalfOf === undefined && misdirected === undefined
  }

  find(request: ApiRequest, caller: Caller): KeptRead | undefined {
    this.#dropOld()
    const { trace } = request
    const kept = caller.readsOnlyTask === undefined ? this.#kept.get(keyOf(request, caller)) : undefined
    if (kept === undefined || !isEqual(kept.caller, caller) || (trace !== undefined && kept.trace === undefined)) {
      keptReadCounts.misses++
      return undefined
    }
    return kept
  }

  /** Counts and traces another request that gets this answer. */
  reuse(kept: KeptRead, trace: Trace | undefined): void {
    keptReadCounts.hits++
    if (trace === undefined || kept.trace === undefined) return
    trace.caller = kept.caller
    trace.operation = kept.operation
    noteAgain(trace, kept.trace)
  }

  /** @param begun `now` when the read began */
  keep(request: ApiRequest, begun: number, read: KeptRead): void {
    this.#dropOld()
    if (begun !== this.#readAt) return
    const key = keyOf(request, read.caller)
    if (!this.#readBefore.note(hashOf(key), sizeOf(read))) return
    // Texts and bodies of frozen entities are kept too.
    for (const entity of entitiesOf(read)) Object.freeze(entity)
    this.#kept.set(key, read)
  }

  #dropOld(): void {
    if (this.#readAt === this.now) return
    this.#readAt = this.now
    this.#kept.clear()
  }
}

const keyOf = ({ path, query, profile, headers }: ApiRequest, { extId }: Caller): string =>
  `${path}?${query} ${profile} ${headers.accept} ${extId}`

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
  trace.keptFrom = kept
  trace.input = kept.input
  trace.target = kept.target
  trace.judged = kept.judged
  trace.decision = kept.decision
  trace.search = kept.search
  for (const rewrite of kept.rewrites ?? []) if (rewrite.place !== 'path') (trace.rewrites ??= []).push(rewrite)
}
