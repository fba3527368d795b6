/** Node's servers; refusals that Node would answer by itself, or not at all, get an envelope. Source: conventions 1, 14. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket, Server as TcpServer } from 'node:net'
import { createServer } from '../../core/node-http.ts'
import type { ServerCertificate } from '../certificates/make.ts'
import type { ConsoleSockets } from '../consoles.ts'
import { maximumHeaderBytes, maximumTarget } from '../incoming.ts'
import { certificateShownBy } from '../shown-certificate.ts'
import { createTlsServers, type TlsOptions, type TlsServers } from '../tls.ts'
import { deferContinue } from './body.ts'
import { type BrokenConnections, faultOf, noTunnels } from './broken.ts'

export type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

export interface HttpServersOptions {
  readonly onRequest: RequestListener
  /** For plain HTTP to a service with TLS. */
  readonly onPlainRequest: RequestListener
  readonly broken: BrokenConnections
  readonly consoles: Pick<ConsoleSockets, 'isForConsole' | 'upgrade'>
  readonly tls: Pick<TlsOptions, 'cert' | 'key' | 'certificateOf'> | undefined
}

const serverOptions = {
  maxHeaderSize: maximumTarget + maximumHeaderBytes,
  keepAlive: true,
  noDelay: true,
  // `headFault` refuses a missing Host, and an unknown Expect, in the envelope.
  requireHostHeader: false,
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  // Proxies close idle connections after 60 s: no request of theirs may meet a closed connection.
  keepAliveTimeout: 65_000,
}

export class HttpServers {
  readonly plain: ReturnType<typeof createServer>
  readonly #tls: TlsServers | undefined
  readonly #broken: BrokenConnections
  #isStarted = false

  constructor({ onRequest, onPlainRequest, broken, consoles, tls }: HttpServersOptions) {
    this.#broken = broken
    const upgrading = { ...serverOptions, shouldUpgradeCallback: consoles.isForConsole }
    if (tls === undefined) {
      this.plain = createServer(upgrading, onRequest).on('upgrade', consoles.upgrade)
      this.#refuseInEnvelope(this.plain, onRequest)
      return
    }
    this.plain = createServer(serverOptions, onPlainRequest)
    this.#refuseInEnvelope(this.plain, onPlainRequest)
    this.#tls = createTlsServers({ ...upgrading, ...tls, minVersion: 'TLSv1.2' }, (server) => {
      server.on('request', onRequest).on('upgrade', consoles.upgrade)
      this.#refuseInEnvelope(server, onRequest)
      if (this.#isStarted) server.emit('listening')
    })
  }

  get hasTls(): boolean {
    return this.#tls !== undefined
  }

  all(): readonly Server[] {
    return [this.plain, ...(this.#tls?.all() ?? [])]
  }

  /** The first byte tells TLS from plain HTTP, which gets a readable refusal. */
  accept(socket: Socket): void {
    const tls = this.#tls
    if (tls === undefined) return void this.plain.emit('connection', socket)
    socket.on('error', () => socket.destroy())
    socket.setTimeout(20_000, () => socket.destroy())
    socket.once('data', (first) => {
      socket.setTimeout(0)
      socket.pause()
      socket.unshift(first)
      const server = first[0] === 0x16 ? tls.current() : this.plain
      server.emit('connection', socket)
      process.nextTick(() => socket.resume())
    })
  }

  /** Node starts its timers against slow connections on `listen`, which nobody calls on these servers. */
  start(): void {
    if (this.#tls === undefined) return
    this.#isStarted = true
    for (const server of this.all()) server.emit('listening')
  }

  requestCertificates(authorities: readonly string[]): void {
    this.#tls?.ask(authorities)
  }

  useCertificate(certificate: ServerCertificate): void {
    this.#tls?.use(certificate)
  }

  async shownCertificate(): Promise<string> {
    if (this.#tls === undefined) throw new Error('a service of plain HTTP shows no certificate')
    return certificateShownBy(this.#tls.current())
  }

  close(): void {
    for (const server of this.all()) server.close()
  }

  closeIdleConnections(): void {
    for (const server of this.all()) server.closeIdleConnections()
  }

  #refuseInEnvelope(server: TcpServer, listener: RequestListener): void {
    const broken = this.#broken
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      deferContinue(request, response)
      listener(request, response)
    })
    server.on('checkExpectation', listener)
    server.on('connect', (_request, socket: Socket) => broken.refuse(socket, noTunnels()))
    server.on('clientError', (error, socket: Socket) => broken.refuse(socket, faultOf(error)))
    server.on('tlsClientError', (_error, socket: Socket) => socket.destroy())
  }
}
