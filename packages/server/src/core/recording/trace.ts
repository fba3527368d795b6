/** Facts about a request that the pipeline's steps note for the recorder. Only recorded requests carry a trace. */

import type { Operation } from '@hyperplane/contract'
import { fieldsOf } from '../../odata/index.ts'
import type { Query, QueryPlan } from '../../store/store.ts'
import type { Caller } from '../caller.ts'
import type { RequestInput } from '../input/request-input.ts'
import { type Watcher, watched } from './watched-body.ts'

/** Each field is written at most once, by the step that knows it. */
export class Trace {
  /** World time at which the request came, in milliseconds since 1970. */
  readonly began: number
  caller: Caller | undefined
  operation: Operation | undefined
  bytes: Uint8Array | undefined
  input: (RequestInput & { readonly rawBody: unknown }) | undefined
  target: { readonly kind: string; readonly extId: string } | undefined
  judged: unknown
  /** The policy and the role that allowed it, or what was missing. */
  decision: string | undefined
  precondition: { readonly expected?: string; readonly sent?: string } | undefined
  search: Search | undefined
  reads: Watcher | undefined
  /** Names that were converted from a naming profile. */
  rewrites: Rewrite[] | undefined
  faults: string[] | undefined

  constructor(began: number) {
    this.began = began
  }
}

export interface Rewrite {
  readonly place: 'path' | 'query' | 'taskId'
  readonly sent: string
  readonly understood: string
}

export interface Search {
  readonly filteredBy: readonly string[]
  readonly orderedBy: readonly string[]
  /** Absent: the kind is computed, not stored. */
  readonly plan?: QueryPlan
}

const maximumRewrites = 20
/** Bodies above this size are not watched: it would cost more than handling the request. */
const largestWatched = 256 * 1024

export function noteRewrite(trace: Trace | undefined, place: Rewrite['place'], sent: string, understood: string): void {
  if (trace === undefined || sent === understood) return
  trace.rewrites ??= []
  if (trace.rewrites.length < maximumRewrites) trace.rewrites.push({ place, sent, understood })
}

/** Wraps the conversion of filter texts, and notes each change. */
export function notingNames<V extends string>(
  trace: Trace | undefined,
  canonical: (vocabulary: V, text: string) => string,
): (vocabulary: V, text: string) => string {
  if (trace === undefined) return canonical
  return (vocabulary, text) => {
    const understood = canonical(vocabulary, text)
    noteRewrite(trace, 'query', text, understood)
    return understood
  }
}

/** Wraps the body of a mutation, so that the fields that the handler reads are noted. */
export function watchedInput<I extends RequestInput>(trace: Trace | undefined, input: I): I {
  if (trace === undefined || typeof input.body !== 'object' || input.body === null) return input
  if (trace.bytes !== undefined && trace.bytes.length > largestWatched) return input
  trace.reads ??= new Set()
  return { ...input, body: watched(input.body, trace.reads) }
}

/** Notes the fields of filter and order. The query plan is added when the query runs. */
export function searched(
  trace: Trace | undefined,
  { filter, orderby }: RequestInput['query'],
): Pick<Query, 'explained'> {
  if (trace === undefined || (filter === undefined && orderby === undefined)) return {}
  const search = {
    filteredBy: filter === undefined ? [] : fieldsOf(filter),
    orderedBy: (orderby ?? []).map(({ field }) => field.names.join('/')),
  }
  trace.search = search
  return { explained: (plan) => void (trace.search = { ...search, plan }) }
}
