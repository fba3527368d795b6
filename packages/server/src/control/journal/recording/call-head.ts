/** JSON of a call without bodies, concatenated, because every request pays for it and JSON.stringify takes several times as long. */

import type { Operation } from '@hyperplane/contract'
import { ApiError, Refusal } from '../../../core/api-error.ts'
import type { Caller } from '../../../core/caller.ts'
import type { RefusedRequest } from '../../../core/pipeline/request.ts'
import type { EndedCall } from '../../../core/recording/recording.ts'
import type { Search, Trace } from '../../../core/recording/trace.ts'
import { unreadFields } from '../../../core/recording/watched-body.ts'

export const maximumTextLength = 2000

export const operationOf = ({ outcome, refused }: EndedCall, trace: Trace): Operation | undefined =>
  trace.operation ?? outcome?.operation ?? refused?.operation

/** Members that many calls have in common. Most calls equal the previous one of their operation, and reuse its text. */
export function sharedText(call: EndedCall, trace: Trace): string {
  const { caller, decision } = trace
  const { status, refused } = call
  const { address, profile, method } = call.request
  const operation = operationOf(call, trace)
  const codes = refused === undefined ? undefined : codesOf(refused.refusal)
  const manner = { caller, address, profile, method, status, decision }
  const latest = operation && latestSuccess.get(operation)
  if (latest !== undefined && codes === undefined && isSameContext(latest, manner)) return latest.text
  const { extId, name, type, credential, credentialId: credentialExtId } = caller ?? {}
  const text =
    member('caller', caller && { extId, name, type, credential, credentialExtId }) +
    member('address', address) +
    member('profile', profile) +
    member('method', method.slice(0, maximumTextLength)) +
    member('operation', operation?.key) +
    `,"status":${status}` +
    member('errorCodes', codes ?? []) +
    member('decision', decision)
  if (operation !== undefined && codes === undefined) latestSuccess.set(operation, { ...manner, text })
  return text
}

interface CallContext {
  readonly caller: Caller | undefined
  readonly address: string
  readonly profile: string
  readonly method: string
  readonly status: number
  readonly decision: string | undefined
}

const latestSuccess = new WeakMap<Operation, CallContext & { readonly text: string }>()

const isSameContext = (one: CallContext, other: CallContext): boolean =>
  one.caller === other.caller &&
  one.status === other.status &&
  one.address === other.address &&
  one.method === other.method &&
  one.profile === other.profile &&
  one.decision === other.decision

/** Members that differ or are rare. Few pieces: V8 copies each one again when the text is written. */
export function ownText(call: EndedCall, trace: Trace): string {
  const { request, outcome, refused } = call
  const { onBehalfOf, query } = request
  const reply = outcome?.reply
  const requestId = onBehalfOf?.requestId ?? request.headers.requestId
  return (
    `,"path":${quoted(call.path.slice(0, maximumTextLength))}` +
    (query === '' ? '' : `,"query":${quoted(query.slice(0, maximumTextLength))}`) +
    (trace.target === undefined ? '' : targetText(trace.target)) +
    (reply?.status === 202 ? member('taskExtId', taskIn(reply.data)) : '') +
    (onBehalfOf === undefined ? '' : `,"parentTaskExtId":${quoted(onBehalfOf.parentTask)}`) +
    (requestId === undefined ? '' : `,"requestId":${quoted(requestId.slice(0, maximumTextLength))}`) +
    (reply?.replayed === true ? ',"isReplayed":true' : '') +
    (trace.input?.query.dryRun === true ? ',"isDryRun":true' : '') +
    rateText(reply?.headers ?? headersOf(refused)) +
    member('throttledBy', throttledBy(refused?.refusal)) +
    member('precondition', trace.precondition) +
    member('search', trace.search && searchOf(trace.search)) +
    lists(operationOf(call, trace)?.mutates === true ? unreadIn(call, trace) : [], reply?.warnings, trace)
  )
}

function lists(
  unreadFields: readonly string[],
  warnings: readonly string[] = [],
  { rewrites = [], faults = [] }: Trace,
): string {
  if (unreadFields.length === 0 && warnings.length === 0 && rewrites.length === 0 && faults.length === 0)
    return emptyLists
  return listsText({ unreadFields, warnings, rewrites, faults })
}
const listsText = (all: object): string => `,${JSON.stringify(all).slice(1, -1)}`
const emptyLists = listsText({ unreadFields: [], warnings: [], rewrites: [], faults: [] })

export function member(name: string, value: unknown): string {
  if (value === undefined) return ''
  return `,"${name}":${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`
}

/** Most texts need no escapes: a test is cheaper than JSON.stringify. */
const quoted = (text: string): string => (isPlain.test(text) ? `"${text}"` : JSON.stringify(text))
const isPlain = /^[ !#-[\]-~]*$/

const targetTexts = new Map<string, string>()
function targetText({ kind, extId }: NonNullable<Trace['target']>): string {
  let text = targetTexts.get(kind)
  if (text === undefined) targetTexts.set(kind, (text = `,"target":{"kind":${quoted(kind)},"extId":`))
  return `${text}${quoted(extId)}}`
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

/** A refusal by a rate limit has the rate limit headers itself. */
const headersOf = (refused: RefusedRequest | undefined): Readonly<Record<string, string>> | undefined =>
  refused?.refusal instanceof Refusal ? { ...refused.headers, ...refused.refusal.headers } : refused?.headers

const throttledBy = (refusal: unknown): string | undefined =>
  refusal instanceof ApiError && refusal.key === 'RATE_LIMIT_EXCEEDED'
    ? refusal.appMessage.argumentsMap?.['bucket']
    : undefined

/** The headers hold numbers; either all of them are present or none. */
function rateText(headers: Readonly<Record<string, string>> | undefined): string {
  if (headers?.['X-Api-Ratelimit-Limit'] === undefined) return ''
  return (
    `,"rate":{"limit":${headers['X-Api-Ratelimit-Limit']},"remaining":${headers['X-Api-Ratelimit-Remaining'] ?? 0}` +
    `,"periodSeconds":${headers['X-Api-Ratelimit-Refresh-Period-Seconds'] ?? 0}` +
    `,"identityLimit":${headers['X-Ratelimit-Limit'] ?? 0},"identityRemaining":${headers['X-Ratelimit-Remaining'] ?? 0}}`
  )
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
