/** Sockets to requests and back. The only file that meets Node's servers. Source: conventions 1 (steps 1, 2), 14, 15. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { ApiError } from '../core/api-error.ts'
import { createServer as createPlainServer } from '../core/node-http.ts'
import { RefusedRequest } from '../core/pipeline/request.ts'
import type { Clock } from '../core/time/clock.ts'
import { formatTime } from '../core/time/time.ts'
import { Arrivals } from './arrivals.ts'
import { cutOff } from './cut.ts'
import { askedOf, exchange, record, type Site } from './exchange.ts'
import {
  bringsCredentials,
  headFault,
  maximumHeaderBytes,
  maximumTarget,
  type Names,
  readNames,
  readRequest,
} from './incoming.ts'
import { negotiate } from './negotiation.ts'
import { type Profile, requestIdHeader } from './profiles/names.ts'
import { addHeaders, answerText, type Head, isHead, send, sendRaw } from './send.ts'
import { createTlsServers, type TlsOptions } from './tls.ts'
import { awaitsContinue } from './wire/body.ts'
import { BrokenConnections, faultOf, noTunnels } from './wire/broken.ts'
import { Lingering } from './wire/linger.ts'
import { readTarget, type Target } from './wire/target.ts'
import { chosenWorld, namesWorld } from './world-choice.ts'

export interface HttpServerOptions {
  readonly host: string
  readonly port: number
  /** Absent: plain HTTP. */
  readonly tls?: Pick<TlsOptions, 'cert' | 'key' | 'certificateOf'>
  readonly names: Profile
  readonly publicUrl: string | undefined
  /** What answers for a world, by its name in lower case; for requests that name none, `default`. */
  readonly worldSite: (name: string) => Site | undefined
  /** What answers below /control. */
  readonly controlSite?: Site | undefined
  /** Answers what is not under /api (health, metrics, documents); undefined: there is nothing. */
  readonly pages: (path: string, request: IncomingMessage, origin: string) => Promise<PageAnswer | undefined>
  readonly observe: (operation: string, status: number, seconds: number) => void
  readonly log: { error(details: object, message: string): void }
  /** Of the real clock. */
  readonly setTimer: Clock['setTimer']
}

export interface PageAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string | Uint8Array
}

export interface HttpServer {
  listen(): Promise<{ url: string }>
  /** Opens a port on which one world alone answers, and tells which; 0: a free one. */
  listenFor(world: string, port: number): Promise<number>
  /** Ends that, and the connections there. */
  unlisten(port: number): void
  /** Asks clients for certificates of these authorities (PEM) from the next connection on; none: they are not asked. */
  askForCertificates(authorities: readonly string[]): void
  /** Stops accepting, lets requests under way end, then closes connections. */
  close(): Promise<void>
}

