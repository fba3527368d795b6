/** Source: decision answers-are-kept-for-clients-that-poll. */
import { LRUCache } from 'lru-cache'
import type { Store } from '../../store/store.ts'
import type { Caller } from '../caller.ts'
import type { Trace } from '../recording/trace.ts'
import type { ApiRequest, Outcome } from './request.ts'
import type { FoundRoute } from './routes.ts'

/** Entities in all kept answers. */
const maximumEntities = 2000
const maximumTexts = 2000

export interface KeptRead {
  readonly route: FoundRoute
  /** An equal caller is the same object while its credential is known, see `callerFrom`. */
  readonly caller: Caller
  readonly outcome: Outcome
  readonly trace: Trace | undefined
}

/** Answers of reads that follow from the store alone, for clients that poll. The next commit drops all of them. */
export class KeptReads {
  readonly #store: Pick<Store, 'transactions'>
  readonly #kept = new LRUCache<string, KeptRead>({ maxSize: maximumEntities, sizeCalculation: sizeOf })
  readonly #askedOnce = new Set<string>()
  #transactions = 0

  constructor(store: Pick<Store, 'transactions'>) {
    this.#store = store
  }

  /** undefined: such an answer is never kept. */
  keyOf({ method, headers, readBody, onBehalfOf, misdirected, path, query, profile }: ApiRequest): string | undefined {
    const isPlain = method === 'GET' && readBody === undefined && onBehalfOf === undefined && misdirected === undefined
    const { ifMatch, clusterId, lastEventId, range, accept } = headers
    const isConditional = (ifMatch ?? clusterId ?? lastEventId ?? range) !== undefined
    return isPlain && !isConditional ? `${path}?${query} ${profile} ${accept}` : undefined
  }

  find(key: string, { trace }: ApiRequest): KeptRead | undefined {
    this.#dropOld()
    const kept = this.#kept.get(key)
    return trace !== undefined && kept?.trace === undefined ? undefined : kept
  }

  /** @param begun `transactions` of the store when the read began */
  keep(key: string, begun: number, read: KeptRead): void {
    this.#dropOld()
    if (begun !== this.#transactions) return
    if (this.#askedOnce.has(key)) this.#kept.set(key, read)
    else if (this.#askedOnce.size < maximumTexts) this.#askedOnce.add(key)
  }

  #dropOld(): void {
    if (this.#transactions === this.#store.transactions) return
    this.#transactions = this.#store.transactions
    this.#kept.clear()
    this.#askedOnce.clear()
  }
}

function sizeOf({ outcome: { reply } }: KeptRead): number {
  return Array.isArray(reply.data) ? reply.data.length + 1 : 1
}

/** What the pipeline would note for the journal if it read again. */
export function noteAgain(trace: Trace, kept: Trace): void {
  trace.input = kept.input
  trace.target = kept.target
  trace.judged = kept.judged
  trace.decision = kept.decision
  trace.search = kept.search
  for (const rewrite of kept.rewrites ?? []) if (rewrite.place !== 'path') (trace.rewrites ??= []).push(rewrite)
}
