/**
 * One call of a world's interface, as the journal keeps it: who asked for what, what was answered, and why. Control calls are
 * not in it. Secrets never are: where one stood, a mark stands.
 */
import { get, list, resource } from '../operation.ts'
import { arrayOf, boolean, enumeration, integer, object, optional, text, timestamp, uuid } from '../schema.ts'
import { controlled } from './administration.ts'

const CallCaller = object('control.v1.CallCaller', {
  extId: uuid(),
  name: text(),
  type: text(),
  credential: enumeration(['basic', 'apiKey', 'certificate', 'none']),
  /** Of the key, where it was one. */
  credentialExtId: optional(uuid()),
})

const CallTarget = object('control.v1.CallTarget', { kind: text(), extId: text() })

/** A body as it travelled, but for secrets. */
const CallBody = object('control.v1.CallBody', {
  mediaType: optional(text()),
  /** Of the whole body, as it was sent. */
  sizeBytes: integer(),
  /** Absent: a form or a file, of which the size alone is kept. */
  text: optional(text({ multiline: true })),
  /** Only the first 64 KiB of it are kept. */
  isCut: optional(boolean()),
})

/** What was left in the windows of the rate limits after the call. */
const CallRate = object('control.v1.CallRate', {
  limit: integer(),
  remaining: integer(),
  periodSeconds: integer(),
  /** Of all operations together, each second. */
  identityLimit: integer(),
  identityRemaining: integer(),
})

const CallPrecondition = object('control.v1.CallPrecondition', {
  /** Tag of the entity as it was. */
  expected: optional(text()),
  sent: optional(text()),
})

/** How a list found its rows. */
const CallSearch = object('control.v1.CallSearch', {
  filteredBy: arrayOf(text()),
  orderedBy: arrayOf(text()),
  /** Field whose index led to the rows; absent: all rows were looked at. */
  index: optional(text()),
  /** Fields of the filter that were compared row by row. */
  scanned: arrayOf(text()),
  /** The rows were put in order after they were found. */
  isSorted: boolean(),
  /** The kind is computed, not stored. */
  isInMemory: boolean(),
})

/** What the naming profile of the request spells in its own way. */
const CallRewrite = object('control.v1.CallRewrite', {
  place: enumeration(['path', 'query', 'taskId']),
  sent: text(),
  understood: text(),
})

export const Call = resource(
  'control.v1.Call',
  {
    /** Rises by one with each call of the world, also over a clear and a restart. */
    sequence: integer({ minimum: 1 }),
    /** World time at which it came. */
    time: timestamp(),
    /** On the world's clock: 0 where that stands. */
    durationMicros: integer({ minimum: 0 }),
    /** Absent: the call ended before an identity was known. */
    caller: optional(CallCaller),
    address: text(),
    profile: enumeration(['spec', 'public']),
    method: text(),
    /** With /api, in the names of the specification. */
    path: text(),
    query: optional(text()),
    /** `platform.createCategory`; absent: nothing answers this path so, or nobody was asked. */
    operation: optional(text()),
    target: optional(CallTarget),
    status: integer(),
    errorCodes: arrayOf(text()),
    /** The task that it started. */
    taskExtId: optional(uuid()),
    /** Of an element of a batch: the task of the batch. */
    parentTaskExtId: optional(uuid()),
    /** Given by the client. */
    requestId: optional(text()),
    /** The answer to an earlier call with this request id. */
    isReplayed: optional(boolean()),
    isDryRun: optional(boolean()),
    request: optional(CallBody),
    answer: optional(CallBody),
    /** Fields of the body that no rule and no handler looked at: they had no effect. */
    unreadFields: arrayOf(text()),
    warnings: arrayOf(text({ multiline: true })),
    /** The policy and role that allowed it, or what was missing. */
    decision: optional(text({ multiline: true })),
    /** Bucket that was full. */
    throttledBy: optional(text()),
    rate: optional(CallRate),
    precondition: optional(CallPrecondition),
    search: optional(CallSearch),
    rewrites: arrayOf(CallRewrite),
    /** Rules that touched it. */
    faults: arrayOf(text()),
  },
  { bare: true, derived: true },
)

/** A call by its number. */
const callPath = {
  ...controlled,
  pathSchemas: { ...controlled.pathSchemas, sequence: integer({ minimum: 1 }) },
  iam: 'View_Call',
} as const

/** Fields by which calls are found. */
export const callFilter: readonly string[] = [
  'address',
  'answer/sizeBytes',
  'answer/text',
  'caller/credential',
  'caller/extId',
  'caller/name',
  'decision',
  'durationMicros',
  'errorCodes',
  'faults',
  'isDryRun',
  'isReplayed',
  'method',
  'operation',
  'parentTaskExtId',
  'path',
  'profile',
  'query',
  'request/sizeBytes',
  'request/text',
  'requestId',
  'search/index',
  'search/scanned',
  'sequence',
  'status',
  'target/extId',
  'target/kind',
  'taskExtId',
  'throttledBy',
  'time',
  'unreadFields',
  'warnings',
]

export const callOperations = {
  listCalls: list('/worlds/{worldName}/journal/calls', Call, {
    ...controlled,
    envelope: 'control.v1.ListCallsApiResponse',
    iam: 'View_Call',
    filter: callFilter,
    orderby: ['caller/name', 'durationMicros', 'operation', 'sequence', 'status', 'time'],
    select: 'any',
  }),
  getCall: get('/worlds/{worldName}/journal/calls/{sequence}', Call, {
    ...callPath,
    envelope: 'control.v1.CallApiResponse',
    select: 'any',
  }),
}
