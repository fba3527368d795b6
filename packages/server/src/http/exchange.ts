/** Shared by the HTTP server and in-process callers: both get the same answers and the same journal. */

import type { Namespace } from '@hyperplane/contract'
import type { ApiError } from '../core/api-error.ts'
import type { ConsoleSession } from '../core/console.ts'
import type { Cut } from '../core/faults.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest } from '../core/pipeline/request.ts'
import type { CallRecorder } from '../core/recording/recording.ts'
import { formatTime } from '../core/time/time.ts'
import type { Answer } from './answers/answer.ts'
import { receivedPart } from './answers/cut.ts'
import type { AnswerContext } from './envelope/answer-context.ts'
import type { EnvelopeWriter } from './envelope.ts'
import type { Profile } from './profiles/names.ts'

/** A world, or the control interface. */
export interface Site {
  /** Prefix of paths: `/api`; empty for the control interface. */
  readonly base: string
  /** Time of the site; the date of answers. */
  readonly now: () => number
  /** Opens a closed world; never rejects. undefined: the site is open. */
  readonly opening: () => Promise<unknown> | undefined
  readonly makeRequestId: () => string
  readonly dispatch: Dispatch
  readonly envelopes: EnvelopeWriter
  readonly namespaces: ReadonlyMap<string, Namespace>
  readonly recorder?: CallRecorder | undefined
  /** Absent: the site has no VMs. @throws ApiError 401, 503 */
  readonly openConsole?: (vmExtId: string, token: string) => Promise<ConsoleSession>
}

export interface ReceivedRequest {
  readonly api: ApiRequest
  readonly profile: Profile
  readonly origin: string
  readonly requestId: string
}

export interface Exchanged {
  /** Without body if `outcome.raw` has the content. */
  readonly answer: Answer
  readonly outcome?: Outcome
  readonly refused?: RefusedRequest
  readonly cut: Cut | undefined
}

type Log = { error(details: object, message: string): void }

const contextOf = (site: Site, { api, profile, origin }: ReceivedRequest): AnswerContext => ({
  profile,
  origin,
  base: site.base,
  path: api.path,
  query: api.query,
  now: () => formatTime(site.now()),
})

export interface ExchangeOptions {
  /** Answers outside the pipeline; undefined: the pipeline answers. @throws ApiError */
  readonly before?: (context: AnswerContext) => Answer | undefined
  /** For an unknown world; revealed only to administrators of the site. */
  readonly misdirected?: ApiError
}

/** @returns no promise if the pipeline answers without one */
export function exchange(
  site: Site,
  received: ReceivedRequest,
  log: Log,
  { before, misdirected }: ExchangeOptions = {},
): Exchanged | Promise<Exchanged> {
  const { api } = received
  const context = contextOf(site, received)
  const refuse = (error: unknown): Exchanged => refusalOf(error, site, received, context, log)
  try {
    const early = before?.(context)
    if (early !== undefined) return { answer: early, cut: undefined }
    const outcome = site.dispatch(misdirected === undefined ? api : { ...api, misdirected })
    if (!(outcome instanceof Promise)) return answered(outcome, site, context)
    return outcome.then((settled) => answered(settled, site, context)).catch(refuse)
  } catch (error) {
    return refuse(error)
  }
}

function answered(outcome: Outcome, site: Site, context: AnswerContext): Exchanged {
  const { reply, operation, raw, cut, rendered } = outcome
  const answer =
    raw === undefined
      ? site.envelopes.reply(reply, operation, context, rendered)
      : { status: reply.status, headers: reply.headers ?? {} }
  return { answer, outcome, cut }
}

function refusalOf(
  error: unknown,
  site: Site,
  { requestId }: ReceivedRequest,
  context: AnswerContext,
  log: Log,
): Exchanged {
  const refused = error instanceof RefusedRequest ? error : new RefusedRequest(error, undefined, undefined, {})
  if (!(refused.refusal instanceof Error && 'status' in refused.refusal))
    log.error({ err: refused.refusal, requestId }, 'the pipeline failed with an unexpected error')
  return { answer: site.envelopes.refusal(refused, context, requestId), refused, cut: refused.cut }
}

/** Call in the tick that sends the answer: a client that has its answer must find the call in the journal. */
export function record(site: Site, { api, requestId }: ReceivedRequest, ended: Exchanged, log: Log): void {
  if (api.trace === undefined) return
  const { outcome, refused, answer, cut } = ended
  const { status, body, bytes } = outcome?.raw === undefined ? receivedPart(answer, cut) : answer
  const path = site.base + api.path
  try {
    site.recorder?.record({ request: api, path, outcome, refused, status, body, bytes })
  } catch (error) {
    log.error({ err: error, requestId }, 'a call could not be recorded')
  }
}
