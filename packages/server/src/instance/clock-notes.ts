/** How a world's clock was left, kept with its store: where time goes on after a restart. */
import type { Config } from '../config/config.ts'
import type { ClockState, WorldClock } from '../core/time/clock.ts'
import type { Store } from '../store/store.ts'

/** Also what it was told when the world was opened then: what it is told otherwise now counts. */
interface KeptClock extends ClockState {
  readonly configured: Config['clock']
  readonly startAt?: number
}

const note = 'clock'

/** undefined: nothing was kept, or it is told to begin elsewhere. */
export function keptClock(store: Store, config: Config, startAt: number | undefined): ClockState | undefined {
  const text = store.meta(note)
  if (text === undefined) return undefined
  const kept: KeptClock = JSON.parse(text)
  if (startAt !== undefined && kept.startAt !== startAt) return undefined
  return kept.configured === config.clock ? kept : { ...kept, mode: config.clock }
}

/** What is to be written down, where it differs from what was last. */
export function clockNotes(
  store: Store,
  clock: WorldClock,
  { clock: configured }: Config,
  startAt: number | undefined,
): () => Record<string, string> | undefined {
  let last = store.meta(note)
  return () => {
    const kept: KeptClock = { ...clock.state(), configured, ...(startAt === undefined ? {} : { startAt }) }
    // One that follows the real clock, and always did, is known without.
    if (last === undefined && kept.mode === 'real' && Math.abs(kept.world - kept.real) < 1000) return undefined
    const text = JSON.stringify(kept)
    if (text === last) return undefined
    last = text
    return { [note]: text }
  }
}
