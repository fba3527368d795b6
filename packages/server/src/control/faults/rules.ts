import type { Operation } from '@hyperplane/contract'
import { type ErrorDefinition, type ErrorKey, errorCatalogue } from '@hyperplane/contract/error-catalogue'
import { type ApiError, invalid } from '../../core/api-error.ts'
import { closestNames } from '../../core/input/nearest.ts'
import { millisecondsOf } from '../duration.ts'
import { longestDelayMillis } from './delay.ts'
import { requiredArguments } from './errors.ts'
import { matchingErrorKeys, matchingKeys, names } from './names.ts'
import { type Effect, placeOf, type StoredRule } from './rule.ts'

export type RequestedRule = Pick<StoredRule, 'match' | 'trigger' | 'effect'>

export function faultsOfRule(rule: RequestedRule): readonly ApiError[] {
  return [...matchFaults(rule), ...flagFaults(rule), ...placeFaults(rule), ...effectFaults(rule)]
}

const unknown = (path: string, what: string, found: string, candidates: Iterable<string>): ApiError =>
  invalid(path, `expected ${what}, found "${found}". The nearest are ${closestNames(found, candidates).join(', ')}.`)

function matchFaults({ match = {}, ...rule }: RequestedRule): ApiError[] {
  const { operation, kind, taskStep, driverCall } = match
  const { kinds, tasks, driverCalls } = names()
  const faults: ApiError[] = []
  if (operation !== undefined) faults.push(...operationFaults(operation, kind, startsTask({ match, ...rule })))
  if (kind !== undefined && !kinds.has(kind)) faults.push(unknown('match/kind', 'a kind', kind, kinds))
  if (taskStep !== undefined) {
    const { task, step } = taskStep
    const steps = tasks.get(task)?.steps.map(({ name }) => name)
    if (steps === undefined) faults.push(unknown('match/taskStep/task', 'a task', task, tasks.keys()))
    else if (step !== undefined && !steps.includes(step))
      faults.push(unknown('match/taskStep/step', `a step of ${task}`, step, steps))
  }
  if (driverCall !== undefined) {
    const { driver, method } = driverCall
    const methods = driverCalls.get(driver)
    if (methods === undefined) faults.push(unknown('match/driverCall/driver', 'a driver', driver, driverCalls.keys()))
    else if (method !== undefined && !methods.has(method))
      faults.push(unknown('match/driverCall/method', `a call of ${driver}`, method, methods))
  }
  return faults
}

const startsTask = (rule: RequestedRule): boolean => ['step', 'cancel'].includes(placeOf(rule))

function operationFaults(written: string, kind: string | undefined, mustStartTask: boolean): ApiError[] {
  const path = 'match/operation'
  const { operations, kinds } = names()
  const keys = matchingKeys(operations.keys(), written)
  if (written.startsWith('control.')) return [invalid(path, 'no rule touches the control interface.')]
  if (keys.length > 1) return [invalid(path, `several are called "${written}": write ${keys.join(' or ')}.`)]
  if (keys[0] === undefined) return [unknown(path, 'an operation', written, operations.keys())]
  const operation = operations.get(keys[0]) as Operation
  const own = operation.resource?.kind
  if (kind !== undefined && kinds.has(kind) && kind !== own)
    return [invalid('match/kind', `${operation.key} is about ${own ?? 'no kind'}: leave one of the two out.`)]
  if (mustStartTask && operation.runs !== 'async')
    return [invalid(path, `${operation.key} starts no task that this could happen to.`)]
  return []
}

/** `false` is refused: clients disable or remove a rule instead. */
function flagFaults({ trigger = { always: true }, effect }: RequestedRule): ApiError[] {
  const flags = Object.entries({ trigger, effect }).flatMap(([part, fields]) =>
    Object.entries(fields).map(([name, value]) => [`${part}/${name}`, value] as const),
  )
  return flags.flatMap(([path, value]) =>
    value === false && !path.endsWith('/isRetryable')
      ? [invalid(path, 'expected true, found false: disable the rule with isEnabled, or remove it.')]
      : [],
  )
}

function placeFaults(rule: RequestedRule): ApiError[] {
  const { match = {}, effect } = rule
  const { batchElement, taskStep, driverCall } = match
  const place = placeOf(rule)
  const isOfTask = 'hangAtPercentage' in effect || 'ignoreCancel' in effect || 'crashWorker' in effect
  const isOfConnection = 'dropConnection' in effect || 'truncateAfterBytes' in effect
  const faults: ApiError[] = []
  const refuse = (path: string, fault: string): void => void faults.push(invalid(path, fault))
  if (batchElement !== undefined && place !== 'request')
    refuse(
      'match/batchElement',
      'an element of a batch is a request: leave out taskStep, driverCall and what befalls tasks.',
    )
  if (batchElement !== undefined && isOfConnection)
    refuse('match/batchElement', 'an element of a batch has no connection of its own.')
  if (isOfTask && driverCall !== undefined) refuse('match/driverCall', 'this befalls tasks, not calls of a driver.')
  if ((isOfConnection || 'competingWrite' in effect) && place !== 'request')
    refuse('effect', 'this befalls requests: leave out taskStep and driverCall.')
  if ('answerTwice' in effect && driverCall === undefined)
    refuse('match/driverCall', 'is required: it is drivers that answer twice.')
  if ('hangAtPercentage' in effect || 'ignoreCancel' in effect) {
    if (taskStep?.step !== undefined) refuse('match/taskStep/step', 'this befalls the whole task: leave the step out.')
    if (taskStep?.phase === 'UNDO') refuse('match/taskStep/phase', 'this befalls tasks on their way forward.')
  }
  if ('competingWrite' in effect) faults.push(...competitionFaults(match.operation))
  return faults
}

