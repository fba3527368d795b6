import type { ValueOf } from '@hyperplane/contract'
import type { Catalogue } from '@hyperplane/contract/control/catalogue'
import type { ErrorDefinition } from '@hyperplane/contract/error-catalogue'
import { requiredArguments } from '../faults/errors.ts'
import { names } from '../faults/names.ts'
import type { Effect } from '../faults/rule.ts'
import { faultsOfRule, type RequestedRule } from '../faults/rules.ts'

type Entries = ValueOf<typeof Catalogue>

const defaultError = 'BACKEND_TIMEOUT'
const argumentText = 'It fails on purpose.'

type EffectName = Exclude<
  Effect extends infer E ? (E extends unknown ? keyof E : never) : never,
  '$objectType' | 'arguments' | 'isRetryable' | 'moment' | 'retryAfterSeconds'
>

/** If a rule with the example of an effect is refused, the effect does not fit the match. */
const effects = (word: string | undefined): Readonly<Record<EffectName, object>> => ({
  error: errorEffect(defaultError),
  driverFault: { driverFault: word ?? '' },
  delay: { delay: { fixed: 'PT1S' } },
  dropConnection: { dropConnection: 'AFTER_COMMIT' },
  truncateAfterBytes: { truncateAfterBytes: 100 },
  competingWrite: { competingWrite: true },
  hangAtPercentage: { hangAtPercentage: 50 },
  ignoreCancel: { ignoreCancel: true },
  crashWorker: { crashWorker: true },
  answerTwice: { answerTwice: true },
})

function errorEffect(key: string): object {
  const required = requiredArguments(names().errors.get(key) as ErrorDefinition, 'step')
  if (required.length === 0) return { error: key }
  return { error: key, arguments: Object.fromEntries(required.map((name) => [name, argumentText])) }
}

const outcomesOf = (match: RequestedRule['match'], word?: string): string[] =>
  Object.entries(effects(word))
    .filter(([, effect]) => faultsOfRule({ match, effect: effect as Effect }).length === 0)
    .map(([name]) => name)

const once = (match: NonNullable<RequestedRule['match']>, effect: object) => ({ match, trigger: { next: 1 }, effect })

export const taskEntries = (): Entries['tasks'] =>
  [...names().tasks.values()].sort(byText(({ name }) => name)).map(({ name, steps, cancelableUntil }) => {
    const step = steps[0]?.name
    const taskStep = { task: name, phase: 'RUN' } as const
    return {
      name,
      steps: steps.map((each) => ({
        name: each.name,
        progress: each.progress ?? 100,
        hasUndo: each.undo !== undefined || each.unrecord !== undefined,
      })),
      ...(cancelableUntil === undefined ? {} : { cancelableUntil }),
      outcomes: outcomesOf({ taskStep }),
      example: once({ taskStep: { ...taskStep, ...(step === undefined ? {} : { step }) } }, errorEffect(defaultError)),
    }
  })

export const driverCallEntries = (): Entries['driverCalls'] =>
  [...names().driverCalls].flatMap(([driver, methods]) => {
    const words = [...(names().driverFaults.get(driver) ?? [])]
    const [word] = words
    const effect = word === undefined ? errorEffect(defaultError) : { driverFault: word }
    return [...methods].map((method) => {
      const match = { driverCall: { driver, method } }
      return { driver, method, outcomes: outcomesOf(match, word), driverFaults: words, example: once(match, effect) }
    })
  })

export const errorEntries = (): Entries['errors'] =>
  [...names().errors].sort(byText(([key]) => key)).map(([key, definition]) => {
    const { code, status, message } = definition
    return { key, code, status, message, arguments: [...requiredArguments(definition, 'step')] }
  })

const byText =
  <T>(textOf: (entry: T) => string) =>
  (a: T, b: T): number =>
    textOf(a) < textOf(b) ? -1 : 1
