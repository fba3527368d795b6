/**
 * Lingering close. A connection that is closed while its client still sends is reset, and the client may lose the answer that
 * it was sent. So this side ends first, and the rest of what the client sends is discarded, within bounds.
 * Source: RFC 9112, 9.6; decision refused-bodies-are-discarded.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/time/clock.ts'
import { leavesBodyUnread } from './body.ts'

export interface LingerBounds {
  /** Bytes that are discarded on one connection. */
  readonly bytes: number
  /** Connections that linger at the same time; a further one is closed at once. */
  readonly connections: number
  /** How often progress is checked. A connection that sent nothing since the last check is closed. */
  readonly checkMillis: number
  /** Checks after which the connection is closed in any case. */
  readonly checks: number
}

export const lingerBounds: LingerBounds = { bytes: 1024 ** 3, connections: 64, checkMillis: 3000, checks: 10 }

export class Lingering {
  readonly #setTimer: Clock['setTimer']
  readonly #bounds: LingerBounds
  readonly #open = new Set<Socket>()
  readonly #closing = new WeakSet<Socket>()

  constructor(setTimer: Clock['setTimer'], bounds: LingerBounds = lingerBounds) {
    this.#setTimer = setTimer
    this.#bounds = bounds
  }

  /** True when nothing that still arrives on the connection is a request to answer. */
  isClosing(socket: Socket): boolean {
    return this.#closing.has(socket)
  }

  /** Ends the response, and with it the connection where much of the request's body has not been read. */
  end(response: ServerResponse, head: string[], start: (head: string[]) => void, body?: string | Uint8Array): void {
    const request = response.req
    if (!leavesBodyUnread(request)) {
      start(head)
      response.end(body)
      return
    }
    if (!head.includes('Connection')) head.push('Connection', 'close')
    start(head)
    this.#closing.add(request.socket)
    if (body === undefined) return void response.end()
    // The answer is complete for the client; ending the response here would make node:http close the connection.
    response.write(body)
    const discard = (): void => {
      request.resume()
      request.once('end', () => response.end())
      this.close(request.socket, (count) => request.on('data', count))
    }
    // Answers to earlier requests on the connection come first.
    if (response.socket === null) response.once('socket', () => process.nextTick(discard))
    else discard()
  }

  /**
   * Ends this side of the connection, and closes it when the client has, or when a bound is reached.
   * @param watch calls back with each piece that is discarded
   */
  close(socket: Socket, watch: (count: (piece: Uint8Array) => void) => void): void {
    this.#closing.add(socket)
    if (this.#open.size >= this.#bounds.connections) return void socket.destroySoon()
    this.#open.add(socket)
    let discarded = 0
    let seen = -1
    let checks = 0
    let stopTimer = (): void => undefined
    const check = (): void => {
      if (discarded === seen || ++checks > this.#bounds.checks) return void socket.destroy()
      seen = discarded
      stopTimer = this.#setTimer(this.#bounds.checkMillis, check)
    }
    socket.once('close', () => {
      stopTimer()
      this.#open.delete(socket)
    })
    watch((piece) => {
      discarded += piece.length
      if (discarded > this.#bounds.bytes) socket.destroy()
    })
    check()
    socket.end()
  }

  /** Closes all connections that linger. */
  stop(): void {
    for (const socket of this.#open) socket.destroy()
  }
}
