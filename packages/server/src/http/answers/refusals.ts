/** Requests that reach no operation: unknown pages, malformed heads, bytes that are no HTTP. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../../core/api-error.ts'
import { RefusedRequest } from '../../core/pipeline/request.ts'
import { formatTime } from '../../core/time/time.ts'
import { type RequestNames, readNames } from '../incoming.ts'
import type { Origins } from '../origins.ts'
import type { Profile } from '../profiles/names.ts'
import type { Sites } from '../sites.ts'
import type { Lingering } from '../wire/linger.ts'
import { readTarget, type Target } from '../wire/target.ts'
import type { Answer } from './answer.ts'
import { type AnswerHeads, addNames, type Head } from './head.ts'
import { answerText, send } from './send.ts'

export interface RefusalsOptions {
  readonly profile: Profile
  readonly sites: Sites
  readonly origins: Origins
  readonly heads: AnswerHeads
  readonly lingering: Lingering
}

export class Refusals {
  readonly #options: RefusalsOptions

  constructor(options: RefusalsOptions) {
    this.#options = options
  }

  send(request: IncomingMessage, response: ServerResponse, target: Target, refusal: unknown): void {
    const { profile, sites, origins, heads, lingering } = this.#options
    const site = sites.default
    const names = readNames(request, profile, site.makeRequestId)
    const head = heads.begin(site.now())
    const path = target.path.startsWith('/') ? target.path : '/'
    const answer = this.#answer(refusal, names, head, origins.of(request, target), path)
    send(response, lingering, answer, names.profile, head)
  }

  sendPlainHttp(request: IncomingMessage, response: ServerResponse): void {
    const refusal = new ApiError('MALFORMED_REQUEST', {
      fault: 'this port speaks HTTPS; send the request to https://.',
    })
    response.shouldKeepAlive = false
    this.send(request, response, readTarget(request.url ?? '/'), refusal)
  }

  text(fault: unknown): string {
    const { profile, sites, origins, heads } = this.#options
    const { now, makeRequestId } = sites.default
    const head = heads.begin(now())
    if (!heads.isStopping) head.push('Connection', 'close')
    const names = { profile, requestId: makeRequestId() }
    return answerText(this.#answer(fault, names, head, origins.local, '/'), profile, head)
  }

  #answer(refusal: unknown, { profile, requestId }: RequestNames, head: Head, origin: string, path: string): Answer {
    addNames(head, profile, requestId)
    const { envelopes, now } = this.#options.sites.default
    const context = { profile, origin, base: '', path, query: '', now: () => formatTime(now()) }
    return envelopes.refusal(new RefusedRequest(refusal, undefined, undefined, {}), context, requestId)
  }
}
