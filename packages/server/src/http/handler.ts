/** Source: conventions 1 (steps 1, 2), 14, 15. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../core/api-error.ts'
import { cutOff } from './answers/cut.ts'
import { type AnswerHeads, addHeaders, addNames, type Head } from './answers/head.ts'
import type { Refusals } from './answers/refusals.ts'
import { isHead, send, sendRaw } from './answers/send.ts'
import { type Exchanged, exchange, type ReceivedRequest, record, type Site } from './exchange.ts'
import { hasCredentials, headFault, readRequest } from './incoming.ts'
import { negotiate } from './negotiation.ts'
import type { Origins } from './origins.ts'
import type { PageAnswer } from './pages.ts'
import type { Profile } from './profiles/names.ts'
import type { ChosenSite, Sites } from './sites.ts'
import type { Lingering } from './wire/linger.ts'
import { readTarget, type Target } from './wire/target.ts'
import type { WorldPorts } from './wire/world-ports.ts'

export interface HandlerOptions {
  readonly profile: Profile
  readonly sites: Sites
  readonly controlSite: Site | undefined
  readonly pages: (path: string, request: IncomingMessage, origin: string) => Promise<PageAnswer | undefined>
  readonly observe: (operation: string, status: number, seconds: number) => void
  readonly log: { error(details: object, message: string): void }
  readonly origins: Origins
  readonly heads: AnswerHeads
  readonly refusals: Refusals
  readonly lingering: Lingering
  readonly worldPorts: WorldPorts
}

interface ArrivedRequest extends ChosenSite {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: Target
  /** In milliseconds of `performance.now()`. */
  readonly start: number
}

export class RequestHandler {
  readonly #options: HandlerOptions

  constructor(options: HandlerOptions) {
    this.#options = options
  }

