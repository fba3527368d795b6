/**
 * A rule by which something goes wrong in a world: what it meets, at which of the calls that it meets, and what happens then.
 * It speaks of the innermost thing that its match names: a call of a driver, else a step of a task, else a request.
 * Source: DESIGN D; behaviour conventions 23; reference faults.md.
 */
import { action, create, get, list, remove, resource, update } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  mapOf,
  number,
  object,
  oneOf,
  optional,
  readOnly,
  taskId,
  text,
  timestamp,
  withDefault,
} from '../schema.ts'
import { controlled } from './administration.ts'

const name = text({ minLength: 1, maxLength: 128 })

/** All that is given must fit; without any, every request is met. */
const FaultMatch = object('control.v1.FaultMatch', {
  /** `vmm.createVm`, or `createVm` alone where one namespace has it. Of a step or a call: the one that started it. */
  operation: optional(name),
  /** Of the operation: `Vm`. */
  kind: optional(name),
  /** Name of what is made or meant; `*` stands for any text, `?` for one character. */
  namePattern: optional(text({ minLength: 1, maxLength: 256 })),
  /** Name of the user who asked. */
  caller: optional(text({ minLength: 1, maxLength: 255 })),
  /** The element at this place of any batch, from 0; absent: single requests and elements alike. */
  batchElement: optional(integer({ minimum: 0, maximum: 499 })),
  taskStep: optional(
    object('control.v1.TaskStepMatch', {
      /** Such as `vmm.create-vm`. */
      task: name,
      /** Absent: any step. */
      step: optional(name),
      /** On its way forward, or when it is taken back. */
      phase: withDefault(enumeration(['RUN', 'UNDO']), 'RUN'),
    }),
  ),
  driverCall: optional(
    object('control.v1.DriverCallMatch', {
      /** Such as `hypervisor`. */
      driver: name,
      /** Absent: any call of it. */
      method: optional(name),
    }),
  ),
})

const count = (minimum = 1) => integer({ minimum, maximum: 1_000_000_000 })

/** Which of the calls that are met. Calls are counted from the rule's creation, or from `reset-counts`. */
const FaultTrigger = oneOf(
  object('control.v1.NthTrigger', { nth: count() }),
  /** The next so many, and none after them. */
  object('control.v1.NextTrigger', { next: count() }),
  object('control.v1.EveryNthTrigger', { everyNth: count() }),
  object('control.v1.AlwaysTrigger', { always: boolean() }),
  /** From the call after so many on, until the rule is removed. */
  object('control.v1.UntilRemovedTrigger', { untilRemoved: boolean(), afterCalls: withDefault(count(0), 0) }),
  /** Drawn for each call, the same draws in every run of the same world. `seed`: the same in every world. */
  object('control.v1.ProbabilityTrigger', {
    probability: number({ minimum: 0, maximum: 1 }),
    seed: optional(text({ maxLength: 64 })),
  }),
)

/** ISO 8601, `PT0.25S`; at most a day. */
const duration = text({ minLength: 3, maxLength: 40 })

const Delay = oneOf(
  object('control.v1.FixedDelay', { fixed: duration }),
  /** Uniform between the two. */
  object('control.v1.UniformDelay', { minimum: duration, maximum: duration }),
  object('control.v1.ExponentialDelay', { mean: duration, atMost: optional(duration) }),
  /** 95 of 100 are no longer than `p95`. */
  object('control.v1.LogNormalDelay', { median: duration, p95: duration, atMost: optional(duration) }),
)

/** Before or after what would happen otherwise: the commit of a request, the run of a step, the effect of a call. */
const moment = withDefault(enumeration(['BEFORE', 'AFTER']), 'BEFORE')

