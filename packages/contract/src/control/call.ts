/** A recorded call of a world's API; secrets are replaced by marks. Calls of the control interface are not recorded. */
import { names } from '../names.ts'
import { get, list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled } from './administration.ts'

const CallCaller = s.object('control.v1.CallCaller', {
  extId: s.uuid(),
  name: s.text(),
  type: s.text(),
  credential: s.enumeration(['basic', 'apiKey', 'certificate', 'none']),
  credentialExtId: s.optional(s.uuid()),
})

const CallTarget = s.object('control.v1.CallTarget', { kind: s.text(), extId: s.text() })

const CallBody = s.object('control.v1.CallBody', {
  mediaType: s.optional(s.text()),
  /** Size of the complete body as sent. */
  sizeBytes: s.integer(),
  text: s.optional(s.text({ multiline: true })),
  /** Only the first 64 KiB are stored. */
  isCut: s.optional(s.boolean()),
})

/** Remaining requests in the rate limit windows after the call. */
const CallRate = s.object('control.v1.CallRate', {
  limit: s.integer(),
  remaining: s.integer(),
  periodSeconds: s.integer(),
  /** For all operations together, in each second. */
  identityLimit: s.integer(),
  identityRemaining: s.integer(),
})

const CallPrecondition = s.object('control.v1.CallPrecondition', {
  expected: s.optional(s.text()),
  sent: s.optional(s.text()),
})

const CallSearch = s.object('control.v1.CallSearch', {
  filteredBy: s.arrayOf(s.text()),
  orderedBy: s.arrayOf(s.text()),
  /** Field whose index was used; absent: a full scan. */
  index: s.optional(s.text()),
  /** Fields of the filter that were compared row by row. */
  scanned: s.arrayOf(s.text()),
  /** No index gave the order: the rows were sorted. */
  isSorted: s.boolean(),
  /** The kind is computed and not stored. */
  isInMemory: s.boolean(),
})

/** A name that the naming profile of the request spells differently. */
const CallRewrite = s.object('control.v1.CallRewrite', {
  place: s.enumeration(['path', 'query', 'taskId']),
  sent: s.text(),
  understood: s.text(),
})

export const Call = resource('control.v1.Call', {
  fields: {
    /** Increases by one with each call of the world; continues after a clear and a restart. */
    sequence: s.integer({ minimum: 1 }),
    time: s.timestamp(),
    /** On the world clock: 0 while that is frozen. */
    durationMicros: s.integer({ minimum: 0 }),
    /** Absent if the call ended before authentication. */
    caller: s.optional(CallCaller),
    address: s.text(),
    profile: s.enumeration(['spec', 'public']),
    method: s.text(),
    /** With /api, in the names of the specification. */
    path: s.text(),
    query: s.optional(s.text()),
    /** `platform.createCategory`; absent if no operation has this method and path. */
    operation: s.optional(s.text()),
    target: s.optional(CallTarget),
    status: s.integer(),
    errorCodes: s.arrayOf(s.text()),
    taskExtId: s.optional(s.uuid()),
    /** For an element of a batch: the task of the batch. */
    parentTaskExtId: s.optional(s.uuid()),
    requestId: s.optional(s.text()),
    /** The answer is that of an earlier call with this request id. */
    isReplayed: s.optional(s.boolean()),
    isDryRun: s.optional(s.boolean()),
    request: s.optional(CallBody),
    answer: s.optional(CallBody),
    /** Fields of the body that no rule and no handler read: they had no effect. */
    unreadFields: s.arrayOf(s.text()),
    warnings: s.arrayOf(s.text({ multiline: true })),
    /** The policy and role that allowed the call, or the missing permission. */
    decision: s.optional(s.text({ multiline: true })),
    throttledBy: s.optional(s.text()),
    rate: s.optional(CallRate),
    precondition: s.optional(CallPrecondition),
    search: s.optional(CallSearch),
    rewrites: s.arrayOf(CallRewrite),
    faults: s.arrayOf(s.text()),
  },
  bare: true,
  derived: true,
})

const callPath = {
  ...controlled,
  pathSchemas: { ...controlled.pathSchemas, sequence: s.integer({ minimum: 1 }) },
} as const

export const callFilter: readonly string[] = names(`
  address, answer/sizeBytes, answer/text, caller/credential, caller/extId, caller/name, decision, durationMicros,
  errorCodes, faults, isDryRun, isReplayed, method, operation, parentTaskExtId, path, profile, query, request/sizeBytes,
  request/text, requestId, search/index, search/scanned, sequence, status, target/extId, target/kind, taskExtId,
  throttledBy, time, unreadFields, warnings
`)

export const callOperations = {
  listCalls: list('/worlds/{worldName}/journal/calls', Call, {
    ...controlled,
    envelope: 'control.v1.ListCallsApiResponse',
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
