/**
 * Connections whose bytes node:http cannot hand over as a request: it would answer them itself, without the envelope, or not
 * at all. Source: conventions 1.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../../core/api-error.ts'
import { maximumHeaderBytes, maximumTarget } from '../incoming.ts'
import type { Lingering } from './linger.ts'

/** As node:http reports them. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
}

export class BrokenConnections {
  readonly #lingering: Lingering
  readonly #answerOf: (fault: ApiError) => string
  /** The newest request of each connection, by its response. */
  readonly #newest = new WeakMap<Socket, ServerResponse>()
  readonly #refused = new WeakSet<Socket>()

  /** @param answerOf head and body as they are sent */
  constructor(lingering: Lingering, answerOf: (fault: ApiError) => string) {
    this.#lingering = lingering
    this.#answerOf = answerOf
  }

  /** Called with the response to each request. */
  note(response: ServerResponse): void {
    this.#newest.set(response.req.socket, response)
  }

  /** Answers after all earlier requests of the connection, then closes it. */
  refuse(socket: Socket, fault: ApiError): void {
    // The parser reports its error again with all that arrives later.
    if (this.#refused.has(socket) || this.#lingering.isClosing(socket)) return
    this.#refused.add(socket)
    // For CONNECT node:http takes its own listener off the socket; without one a reset would end the process.
    socket.on('error', () => socket.destroy())
    const newest = this.#newest.get(socket)
    const answer = (): void => this.#answer(socket, fault)
    if (newest === undefined || newest.closed || newest.writableFinished) answer()
    else if (newest.req.complete) newest.once('close', answer)
    else {
      // The fault is in the body of the newest request: this is the answer to it, unless it is being answered already.
      const inItsTurn = (): void => (newest.headersSent ? socket.destroySoon() : answer())
      if (newest.socket === null) newest.once('socket', () => process.nextTick(inItsTurn))
      else inItsTurn()
    }
  }

  #answer(socket: Socket, fault: ApiError): void {
    if (!socket.writable) return void socket.destroy()
    socket.write(this.#answerOf(fault))
    // The parser takes nothing more: it would only report its error again.
    socket.removeAllListeners('data')
    this.#lingering.close(socket, (count) => socket.on('data', count).resume())
  }
}

/** The refusal that an error of the parser becomes. */
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

export const noTunnels = (): ApiError => malformed('it asks for a tunnel (CONNECT), and this service is no proxy.')

const malformed = (fault: string): ApiError => new ApiError('MALFORMED_REQUEST', { fault })

/** True when what was read last begins a request whose target alone is too long. */
const isInTarget = (packet: Buffer | undefined): boolean =>
  packet !== undefined && /^[A-Z-]+ [^\s]*$/.test(packet.toString('latin1', 0, maximumTarget))
