/**
 * Keeps the first request of the service with its response and socket. With none of them alive, V8 drops their hidden
 * classes when it frees memory. If that happens before the seventh request, all later ones are dictionaries, and every
 * answer takes twice the time.
 */
import type { ServerResponse } from 'node:http'

export class KeptShapes {
  #example: ServerResponse | undefined

  note(response: ServerResponse): void {
    if (this.#example !== undefined) return
    this.#example = response
    response.once('close', () => forgetClient(response))
  }
}

/** Existing properties only: others would change the hidden class. */
function forgetClient({ req }: ServerResponse): void {
  req.url = ''
  req.rawHeaders.length = 0
  req.headers = {}
}