/** A competing write needs an entity that both requests write. */
function competitionFaults(written: string | undefined): ApiError[] {
  const key = written === undefined ? undefined : matchingKeys(names().operations.keys(), written)[0]
  const operation = key === undefined ? undefined : names().operations.get(key)
  if (operation === undefined) return []
  const isOfEntity = Object.keys(operation.pathKinds).length > 0 && operation.resource?.derived !== true
  return isOfEntity
    ? []
    : [invalid('match/operation', `${operation.key} names no stored entity that another request could write.`)]
}

function effectFaults(rule: RequestedRule): ApiError[] {
  const { match = {}, effect } = rule
  if ('error' in effect) return errorFaults(rule, effect)
  if ('driverFault' in effect) return driverFaultFaults(match.driverCall?.driver, effect.driverFault)
  return 'delay' in effect ? delayFaults(effect.delay) : []
}

function errorFaults(rule: RequestedRule, effect: Extract<Effect, { error: string }>): ApiError[] {
  const { error, retryAfterSeconds, isRetryable } = effect
  const driver = rule.match?.driverCall?.driver ?? ''
  const words = names().driverFaults.get(driver)
  if (words !== undefined)
    return [
      invalid(
        'effect/error',
        `${driver} says what went wrong in its own words: use driverFault, ${[...words].join(', ')}.`,
      ),
    ]
  const [key, ...others] = matchingErrorKeys(error)
  if (key === undefined) {
    const { errors } = names()
    const candidates = [...errors.keys(), ...new Set([...errors.values()].map(({ code }) => code))]
    return [unknown('effect/error', 'the key or the code of an error', error, candidates)]
  }
  if (others.length > 0)
    return [invalid('effect/error', `several errors have the code ${error}: write ${[key, ...others].join(' or ')}.`)]
  const definition: ErrorDefinition = errorCatalogue[key as ErrorKey]
  const place = placeOf(rule)
  const faults: ApiError[] = []
  const given = effect.arguments ?? {}
  for (const name of requiredArguments(definition, place))
    if (given[name] === undefined)
      faults.push(invalid(`effect/arguments/${name}`, `is required: the message is "${definition.message}"`))
  const isRetriedLater = place === 'request' && (definition.status === 429 || definition.status === 503)
  if (retryAfterSeconds !== undefined && !isRetriedLater)
    faults.push(
      invalid('effect/retryAfterSeconds', `requests are answered so with 429 and 503, not with ${definition.status}.`),
    )
  if (isRetryable !== undefined && place === 'request')
    faults.push(
      invalid('effect/isRetryable', 'only steps and driver calls are retried; a request is retried by its client.'),
    )
  return faults
}

function driverFaultFaults(driver: string | undefined, found: string): ApiError[] {
  const { driverFaults } = names()
  const words = driver === undefined ? undefined : driverFaults.get(driver)
  if (words === undefined) {
    const those = [...driverFaults.keys()].join(', ')
    return [
      invalid(
        'effect/driverFault',
        `the drivers that have words of their own are ${those}: name one in match/driverCall.`,
      ),
    ]
  }
  return words.has(found) ? [] : [unknown('effect/driverFault', `a word of ${driver}`, found, words)]
}

function delayFaults(delay: Extract<Effect, { delay: unknown }>['delay']): ApiError[] {
  const at = (name: string): string => `effect/delay/${name}`
  const lengths = new Map<string, number>()
  const faults: ApiError[] = []
  for (const [name, written] of Object.entries(delay)) {
    if (name === '$objectType') continue
    const length = millisecondsOf(written)
    if (length !== undefined && length <= longestDelayMillis) lengths.set(name, length)
    else
      faults.push(
        invalid(at(name), `expected an ISO 8601 duration of at most a day, such as PT0.25S; found "${written}".`),
      )
  }
  const inOrder = (shorter: string, longer: string): void => {
    const [least, most] = [lengths.get(shorter), lengths.get(longer)]
    if (least !== undefined && most !== undefined && least > most)
      faults.push(invalid(at(longer), `expected no less than ${shorter}.`))
  }
  inOrder('minimum', 'maximum')
  inOrder('median', 'p95')
  if (lengths.get('median') === 0)
    faults.push(invalid(at('median'), 'expected more than 0: delays are multiples of it.'))
  return faults
}
