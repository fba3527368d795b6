/** Calls as server-sent events, at the client's speed; slow clients get a `gap` event. Source: HTML standard, "Server-sent events". */
import type { Clock } from '../../../core/time/clock.ts'
import type { TypedFilter } from '../../../odata/index.ts'
import type { Journal } from '../journals.ts'

const heartbeatMilliseconds = 15_000
const maximumBytes = 256 * 1024
const maximumCalls = 200

export interface StreamRequest {
  /** Number of the last call that the client has; undefined: start with the next call. */
  readonly after: number | undefined
  readonly filter: TypedFilter | undefined
}

export async function* streamEvents(
  journal: Pick<Journal, 'state' | 'excerpt' | 'changed' | 'ending'>,
  { after, filter }: StreamRequest,
  real: Pick<Clock, 'setTimer'>,
): AsyncGenerator<Uint8Array> {
  let place = after ?? (await journal.state()).last
  // Clients report a stream as open after its first bytes. `retry` makes them reconnect after one second.
  yield Buffer.from(': the journal\nretry: 1000\n\n')
  while (!journal.ending.aborted) {
    const waiting = new AbortController()
    let isSilent = false
    const stop = real.setTimer(heartbeatMilliseconds, () => {
      isSilent = true
      waiting.abort()
    })
    const changed = journal.changed(waiting.signal)
    try {
      const request = { after: place, maximumCalls: maximumCalls, maximumBytes: maximumBytes }
      const {
        calls,
        readUpTo: lookedUpTo,
        isComplete: isAll,
        missed,
        last,
      } = await journal.excerpt(filter === undefined ? request : { ...request, filter })
      if (place > last) {
        // The world was reset, and numbers start at 1 again.
        yield event('anew', { last })
        place = 0
        continue
      }
      place = lookedUpTo
      if (missed > 0) yield event('gap', { missed })
      if (calls.length > 0)
        yield Buffer.from(calls.map(({ sequence, document }) => eventText('call', document, sequence)).join(''))
      if (!isAll) continue
      await changed
      if (isSilent) yield Buffer.from(':\n\n')
    } finally {
      stop()
      waiting.abort()
    }
  }
}

const event = (name: string, content: object): Uint8Array => Buffer.from(eventText(name, JSON.stringify(content)))

const eventText = (name: string, data: string, id?: number): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${data}\n\n`
