/** Calls on their way into the journal: what a request, its trace and its answer together say. */
import type { Operation } from '@hyperplane/contract'
import { ApiError, Refusal } from '../../core/api-error.ts'
import { type Dispatch, type Outcome, RefusedRequest } from '../../core/pipeline/request.ts'
import { formatTime } from '../../core/time.ts'
import { type CallRecorder, type EndedCall, noteRewrite, type Search, type Trace } from '../../core/trace.ts'
import { unreadFields } from '../../core/watched-body.ts'
import { answerText, type BodyText, type Naming, rawText, requestText } from './body-texts.ts'
import type { Journal } from './journals.ts'
import type { CallPieces } from './protocol.ts'

export interface RecorderOptions {
  /** undefined: the world is gone. */
  readonly journal: () => Journal | undefined
  /** World time, in milliseconds since 1970. */
  readonly now: () => number
  readonly naming: Naming
  readonly render: EndedCallRenderer
}

/** Longer texts of a head are cut. */
const longestText = 2000

export function createRecorder({ journal, now, naming, render }: RecorderOptions): CallRecorder {
  const recorder: CallRecorder = {
    begin(sentPath, path) {
      if (journal()?.settings.isRecording !== true) return undefined
      const trace: Trace = { began: now() }
      noteRewrite(trace, 'path', sentPath.slice(0, longestText), path.slice(0, longestText))
      return trace
    },
    record(call) {
      const { trace } = call.request
      const kept = journal()
      // Asked again: a world that rested learns its settings with its first request.
      if (trace === undefined || kept?.settings.isRecording !== true) return
      kept.write(piecesOf(call, trace, now(), naming))
    },
    elements: (dispatch) => recordingElements(dispatch, recorder, render),
  }
  return recorder
}

/** Each element is a call of its own, told by the task of its batch. */
function recordingElements(dispatch: Dispatch, recorder: CallRecorder, render: EndedCallRenderer): Dispatch {
  return async (asked) => {
    const path = `/api${asked.path}`
    const trace = asked.onBehalfOf === undefined ? undefined : recorder.begin(path, path)
    if (trace === undefined) return dispatch(asked)
    const request = { ...asked, trace }
    const ended = (outcome: Outcome | undefined, refused: RefusedRequest | undefined): void =>
      recorder.record({ request, path, outcome, refused, ...render(request, outcome, refused) })
    try {
      const outcome = await dispatch(request)
      const { durable } = outcome
      if (durable === undefined) ended(outcome, undefined)
      // What could not be committed did not happen.
      else
        durable.then(
          () => ended(outcome, undefined),
          (error) => ended(undefined, new RefusedRequest(error, outcome.operation, undefined, {})),
        )
      return outcome
    } catch (error) {
      if (error instanceof RefusedRequest) ended(undefined, error)
      throw error
    }
  }
}

/** What the answer would be, had it come by itself. */
export type EndedCallRenderer = (
  request: EndedCall['request'],
  outcome: Outcome | undefined,
  refused: RefusedRequest | undefined,
) => Pick<EndedCall, 'status' | 'body'>

function piecesOf(call: EndedCall, trace: Trace, now: number, naming: Naming): CallPieces {
  const { request, outcome, refused, body } = call
  const pieces = [JSON.stringify(headOf(call, trace, now)).slice(0, -1)]
  const add = (name: 'request' | 'answer', given: BodyText | undefined): void => {
    if (given === undefined) return
    const { text, ...head } = given
    const begin = `,"${name}":${JSON.stringify(head).slice(0, -1)}`
    pieces[pieces.length - 1] += text === undefined ? begin : `${begin},"text":`
    if (text === undefined) pieces[pieces.length - 1] += '}'
    else pieces.push(text, '}')
  }
  const operation = operationOf(call, trace)
  add('request', requestText(request, trace, naming))
  if (outcome?.raw !== undefined) add('answer', rawText(outcome.raw))
  else if (body !== undefined && request.method !== 'HEAD')
    add('answer', answerText(operation, body, refused === undefined))
  pieces[pieces.length - 1] += '}'
  return pieces
}

const operationOf = ({ outcome, refused }: EndedCall, trace: Trace): Operation | undefined =>
  trace.operation ?? outcome?.operation ?? refused?.operation

/** All but the bodies. */
function headOf(call: EndedCall, trace: Trace, now: number): object {
  const { request, outcome, refused } = call
  const { caller, began } = trace
  const operation = operationOf(call, trace)
  const reply = outcome?.reply
  const data = reply?.data as { extId?: unknown } | undefined
  const requestId = request.onBehalfOf?.requestId ?? request.headers.requestId
  const isMutation = operation?.mutates === true
  return {
    time: formatTime(began),
    durationMicros: Math.max(0, Math.round((now - began) * 1000)),
    caller: caller && {
      extId: caller.extId,
      name: caller.name,
      type: caller.type,
      credential: caller.credential,
      credentialExtId: caller.credentialId,
    },
    address: request.address,
    profile: request.profile,
    method: request.method.slice(0, longestText),
    path: call.path.slice(0, longestText),
    query: request.query === '' ? undefined : request.query.slice(0, longestText),
    operation: operation?.key,
    target: trace.target,
    status: call.status,
    errorCodes: codesOf(refused?.refusal),
    taskExtId: reply?.status === 202 && typeof data?.extId === 'string' ? data.extId : undefined,
    parentTaskExtId: request.onBehalfOf?.parentTask,
    requestId: requestId?.slice(0, longestText),
    isReplayed: reply?.replayed,
    isDryRun: trace.input?.query.dryRun || undefined,
    unreadFields:
      isMutation && trace.reads !== undefined && reply !== undefined && reply.replayed !== true
        ? unreadFields(trace.input?.rawBody, trace.reads)
        : [],
    warnings: reply?.warnings ?? [],
    decision: trace.decision,
    throttledBy: throttledBy(refused?.refusal),
    rate: rateOf(reply?.headers ?? headersOf(refused)),
    precondition: trace.precondition,
    search: trace.search && searchOf(trace.search),
    rewrites: trace.rewrites ?? [],
    faults: trace.faults ?? [],
  }
}

function codesOf(refusal: unknown): string[] {
  if (refusal === undefined) return []
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
