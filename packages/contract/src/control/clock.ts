/** The clock of a world: real, scaled, or frozen and moved by requests. Everything in the world follows it. */
import { action, read } from '../operation.ts'
import { enumeration, integer, number, object, optional, text, timestamp } from '../schema.ts'
import { controlled } from './administration.ts'

/** A past or future timer of the world clock. */
export const ClockEvent = object('control.v1.ClockEvent', {
  time: timestamp(),
  /** Such as `task vmm.create-vm`, `schedule platform.backups`, `event HOST_FAILS`. */
  what: text(),
})

export const Clock = object('control.v1.Clock', {
  mode: enumeration(['real', 'frozen', 'scaled']),
  /** Seconds of world time in one real second; 0 while the clock is frozen. */
  scale: number(),
  /** Present world time. */
  time: timestamp(),
  realTime: timestamp(),
  /** Number of pending timers; some may be cancelled before they are due. */
  waiting: integer(),
  next: optional(ClockEvent),
})

const Advance = object('control.v1.Advance', {
  /** ISO 8601, `PT90M`, `P90D`; above 0, up to 10 years. */
  duration: text({ minLength: 3, maxLength: 40 }),
})
const Scale = object('control.v1.Scale', { scale: number({ minimum: 0.000001, maximum: 1_000_000 }) })

export const MovedClock = object('control.v1.MovedClock', {
  clock: Clock,
  from: timestamp(),
  /** Number of moments at which timers were due on the way. */
  moments: integer(),
  /** The last timer that was due. */
  last: optional(ClockEvent),
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
