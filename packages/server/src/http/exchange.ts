/**
 * One request of the interface, from its parsed form to its answer: recording, dispatch, envelope. Sockets and callers in the
 * same process share it, so that both are answered, and recorded, alike.
 */

import type { Namespace } from '@hyperplane/contract'
import type { ApiError } from '../core/api-error.ts'
import type { Cut } from '../core/faults.ts'
import { type ApiRequest, type Dispatch, type Outcome, RefusedRequest } from '../core/pipeline/request.ts'
import type { CallRecorder } from '../core/recording/recording.ts'
import { formatTime } from '../core/time/time.ts'
import type { Asked } from './asked.ts'
import { reaching } from './cut.ts'
import type { Answer, EnvelopeWriter } from './envelope.ts'
import type { Profile } from './profiles/names.ts'

/** Answers requests: a world, or the control interface. */
export interface Site {
  /** Prefix of its paths: `/api`, or nothing. */
  readonly base: string
  /** Time there, in milliseconds since 1970; answers are dated with it. */
  readonly now: () => number
  /** Resolves when a world that rests has opened, and never rejects; undefined: there is nothing to wait for. */
  readonly opening: () => Promise<unknown> | undefined
  /** For a request that brings none. */
  readonly makeRequestId: () => string
  readonly dispatch: Dispatch
  readonly envelopes: EnvelopeWriter
  readonly namespaces: ReadonlyMap<string, Namespace>
  /** Absent: calls are not recorded. */
  readonly recorder?: CallRecorder | undefined
}

export interface Arrived {
  readonly api: ApiRequest
  readonly profile: Profile
  /** `https://host:port`, for links in the answer. */
  readonly origin: string
  /** The client's request id, else a generated one; the answer carries it. */
  readonly requestId: string
}

export interface Exchanged {
  /** Without a body where `outcome.raw` is the content. */
  readonly answer: Answer
  readonly outcome?: Outcome
  readonly refused?: RefusedRequest
  /** A fault rule cuts the connection here. */
  readonly cut: Cut | undefined
}

type Log = { error(details: object, message: string): void }

/** The request as the envelope sees it. */
export const askedOf = (site: Site, { api, profile, origin }: Arrived): Asked => ({
  profile,
  origin,
  base: site.base,
  path: api.path,
  query: api.query,
  now: () => formatTime(site.now()),
})

export interface Exchange {
  /** Answers before the pipeline does; undefined: it leaves that to the pipeline. @throws ApiError a refusal */
  before?(): Answer | undefined
  /** The refusal of a request that names no world; the site tells it to its administrators alone. */
  readonly misdirected?: ApiError
}

export async function exchange(
  site: Site,
  arrived: Arrived,
  log: Log,
  { before, misdirected }: Exchange = {},
): Promise<Exchanged> {
  const { api } = arrived
  const asked = askedOf(site, arrived)
  try {
    const early = before?.()
    if (early !== undefined) return { answer: early, cut: undefined }
    const outcome = await site.dispatch(misdirected === undefined ? api : { ...api, misdirected })
    const answer =
      outcome.raw === undefined
        ? site.envelopes.reply(outcome.reply, outcome.operation, asked)
        : { status: outcome.reply.status, headers: outcome.reply.headers ?? {} }
    return { answer, outcome, cut: outcome.cut }
  } catch (error) {
    const refused = error instanceof RefusedRequest ? error : new RefusedRequest(error, undefined, undefined, {})
    if (!(refused.refusal instanceof Error && 'status' in refused.refusal))
      log.error({ err: refused.refusal, requestId: arrived.requestId }, 'an uncaught fault')
    return { answer: site.envelopes.refusal(refused, asked, arrived.requestId), refused, cut: refused.cut }
  }
}

/** Call it in the turn in which the answer leaves: a client that has its answer finds its call in the journal. */
export function record(site: Site, { api, requestId }: Arrived, ended: Exchanged, log: Log): void {
  if (api.trace === undefined) return
  const { outcome, refused, answer, cut } = ended
  const { status, body } = outcome?.raw === undefined ? reaching(answer, cut) : answer
  try {
    site.recorder?.record({ request: api, path: site.base + api.path, outcome, refused, status, body })
  } catch (error) {
    log.error({ err: error, requestId }, 'a call could not be recorded')
  }
}
