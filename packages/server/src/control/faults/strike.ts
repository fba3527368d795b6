import type { RequestSite, StepSite } from '../../core/faults.ts'
import type { TrackingClock } from '../../core/time/clock.ts'
import type { Place, Rule, Subject } from './rule.ts'
import type { RuleBook } from './rule-book.ts'

/** Values for the placeholders of an error message, by name. */
export type MessageArguments = Readonly<Record<string, string>>

/** One event that rules strike, and what it may be struck with. */
export interface Strike {
  /** Of the world's draws. */
  readonly seed: string
  readonly clock: TrackingClock
  readonly book: Pick<RuleBook, 'noteChange' | 'countsWritten'>
  /** Aborted when there is no more time to wait: its reason is thrown. */
  readonly ended: AbortSignal
  readonly rules: readonly Rule[]
  readonly place: Exclude<Place, 'cancel'>
  readonly subject: Subject
  readonly messageArguments: () => Promise<MessageArguments>
  readonly request?: RequestSite
  readonly step?: StepSite
  /** Which is called. */
  readonly driver?: string
}
