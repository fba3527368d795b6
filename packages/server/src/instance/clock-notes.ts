/** World time continues from the stored state after a restart. */
import type { Config } from '../config/config.ts'
import type { ClockState, WorldClock } from '../core/time/clock.ts'
import type { Store } from '../store/store.ts'

/** A clock setting that has changed since takes precedence over the stored state. */
interface ClockNote extends ClockState {
  readonly configured: Config['clock']
  readonly startAt?: number
}

const noteName = 'clock'

/** undefined: nothing is stored, or another start time is configured. */
export function storedClockState(store: Store, config: Config, startAt: number | undefined): ClockState | undefined {
  const text = store.meta(noteName)
  if (text === undefined) return undefined
  const note: ClockNote = JSON.parse(text)
  if (startAt !== undefined && note.startAt !== startAt) return undefined
  return note.configured === config.clock ? note : { ...note, mode: config.clock }
}

/** Its result is undefined if nothing changed since its last call. */
export function clockNotes(
  store: Store,
  clock: WorldClock,
  { clock: configured }: Config,
  startAt: number | undefined,
): () => Record<string, string> | undefined {
  let last = store.meta(noteName)
  return () => {
    const note: ClockNote = { ...clock.state(), configured, startAt }
    // A clock that always followed the real one needs no note.
    if (last === undefined && note.mode === 'real' && Math.abs(note.world - note.real) < 1000) return undefined
    const text = JSON.stringify(note)
    if (text === last) return undefined
    last = text
    return { [noteName]: text }
  }
}