export function createApiServer(options: HttpServerOptions): HttpServer {
  const serverOptions = {
    maxHeaderSize: maximumTarget + maximumHeaderBytes,
    keepAlive: true,
    noDelay: true,
    // Refused in the envelope, see `headFault`.
    requireHostHeader: false,
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    // Longer than proxies keep theirs (60 s): who closes first must not be the one that a request is under way to.
    keepAliveTimeout: 65_000,
  }
  let isListening = false
  const lingering = new Lingering(options.setTimer)
  const broken = new BrokenConnections(lingering, brokenAnswer)
  const arrivals = new Arrivals(handle)
  const answering = (answer: Listener): Listener => {
    return (request, response) => {
      if (lingering.isClosing(request.socket)) return
      broken.note(response)
      answer(request, response)
    }
  }
  const listener = answering((request, response) => {
    if (worldOfPort.size > 0) noteWorld(request.socket, response)
    arrivals.add(request, response)
  })
  const plainListener = options.tls === undefined ? listener : answering(refusePlainHttp)
  const http = createPlainServer(serverOptions, plainListener)
  const secure =
    options.tls === undefined
      ? undefined
      : createTlsServers({ ...serverOptions, ...options.tls, minVersion: 'TLSv1.2' }, (server) => {
          server.on('request', listener)
          attend(server, listener)
        })
  const sockets = new Set<Socket>()
  // One port: the first byte of a connection tells TLS from plain HTTP, which gets a readable refusal.
  const createFront = (): Server =>
    createTcpServer({ noDelay: true }, (socket) => {
      if (secure === undefined) return void http.emit('connection', socket)
      socket.on('error', () => socket.destroy())
      socket.setTimeout(20_000, () => socket.destroy())
      socket.once('data', (first) => {
        socket.setTimeout(0)
        socket.pause()
        socket.unshift(first)
        const server = first[0] === 0x16 ? secure.current() : http
        server.emit('connection', socket)
        process.nextTick(() => socket.resume())
      })
    })
  const track = (server: Server): Server =>
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
  const front = track(secure === undefined ? http : createFront())
  /** Fronts of worlds, by port, and whose port each is. */
  const ownFronts = new Map<number, Server>()
  const worldOfPort = new Map<number, string>()
  /** Whose port each connection came to, for as long as it lasts: that the port was closed meanwhile makes it nobody else's. */
  const worldOfSocket = new WeakMap<Socket, string>()
  /** Answers under way there. */
  const ownAnswers = new Set<ServerResponse>()
  attend(http, plainListener)
  const scheme = options.tls === undefined ? 'http' : 'https'
  let closing = false
  let address = ''
  const behind = () => [http, ...(secure?.all() ?? [])]

  function attend(server: Server, listener: Listener): void {
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      awaitsContinue(request, response)
      listener(request, response)
    })
    // Refused in the envelope, see `headFault`.
    server.on('checkExpectation', listener)
    server.on('connect', (_request, socket: Socket) => broken.refuse(socket, noTunnels()))
    server.on('clientError', (error, socket) => broken.refuse(socket as Socket, faultOf(error)))
    server.on('tlsClientError', (_error, socket) => socket.destroy())
    // A server behind the front never listens itself; this starts its watch over slow and idle connections.
    if (isListening && server !== front) server.emit('listening')
  }

  let date = { second: Number.NaN, text: '' }
  /** As HTTP writes times: the same text for a whole second. */
  function dateAt(now: number): string {
    const second = Math.floor(now / 1000)
    if (second !== date.second) date = { second, text: new Date(now).toUTCString() }
    return date.text
  }

  /** What every answer carries. */
  function headOf(now: number): Head {
    const head = ['Date', dateAt(now), 'X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store']
    if (closing) head.push('Connection', 'close')
    return head
  }

  /** When a request comes: one that is gone before it is answered does not tell its port any more. */
  function noteWorld(socket: Socket, response: ServerResponse): void {
    const world = worldOfSocket.get(socket) ?? worldOfPort.get(socket.localPort ?? 0)
    if (world === undefined) return
    worldOfSocket.set(socket, world)
    ownAnswers.add(response)
    response.once('close', () => ownAnswers.delete(response))
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const began = performance.now()
    const target = readTarget(request.url ?? '/')
    const { path } = target
    try {
      if (path === '/api' || path.startsWith('/api/'))
        await answerApi(request, response, siteFor(request, target), { ...target, path: path.slice(4) }, began)
      else if (options.controlSite !== undefined && (path === '/control' || path.startsWith('/control/')))
        await answerApi(request, response, { site: options.controlSite }, target, began)
      else await answerPage(request, response, target)
    } catch (error) {
      options.log.error({ err: error }, 'a request failed outside the pipeline')
      // An answer that broke off must not look whole.
      if (response.headersSent) return void response.destroy()
      try {
        refuseOutside(request, response, target, error)
      } catch {
        response.destroy()
      }
    }
  }

  const usualSite = (): Site => options.worldSite('default') as Site

  /** A request that names no world is judged by the usual one, which tells why to its administrators alone. */
  function siteFor(request: IncomingMessage, target: Target): { site: Site; refusal?: ApiError } {
    try {
      const header = request.headers['x-world']
      const asked = { header: Array.isArray(header) ? header[0] : header, host: hostOf(request, target) }
      const name = chosenWorld({ ...asked, port: worldOfSocket.get(request.socket) })
      const site = options.worldSite(name ?? 'default')
      if (site !== undefined) return { site }
      throw new ApiError('WORLD_NOT_FOUND', {
        kind: 'world',
        id: String(name).slice(0, 100),
        attribute: 'X-World, host',
      })
    } catch (error) {
      return { site: usualSite(), refusal: error as ApiError }
    }
  }

  async function answerApi(
    request: IncomingMessage,
    response: ServerResponse,
    { site, refusal }: { site: Site; refusal?: ApiError },
    target: Target,
    began: number,
  ): Promise<void> {
    // The time of a world, and the ids of its answers, are known while it is open. Requests without credentials open none.
    const opening = bringsCredentials(request) ? site.opening() : undefined
    if (opening !== undefined) await opening
    // An id made by the world would tell a client without credentials that the world exists.
    const usual = usualSite()
    const { makeRequestId } = bringsCredentials(request) && refusal === undefined ? site : usual
    const now = site.now()
    const head = headOf(now)
    const { recorder } = site
    const { path, query } = target
    const sentPath = site.base + path
    const { api, profile, requestId } = readRequest(request, path, query, options.names, makeRequestId, (canonical) =>
      recorder?.begin(now, sentPath, canonical === path ? sentPath : site.base + canonical),
    )
    const arrived = { api, profile, origin: originOf(request, target), requestId }
    const ended = await exchange(site, arrived, options.log, {
      before() {
        const unreadable = headFault(request)
        if (unreadable === undefined) return negotiate(site, api.method, askedOf(site, arrived))
        response.shouldKeepAlive = false
        throw unreadable
      },
      ...(refusal === undefined ? {} : { misdirected: refusal }),
    })
    const { answer, outcome, refused, cut } = ended
    // To a client that proves no identity, date and id of its world would tell that the world exists; its own port tells that.
    const isProven = outcome !== undefined || refused?.isAuthenticated === true
    const isHidden = !isProven && site.base === '/api' && !worldOfSocket.has(request.socket)
    if (isHidden) head[1] = dateAt(usual.now())
    const isIdOfWorld = api.headers.requestId === undefined && makeRequestId !== usual.makeRequestId
    const shownId = isHidden && isIdOfWorld ? usual.makeRequestId() : requestId
    head.push('X-Hyperplane-Names', profile, requestIdHeader[profile], shownId.slice(0, 100))
    try {
      if (cut !== undefined) cutOff(response, cut)
      if (outcome?.raw === undefined) send({ response, lingering }, answer, profile, head)
      else {
        addHeaders(head, answer.headers)
        await sendRaw(response, outcome.raw, head)
      }
      record(site, arrived, ended, options.log)
    } finally {
      const operation = outcome?.operation ?? refused?.operation
      options.observe(operation?.key ?? 'none', response.statusCode, (performance.now() - began) / 1000)
    }
  }

  async function answerPage(request: IncomingMessage, response: ServerResponse, target: Target): Promise<void> {
    const unreadable = headFault(request)
    if (unreadable !== undefined) {
      response.shouldKeepAlive = false
      return refuseOutside(request, response, target, unreadable)
    }
    const { path } = target
    const page = await options.pages(path, request, originOf(request, target))
    if (page === undefined) {
      const hint = 'The interface lives under /api, its documents under /docs.'
      const refusal = new ApiError('ROUTE_NOT_FOUND', { path: path.slice(0, 300), hint })
      return refuseOutside(request, response, target, refusal)
    }
    const { status, contentType, body } = page
    const head = headOf(usualSite().now())
    head.push('Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(body)))
    const start = (all: Head): void => void response.writeHead(status, all)
    lingering.end(response, head, start, isHead(response) ? undefined : body)
  }

  /** Refuses what is no request of an operation. */
  function refuseOutside(request: IncomingMessage, response: ServerResponse, target: Target, refusal: unknown): void {
    const { makeRequestId } = usualSite()
    const names = readNames(request, options.names, makeRequestId)
    const head = headOf(usualSite().now())
    const path = target.path.startsWith('/') ? target.path : '/'
    const answer = refusalOutside(refusal, names, head, originOf(request, target), path)
    send({ response, lingering }, answer, names.profile, head)
  }

  /** Adds to the head what such a refusal carries. */
  function refusalOutside(refusal: unknown, { profile, requestId }: Names, head: Head, origin: string, path: string) {
    head.push('X-Hyperplane-Names', profile, requestIdHeader[profile], requestId.slice(0, 100))
    const { envelopes, now } = usualSite()
    const asked = { profile, origin, base: '', path, query: '', now: () => formatTime(now()) }
    return envelopes.refusal(new RefusedRequest(refusal, undefined, undefined, {}), asked, requestId)
  }

  /** The answer to bytes that are no request. */
  function brokenAnswer(fault: ApiError): string {
    const { now, makeRequestId } = usualSite()
    const head = headOf(now())
    if (!closing) head.push('Connection', 'close')
    const names = { profile: options.names, requestId: makeRequestId() }
    return answerText(refusalOutside(fault, names, head, ownOrigin(), '/'), names.profile, head)
  }

  const hostOf = (request: IncomingMessage, { authority }: Target): string | undefined =>
    authority ?? request.headers.host

  /** Of links in the answer: as configured, else as the client calls this server, if that can be a host. */
  function originOf(request: IncomingMessage, target: Target): string {
    const host = hostOf(request, target)
    // A world is found by the host or the port that the client called.
    const ofOwn = worldOfSocket.has(request.socket) || (host !== undefined && namesWorld(host))
    if (options.publicUrl !== undefined && !ofOwn) return options.publicUrl
    return host !== undefined && isHost.test(host) ? `${scheme}://${host}` : ownOrigin()
  }

  const ownOrigin = (): string => `${scheme}://localhost:${new URL(address).port || options.port}`

  function refusePlainHttp(request: IncomingMessage, response: ServerResponse): void {
    const refusal = new ApiError('MALFORMED_REQUEST', {
      fault: 'this port speaks HTTPS; send the request to https://.',
    })
    const target = readTarget(request.url ?? '/')
    response.shouldKeepAlive = false
    refuseOutside(request, response, target, refusal)
  }

  const listening = (server: Server, port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, options.host, () => {
        server.off('error', reject)
        resolve((server.address() as AddressInfo).port)
      })
    })

  return {
    async listen() {
      const port = await listening(front, options.port)
      isListening = true
      for (const server of behind()) if (server !== front) server.emit('listening')
      const host = options.host.includes(':') ? `[${options.host}]` : options.host
      address = `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`
      return { url: address }
    },
    async listenFor(world, port) {
      const own = track(createFront())
      const opened = await listening(own, port)
      ownFronts.set(opened, own)
      worldOfPort.set(opened, world)
      return opened
    },
    unlisten(port) {
      ownFronts.get(port)?.close()
      ownFronts.delete(port)
      worldOfPort.delete(port)
      // Who still speaks there would be answered by another world. Who waits for an answer gets it first: that the world goes
      // may have been asked there.
      const waiting = new Set<string>()
      for (const response of ownAnswers) {
        const { socket } = response.req
        if (socket.localPort !== port) continue
        waiting.add(peerOf(socket))
        response.shouldKeepAlive = false
        response.once('close', () => socket.destroySoon())
      }
      const there = [...sockets].filter((socket) => socket.localPort === port)
      for (const socket of there) if (!waiting.has(peerOf(socket))) socket.destroy()
      setTimeout(() => {
        for (const socket of there) socket.destroy()
      }, forcedMillis).unref()
    },
    askForCertificates: (authorities) => secure?.ask(authorities),
    async close() {
      closing = true
      lingering.stop()
      const fronts = [front, ...ownFronts.values()]
      const closed = Promise.all(fronts.map((each) => new Promise<void>((resolve) => each.close(() => resolve()))))
      // Also ends their watch, and the connections that are idle.
      for (const server of behind()) server.close()
      const forced = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, forcedMillis)
      const idle = setInterval(() => {
        for (const server of behind()) server.closeIdleConnections()
      }, 20)
      await closed
      clearTimeout(forced)
      clearInterval(idle)
    },
  }
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void

/** What is not answered by then is cut off: an answer may be without end. */
const forcedMillis = 3000

/** Tells the connections of one port apart, with TLS or below it. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

const isHost = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::\d{1,5})?$/