const FaultEffect = oneOf(
  object('control.v1.ErrorEffect', {
    /** Key or code of an error of the interface: `ENTITY_NOT_FOUND`, `PLAT-10007`. */
    error: name,
    /** What its message says in place of `{name}`; what the request tells by itself need not be given. */
    arguments: optional(mapOf(text({ maxLength: 1000 }))),
    /** Of 429 and 503. */
    retryAfterSeconds: optional(integer({ minimum: 1, maximum: 86_400 })),
    /** Of steps and calls: it is tried again, as often as a real fault of its kind. */
    isRetryable: optional(boolean()),
    moment,
  }),
  /** In the driver's own words, where it has some: `unreachable`. */
  object('control.v1.DriverFaultEffect', { driverFault: name, moment }),
  /** By the clock of the world. */
  object('control.v1.DelayEffect', { delay: Delay, moment }),
  object('control.v1.DropConnectionEffect', { dropConnection: enumeration(['BEFORE_COMMIT', 'AFTER_COMMIT']) }),
  /** The answer breaks off after so many bytes of its body, in any case before its last one. */
  object('control.v1.TruncateBodyEffect', { truncateAfterBytes: integer({ minimum: 0, maximum: 1_073_741_824 }) }),
  /** Somebody else writes the entity: before a change of it is judged, or right after it was read. */
  object('control.v1.CompetingWriteEffect', { competingWrite: boolean() }),
  /** The task stands still before the step that would lead beyond this, until the rule is removed. */
  object('control.v1.HangTaskEffect', { hangAtPercentage: integer({ minimum: 0, maximum: 99 }) }),
  /** A cancel of the task is accepted, and has no effect. */
  object('control.v1.IgnoreCancelEffect', { ignoreCancel: boolean() }),
  /** Who runs the task loses it; it is taken up again where its row says, as after a crash. */
  object('control.v1.CrashWorkerEffect', { crashWorker: boolean(), moment }),
  /** The call reaches the driver twice. The second answer counts. */
  object('control.v1.AnswerTwiceEffect', { answerTwice: boolean() }),
)

export const FaultRule = resource(
  'control.v1.FaultRule',
  {
    description: optional(text({ maxLength: 1000, multiline: true })),
    isEnabled: withDefault(boolean(), true),
    match: withDefault(FaultMatch, {}),
    /** Default: always. */
    trigger: optional(FaultTrigger),
    effect: FaultEffect,
    createTime: readOnly(timestamp()),
    /** Calls that fitted, also those at which it was not its turn. */
    timesMatched: readOnly(integer()),
    timesFired: readOnly(integer()),
    lastFiredTime: readOnly(timestamp()),
    /** Tasks that stand still by this rule, at most 100 of them. */
    heldTaskExtIds: readOnly(arrayOf(taskId(), { maxItems: 100 })),
  },
  {
    title: 'fault rule',
    internal: {
      /** Its place in the order of creation. Draws follow from it. */
      ordinal: integer({ minimum: 1 }),
    },
  },
)

const envelope = 'control.v1.FaultRuleApiResponse'
const one = { ...controlled, envelope } as const

export const faultOperations = {
  listFaultRules: list('/worlds/{worldName}/faults', FaultRule, {
    ...controlled,
    envelope: 'control.v1.ListFaultRulesApiResponse',
    iam: 'View_Fault_Rule',
    filter: [
      'createTime',
      'isEnabled',
      'lastFiredTime',
      'match/caller',
      'match/kind',
      'match/operation',
      'timesFired',
      'timesMatched',
    ],
    orderby: ['createTime', 'lastFiredTime', 'timesFired', 'timesMatched'],
    select: 'any',
  }),
  createFaultRule: create('/worlds/{worldName}/faults', FaultRule, { ...one, iam: 'Create_Fault_Rule' }),
  getFaultRule: get('/worlds/{worldName}/faults/{extId}', FaultRule, { ...one, iam: 'View_Fault_Rule' }),
  /** Its counts go on; see `resetFaultRuleCounts`. */
  updateFaultRule: update('/worlds/{worldName}/faults/{extId}', FaultRule, {
    ...one,
    iam: 'Update_Fault_Rule',
    ifMatch: 'required',
  }),
  deleteFaultRule: remove('/worlds/{worldName}/faults/{extId}', FaultRule, { ...one, iam: 'Delete_Fault_Rule' }),
  /** All of the world. */
  deleteFaultRules: remove('/worlds/{worldName}/faults', FaultRule, { ...one, iam: 'Delete_Fault_Rule' }),
  /** As if it had just been made. */
  resetFaultRuleCounts: action('/worlds/{worldName}/faults/{extId}/$actions/reset-counts', {
    ...one,
    of: FaultRule,
    answer: FaultRule.schema,
    iam: 'Update_Fault_Rule',
  }),
}
