/**
 * Closing while the client sends resets the connection and may lose the answer: close only the sending side, and discard bounded input.
 * Source: RFC 9112, 9.6; decision refused-bodies-are-discarded.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/time/clock.ts'
import { leavesBodyUnread } from './body.ts'

export interface LingerBounds {
  readonly bytes: number
  /** Further connections close at once. */
  readonly connections: number
  /** A connection that received nothing between two checks is closed. */
  readonly checkMillis: number
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

  /** Further requests on the connection must not be answered. */
  isClosing(socket: Socket): boolean {
    return this.#closing.has(socket)
  }

  end(
    response: ServerResponse,
    head: string[],
    start: (head: string[]) => void,
    body?: string | Uint8Array,
    encoding: BufferEncoding = 'utf8',
  ): void {
    const request = response.req
    if (!leavesBodyUnread(request)) {
      start(head)
      response.end(body, encoding)
      return
    }
    if (!head.includes('Connection')) head.push('Connection', 'close')
    start(head)
    this.#closing.add(request.socket)
    if (body === undefined) return void response.end()
    // Not `end`: node:http would close the connection. The client has its complete answer without that.
    response.write(body)
    const discard = (): void => {
      request.resume()
      request.once('end', () => response.end())
      this.close(request.socket, (count) => request.on('data', count))
    }
    // The response has no socket until earlier requests of the connection are answered.
    if (response.socket === null) response.once('socket', () => process.nextTick(discard))
    else discard()
  }

  close(socket: Socket, watch: (count: (chunk: Uint8Array) => void) => void): void {
    this.#closing.add(socket)
    if (this.#open.size >= this.#bounds.connections) return void socket.destroySoon()
    this.#open.add(socket)
    let discarded = 0
    let discardedAtLastCheck = -1
    let checks = 0
    let stopTimer = (): void => undefined
    const check = (): void => {
      if (discarded === discardedAtLastCheck || ++checks > this.#bounds.checks) return void socket.destroy()
      discardedAtLastCheck = discarded
      stopTimer = this.#setTimer(this.#bounds.checkMillis, check)
    }
    socket.once('close', () => {
      stopTimer()
      this.#open.delete(socket)
    })
    watch((chunk) => {
      discarded += chunk.length
      if (discarded > this.#bounds.bytes) socket.destroy()
    })
    check()
    socket.end()
  }

  stop(): void {
    for (const socket of this.#open) socket.destroy()
  }
}
