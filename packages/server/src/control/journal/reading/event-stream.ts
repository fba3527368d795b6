/**
 * Calls as server-sent events (HTML standard, section "Server-sent events"), as they are recorded. A stream is a place in the
 * journal: it reads on as fast as its reader takes, and holds one piece at most. Who is so slow that calls go before they were
 * read is told how many.
 */
import type { Clock } from '../../../core/time/clock.ts'
import type { TypedFilter } from '../../../odata/index.ts'
import type { Journal } from '../journals.ts'

/** Real time after which a silent stream says that it is there. */
const heartbeatMilliseconds = 15_000
const maximumBytes = 256 * 1024
const maximumCalls = 200

export interface StreamRequest {
  /** The last call that the reader has; undefined: only what comes from now on. */
  readonly after: number | undefined
  readonly filter: TypedFilter | undefined
}

export async function* streamEvents(
  journal: Pick<Journal, 'state' | 'excerpt' | 'changed' | 'ending'>,
  { after, filter }: StreamRequest,
  real: Pick<Clock, 'setTimer'>,
): AsyncGenerator<Uint8Array> {
  let place = after ?? (await journal.state()).last
  // Readers wait for the first bytes before they call a stream open; whoever loses it may come back after a second.
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
      const wanted = { after: place, maximumCalls: maximumCalls, maximumBytes: maximumBytes }
      const {
        calls,
        readUpTo: lookedUpTo,
        isComplete: isAll,
        missed,
        last,
      } = await journal.excerpt(filter === undefined ? wanted : { ...wanted, filter })
      if (place > last) {
        // Its numbers begin anew: the world was reset since.
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

/** @param data one line: JSON has no others */
const eventText = (name: string, data: string, id?: number): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${data}\n\n`
