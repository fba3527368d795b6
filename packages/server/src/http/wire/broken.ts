/** Refuses bytes that node:http cannot parse, in the envelope, which Node does not. Source: conventions 1. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../../core/api-error.ts'
import { maximumHeaderBytes, maximumTarget } from '../incoming.ts'
import type { Lingering } from './linger.ts'

export interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
}

export class BrokenConnections {
  readonly #lingering: Lingering
  readonly #answerOf: (fault: unknown) => string
  /** Latest response of each connection. */
  readonly #latest = new WeakMap<Socket, ServerResponse>()
  readonly #refused = new WeakSet<Socket>()

  constructor(lingering: Lingering, answerOf: (fault: unknown) => string) {
    this.#lingering = lingering
    this.#answerOf = answerOf
  }

  note(response: ServerResponse): void {
    this.#latest.set(response.req.socket, response)
  }

  /** Earlier requests of the connection are answered first; then it closes. */
  refuse(socket: Socket, fault: unknown): void {
    // The parser repeats its error for all later bytes.
    if (this.#refused.has(socket) || this.#lingering.isClosing(socket)) return
    this.#refused.add(socket)
    // For CONNECT, node:http removes its listener; without any, a reset by the client would crash the process.
    socket.on('error', () => socket.destroy())
    const latest = this.#latest.get(socket)
    const answer = (): void => this.#answer(socket, fault)
    if (latest === undefined || latest.closed || latest.writableFinished) answer()
    else if (latest.req.complete) latest.once('close', answer)
    else {
      // The fault is in the body of the latest request: answer that request, unless its answer has begun.
      const answerOrClose = (): void => (latest.headersSent ? socket.destroySoon() : answer())
      if (latest.socket === null) latest.once('socket', () => process.nextTick(answerOrClose))
      else answerOrClose()
    }
  }

  #answer(socket: Socket, fault: unknown): void {
    if (!socket.writable) return void socket.destroy()
    socket.write(this.#answerOf(fault))
    socket.removeAllListeners('data')
    this.#lingering.close(socket, (count) => socket.on('data', count).resume())
  }
}

export function faultOf(error: ParserError): ApiError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return isInTarget(error.rawPacket)
        ? new ApiError('TARGET_TOO_LONG', { maximum: maximumTarget })
        : new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaderBytes} bytes` })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError('REQUEST_TIMEOUT')
    case 'HPE_INVALID_METHOD':
      return malformed('its method is none of HTTP/1.1.')
    case 'HPE_INVALID_VERSION':
      return malformed('its version is neither HTTP/1.1 nor HTTP/1.0.')
    case 'HPE_INVALID_URL':
      return malformed(
        'its target is neither a path that begins with "/" nor a URL that begins with http:// or https://.',
      )
    case 'HPE_INVALID_CONTENT_LENGTH':
    case 'HPE_UNEXPECTED_CONTENT_LENGTH':
    case 'HPE_INVALID_TRANSFER_ENCODING':
      return malformed('Content-Length and Transfer-Encoding do not give one length of its body.')
    case 'HPE_INVALID_CHUNK_SIZE':
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return malformed('its body is not chunked as HTTP/1.1 says.')
    case 'HPE_INVALID_EOF_STATE':
      return malformed('it breaks off: the connection ended.')
    default:
      return malformed('it is not HTTP/1.1.')
  }
}

export const noTunnels = (): ApiError => malformed('it requests a tunnel (CONNECT), and this service is no proxy.')

const malformed = (fault: string): ApiError => new ApiError('MALFORMED_REQUEST', { fault })

const isInTarget = (packet: Buffer | undefined): boolean =>
  packet !== undefined && /^[A-Z-]+ [^\s]*$/.test(packet.toString('latin1', 0, maximumTarget))
