/** The journal documents test runs and is no part of the world's state: a crash may lose the last calls. */
import { action, get, read, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled } from './administration.ts'
import { Call, callFilter } from './call.ts'

const mebibyte = 1024 * 1024

export const Journal = resource('control.v1.Journal', {
  fields: {
    isRecording: s.withDefault(s.boolean(), true),
    /** Older calls are dropped. */
    maximumCalls: s.withDefault(s.integer({ minimum: 1, maximum: 1_000_000 }), 100_000),
    /** Size of the records; the files are somewhat larger. */
    maximumSizeBytes: s.withDefault(s.integer({ minimum: 64 * 1024, maximum: 4096 * mebibyte }), 256 * mebibyte),
    callCount: s.readOnly(s.integer({ minimum: 0 })),
    sizeBytes: s.readOnly(s.integer({ minimum: 0 })),
    /** Calls dropped because of the bounds since the journal was cleared. */
    droppedCalls: s.readOnly(s.integer({ minimum: 0 })),
    /** Calls that were not recorded because they could not be written fast enough, or at all. */
    missedCalls: s.readOnly(s.integer({ minimum: 0 })),
    firstSequence: s.readOnly(s.integer({ minimum: 1 })),
    lastSequence: s.readOnly(s.integer({ minimum: 1 })),
  },
  bare: true,
  singleton: true,
})

const duration = s.text({ minLength: 3, maxLength: 40 })

const Assertion = s.object('control.v1.Assertion', {
  /** A `$filter` of the list of calls; absent: all calls. */
  filter: s.optional(s.text({ maxLength: 8192, multiline: true })),
  /** Only one of these three; default: `atLeast` 1. */
  atLeast: s.optional(s.integer({ minimum: 0, maximum: 1_000_000 })),
  atMost: s.optional(s.integer({ minimum: 0, maximum: 1_000_000 })),
  exactly: s.optional(s.integer({ minimum: 0, maximum: 1_000_000 })),
  /** Timeout on the world clock; absent: the assertion is evaluated at once. */
  within: s.optional(duration),
})

const NearMiss = s.object('control.v1.NearMiss', {
  sequence: s.integer(),
  operation: s.optional(s.text()),
  status: s.integer(),
  /** Terms of the top-level `and` of the filter that this call does not satisfy. */
  unmet: s.arrayOf(
    s.object('control.v1.UnmetTerm', {
      fields: s.arrayOf(s.text()),
      /** Values of these fields in the call, as JSON. */
      found: s.arrayOf(s.text({ multiline: true })),
    }),
  ),
})

export const AssertionResult = s.object('control.v1.AssertionResult', {
  isHeld: s.boolean(),
  count: s.integer(),
  /** `count`: enough or too many calls; `time`: `within` was over; `patience`: the limit of real time was reached. */
  endedBy: s.enumeration(['count', 'time', 'patience']),
  time: s.timestamp(),
  lastSequence: s.optional(s.integer()),
  matching: s.arrayOf(s.integer()),
  /** Calls that nearly match a failed assertion, nearest first; at most 5. */
  nearest: s.arrayOf(NearMiss),
  /** Calls that were dropped from the journal and could not be evaluated. */
  droppedCalls: s.integer(),
})

const options = { ...controlled, envelope: 'control.v1.JournalApiResponse', iam: 'View_Journal' } as const

export const journalOperations = {
  getJournal: get('/worlds/{worldName}/journal', Journal, options),
  updateJournal: update('/worlds/{worldName}/journal', Journal, { ...options, iam: 'Update_Journal' }),
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
  exportJournal: read('/worlds/{worldName}/journal/export', s.text(), {
    ...options,
    of: Call,
    filter: callFilter,
    query: { format: s.withDefault(s.enumeration(['jsonl', 'har']), 'jsonl') },
    produces: 'application/x-ndjson',
    alsoProduces: ['application/json'],
  }),
  /** Server-sent events: calls after the last one that the client saw, else from the next call on. */
  streamJournal: read('/worlds/{worldName}/journal/stream', s.text(), {
    ...options,
    of: Call,
    filter: callFilter,
    query: { after: s.optional(s.integer({ minimum: 0 })) },
    produces: 'text/event-stream',
  }),
}
