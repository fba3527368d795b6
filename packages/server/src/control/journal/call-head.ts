/**
 * All of a call but its bodies, as JSON. Every call of a world pays for this while somebody waits for the next answer, so it is
 * written member by member: to make an object first, and to have it read again, takes several times as long.
 */
import type { Operation } from '@hyperplane/contract'
import { ApiError, Refusal } from '../../core/api-error.ts'
import type { Caller } from '../../core/context.ts'
import type { ApiRequest, RefusedRequest } from '../../core/pipeline/request.ts'
import { formatTime } from '../../core/time.ts'
import type { EndedCall, Search, Trace } from '../../core/trace.ts'
import { unreadFields } from '../../core/watched-body.ts'

/** Longer texts are cut. */
export const longestText = 2000

export const operationOf = ({ outcome, refused }: EndedCall, trace: Trace): Operation | undefined =>
  trace.operation ?? outcome?.operation ?? refused?.operation

/** An object that is not closed yet. */
export function headText(call: EndedCall, trace: Trace, now: number): string {
  const { request, outcome, refused } = call
  const { began, decision } = trace
  const operation = operationOf(call, trace)
  const reply = outcome?.reply
  const refusal = refused?.refusal
  return (
    `{"time":"${formatTime(began)}","durationMicros":${Math.max(0, Math.round((now - began) * 1000))}` +
    askedBy(trace.caller, request) +
    member('path', call.path.slice(0, longestText)) +
    (request.query === '' ? '' : member('query', request.query.slice(0, longestText))) +
    about(operation, trace.target) +
    `,"status":${call.status}` +
    list('errorCodes', refusal === undefined ? undefined : codesOf(refusal)) +
    member('taskExtId', reply?.status === 202 ? taskIn(reply.data) : undefined) +
    member('parentTaskExtId', request.onBehalfOf?.parentTask) +
    member('requestId', (request.onBehalfOf?.requestId ?? request.headers.requestId)?.slice(0, longestText)) +
    member('isReplayed', reply?.replayed) +
    member('isDryRun', trace.input?.query.dryRun || undefined) +
    list('unreadFields', operation?.mutates === true ? unreadIn(call, trace) : undefined) +
    list('warnings', reply?.warnings) +
    (decision === undefined ? '' : decisionText(decision)) +
    member('throttledBy', throttledBy(refusal)) +
    member('rate', rateOf(reply?.headers ?? headersOf(refused))) +
    member('precondition', trace.precondition) +
    member('search', trace.search && searchOf(trace.search)) +
    list('rewrites', trace.rewrites) +
    list('faults', trace.faults)
  )
}

/** What is undefined is left out. */
export function member(name: string, value: unknown): string {
  if (value === undefined) return ''
  return `,"${name}":${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`
}

const list = (name: string, items: readonly unknown[] | undefined): string =>
  items === undefined || items.length === 0 ? `,"${name}":[]` : `,"${name}":${JSON.stringify(items)}`

/** Most texts are JSON as they are, between quotes. */
const quoted = (text: string): string => (isPlain.test(text) ? `"${text}"` : JSON.stringify(text))
const isPlain = /^[ !#-[\]-~]*$/

type Asking = Pick<ApiRequest, 'address' | 'profile' | 'method'>

/** Mostly the same ones call again, from the same place and in the same way. */
const latestOf = new WeakMap<Caller, Asking & { readonly text: string }>()
function askedBy(caller: Caller | undefined, { address, profile, method }: Asking): string {
  const latest = caller && latestOf.get(caller)
  if (latest?.address === address && latest.method === method && latest.profile === profile) return latest.text
  const text = askingText(caller, { address, profile, method })
  if (caller !== undefined) latestOf.set(caller, { address, profile, method, text })
  return text
}

function askingText(caller: Caller | undefined, { address, profile, method }: Asking): string {
  const { extId, name, type, credential, credentialId: credentialExtId } = caller ?? {}
  return (
    member('caller', caller && { extId, name, type, credential, credentialExtId }) +
    member('address', address) +
    member('profile', profile) +
    member('method', method.slice(0, longestText))
  )
}

const operationTexts = new WeakMap<Operation, string>()
function about(operation: Operation | undefined, target: Trace['target']): string {
  const told = target === undefined ? '' : `,"target":{"kind":"${target.kind}","extId":${quoted(target.extId)}}`
  if (operation === undefined) return told
  let text = operationTexts.get(operation)
  if (text === undefined) operationTexts.set(operation, (text = member('operation', operation.key)))
  return text + told
}

/** The same one for most calls in a row. */
let latestDecision = { decision: '', text: '' }
function decisionText(decision: string): string {
  if (decision !== latestDecision.decision) latestDecision = { decision, text: member('decision', decision) }
  return latestDecision.text
}

function taskIn(data: unknown): string | undefined {
  const { extId } = (data ?? {}) as { extId?: unknown }
  return typeof extId === 'string' ? extId : undefined
}

function unreadIn({ outcome }: EndedCall, { reads, input }: Trace): readonly string[] {
  if (reads === undefined || outcome === undefined || outcome.reply.replayed === true) return []
  return unreadFields(input?.rawBody, reads)
}

function codesOf(refusal: unknown): string[] {
  if (refusal instanceof ApiError) return [...new Set([refusal.appMessage, ...refusal.further].map(({ code }) => code))]
  if (refusal instanceof Refusal) return refusal.status === 400 ? ['SchemaValidationError'] : []
  return ['PLAT-10500']
}

/** A refusal by the limits carries what is left itself. */
const headersOf = (refused: RefusedRequest | undefined): Readonly<Record<string, string>> | undefined =>
  refused?.refusal instanceof Refusal ? { ...refused.headers, ...refused.refusal.headers } : refused?.headers

/** The bucket that was full, as the message names it. */
const throttledBy = (refusal: unknown): string | undefined =>
  refusal instanceof ApiError && refusal.key === 'RATE_LIMIT_EXCEEDED'
    ? refusal.appMessage.argumentsMap?.['bucket']
    : undefined

function rateOf(headers: Readonly<Record<string, string>> | undefined): object | undefined {
  const limit = headers?.['X-Api-Ratelimit-Limit']
  if (headers === undefined || limit === undefined) return undefined
  return {
    limit: Number(limit),
    remaining: Number(headers['X-Api-Ratelimit-Remaining']),
    periodSeconds: Number(headers['X-Api-Ratelimit-Refresh-Period-Seconds']),
    identityLimit: Number(headers['X-Ratelimit-Limit']),
    identityRemaining: Number(headers['X-Ratelimit-Remaining']),
  }
}

function searchOf({ filteredBy, orderedBy, plan }: Search): object {
  const sought = new Set(plan?.sought)
  return {
    filteredBy,
    orderedBy,
    index: filteredBy.find((path) => sought.has(path)) ?? plan?.index,
    scanned: filteredBy.filter((path) => !sought.has(path)),
    isSorted: plan?.isSorted ?? orderedBy.length > 0,
    isInMemory: plan === undefined,
  }
}