  /** Never rejects. Answers within this call if nothing needs a promise. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const start = performance.now()
    const target = readTarget(request.url ?? '/')
    try {
      const answering = this.#answer(request, response, target, start)
      return answering?.catch((error: unknown) => this.#fail(request, response, target, error))
    } catch (error) {
      this.#fail(request, response, target, error)
      return undefined
    }
  }

  #answer(
    request: IncomingMessage,
    response: ServerResponse,
    target: Target,
    start: number,
  ): Promise<void> | undefined {
    const { controlSite, sites } = this.#options
    const { path } = target
    if (path === '/api' || path.startsWith('/api/')) {
      const chosen = sites.choose(request, target)
      return this.#openAndAnswer({ request, response, ...chosen, target: { ...target, path: path.slice(4) }, start })
    }
    if (controlSite !== undefined && (path === '/control' || path.startsWith('/control/')))
      return this.#openAndAnswer({ request, response, site: controlSite, target, start })
    return this.#answerPage(request, response, target)
  }

  #fail(request: IncomingMessage, response: ServerResponse, target: Target, error: unknown): void {
    const { log, refusals } = this.#options
    log.error({ err: error }, 'a request failed outside the pipeline')
    // A destroyed connection shows the client that the answer is incomplete.
    if (response.headersSent) return void response.destroy()
    try {
      refusals.send(request, response, target, error)
    } catch {
      response.destroy()
    }
  }

  #openAndAnswer(arrived: ArrivedRequest): Promise<void> | undefined {
    // The clock and request ids of a world exist while it is open; a request without credentials must not open it.
    const mayOpen = hasCredentials(arrived.request)
    const opening = mayOpen ? arrived.site.opening() : undefined
    return opening === undefined
      ? this.#answerApi(arrived, mayOpen)
      : opening.then(() => this.#answerApi(arrived, mayOpen))
  }

  #answerApi(arrived: ArrivedRequest, isOpen: boolean): Promise<void> | undefined {
    const { request, response, site, refusal, target } = arrived
    const { profile: fallback, sites, heads, origins, log } = this.#options
    // A request id made by the world would tell a client without credentials that the world exists.
    const { makeRequestId } = isOpen && refusal === undefined ? site : sites.default
    const now = site.now()
    const head = heads.begin(now)
    const { path, query } = target
    const { recorder } = site
    const sentPath = site.base + path
    const { api, profile, requestId } = readRequest(request, path, query, fallback, makeRequestId, (canonical) =>
      recorder?.begin(now, sentPath, canonical === path ? sentPath : site.base + canonical),
    )
    const received = { api, profile, origin: origins.of(request, target), requestId }
    const ended = exchange(site, received, log, {
      before(context) {
        const fault = headFault(request)
        if (fault === undefined) return negotiate(site, api.method, context)
        response.shouldKeepAlive = false
        throw fault
      },
      ...(refusal === undefined ? {} : { misdirected: refusal }),
    })
    const isIdOfWorld = api.headers.requestId === undefined && makeRequestId !== sites.default.makeRequestId
    const send = (exchanged: Exchanged): Promise<void> | undefined =>
      this.#send(arrived, received, exchanged, head, isIdOfWorld)
    return ended instanceof Promise ? ended.then(send) : send(ended)
  }

  #send(
    { request, response, site, start }: ArrivedRequest,
    received: ReceivedRequest,
    ended: Exchanged,
    head: Head,
    isIdOfWorld: boolean,
  ): Promise<void> | undefined {
    const { sites, heads, lingering, log } = this.#options
    const { answer, outcome, cut } = ended
    const { profile, requestId } = received
    const isHidden = this.#hidesWorld(request, site, ended)
    if (isHidden) heads.redate(head, sites.default.now())
    addNames(head, profile, isHidden && isIdOfWorld ? sites.default.makeRequestId() : requestId)
    let sending: Promise<void> | undefined
    try {
      if (cut !== undefined) cutOff(response, cut)
      if (outcome?.raw === undefined) {
        send(response, lingering, answer, profile, head)
        record(site, received, ended, log)
      } else {
        addHeaders(head, answer.headers)
        sending = sendRaw(response, outcome.raw, answer.status, head).then(() => record(site, received, ended, log))
      }
    } finally {
      if (sending === undefined) this.#observe(response, ended, start)
    }
    return sending?.finally(() => this.#observe(response, ended, start))
  }

  #observe({ statusCode }: ServerResponse, { outcome, refused }: Exchanged, start: number): void {
    const operation = outcome?.operation ?? refused?.operation
    this.#options.observe(operation?.key ?? 'none', statusCode, (performance.now() - start) / 1000)
  }

  /** Whether date and request id must be those of `default`: others would reveal the world to a client without proved identity. */
  #hidesWorld({ socket }: IncomingMessage, { base }: Site, { outcome, refused }: Exchanged): boolean {
    const isAuthenticated = outcome !== undefined || refused?.isAuthenticated === true
    return !isAuthenticated && base === '/api' && this.#options.worldPorts.worldOf(socket) === undefined
  }

  async #answerPage(request: IncomingMessage, response: ServerResponse, target: Target): Promise<void> {
    const { sites, heads, origins, refusals, lingering, pages } = this.#options
    const fault = headFault(request)
    if (fault !== undefined) {
      response.shouldKeepAlive = false
      return refusals.send(request, response, target, fault)
    }
    const page = await pages(target.path, request, origins.of(request, target))
    if (page === undefined) {
      const hint = 'The interface lives under /api, its documents under /docs.'
      const refusal = new ApiError('ROUTE_NOT_FOUND', { path: target.path.slice(0, 300), hint })
      return refusals.send(request, response, target, refusal)
    }
    const { status, contentType, body } = page
    const head = heads.begin(sites.default.now())
    head.push('Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(body)))
    const start = (all: Head): void => void response.writeHead(status, all)
    lingering.end(response, head, start, isHead(response) ? undefined : body)
  }
}
