/** Sockets to requests and back. The only file that meets Node's servers. Source: conventions 1 (steps 1, 2), 14, 15. */

import { randomUUID } from 'node:crypto'
import { createServer as createPlainServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { Namespace } from '@hyperplane/contract'
import { ApiError } from '../core/api-error.ts'
import type { RawAnswer } from '../core/handlers.ts'
import { type ApiRequest, type Dispatch, RefusedRequest } from '../core/pipeline.ts'
import type { Answer, Asked, EnvelopeWriter } from './envelope.ts'
import { apiKeyHeader, canonicalPath, type Profile, profileOf, requestIdHeader } from './profiles/names.ts'

export interface HttpServerOptions {
  readonly host: string
  readonly port: number
  /** Absent: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly names: Profile
  readonly publicUrl: string | undefined
  readonly dispatch: Dispatch
  readonly envelopes: EnvelopeWriter
  readonly namespaces: ReadonlyMap<string, Namespace>
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
  /** Stops accepting, lets requests under way end, then closes connections. */
  close(): Promise<void>
}

const maximumTarget = 16 * 1024
const maximumHeaderBytes = 32 * 1024
const maximumHeaders = 100

export function createApiServer(options: HttpServerOptions): HttpServer {
  const serverOptions = {
    maxHeaderSize: maximumTarget + maximumHeaderBytes,
    keepAlive: true,
    noDelay: true,
    requestTimeout: 60_000,
    headersTimeout: 20_000,
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => void handle(request, response)
  const http = createPlainServer(serverOptions, options.tls === undefined ? listener : refusePlainHttp)
  const https =
    options.tls === undefined
      ? undefined
      : createHttpsServer({ ...serverOptions, ...options.tls, minVersion: 'TLSv1.2' }, listener)
  const sockets = new Set<Socket>()
  // One port: the first byte of a connection tells TLS from plain HTTP, which gets a readable refusal.
  const front: Server =
    https === undefined
      ? http
      : createTcpServer({ noDelay: true }, (socket) => {
          socket.on('error', () => socket.destroy())
          socket.setTimeout(20_000, () => socket.destroy())
          socket.once('data', (first) => {
            socket.setTimeout(0)
            socket.pause()
            socket.unshift(first)
            const server = first[0] === 0x16 ? https : http
            server.emit('connection', socket)
            process.nextTick(() => socket.resume())
          })
        })
  front.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  for (const server of [http, https]) {
    server?.on('clientError', (error: NodeJS.ErrnoException, socket) => answerBroken(error, socket as Socket))
    server?.on('tlsClientError', (_error, socket) => socket.destroy())
  }
  let closing = false
  let address = ''

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const began = performance.now()
    const target = request.url ?? '/'
    const at = target.indexOf('?')
    const path = at < 0 ? target : target.slice(0, at)
    // One object, written at once: a header set one by one costs as much as finding the entity.
    const head: Head = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' }
    if (closing) head['Connection'] = 'close'
    try {
      if (path === '/api' || path.startsWith('/api/')) {
        await answerApi(request, response, head, path.slice(4), at < 0 ? '' : target.slice(at + 1), began)
        return
      }
      const page = await options.pages(path, request)
      if (page === undefined) {
        const refusal = new ApiError('ROUTE_NOT_FOUND', {
          path: path.slice(0, 300),
          hint: 'The interface lives under /api, its documents under /docs.',
        })
        send(
          response,
          options.envelopes.refusal(
            new RefusedRequest(refusal, undefined, undefined, {}),
            askedOf(request, 'spec', path, ''),
            '',
          ),
          'spec',
          head,
        )
      } else {
        response.writeHead(page.status, {
          ...head,
          'Content-Type': page.contentType,
          'Content-Length': Buffer.byteLength(page.body),
        })
        response.end(request.method === 'HEAD' ? undefined : page.body)
      }
    } catch (error) {
      options.log.error({ err: error }, 'a request failed outside the pipeline')
      // An answer that broke off must not look whole.
      if (response.headersSent) return void response.destroy()
      response.writeHead(500)
      response.end()
    }
  }

  async function answerApi(
    request: IncomingMessage,
    response: ServerResponse,
    head: Head,
    rawPath: string,
    query: string,
    began: number,
  ): Promise<void> {
    const canonical = canonicalPath(rawPath)
    const header = (name: string): string | undefined => {
      const value = request.headers[name]
      return Array.isArray(value) ? value[0] : value
    }
    const profile = profileOf({ pathProfile: canonical.profile, header, fallback: options.names })
    const asked = askedOf(request, profile, canonical.path, query)
    const ids = [header('svc-request-id'), header('ntnx-request-id')].filter((id) => id !== undefined && id !== '')
    const requestId = ids[0] ?? randomUUID()
    head['X-Hyperplane-Names'] = profile
    head[requestIdHeader[profile]] = requestId.slice(0, 100)

    if (request.method === 'OPTIONS') {
      const info = /^\/([a-z]+)\/unversioned\/info$/.exec(canonical.path)
      const namespace = info === null ? undefined : options.namespaces.get(info[1] as string)
      if (namespace !== undefined) {
        send(response, options.envelopes.text(namespace.versions[0] as string, namespace.name, asked), profile, head)
        return
      }
    }
    const api: ApiRequest = {
      method: request.method ?? 'GET',
      path: canonical.path,
      query,
      headers: {
        ...optionalHeader('authorization', header('authorization')),
        ...optionalHeader(
          'apiKey',
          header(apiKeyHeader.spec.toLowerCase()) ?? header(apiKeyHeader.public.toLowerCase()),
        ),
        ...optionalHeader('ifMatch', header('if-match')),
        ...optionalHeader('requestId', ids[0]),
        ...optionalHeader('clusterId', header('x-cluster-id')),
        ...optionalHeader('contentType', header('content-type')),
        ...optionalHeader('accept', header('accept')),
      },
      address: request.socket.remoteAddress ?? '',
      profile,
      unknown: profile === 'spec' ? 'refuse' : 'ignore',
      requestIdsDiffer: ids.length === 2 && ids[0]?.toLowerCase() !== ids[1]?.toLowerCase(),
      readBody: (maximum) => readBody(request, maximum),
    }
    let operation = 'none'
    try {
      checkHead(request)
      const outcome = await options.dispatch(api)
      operation = outcome.operation?.key ?? 'none'
      if (outcome.raw === undefined)
        send(
          response,
          options.envelopes.reply(outcome.reply, outcome.operation, asked),
          profile,
          head,
          request.method === 'HEAD',
        )
      else await sendRaw(response, outcome.raw, { ...head, ...outcome.reply.headers }, request.method === 'HEAD')
    } catch (error) {
      if (response.headersSent) throw error
      const refused = error instanceof RefusedRequest ? error : new RefusedRequest(error, undefined, undefined, {})
      operation = refused.operation?.key ?? 'none'
      if (!(refused.refusal instanceof Error && 'status' in refused.refusal))
        options.log.error({ err: refused.refusal, requestId }, 'an uncaught fault')
      const answer = options.envelopes.refusal(refused, asked, requestId)
      // What is left of an unread body is not worth reading; the connection ends with the answer.
      if (!request.complete && Number(header('content-length') ?? 1) > maximumHeaderBytes) head['Connection'] = 'close'
      send(response, answer, profile, head, request.method === 'HEAD')
    } finally {
      options.observe(operation, response.statusCode, (performance.now() - began) / 1000)
    }
  }

  function askedOf(request: IncomingMessage, profile: Profile, path: string, query: string): Asked {
    const host = request.headers.host
    const scheme = options.tls === undefined ? 'http' : 'https'
    const origin =
      options.publicUrl ??
      (host !== undefined && /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::\d{1,5})?$/.test(host)
        ? `${scheme}://${host}`
        : `${scheme}://localhost:${new URL(address).port || options.port}`)
    return { profile, origin, path, query }
  }

  function refusePlainHttp(request: IncomingMessage, response: ServerResponse): void {
    const refusal = new ApiError('MALFORMED_REQUEST', {
      fault: 'this port speaks HTTPS; send the request to https://.',
    })
    const answer = options.envelopes.refusal(
      new RefusedRequest(refusal, undefined, undefined, {}),
      askedOf(request, options.names, '', ''),
      '',
    )
    send(response, answer, options.names, {
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
      Connection: 'close',
    })
  }

  /** The parser gave up: answer in the envelope what can be answered. */
  function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable) return void socket.destroy()
    const refusal =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaderBytes} bytes` })
        : new ApiError('MALFORMED_REQUEST', { fault: 'it is not HTTP/1.1.' })
    const asked: Asked = { profile: options.names, origin: `https://localhost:${options.port}`, path: '', query: '' }
    const answer = options.envelopes.refusal(new RefusedRequest(refusal, undefined, undefined, {}), asked, '')
    const body = answer.body ?? ''
    socket.write(
      `HTTP/1.1 ${answer.status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n${body}`,
    )
    // Whoever sends slowly, or not at all, does not keep it open by not ending its own side.
    socket.destroySoon()
  }

  return {
    async listen() {
      await new Promise<void>((resolve, reject) => {
        front.once('error', reject)
        front.listen(options.port, options.host, () => {
          front.off('error', reject)
          // Servers behind the front never listen themselves; this starts their watch over slow and idle connections.
          for (const server of [http, https]) if (server !== front) server?.emit('listening')
          resolve()
        })
      })
      const { port } = front.address() as AddressInfo
      const host = options.host.includes(':') ? `[${options.host}]` : options.host
      address = `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}`
      return { url: address }
    },
    async close() {
      closing = true
      const closed = new Promise<void>((resolve) => front.close(() => resolve()))
      // Also ends their watch, and the connections that are idle.
      http.close()
      https?.close()
      const forced = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, 3000)
      const idle = setInterval(() => {
        http.closeIdleConnections()
        https?.closeIdleConnections()
      }, 20)
      await closed
      clearTimeout(forced)
      clearInterval(idle)
    },
  }
}

