/** Strikes calls at the innermost level of its match: driver call, task step, request. Source: conventions 23; reference faults.md. */
import { names } from '../names.ts'
import { action, create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled } from './administration.ts'

const name = s.text({ minLength: 1, maxLength: 128 })

/** All given criteria must match. An empty match matches every request. */
const FaultMatch = s.object('control.v1.FaultMatch', {
  /** `vmm.createVm`, or `createVm` if only one namespace has it. For steps and driver calls: the operation that caused them. */
  operation: s.optional(name),
  kind: s.optional(name),
  /** Matches the created or addressed entity; `*` is any text, `?` one character. */
  namePattern: s.optional(s.text({ minLength: 1, maxLength: 256 })),
  caller: s.optional(s.text({ minLength: 1, maxLength: 255 })),
  /** Index of an element in any batch, from 0; absent: single requests and all elements. */
  batchElement: s.optional(s.integer({ minimum: 0, maximum: 499 })),
  taskStep: s.optionalObject('control.v1.TaskStepMatch', {
    task: name,
    step: s.optional(name),
    phase: s.withDefault(s.enumeration(['RUN', 'UNDO']), 'RUN'),
  }),
  driverCall: s.optionalObject('control.v1.DriverCallMatch', {
    driver: name,
    method: s.optional(name),
  }),
})

const count = (minimum = 1) => s.integer({ minimum, maximum: 1_000_000_000 })

/** Selects among the matching calls, counted from the creation of the rule or from `reset-counts`. */
const FaultTrigger = s.oneOf(
  s.object('control.v1.NthTrigger', { nth: count() }),
  s.object('control.v1.NextTrigger', { next: count() }),
  s.object('control.v1.EveryNthTrigger', { everyNth: count() }),
  s.object('control.v1.AlwaysTrigger', { always: s.boolean() }),
  /** All calls after the first `afterCalls`, until the rule is removed. */
  s.object('control.v1.UntilRemovedTrigger', { untilRemoved: s.boolean(), afterCalls: s.withDefault(count(0), 0) }),
  /** Drawn for each call; equal in every run of the same world, and with `seed` in every world. */
  s.object('control.v1.ProbabilityTrigger', {
    probability: s.number({ minimum: 0, maximum: 1 }),
    seed: s.optional(s.text({ maxLength: 64 })),
  }),
)

/** ISO 8601, `PT0.25S`; at most a day. */
const duration = s.text({ minLength: 3, maxLength: 40 })

const Delay = s.oneOf(
  s.object('control.v1.FixedDelay', { fixed: duration }),
  s.object('control.v1.UniformDelay', { minimum: duration, maximum: duration }),
  s.object('control.v1.ExponentialDelay', { mean: duration, atMost: s.optional(duration) }),
  s.object('control.v1.LogNormalDelay', { median: duration, p95: duration, atMost: s.optional(duration) }),
)

/** Before or after the normal effect: the commit of a request, the run of a step, the effect of a driver call. */
const moment = s.withDefault(s.enumeration(['BEFORE', 'AFTER']), 'BEFORE')

const FaultEffect = s.oneOf(
  s.object('control.v1.ErrorEffect', {
    /** Key or code of an error: `ENTITY_NOT_FOUND`, `PLAT-10007`. */
    error: name,
    /** For placeholders `{name}` of the message; the request provides some of them. */
    arguments: s.optional(s.mapOf(s.text({ maxLength: 1000 }))),
    /** For status 429 and 503. */
    retryAfterSeconds: s.optional(s.integer({ minimum: 1, maximum: 86_400 })),
    /** Steps and driver calls are retried, as often as after a real error. */
    isRetryable: s.optional(s.boolean()),
    moment,
  }),
  /** An error of the driver itself, for drivers that have their own: `unreachable`. */
  s.object('control.v1.DriverFaultEffect', { driverFault: name, moment }),
  s.object('control.v1.DelayEffect', { delay: Delay, moment }),
  s.object('control.v1.DropConnectionEffect', { dropConnection: s.enumeration(['BEFORE_COMMIT', 'AFTER_COMMIT']) }),
  /** The connection closes after so many bytes of the body, in any case before the last byte. */
  s.object('control.v1.TruncateBodyEffect', { truncateAfterBytes: s.integer({ minimum: 0, maximum: 1_073_741_824 }) }),
  /** Another client writes the entity: before the preconditions of a mutation are checked, or right after a read. */
  s.object('control.v1.CompetingWriteEffect', { competingWrite: s.boolean() }),
  /** The task stops before the step that would raise its progress above this, until the rule is removed. */
  s.object('control.v1.HangTaskEffect', { hangAtPercentage: s.integer({ minimum: 0, maximum: 99 }) }),
  s.object('control.v1.IgnoreCancelEffect', { ignoreCancel: s.boolean() }),
  /** The worker of the task crashes; the task resumes at the step that its row names. */
  s.object('control.v1.CrashWorkerEffect', { crashWorker: s.boolean(), moment }),
  /** The call reaches the driver twice. The second answer counts. */
  s.object('control.v1.AnswerTwiceEffect', { answerTwice: s.boolean() }),
)

export const FaultRule = resource('control.v1.FaultRule', {
  fields: {
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    isEnabled: s.withDefault(s.boolean(), true),
    match: s.withDefault(FaultMatch, {}),
    /** Default: always. */
    trigger: s.optional(FaultTrigger),
    effect: FaultEffect,
    createTime: s.readOnly(s.timestamp()),
    /** Also calls that the rule did not strike. */
    timesMatched: s.readOnly(s.integer()),
    timesFired: s.readOnly(s.integer()),
    lastFiredTime: s.readOnly(s.timestamp()),
    /** Tasks that this rule keeps from continuing; at most 100 are listed. */
    heldTaskExtIds: s.readOnly(s.arrayOf(s.taskId(), { maxItems: 100 })),
  },
  internal: {
    /** Position in the order of creation. Part of the seed of random draws. */
    ordinal: s.integer({ minimum: 1 }),
  },
})

const envelope = 'control.v1.FaultRuleApiResponse'
const one = { ...controlled, envelope } as const

export const faultOperations = {
  listFaultRules: list('/worlds/{worldName}/faults', FaultRule, {
    ...controlled,
    envelope: 'control.v1.ListFaultRulesApiResponse',
    filter: names(`
      createTime, isEnabled, lastFiredTime, match/caller, match/kind, match/operation, timesFired, timesMatched
    `),
    orderby: ['createTime', 'lastFiredTime', 'timesFired', 'timesMatched'],
    select: 'any',
  }),
  createFaultRule: create('/worlds/{worldName}/faults', FaultRule, one),
  getFaultRule: get('/worlds/{worldName}/faults/{extId}', FaultRule, one),
  /** Keeps the counts; see `resetFaultRuleCounts`. */
  updateFaultRule: update('/worlds/{worldName}/faults/{extId}', FaultRule, { ...one, iam: 'Update_Fault_Rule' }),
  deleteFaultRule: remove('/worlds/{worldName}/faults/{extId}', FaultRule, one),
  deleteFaultRules: remove('/worlds/{worldName}/faults', FaultRule, one),
  resetFaultRuleCounts: action('/worlds/{worldName}/faults/{extId}/$actions/reset-counts', {
    ...one,
    of: FaultRule,
    answer: FaultRule.schema,
    iam: 'Update_Fault_Rule',
  }),
}
