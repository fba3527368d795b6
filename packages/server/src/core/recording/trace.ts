/**
 * What the steps of the pipeline note of a request on its way, for whoever records why it was answered so. A request carries
 * one where somebody records; the steps ask for nothing else.
 */

import type { Operation } from '@hyperplane/contract'
import { fieldsOf } from '../../odata/index.ts'
import type { Query, QueryPlan } from '../../store/store.ts'
import type { Caller } from '../caller.ts'
import type { RequestInput } from '../input/request-input.ts'
import { type Watcher, watched } from './watched-body.ts'

/** Each is written once at most, by the step that knows it. */
export class Trace {
  /** World time at which the request came, in milliseconds since 1970. */
  readonly began: number
  caller: Caller | undefined
  operation: Operation | undefined
  /** The body as it was sent. */
  bytes: Uint8Array | undefined
  input: (RequestInput & { readonly rawBody: unknown }) | undefined
  target: { readonly kind: string; readonly extId: string } | undefined
  /** The entity that access was asked about. */
  judged: unknown
  /** The policy and the role that allowed it, or what was missing. */
  decision: string | undefined
  precondition: { readonly expected?: string; readonly sent?: string } | undefined
  search: Search | undefined
  reads: Watcher | undefined
  /** What a naming profile spells in its own way. */
  rewrites: Rewrite[] | undefined
  /** Ids of the fault rules that touched it. */
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

/** How a list found its rows. */
export interface Search {
  readonly filteredBy: readonly string[]
  readonly orderedBy: readonly string[]
  /** Absent: the kind is computed, and nothing was looked up. */
  readonly plan?: QueryPlan
}

/** More than these say nothing new. */
const maximumRewrites = 20
/** Bytes of a body; to watch a larger one would cost more than to carry it out. */
const largestWatched = 256 * 1024

export function noteRewrite(trace: Trace | undefined, place: Rewrite['place'], sent: string, understood: string): void {
  if (trace === undefined || sent === understood) return
  trace.rewrites ??= []
  if (trace.rewrites.length < maximumRewrites) trace.rewrites.push({ place, sent, understood })
}

/** The spelling of filters, which notes what it changes. */
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

/** The input of a mutation whose body notes which of its fields are read. */
export function watchedInput<I extends RequestInput>(trace: Trace | undefined, input: I): I {
  if (trace === undefined || typeof input.body !== 'object' || input.body === null) return input
  if (trace.bytes !== undefined && trace.bytes.length > largestWatched) return input
  trace.reads ??= new Set()
  return { ...input, body: watched(input.body, trace.reads) }
}

/** What a list was asked; how it finds its rows is told by the query that carries the result. */
export function searched(
  trace: Trace | undefined,
  { filter, orderby }: RequestInput['query'],
): Pick<Query, 'explained'> {
  if (trace === undefined || (filter === undefined && orderby === undefined)) return {}
  const asked = {
    filteredBy: filter === undefined ? [] : fieldsOf(filter),
    orderedBy: (orderby ?? []).map(({ field }) => field.names.join('/')),
  }
  trace.search = asked
  return { explained: (plan) => void (trace.search = { ...asked, plan }) }
}
