/** Sockets to requests and back. The only file that meets Node's servers. Source: conventions 1 (steps 1, 2), 14, 15. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { ApiError } from '../core/api-error.ts'
import { createServer as createPlainServer } from '../core/node-http.ts'
import { RefusedRequest } from '../core/pipeline/request.ts'
import { formatTime } from '../core/time.ts'
import { Arrivals } from './arrivals.ts'
import { cutOff } from './cut.ts'
import type { Answer } from './envelope.ts'
import { askedOf, exchange, record, type Site } from './exchange.ts'
import { checkHead, maximumHeaderBytes, maximumTarget, readRequest } from './incoming.ts'
import { type Profile, requestIdHeader } from './profiles/names.ts'
import { addHeaders, type Head, send, sendRaw } from './send.ts'
import { createTlsServers, type TlsOptions } from './tls.ts'
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
  readonly pages: (path: string, request: IncomingMessage) => Promise<PageAnswer | undefined>
  readonly observe: (operation: string, status: number, seconds: number) => void
  readonly log: { error(details: object, message: string): void }
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
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    // Longer than proxies keep theirs (60 s): who closes first must not be the one that a request is under way to.
    keepAliveTimeout: 65_000,
  }
  let isListening = false
  const arrivals = new Arrivals(handle)
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (worldOfPort.size > 0) noteWorld(request.socket, response)
    arrivals.add(request, response)
  }
  const http = createPlainServer(serverOptions, options.tls === undefined ? listener : refusePlainHttp)
  const secure =
    options.tls === undefined
      ? undefined
      : createTlsServers({ ...serverOptions, ...options.tls, minVersion: 'TLSv1.2' }, (server) => {
          server.on('request', listener)
          attend(server)
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
  attend(http)
  const scheme = options.tls === undefined ? 'http' : 'https'
  let closing = false
  let address = ''
  const behind = () => [http, ...(secure?.all() ?? [])]

  function attend(server: Server): void {
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => answerBroken(error, socket as Socket))
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
    const target = request.url ?? '/'
    const at = target.indexOf('?')
    const path = at < 0 ? target : target.slice(0, at)
    try {
      const query = at < 0 ? '' : target.slice(at + 1)
      if (path === '/api' || path.startsWith('/api/'))
        await answerApi(request, response, siteFor(request), path.slice(4), query, began)
      else if (options.controlSite !== undefined && (path === '/control' || path.startsWith('/control/')))
        await answerApi(request, response, { site: options.controlSite }, path, query, began)
      else await answerPage(request, response, path)
    } catch (error) {
      options.log.error({ err: error }, 'a request failed outside the pipeline')
      // An answer that broke off must not look whole.
      if (response.headersSent) return void response.destroy()
      response.writeHead(500)
      response.end()
    }
  }

  const usualSite = (): Site => options.worldSite('default') as Site

  /** Refusals are told by the usual one. */
  function siteFor(request: IncomingMessage): { site: Site; refusal?: ApiError } {
    try {
      const header = request.headers['x-world']
      const asked = { header: Array.isArray(header) ? header[0] : header, host: request.headers.host }
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
    path: string,
    query: string,
    began: number,
  ): Promise<void> {
    const now = site.now()
    const head = headOf(now)
    const { recorder } = site
    const sentPath = site.base + path
    const { api, profile, requestId } = readRequest(request, path, query, options.names, (canonical) =>
      recorder?.begin(now, sentPath, canonical === path ? sentPath : site.base + canonical),
    )
    const arrived = { api, profile, origin: originOf(request), requestId }
    head.push('X-Hyperplane-Names', profile, requestIdHeader[profile], requestId.slice(0, 100))
    if (request.method === 'OPTIONS') {
      const [, name = ''] = /^\/([a-z]+)\/unversioned\/info$/.exec(api.path) ?? []
      const namespace = site.namespaces.get(name)
      if (namespace !== undefined) {
        const answer = site.envelopes.text(namespace.versions[0] as string, namespace.name, askedOf(site, arrived))
        send(response, answer, profile, head)
        record(site, arrived, { answer, cut: undefined }, options.log)
        return
      }
    }
    const ended = await exchange(site, arrived, options.log, () => {
      checkHead(request)
      if (refusal !== undefined) throw refusal
    })
    const { answer, outcome, refused, cut } = ended
    const isHead = request.method === 'HEAD'
    try {
      if (cut !== undefined) cutOff(response, cut)
      if (outcome?.raw === undefined) {
        // What is left of an unread body is not worth reading; the connection ends with the answer.
        const unread =
          refused === undefined || request.complete ? 0 : Number(request.headers['content-length'] ?? Infinity)
        if (unread > maximumHeaderBytes && !closing) head.push('Connection', 'close')
        send(response, answer, profile, head, isHead)
      } else {
        addHeaders(head, answer.headers)
        await sendRaw(response, outcome.raw, head, isHead)
      }
      record(site, arrived, ended, options.log)
    } finally {
      const operation = outcome?.operation ?? refused?.operation
      options.observe(operation?.key ?? 'none', response.statusCode, (performance.now() - began) / 1000)
    }
  }

  async function answerPage(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const page = await options.pages(path, request)
    const head = headOf(usualSite().now())
    if (page === undefined) {
      const hint = 'The interface lives under /api, its documents under /docs.'
      const refusal = new ApiError('ROUTE_NOT_FOUND', { path: path.slice(0, 300), hint })
      send(response, refusalOf(refusal, originOf(request), path), 'spec', head)
      return
    }
    head.push('Content-Type', page.contentType, 'Content-Length', String(Buffer.byteLength(page.body)))
    response.writeHead(page.status, head)
    response.end(request.method === 'HEAD' ? undefined : page.body)
  }

  /** A refusal outside the interface. */
  const refusalOf = (refusal: ApiError, origin: string, path = '', profile: Profile = 'spec'): Answer =>
    usualSite().envelopes.refusal(
      new RefusedRequest(refusal, undefined, undefined, {}),
      { profile, origin, base: '/api', path, query: '', now: () => formatTime(usualSite().now()) },
      '',
    )

  /** Of links in the answer: as configured, else as the client calls this server, if that can be a host. */
  function originOf(request: IncomingMessage): string {
    const { host } = request.headers
    // A world is found by the host or the port that the client called.
    const ofOwn = worldOfSocket.has(request.socket) || (host !== undefined && namesWorld(host))
    if (options.publicUrl !== undefined && !ofOwn) return options.publicUrl
    if (host !== undefined && isHost.test(host)) return `${scheme}://${host}`
    return `${scheme}://localhost:${new URL(address).port || options.port}`
  }

  function refusePlainHttp(request: IncomingMessage, response: ServerResponse): void {
    const refusal = new ApiError('MALFORMED_REQUEST', {
      fault: 'this port speaks HTTPS; send the request to https://.',
    })
    const head = ['X-Content-Type-Options', 'nosniff', 'Cache-Control', 'no-store', 'Connection', 'close']
    send(response, refusalOf(refusal, originOf(request), '', options.names), options.names, head)
  }

  /** The parser gave up: answer in the envelope what can be answered. */
  function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable) return void socket.destroy()
    const refusal =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaderBytes} bytes` })
        : new ApiError('MALFORMED_REQUEST', { fault: 'it is not HTTP/1.1.' })
    const answer = refusalOf(refusal, `https://localhost:${options.port}`, '', options.names)
    const body = answer.body ?? ''
    socket.write(
      `HTTP/1.1 ${answer.status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
    )
    // Whoever sends slowly, or not at all, does not keep it open by not ending its own side.
    socket.destroySoon()
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

/** What is not answered by then is cut off: an answer may be without end. */
const forcedMillis = 3000

/** Tells the connections of one port apart, with TLS or below it. */
const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

const isHost = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::\d{1,5})?$/