const optionalHeader = <K extends string>(name: K, value: string | undefined): { [key in K]?: string } =>
  (value === undefined ? {} : { [name]: value }) as { [key in K]?: string }

function checkHead(request: IncomingMessage): void {
  if ((request.url ?? '').length > maximumTarget) throw new ApiError('TARGET_TOO_LONG', { maximum: maximumTarget })
  if (request.rawHeaders.length / 2 > maximumHeaders)
    throw new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaders} headers` })
  let bytes = 0
  for (const text of request.rawHeaders) bytes += text.length
  if (bytes > maximumHeaderBytes) throw new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaderBytes} bytes` })
}

const nothing = new Uint8Array()

async function readBody(request: IncomingMessage, maximum: number): Promise<Uint8Array> {
  if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined)
    return nothing
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
    chunks.push(chunk)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

type Head = Record<string, string | number>

function send(response: ServerResponse, answer: Answer, profile: Profile, head: Head, headOnly = false): void {
  // Public clients are used to reason phrases in upper case.
  const reason = STATUS_CODES[answer.status] ?? 'Unknown'
  Object.assign(head, answer.headers)
  if (answer.body !== undefined) {
    head['Content-Type'] = 'application/json'
    head['Content-Length'] = Buffer.byteLength(answer.body)
  }
  response.writeHead(answer.status, profile === 'public' ? reason.toUpperCase() : reason, head)
  response.end(headOnly ? undefined : answer.body)
}

async function sendRaw(response: ServerResponse, raw: RawAnswer, head: Head, headOnly: boolean): Promise<void> {
  head['Content-Type'] = raw.contentType
  if (raw.fileName !== undefined) head['Content-Disposition'] = `attachment; filename="${raw.fileName}"`
  if (raw.contentLength !== undefined) head['Content-Length'] = raw.contentLength
  response.writeHead(200, head)
  if (headOnly) return void response.end()
  if (typeof raw.content === 'string' || raw.content instanceof Uint8Array) return void response.end(raw.content)
  for await (const chunk of raw.content) {
    if (response.destroyed) return
    if (!response.write(chunk)) await drained(response)
  }
  response.end()
}

/** A client that went away never drains. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done)
      resolve()
    }
    response.once('drain', done).once('close', done)
  })
