import type { EntityOf, Operation } from '@hyperplane/contract'
import type { FaultRule } from '@hyperplane/contract/control/fault'
import { matchingKeys, names } from './names.ts'
import { isDue } from './trigger.ts'

export type StoredRule = EntityOf<typeof FaultRule>
export type Effect = StoredRule['effect']

export type Place = 'request' | 'step' | 'cancel' | 'call'

/** A request, task step or driver call that rules are matched against; names are matched separately. */
export interface Subject {
  /** The requested operation, or the one that started the task. */
  readonly operation: Operation | undefined
  readonly caller: string | undefined
  readonly batchElement?: number | undefined
  readonly task?: { readonly extId: string; readonly definition: string }
  readonly step?: { readonly name: string; readonly phase: 'RUN' | 'UNDO'; readonly from: number; readonly to: number }
}

/** Everything that `matches` reads, apart from the operation. */
export const cacheKeyOf = ({ caller = '', batchElement, task, step }: Subject): string =>
  task === undefined && batchElement === undefined
    ? caller
    : [caller, batchElement, task?.definition, step?.name, step?.phase].join('\n')

export interface Counts {
  timesMatched: number
  timesFired: number
  lastFiredTime?: string
}

const maximumHeldTasks = 100

export class Rule {
  readonly extId: string
  readonly ordinal: number
  readonly effect: Effect
  readonly place: Place
  readonly namePattern: string | undefined
  readonly counts: Counts
  readonly heldTasks: Set<string>
  readonly #stored: StoredRule
  readonly #operation: string | undefined
  readonly #retirement = new AbortController()

  constructor(stored: StoredRule, working?: Rule) {
    const { match = {} } = stored
    this.#stored = stored
    this.extId = stored.extId
    this.ordinal = stored.ordinal ?? 0
    this.effect = stored.effect
    this.place = placeOf(stored)
    this.namePattern = match.namePattern
    this.#operation =
      match.operation === undefined ? undefined : matchingKeys(names().operations.keys(), match.operation)[0]
    this.counts = working?.counts ?? {
      timesMatched: stored.timesMatched ?? 0,
      timesFired: stored.timesFired ?? 0,
      ...(stored.lastFiredTime === undefined ? {} : { lastFiredTime: stored.lastFiredTime }),
    }
    this.heldTasks = working?.heldTasks ?? new Set(stored.heldTaskExtIds)
  }

  get isEnabled(): boolean {
    return this.#stored.isEnabled !== false
  }

  /** Aborted when the rule is removed, replaced or disabled: requests and tasks that it keeps waiting continue. */
  get retired(): AbortSignal {
    return this.#retirement.signal
  }

  retire(): void {
    this.#retirement.abort()
  }

  /** True if the effect ends the event: later rules do not strike. */
  get isTerminal(): boolean {
    const { effect } = this
    return ['error', 'driverFault', 'dropConnection', 'truncateAfterBytes', 'crashWorker'].some(
      (word) => word in effect,
    )
  }

  /** A rule for driver calls that also looks at the request or task which makes the call. */
  get needsContext(): boolean {
    const { operation, kind, namePattern, caller, taskStep } = this.#stored.match ?? {}
    return (
      this.place === 'call' &&
      [operation, kind, namePattern, caller, taskStep].some((criterion) => criterion !== undefined)
    )
  }

  matches(subject: Subject): boolean {
    const { operation, caller, task, step } = subject
    const { kind, caller: user, batchElement, taskStep } = this.#stored.match ?? {}
    const { effect, place } = this
    if (this.#operation !== undefined && this.#operation !== operation?.key) return false
    if (kind !== undefined && kind !== operation?.resource?.kind) return false
    if (user !== undefined && user.toLowerCase() !== caller?.toLowerCase()) return false
    if (batchElement !== undefined && batchElement !== subject.batchElement) return false
    // A batch element has no connection of its own.
    const isOfConnection = 'dropConnection' in effect || 'truncateAfterBytes' in effect
    if (isOfConnection && subject.batchElement !== undefined) return false
    if (taskStep !== undefined && taskStep.task !== task?.definition) return false
    if (taskStep !== undefined && place !== 'cancel' && !isStep(taskStep, step)) return false
    if (taskStep === undefined && step?.phase === 'UNDO' && place === 'step') return false
    return !('hangAtPercentage' in effect) || crosses(effect.hangAtPercentage, step)
  }

  matchesCall(driver: string, method: string): boolean {
    const { driverCall } = this.#stored.match ?? {}
    return driverCall?.driver === driver && (driverCall.method === undefined || driverCall.method === method)
  }

  /** @returns whether the trigger is due */
  count(worldSeed: string): boolean {
    const { counts } = this
    counts.timesMatched++
    const turn = { call: counts.timesMatched, fired: counts.timesFired, seed: `${worldSeed}/${this.ordinal}` }
    return isDue(this.#stored.trigger, turn)
  }

  fire(time: string): void {
    this.counts.timesFired++
    this.counts.lastFiredTime = time
  }

  delaySeed(worldSeed: string): string {
    return `${worldSeed}/${this.ordinal}/delay/${this.counts.timesFired}`
  }

  resetCounts(): void {
    Object.assign(this.counts, { timesMatched: 0, timesFired: 0 })
    delete this.counts.lastFiredTime
  }

  holds(task: string): boolean {
    return this.heldTasks.has(task)
  }

  hold(task: string): void {
    if (this.heldTasks.size < maximumHeldTasks) this.heldTasks.add(task)
  }

  releaseTask(task: string): void {
    this.heldTasks.delete(task)
  }
}

/** A rule strikes at the innermost thing that it names. */
export function placeOf({ match = {}, effect }: Pick<StoredRule, 'match' | 'effect'>): Place {
  if (match.driverCall !== undefined) return 'call'
  if ('ignoreCancel' in effect) return 'cancel'
  const isOfTask = match.taskStep !== undefined || 'hangAtPercentage' in effect || 'crashWorker' in effect
  return isOfTask ? 'step' : 'request'
}

const isStep = (
  condition: { readonly step?: string; readonly phase?: 'RUN' | 'UNDO' },
  step: Subject['step'],
): boolean =>
  (condition.step === undefined || condition.step === step?.name) && (condition.phase ?? 'RUN') === step?.phase

const crosses = (percentage: number, step: Subject['step']): boolean =>
  step !== undefined && step.phase === 'RUN' && step.from <= percentage && percentage < step.to
