/** Consoles of VMs over WebSocket. Source: behaviour vmm.md 1.1; decision consoles-over-websocket. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket, WebSocketServer } from 'ws'
import { ApiError } from '../core/api-error.ts'
import type { ConsoleEnd, ConsoleSession } from '../core/console.ts'
import type { Clock } from '../core/time/clock.ts'
import { headFault } from './incoming.ts'
import type { Origins } from './origins.ts'
import type { Sites } from './sites.ts'
import type { BrokenConnections } from './wire/broken.ts'
import type { Lingering } from './wire/linger.ts'
import { readTarget } from './wire/target.ts'
import type { WorldPorts } from './wire/world-ports.ts'

export interface ConsoleSocketsOptions {
  readonly sites: Sites
  readonly origins: Origins
  readonly worldPorts: WorldPorts
  readonly broken: BrokenConnections
  readonly lingering: Lingering
  readonly setTimer: Clock['setTimer']
  readonly log: { error(details: object, message: string): void }
}

export const consoleLimits = {
  consoles: 256,
  messageBytes: 4096,
  checkMillis: 30_000,
  /** Checks without a message in either direction. */
  idleChecks: 30,
} as const

const consolePath = /^\/console\/vms\/([0-9a-fA-F-]{36})$/

/** Status codes of RFC 6455, 7.4.1. */
const closeCodes = { MACHINE_STOPPED: 1000, SERVICE_STOPS: 1001, IDLE: 1000, NOT_TEXT: 1003, RIGHT_LOST: 1008 } as const

export class ConsoleSockets {
  readonly #options: ConsoleSocketsOptions
  readonly #sessions = new WeakMap<IncomingMessage, ConsoleSession>()
  readonly #open = new Set<WebSocket>()
  #opening = 0
  #server: Promise<WebSocketServer> | undefined
  #isClosing = false

  constructor(options: ConsoleSocketsOptions) {
    this.#options = options
  }

  /** All other requests are answered as if they asked for no other protocol. */
  readonly isForConsole = ({ headers, url, method }: IncomingMessage): boolean =>
    method === 'GET' &&
    headers.upgrade?.trim().toLowerCase() === 'websocket' &&
    consolePath.test(readTarget(url ?? '/').path)

  readonly upgrade = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    if (this.#options.lingering.isClosing(socket)) return
    socket.on('error', () => socket.destroy())
    this.#options.worldPorts.noteSocket(socket)
    this.#server ??= this.#createServer()
    const upgraded = this.#server.then((server) =>
      server.handleUpgrade(request, socket, head, (client) => this.#serve(client, request)),
    )
    upgraded.catch((error) => this.#refuse(socket, error))
  }

  close(): void {
    this.#isClosing = true
    for (const client of this.#open) client.close(closeCodes.SERVICE_STOPS, 'the service stops')
  }

  /** Loaded with the first console: most services open none. */
  async #createServer(): Promise<WebSocketServer> {
    const { WebSocketServer } = await import('ws')
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: consoleLimits.messageBytes,
      perMessageDeflate: false,
      verifyClient: ({ req }, answer) => {
        this.#admit(req).then(
          () => answer(true),
          (error) => this.#refuse(req.socket, error),
        )
      },
    })
    return server.on('wsClientError', ({ message }, socket) =>
      this.#refuse(socket as Socket, new ApiError('MALFORMED_REQUEST', { fault: `${message}.` })),
    )
  }

  /** @throws ApiError 400; 401; 403; 503 */
  async #admit(request: IncomingMessage): Promise<void> {
    const { origins, sites } = this.#options
    const target = readTarget(request.url ?? '/')
    const fault = headFault(request)
    if (fault !== undefined) throw fault
    const { origin } = request.headers
    if (origin !== undefined && origin !== origins.of(request, target))
      throw new ApiError('CONSOLE_ORIGIN_REFUSED', { origin: origin.slice(0, 300) })
    if (this.#isClosing) throw new ApiError('SERVICE_UNAVAILABLE', { fault: 'The service is stopping.' })
    const maximum = consoleLimits.consoles
    if (this.#open.size + this.#opening >= maximum)
      throw new ApiError('SERVICE_UNAVAILABLE', { fault: `${maximum} consoles are open. Close one, then retry.` })
    // A client without a valid token must not learn which worlds exist.
    const { site, refusal } = sites.choose(request, target)
    const token = new URLSearchParams(target.query).get('token') ?? ''
    if (refusal !== undefined || site.openConsole === undefined || token === '')
      throw new ApiError('CONSOLE_TOKEN_REFUSED')
    this.#opening++
    try {
      const vmExtId = consolePath.exec(target.path)?.[1]?.toLowerCase() ?? ''
      const session = await site.openConsole(vmExtId, token)
      request.socket.once('close', () => session.close())
      this.#sessions.set(request, session)
      if (request.socket.destroyed) session.close()
    } finally {
      this.#opening--
    }
  }

  #serve(client: WebSocket, request: IncomingMessage): void {
    const session = this.#sessions.get(request) as ConsoleSession
    this.#open.add(client)
    let quietChecks = 0
    let isAlive = true
    let stopTimer = (): void => undefined
    const check = (): void => {
      if (!isAlive) return void client.terminate()
      if (++quietChecks > consoleLimits.idleChecks) return void client.close(closeCodes.IDLE, 'the console was idle')
      isAlive = false
      client.ping()
      stopTimer = this.#options.setTimer(consoleLimits.checkMillis, check)
    }
    client.on('pong', () => {
      isAlive = true
    })
    client.on('message', (_, isBinary) => {
      if (isBinary) return void client.close(closeCodes.NOT_TEXT, 'the console takes text only')
      quietChecks = 0
      // A client that does not read gets nothing more until it does.
      if (client.bufferedAmount === 0) session.refresh()
    })
    // The library closes the connection after a fault of the protocol, with its status code.
    client.on('error', () => undefined)
    client.once('close', () => {
      stopTimer()
      session.close()
      this.#open.delete(client)
    })
    stopTimer = this.#options.setTimer(consoleLimits.checkMillis, check)
    session.start({
      show(screen) {
        quietChecks = 0
        client.send(screen)
      },
      ended: ({ is, reason }: ConsoleEnd) => client.close(closeCodes[is], reason),
    })
    if (this.#isClosing) client.close(closeCodes.SERVICE_STOPS, 'the service stops')
  }

  #refuse(socket: Socket, error: unknown): void {
    const { broken, log } = this.#options
    if (!(error instanceof ApiError)) log.error({ err: error }, 'a console failed to open')
    broken.refuse(socket, error)
  }
}
