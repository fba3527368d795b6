/** Rules are found by maps and indexes; the result must equal a comparison with every rule. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from '@hyperplane/contract'
import fc from 'fast-check'
import type { Caller } from '../../core/caller.ts'
import type { Faults, FaultyTask } from '../../core/faults.ts'
import { createWorldClock, realClock } from '../../core/time/clock.ts'
import { WorldFaults } from './faults-of-world.ts'
import { names } from './names.ts'
import { type Place, placeOf, type StoredRule } from './rule.ts'
import { RuleBook, type StoredCounts } from './rule-book.ts'
import { isDue } from './trigger.ts'

interface Comer {
  readonly operation?: string
  readonly caller?: string
  readonly called: readonly string[]
  readonly batchElement?: number | undefined
  readonly step?: { readonly task: string; readonly name: string; readonly phase: 'RUN' | 'UNDO' }
  /** The driver call that it makes, unless a rule refuses it first. */
  readonly call?: { readonly driver: string; readonly method: string } | undefined
}

const { operations } = names()

const operation = fc.constantFrom('vmm.createVm', 'platform.getCategoryById')
const caller = fc.constantFrom('admin', 'Ann')
const batchElement = fc.constantFrom(0, 1)
const task = fc.constantFrom('vmm.create-vm', 'vmm.delete-vm')
const stepName = fc.constantFrom('first', 'second')
const phase = fc.constantFrom('RUN' as const, 'UNDO' as const)
const driver = fc.constant('blockStorage')
const method = fc.constantFrom('createDisk', 'deleteDisk')
const textOf = (characters: string, minLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...characters), { minLength, maxLength: 6 }).map((parts) => parts.join(''))

/** Rules with all criteria would match nothing. */
const rarely = <T>(asked: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: asked, weight: 1 })
const matching = <T>(more: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record({
    operation: rarely(operation),
    kind: rarely(fc.constantFrom('Vm', 'Category')),
    caller: rarely(fc.constantFrom('ADMIN', 'ann')),
    namePattern: rarely(textOf('ab-*?', 1)),
    ...more,
  })
const taskStep = fc.record({ task, step: rarely(stepName), phase })
const driverCall = fc.record({ driver, method: rarely(method) })
const delay = { delay: { fixed: 'PT0S' } }
const error = { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'drawn' } }
const effect = fc.constantFrom<object>(delay, delay, error)
const rules = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.tuple(
          matching({ batchElement: rarely(batchElement) }),
          fc.oneof(effect, fc.constant({ truncateAfterBytes: 1 })),
        ),
        fc.tuple(matching({ taskStep }), effect),
        fc.tuple(matching({ taskStep: rarely(taskStep), driverCall }), effect),
        fc.tuple(matching({}), fc.constantFrom<object>({ ignoreCancel: true }, { crashWorker: true })),
      ),
      fc.constantFrom<object | undefined>(undefined, { nth: 2 }, { next: 1 }, { everyNth: 2 }),
    ),
    { maxLength: 12 },
  )
  .map((drawn) =>
    drawn.map(([[match, effect], trigger], index) => {
      const rule = { extId: `rule ${index}`, ordinal: index + 1, match, effect, ...(trigger && { trigger }) }
      return rule as unknown as StoredRule
    }),
  )

const called = fc.array(textOf('ab-', 0), { maxLength: 2 })
const call = fc.option(fc.record({ driver, method }), { nil: undefined })
const comer: fc.Arbitrary<Comer> = fc.oneof(
  fc.record({ operation, caller, called, batchElement: rarely(batchElement), call }),
  fc.record({ operation, caller, called, step: fc.record({ task, name: stepName, phase }), call }),
  fc.record({ called: fc.constant([]), call }),
)
const happenings = fc.array(
  fc.oneof(
    { arbitrary: fc.record({ comes: comer }), weight: 6 },
    { arbitrary: fc.record({ cancels: fc.record({ operation, caller, called }) }), weight: 1 },
    { arbitrary: fc.record({ changes: fc.nat(11), to: fc.constantFrom('enabled', 'disabled', 'removed') }), weight: 1 },
  ),
  { minLength: 20, maxLength: 40 },
)

/** The documented algorithm: rules are tried one after another. */
class Walk {
  readonly counts = new Map<string, { timesMatched: number; timesFired: number }>()
  rules: readonly StoredRule[]

  constructor(rules: readonly StoredRule[]) {
    this.rules = rules
  }

