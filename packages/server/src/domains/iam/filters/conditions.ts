/** The shared syntax of filters: `attribute: { operator: value }`. Source: behaviour iam.md 9.2, 9.3. */
import { ApiError } from '../../../core/api-error.ts'

export type ConditionOperator = 'eq' | 'noteq' | 'anyof' | 'allof' | 'noneof'

export interface Condition {
  readonly operator: ConditionOperator
  readonly values: readonly string[]
}

export interface AttributeConditions {
  readonly attribute: string
  readonly conditions: readonly Condition[]
}

const operators: Readonly<Record<string, ConditionOperator>> = {
  eq: 'eq',
  noteq: 'noteq',
  anyof: 'anyof',
  in: 'anyof',
  allof: 'allof',
  noneof: 'noneof',
}
const maximumValues = 500

export class FilterReader {
  readonly faults: ApiError[] = []
  readonly #text: string

  constructor(filter: unknown) {
    this.#text = JSON.stringify(filter)
  }

  fault(path: string, name: string, fault: string): undefined {
    const position = Math.max(0, this.#text.indexOf(JSON.stringify(name)))
    this.faults.push(new ApiError('AUTHORIZATION_FILTER_INVALID', { attributePath: path, position, fault }))
    return undefined
  }

  properties(value: unknown, path: string, name: string): [string, unknown][] {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    const entries = isObject ? Object.entries(value) : []
    if (entries.length === 0) this.fault(path, name, 'expected an object with at least one property.')
    return entries
  }

  attributes(value: unknown, path: string, name: string): AttributeConditions[] {
    return this.properties(value, path, name).map(([attribute, conditions]) => ({
      attribute,
      conditions: this.#conditions(conditions, `${path}/${attribute}`, attribute),
    }))
  }

  #conditions(value: unknown, path: string, attribute: string): Condition[] {
    const conditions: Condition[] = []
    for (const [written, given] of this.properties(value, path, attribute)) {
      const name = written.toLowerCase()
      const operator = Object.hasOwn(operators, name) ? operators[name] : undefined
      if (operator === undefined)
        this.fault(`${path}/${written}`, written, 'expected eq, noteq, anyof, allof, noneof or in.')
      else conditions.push({ operator, values: this.#values(operator, given, `${path}/${written}`, written) })
    }
    return conditions
  }

  #values(operator: ConditionOperator, given: unknown, path: string, written: string): string[] {
    if (typeof given === 'string') return [given]
    const takesSeveral = operator !== 'eq' && operator !== 'noteq'
    if (!takesSeveral || !Array.isArray(given)) {
      this.fault(path, written, takesSeveral ? 'expected a text or an array of texts.' : 'expected a text.')
      return []
    }
    if (given.length === 0 || given.length > maximumValues || given.some((item) => typeof item !== 'string')) {
      this.fault(path, written, `expected 1 to ${maximumValues} texts.`)
      return []
    }
    return given as string[]
  }
}

/** An attribute without values meets `noteq` and `noneof`. */
export const conditionsHold = ({ conditions }: AttributeConditions, actual: ReadonlySet<string>): boolean =>
  conditions.every(({ operator, values }) => {
    if (operator === 'allof') return values.every((value) => actual.has(value))
    const isAny = values.some((value) => actual.has(value))
    return operator === 'noteq' || operator === 'noneof' ? !isAny : isAny
  })

export const isEverything = ({ conditions }: AttributeConditions): boolean =>
  conditions.length === 1 && conditions[0]?.operator === 'eq' && conditions[0].values[0] === '*'
