import type { Operation } from '@hyperplane/contract'
import { fieldsOf } from '../../odata/index.ts'
import type { Query, QueryPlan } from '../../store/store.ts'
import type { Caller } from '../caller.ts'
import type { RequestInput } from '../input/request-input.ts'
import { type Watcher, watched } from './watched-body.ts'

/** Filled by the pipeline's steps; each field is written at most once. Only recorded requests have a trace. */
export class Trace {
  readonly began: number
  caller: Caller | undefined
  operation: Operation | undefined
  bytes: Uint8Array | undefined
  input: (RequestInput & { readonly rawBody: unknown }) | undefined
  target: { readonly kind: string; readonly extId: string } | undefined
  judged: unknown
  decision: string | undefined
  precondition: { readonly expected?: string; readonly sent?: string } | undefined
  search: Search | undefined
  reads: Watcher | undefined
  rewrites: Rewrite[] | undefined
  faults: string[] | undefined
  /** Of the call whose kept answer this one got. */
  keptFrom: Trace | undefined

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
  readonly plan?: QueryPlan
}

const maximumRewrites = 20
/** Bytes: watching larger bodies would cost more than handling the request. */
const largestWatched = 256 * 1024

export function noteRewrite(trace: Trace | undefined, place: Rewrite['place'], sent: string, understood: string): void {
  if (trace === undefined || sent === understood) return
  trace.rewrites ??= []
  if (trace.rewrites.length < maximumRewrites) trace.rewrites.push({ place, sent, understood })
}

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

export function watchedInput<I extends RequestInput>(trace: Trace | undefined, input: I): I {
  if (trace === undefined || typeof input.body !== 'object' || input.body === null) return input
  if (trace.bytes !== undefined && trace.bytes.length > largestWatched) return input
  trace.reads ??= new Set()
  return { ...input, body: watched(input.body, trace.reads) }
}

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
