/**
 * A recorded call of the API of a world: caller, operation, answer, and the reason for the answer. Calls of the control interface
 * are not recorded. Marks replace secrets.
 */
import { get, list, resource } from '../operation.ts'
import { arrayOf, boolean, enumeration, integer, object, optional, text, timestamp, uuid } from '../schema.ts'
import { controlled } from './administration.ts'

const CallCaller = object('control.v1.CallCaller', {
  extId: uuid(),
  name: text(),
  type: text(),
  credential: enumeration(['basic', 'apiKey', 'certificate', 'none']),
  /** Id of the API key, if the caller used one. */
  credentialExtId: optional(uuid()),
})

const CallTarget = object('control.v1.CallTarget', { kind: text(), extId: text() })

/** A body as sent, with secrets redacted. */
const CallBody = object('control.v1.CallBody', {
  mediaType: optional(text()),
  /** Size of the complete body, as sent. */
  sizeBytes: integer(),
  /** Absent for forms and files. */
  text: optional(text({ multiline: true })),
  /** True if only the first 64 KiB are stored. */
  isCut: optional(boolean()),
})

/** Remaining requests in the rate limit windows after the call. */
const CallRate = object('control.v1.CallRate', {
  limit: integer(),
  remaining: integer(),
  periodSeconds: integer(),
  /** For all operations together, in each second. */
  identityLimit: integer(),
  identityRemaining: integer(),
})

const CallPrecondition = object('control.v1.CallPrecondition', {
  /** Entity tag of the stored entity. */
  expected: optional(text()),
  sent: optional(text()),
})

/** How the rows of a list were found. */
const CallSearch = object('control.v1.CallSearch', {
  filteredBy: arrayOf(text()),
  orderedBy: arrayOf(text()),
  /** Field whose index was used; absent: a full scan. */
  index: optional(text()),
  /** Fields of the filter that were compared row by row. */
  scanned: arrayOf(text()),
  /** True if no index gave the order, and the rows were sorted. */
  isSorted: boolean(),
  /** True for a kind that is computed and not stored. */
  isInMemory: boolean(),
})

/** A name that the naming profile of the request spells differently. */
const CallRewrite = object('control.v1.CallRewrite', {
  place: enumeration(['path', 'query', 'taskId']),
  sent: text(),
  understood: text(),
})

export const Call = resource(
  'control.v1.Call',
  {
    /** Increases by one with each call of the world; continues after a clear and a restart. */
    sequence: integer({ minimum: 1 }),
    /** World time at which the request arrived. */
    time: timestamp(),
    /** On the world clock: 0 while that is frozen. */
    durationMicros: integer({ minimum: 0 }),
    /** Absent if the call ended before authentication. */
    caller: optional(CallCaller),
    address: text(),
    profile: enumeration(['spec', 'public']),
    method: text(),
    /** With /api, in the names of the specification. */
    path: text(),
    query: optional(text()),
    /** `platform.createCategory`; absent if no operation has this method and path. */
    operation: optional(text()),
    target: optional(CallTarget),
    status: integer(),
    errorCodes: arrayOf(text()),
    /** The started task. */
    taskExtId: optional(uuid()),
    /** For an element of a batch: the task of the batch. */
    parentTaskExtId: optional(uuid()),
    requestId: optional(text()),
    /** True if the answer is that of an earlier call with this request id. */
    isReplayed: optional(boolean()),
    isDryRun: optional(boolean()),
    request: optional(CallBody),
    answer: optional(CallBody),
    /** Fields of the body that no rule and no handler read: they had no effect. */
    unreadFields: arrayOf(text()),
    warnings: arrayOf(text({ multiline: true })),
    /** The policy and role that allowed the call, or the missing permission. */
    decision: optional(text({ multiline: true })),
    /** Name of the exhausted rate limit bucket. */
    throttledBy: optional(text()),
    rate: optional(CallRate),
    precondition: optional(CallPrecondition),
    search: optional(CallSearch),
    rewrites: arrayOf(CallRewrite),
    /** Ids of the fault rules that struck. */
    faults: arrayOf(text()),
  },
  { bare: true, derived: true },
)

const callPath = {
  ...controlled,
  pathSchemas: { ...controlled.pathSchemas, sequence: integer({ minimum: 1 }) },
  iam: 'View_Call',
} as const

/** Fields that filters of calls can use. */
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
