/**
 * The journal of a world: how much of its calls is kept, and what is asked of all of them together. A record of tests, not of
 * the world: what was written in the last moments before a crash may be missing.
 */
import { action, get, read, resource, update } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  optional,
  readOnly,
  text,
  timestamp,
  withDefault,
} from '../schema.ts'
import { controlled } from './administration.ts'
import { Call, callFilter } from './call.ts'

const mebibyte = 1024 * 1024

export const Journal = resource(
  'control.v1.Journal',
  {
    isRecording: withDefault(boolean(), true),
    /** The oldest go. */
    maximumCalls: withDefault(integer({ minimum: 1, maximum: 1_000_000 }), 100_000),
    /** Of the records, not of the file, which is somewhat larger. */
    maximumSizeBytes: withDefault(integer({ minimum: 64 * 1024, maximum: 4096 * mebibyte }), 256 * mebibyte),
    callCount: readOnly(integer({ minimum: 0 })),
    sizeBytes: readOnly(integer({ minimum: 0 })),
    /** Calls that went because of the bounds, since the journal was cleared. */
    droppedCalls: readOnly(integer({ minimum: 0 })),
    /** Calls that came faster than they could be written. */
    missedCalls: readOnly(integer({ minimum: 0 })),
    /** Oldest and newest call that is kept. */
    firstSequence: readOnly(integer({ minimum: 1 })),
    lastSequence: readOnly(integer({ minimum: 1 })),
  },
  { bare: true, singleton: true },
)

/** ISO 8601, `PT5S`. */
const duration = text({ minLength: 3, maxLength: 40 })

const Assertion = object('control.v1.Assertion', {
  /** As `$filter` of the list of calls; absent: all calls. */
  filter: optional(text({ maxLength: 8192, multiline: true })),
  /** One of these three; default: at least 1. */
  atLeast: optional(integer({ minimum: 0, maximum: 1_000_000 })),
  atMost: optional(integer({ minimum: 0, maximum: 1_000_000 })),
  exactly: optional(integer({ minimum: 0, maximum: 1_000_000 })),
  /** How long it may take, on the world's clock; absent: now. */
  within: optional(duration),
})

const NearMiss = object('control.v1.NearMiss', {
  sequence: integer(),
  operation: optional(text()),
  status: integer(),
  /** Of the terms of the filter that stand beside each other with `and`: those that this call does not meet. */
  unmet: arrayOf(
    object('control.v1.UnmetTerm', {
      fields: arrayOf(text()),
      /** What the call has there, as JSON. */
      found: arrayOf(text({ multiline: true })),
    }),
  ),
})

export const AssertionResult = object('control.v1.AssertionResult', {
  isHeld: boolean(),
  /** Calls that match. */
  count: integer(),
  /** `count`: that decided it; `time`: `within` was over; `patience`: the call may wait no longer in real time. */
  endedBy: enumeration(['count', 'time', 'patience']),
  /** World time at which it was answered. */
  time: timestamp(),
  /** Newest call that was looked at. */
  lastSequence: optional(integer()),
  /** The matching calls, oldest first; at most 10. */
  matching: arrayOf(integer()),
  /** Where it was not held: calls that nearly match, nearest first; at most 5. */
  nearest: arrayOf(NearMiss),
  /** Calls that are no longer in the journal and were not looked at. */
  droppedCalls: integer(),
})

const options = { ...controlled, envelope: 'control.v1.JournalApiResponse', iam: 'View_Journal' } as const

export const journalOperations = {
  getJournal: get('/worlds/{worldName}/journal', Journal, options),
  updateJournal: update('/worlds/{worldName}/journal', Journal, {
    ...options,
    iam: 'Update_Journal',
    ifMatch: 'required',
  }),
  clearJournal: action('/worlds/{worldName}/journal/$actions/clear', {
    ...options,
    iam: 'Update_Journal',
    answer: Journal.schema,
  }),
  assertCalls: action('/worlds/{worldName}/journal/$actions/assert', {
    ...options,
    body: Assertion,
    answer: AssertionResult,
    mutates: false,
  }),
  exportJournal: read('/worlds/{worldName}/journal/export', text(), {
    ...options,
    of: Call,
    filter: callFilter,
    query: { format: withDefault(enumeration(['jsonl', 'har']), 'jsonl') },
    produces: 'application/x-ndjson',
    alsoProduces: ['application/json'],
  }),
  /** Server-sent events: one for each call, from the next one on, or after the one that the client saw last. */
  streamJournal: read('/worlds/{worldName}/journal/stream', text(), {
    ...options,
    of: Call,
    filter: callFilter,
    query: { after: optional(integer({ minimum: 0 })) },
    produces: 'text/event-stream',
  }),
}
