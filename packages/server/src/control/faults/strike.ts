import type { RequestSite, StepSite } from '../../core/faults.ts'
import type { TrackingClock } from '../../core/time/clock.ts'
import type { Place, Rule, Subject } from './rule.ts'
import type { RuleBook } from './rule-book.ts'

export type MessageArguments = Readonly<Record<string, string>>

export interface Strike {
  readonly seed: string
  readonly clock: TrackingClock
  readonly book: Pick<RuleBook, 'noteChange' | 'countsWritten'>
  /** Aborted when waiting must end; its reason is thrown. */
  readonly ended: AbortSignal
  readonly rules: readonly Rule[]
  readonly place: Exclude<Place, 'cancel'>
  readonly subject: Subject
  readonly messageArguments: () => Promise<MessageArguments>
  readonly request?: RequestSite
  readonly step?: StepSite
  readonly driver?: string
}