  passes(place: Place, comer: Comer): boolean {
    let last: StoredRule | undefined
    for (const rule of this.rules) {
      if (rule.isEnabled === false || placeOf(rule) !== place || !meets(rule, comer)) continue
      const { timesMatched, timesFired } = this.counts.get(rule.extId) ?? { timesMatched: 0, timesFired: 0 }
      const isOver = last !== undefined && isOneOf(last, ['error', 'crashWorker', 'truncateAfterBytes'])
      const strikes = !isOver && isDue(rule.trigger, { call: timesMatched + 1, fired: timesFired, seed: '' })
      this.counts.set(rule.extId, { timesMatched: timesMatched + 1, timesFired: timesFired + (strikes ? 1 : 0) })
      if (strikes) last = rule
    }
    return last !== undefined && isOneOf(last, ['error', 'crashWorker'])
  }

  comes(comer: Comer): void {
    const isOfTask = comer.step !== undefined
    if (comer.operation !== undefined && this.passes(isOfTask ? 'step' : 'request', comer)) return
    if (comer.call !== undefined) this.passes('call', comer)
  }
}

const isOneOf = ({ effect }: StoredRule, words: readonly string[]): boolean => words.some((word) => word in effect)

function meets(rule: StoredRule, { operation, caller, called, batchElement, step, call }: Comer): boolean {
  const { match = {}, effect } = rule
  const { taskStep, driverCall } = match
  const kind = operation === undefined ? undefined : operations.get(operation)?.resource?.kind
  const conditions = [
    match.operation === undefined || match.operation === operation,
    match.kind === undefined || match.kind === kind,
    match.caller === undefined || match.caller.toLowerCase() === caller?.toLowerCase(),
    match.namePattern === undefined || called.some((name) => expressionOf(match.namePattern as string).test(name)),
    match.batchElement === undefined || match.batchElement === batchElement,
    !('truncateAfterBytes' in effect) || batchElement === undefined,
    taskStep === undefined
      ? placeOf(rule) !== 'step' || step?.phase === 'RUN'
      : taskStep.task === step?.task && taskStep.phase === step.phase && [undefined, step.name].includes(taskStep.step),
    driverCall === undefined || [undefined, call?.method].includes(driverCall.method),
  ]
  return conditions.every((condition) => condition)
}

const expressionOf = (pattern: string): RegExp => new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`)

const taskOf = ({ operation, caller, called, step }: Comer): FaultyTask => ({
  extId: 'a task',
  definition: step?.task as string,
  startedBy: operation,
  owner: { name: caller } as Caller,
  affected: called.map((name) => ({ extId: name, name })),
})

async function comes(faults: Faults, comer: Comer): Promise<void> {
  const { operation, caller, called, batchElement, step, call } = comer
  const work = async (): Promise<void> => {
    if (call !== undefined) await faults.ofCall(call.driver, call.method)?.around(undefined, async () => undefined)
  }
  if (operation === undefined) await work()
  else if (step !== undefined) {
    const stopping = new AbortController().signal
    const fault = faults.ofStep(taskOf(comer), { ...step, from: 0, to: 100 })
    await (fault?.around({ stopping, reach: async () => undefined, rest: (wait) => wait() }, work) ?? work())
  } else {
    const asked = operations.get(operation) as Operation
    const fault = faults.ofRequest(asked, { name: caller } as Caller, batchElement)?.of(called)
    const site = { names: async () => called, messageArguments: async () => ({}), writeTarget: async () => undefined }
    await (fault?.around(site, work) ?? work())
  }
}

test('matches, counts and strikes equal those of a walk over all rules in their order', async () => {
  await fc.assert(
    fc.asyncProperty(rules, happenings, async (drawn, happened) => {
      const walk = new Walk(drawn)
      const book = new RuleBook({ saveCounts: async () => undefined, log: { error: assert.fail } })
      book.load(drawn)
      const faults = new WorldFaults(book, { seed: '', clock: createWorldClock(realClock, 'frozen', 0) })
      for (const happening of happened) {
        if ('comes' in happening) {
          walk.comes(happening.comes)
          await comes(faults, happening.comes).catch(() => undefined)
        } else if ('cancels' in happening) {
          walk.passes('cancel', happening.cancels)
          faults.ignoresCancel(taskOf(happening.cancels))
        } else {
          const changed = walk.rules[happening.changes]
          if (changed === undefined) continue
          const isEnabled = happening.to === 'enabled'
          const isRemoved = happening.to === 'removed'
          walk.rules = walk.rules.flatMap((rule) => (rule !== changed ? rule : isRemoved ? [] : { ...rule, isEnabled }))
          if (isRemoved) book.remove(changed.extId)
          else book.put({ ...changed, isEnabled })
        }
        for (const { extId } of walk.rules) {
          const { timesMatched, timesFired } = book.countsOf(extId) as StoredCounts
          assert.deepEqual(
            { timesMatched, timesFired },
            walk.counts.get(extId) ?? { timesMatched: 0, timesFired: 0 },
            extId,
          )
        }
      }
    }),
    { numRuns: 300 },
  )
})
