import { action, read } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled } from './administration.ts'

export const ClockEvent = s.object('control.v1.ClockEvent', {
  time: s.timestamp(),
  /** Such as `task vmm.create-vm`, `schedule platform.backups`, `event HOST_FAILS`. */
  what: s.text(),
})

export const Clock = s.object('control.v1.Clock', {
  mode: s.enumeration(['real', 'frozen', 'scaled']),
  /** Seconds of world time in one real second; 0 while the clock is frozen. */
  scale: s.number(),
  time: s.timestamp(),
  realTime: s.timestamp(),
  waiting: s.integer(),
  next: s.optional(ClockEvent),
})

const Advance = s.object('control.v1.Advance', {
  /** ISO 8601, `PT90M`, `P90D`; above 0, up to 10 years. */
  duration: s.text({ minLength: 3, maxLength: 40 }),
})
const Scale = s.object('control.v1.Scale', { scale: s.number({ minimum: 0.000001, maximum: 1_000_000 }) })

export const MovedClock = s.object('control.v1.MovedClock', {
  clock: Clock,
  from: s.timestamp(),
  moments: s.integer(),
  last: s.optional(ClockEvent),
})

const options = { ...controlled, envelope: 'control.v1.ClockApiResponse', iam: 'Update_Clock' } as const

export const clockOperations = {
  getClock: read('/worlds/{worldName}/clock', Clock, { ...options, iam: 'View_Clock' }),
  freezeClock: action('/worlds/{worldName}/clock/$actions/freeze', { ...options, answer: Clock }),
  advanceClock: action('/worlds/{worldName}/clock/$actions/advance', { ...options, body: Advance, answer: MovedClock }),
  runClockToNextEvent: action('/worlds/{worldName}/clock/$actions/run-to-next-event', {
    ...options,
    answer: MovedClock,
  }),
  scaleClock: action('/worlds/{worldName}/clock/$actions/scale', { ...options, body: Scale, answer: Clock }),
  resumeClock: action('/worlds/{worldName}/clock/$actions/resume', { ...options, answer: Clock }),
}
