/**
 * Requests on their way from the sockets to whoever answers them. Those that are there at the same time are all read first, then
 * answered side by side: each step of the way is taken for all of them while its code is at hand in the processor. With many
 * clients at once a request costs less so; one that comes alone waits for nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

export class Arrivals {
  readonly #handle: Handler
  #present: Parameters<Handler>[] = []

  constructor(handle: Handler) {
    this.#handle = handle
  }

  /** It is answered when all that has come by now is read, in the order in which it came. */
  add(request: IncomingMessage, response: ServerResponse): void {
    if (this.#present.push([request, response]) === 1) setImmediate(() => this.#begin())
  }

  #begin(): void {
    const present = this.#present
    this.#present = []
    for (const [request, response] of present) this.#handle(request, response)
  }
}
