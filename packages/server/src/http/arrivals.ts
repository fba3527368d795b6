/**
 * Reads all requests of a tick before handling them, so that each pipeline stage finds its code in the CPU caches for all of them.
 * Source: decision requests-are-read-first-then-answered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

export class Arrivals {
  readonly #handle: Handler
  #pending: Parameters<Handler>[] = []

  constructor(handle: Handler) {
    this.#handle = handle
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    if (this.#pending.push([request, response]) === 1) setImmediate(() => this.#handlePending())
  }

  #handlePending(): void {
    const pending = this.#pending
    this.#pending = []
    for (const [request, response] of pending) this.#handle(request, response)
  }
}
