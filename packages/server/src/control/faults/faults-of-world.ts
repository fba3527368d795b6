import { AsyncLocalStorage } from 'node:async_hooks'
import type { Operation } from '@hyperplane/contract'
import { ApiError } from '../../core/api-error.ts'
import type { Caller } from '../../core/caller.ts'
import type {
  Fault,
  Faults,
  FaultyStep,
  FaultyTask,
  FaultyWorld,
  PossibleFault,
  RequestFault,
  RequestSite,
  StepSite,
} from '../../core/faults.ts'
import type { Candidates } from './candidates.ts'
import { applyEffects, cutBy } from './carry-out.ts'
import { names } from './names.ts'
import type { Rule, Subject } from './rule.ts'
import type { ApplicableRules, RuleBook } from './rule-book.ts'
import type { MessageArguments, Strike } from './strike.ts'

interface CallContext {
  readonly subject: Subject
  readonly names: () => Promise<readonly string[]>
  readonly messageArguments: () => Promise<MessageArguments>
  readonly ended: AbortSignal
}

export class WorldFaults implements Faults {
  readonly #book: RuleBook
  readonly #world: FaultyWorld & { readonly book: RuleBook }
  readonly #context = new AsyncLocalStorage<CallContext>()
  #closing = new AbortController()

  constructor(book: RuleBook, { seed, clock }: FaultyWorld) {
    this.#book = book
    this.#world = { seed, clock, book }
  }

  ofRequest(operation: Operation, caller: Caller, batchElement: number | undefined): PossibleFault | undefined {
    if (this.#book.isEmpty) return undefined
    const subject = { operation, caller: caller.name, batchElement }
    const applicable = this.#book.applicableTo(subject)
    return applicable && this.#possibleFault(applicable, subject)
  }

  ofStep(task: FaultyTask, step: FaultyStep): Fault<StepSite> | undefined {
    if (this.#book.isEmpty) return undefined
    const subject = { ...subjectOf(task), step }
    const applicable = this.#book.applicableTo(subject)
    return applicable && this.#stepFault(applicable, task, subject)
  }

  ofCall(driver: string, method: string): Fault<void> | undefined {
    if (this.#book.active('call').length === 0) return undefined
    const context = this.#context.getStore() ?? this.#contextOfBackgroundCall()
    const candidates = this.#book.applicableToCall(driver, method, context.subject)
    return candidates.isEmpty ? undefined : this.#callFault(driver, candidates, context)
  }

  ignoresCancel(task: FaultyTask): boolean {
    const subject = subjectOf(task)
    const candidates = this.#book.applicableToCancel(subject).matching(namesOf(task))
    return this.#strikingRules(candidates, subject).length > 0
  }

  /** Refuses requests that a fault keeps waiting, now and from now on: the instance is about to close. */
  release(): void {
    const error = new ApiError('SERVICE_UNAVAILABLE', { fault: 'The world is being closed. Ask again in a moment.' })
    error.headers['Retry-After'] = '1'
    this.#closing.abort(error)
  }

  resume(): void {
    this.#closing = new AbortController()
  }

  #possibleFault(applicable: ApplicableRules, subject: Subject): PossibleFault {
    return {
      isNamed: applicable.rules.dependsOnNames,
      mayStrike: (names) => applicable.needsContext || applicable.rules.matching(names).length > 0,
      of: (names) => {
        const rules = this.#strikingRules(applicable.rules.matching(names), subject)
        return rules.length === 0 && !applicable.needsContext
          ? undefined
          : this.#requestFault(applicable, rules, subject)
      },
    }
  }

  #requestFault(applicable: ApplicableRules, rules: readonly Rule[], subject: Subject): RequestFault {
    const around = <T>(site: RequestSite, work: () => Promise<T>): Promise<T> => {
      const context: CallContext = {
        subject,
        names: () => site.names(),
        messageArguments: () => site.messageArguments(),
        ended: this.#closing.signal,
      }
      const strike: Strike = { ...this.#world, ...context, place: 'request', rules, request: site }
      const apply = (): Promise<T> => applyEffects(strike, () => this.#inContext(applicable, context, work))
      // Advancing the world clock waits for delayed requests. Batch elements are already tracked as part of their task.
      const isDelayed = subject.batchElement === undefined && rules.some(({ effect }) => 'delay' in effect)
      return isDelayed ? this.#world.clock.track(apply) : apply()
    }
    return { cut: cutBy(rules), struck: rules.map(({ extId }) => extId), around }
  }

  #stepFault(applicable: ApplicableRules, task: FaultyTask, subject: Subject): Fault<StepSite> {
    return {
      around: async (step, work) => {
        const names = namesOf(task)
        const context: CallContext = {
          subject,
          names: async () => names,
          messageArguments: async () => messageArgumentsOf(task, subject),
          ended: step.stopping,
        }
        const rules = this.#strikingRules(applicable.rules.matching(names), subject)
        const strike: Strike = { ...this.#world, ...context, place: 'step', rules, step }
        return applyEffects(strike, () => this.#inContext(applicable, context, work))
      },
    }
  }

  #callFault(driver: string, candidates: Candidates, context: CallContext): Fault<void> {
    return {
      around: async (_, work) => {
        const names = candidates.dependsOnNames ? await context.names() : []
        const rules = this.#strikingRules(candidates.matching(names), context.subject)
        return applyEffects({ ...this.#world, ...context, place: 'call', rules, driver }, work)
      },
    }
  }

  /** Counts a match for each rule. @returns the rules that are due, up to the first that ends the event */
  #strikingRules(rules: readonly Rule[], subject: Subject): readonly Rule[] {
    const { seed, clock } = this.#world
    const striking: Rule[] = []
    for (const rule of rules) {
      if (rule.retired.aborted) continue
      const task = subject.task?.extId
      // A task that a rule held when the process ended is held again after the restart.
      const isHeld = task !== undefined && rule.heldTasks.has(task)
      const isDue = isHeld || rule.count(seed)
      this.#book.noteChange(rule)
      if (!isDue || striking.at(-1)?.isTerminal === true) continue
      if (!isHeld) rule.fire(clock.iso())
      if ('hangAtPercentage' in rule.effect && task !== undefined) rule.hold(task)
      striking.push(rule)
    }
    return striking
  }

  #inContext<T>({ needsContext }: ApplicableRules, context: CallContext, work: () => Promise<T>): Promise<T> {
    return needsContext ? this.#context.run(context, work) : work()
  }

  /** Made by neither a request nor a task: a schedule, for example. */
  #contextOfBackgroundCall(): CallContext {
    return {
      subject: nobody,
      names: async () => [],
      messageArguments: async () => ({}),
      ended: this.#closing.signal,
    }
  }
}

const nobody: Subject = { operation: undefined, caller: undefined }

const operationOf = ({ startedBy }: FaultyTask) =>
  startedBy === undefined ? undefined : names().operations.get(startedBy)

const subjectOf = (task: FaultyTask): Subject => ({
  operation: operationOf(task),
  caller: task.owner.name,
  task: { extId: task.extId, definition: task.definition },
})

const namesOf = ({ affected }: FaultyTask): readonly string[] => affected.flatMap(({ name }) => name ?? [])

const messageArgumentsOf = ({ extId, definition, affected }: FaultyTask, { operation }: Subject): MessageArguments => ({
  kind: operation?.resource?.title ?? definition,
  id: affected[0]?.extId ?? '',
  name: affected[0]?.name ?? '',
  operation: operation?.iamOperation ?? definition,
  requestId: extId,
})
