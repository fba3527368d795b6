/** What the machinery of a world asks when something may go wrong on purpose, answered from the rules of that world. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { ApiError } from '../../core/api-error.ts'
import type {
  Fault,
  Faults,
  FaultyTask,
  FaultyWorld,
  PossibleFault,
  RequestFault,
  RequestSite,
  StepSite,
} from '../../core/faults.ts'
import type { Candidates } from './candidates.ts'
import { carryOut, cutBy } from './carry-out.ts'
import { names } from './names.ts'
import type { Rule, Subject } from './rule.ts'
import type { Met, RuleBook } from './rule-book.ts'
import type { Strike, Told } from './strike.ts'

/** What a driver is called in. */
interface Context {
  readonly subject: Subject
  readonly names: () => Promise<readonly string[]>
  readonly told: () => Promise<Told>
  /** See `Strike.ended`. */
  readonly ended: AbortSignal
}

export interface FaultsOfWorld extends Faults {
  /** Requests that wait, or come to wait, are refused: what answers them is about to be closed. */
  release(): void
  /** It is not closed after all: requests wait again. */
  resume(): void
}

export function faultsOfWorld(book: RuleBook, { seed, clock }: FaultyWorld): FaultsOfWorld {
  const within = new AsyncLocalStorage<Context>()
  let closing = new AbortController()
  const world = { seed, clock, book }
  /** Of a call that neither a request nor a task makes. */
  const nowhere = (): Context => ({
    subject: nobody,
    names: async () => [],
    told: async () => ({}),
    ended: closing.signal,
  })

  /** Counts what is met. @returns those whose turn it is, up to the first after which nothing happens any more */
  function struckBy(rules: readonly Rule[], subject: Subject): readonly Rule[] {
    const struck: Rule[] = []
    for (const rule of rules) {
      if (rule.gone.aborted) continue
      const task = subject.task?.extId
      // One that was held when the process ended is held again.
      const isHeld = task !== undefined && rule.heldTasks.has(task)
      const isDue = isHeld || rule.count(seed)
      book.note(rule)
      if (!isDue || struck.at(-1)?.isTerminal === true) continue
      if (!isHeld) rule.fire(clock.iso())
      if ('hangAtPercentage' in rule.effect && task !== undefined) rule.hold(task)
      struck.push(rule)
    }
    return struck
  }

  const inContext = <T>({ isContext }: Met, context: Context, work: () => Promise<T>): Promise<T> =>
    isContext ? within.run(context, work) : work()

  const possibleFault = (met: Met, subject: Subject): PossibleFault => ({
    isNamed: met.rules.isNamed,
    of(called) {
      const rules = struckBy(met.rules.of(called), subject)
      return rules.length === 0 && !met.isContext ? undefined : requestFault(met, rules, subject)
    },
  })

  const requestFault = (met: Met, rules: readonly Rule[], subject: Subject): RequestFault => ({
    cut: cutBy(rules),
    struck: rules.map(({ extId }) => extId),
    around<T>(site: RequestSite, work: () => Promise<T>): Promise<T> {
      const context: Context = {
        subject,
        names: () => site.names(),
        told: () => site.messageArguments(),
        ended: closing.signal,
      }
      const strike: Strike = { ...world, ...context, place: 'request', rules, request: site }
      const carried = (): Promise<T> => carryOut(strike, () => inContext(met, context, work))
      // What waits for a time belongs to that time. An element of a batch is part of a task, which does already.
      const isPutOff = subject.batchElement === undefined && rules.some(({ effect }) => 'delay' in effect)
      return isPutOff ? clock.track(carried) : carried()
    },
  })

  function stepFault(met: Met, task: FaultyTask, subject: Subject): Fault<StepSite> {
    return {
      async around(step, work) {
        const called = namesOf(task)
        const told = async (): Promise<Told> => toldOf(task, subject)
        const context = { subject, names: async () => called, told, ended: step.stopping }
        const rules = struckBy(met.rules.of(called), subject)
        const strike: Strike = { ...world, ...context, place: 'step', rules, step }
        return carryOut(strike, () => inContext(met, context, work))
      },
    }
  }

  const callFault = (driver: string, met: Candidates, context: Context): Fault<void> => ({
    async around(_, work) {
      const { subject, names } = context
      const rules = struckBy(met.of(met.isNamed ? await names() : []), subject)
      return carryOut({ ...world, ...context, place: 'call', rules, driver }, work)
    },
  })

  return {
    ofRequest(operation, caller, batchElement) {
      if (book.isEmpty) return undefined
      const subject = { operation, caller: caller.name, batchElement }
      const met = book.metBy(subject)
      return met && possibleFault(met, subject)
    },
    ofStep(task, step) {
      if (book.isEmpty) return undefined
      const subject = { ...subjectOf(task), step }
      const met = book.metBy(subject)
      return met && stepFault(met, task, subject)
    },
    ofCall(driver, method) {
      if (book.active('call').length === 0) return undefined
      const context = within.getStore()
      const met = book.metByCall(driver, method, context?.subject ?? nobody)
      return met.isEmpty ? undefined : callFault(driver, met, context ?? nowhere())
    },
    ignoresCancel(task) {
      const subject = subjectOf(task)
      return struckBy(book.metByCancel(subject).of(namesOf(task)), subject).length > 0
    },
    release() {
      const error = new ApiError('SERVICE_UNAVAILABLE', { fault: 'The world is being closed. Ask again in a moment.' })
      error.headers['Retry-After'] = '1'
      closing.abort(error)
    },
    resume() {
      closing = new AbortController()
    },
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

const toldOf = ({ extId, definition, affected }: FaultyTask, { operation }: Subject): Told => ({
  kind: operation?.resource?.title ?? definition,
  id: affected[0]?.extId ?? '',
  name: affected[0]?.name ?? '',
  operation: operation?.iamOperation ?? definition,
  requestId: extId,
})
