/**
 * Whether everything that one entity filter reaches is certainly reached by another: when both are equal, or the first only
 * adds conditions. "No" means "not certain". Source: behaviour iam.md 8 (no escalation), 9.3.
 */
import type { AttributeConditions, Condition } from './conditions.ts'
import { attributeNamed, type EntityFilterPart, isAll } from './entity-filter.ts'

/**
 * SELF_OWNED must have been replaced where its owner is known; where it still stands, it is nobody's id. Values are compared
 * letter for letter, because an attribute may be an id in one kind and a text in another.
 */
export const covers = (own: EntityFilterPart, given: EntityFilterPart): boolean =>
  (own.entity === '*' || own.entity === given.entity) &&
  own.attributes.every((wanted) => isAll(wanted) || isImplied(wanted, given.attributes))

function isImplied(wanted: AttributeConditions, given: readonly AttributeConditions[]): boolean {
  const name = attributeNamed(wanted.attribute)
  // `uuid: {eq: "*"}` reaches everything: it is no condition that could imply another.
  const conditions = given
    .filter((one) => !isAll(one) && attributeNamed(one.attribute) === name)
    .flatMap((one) => one.conditions)
  return wanted.conditions.every((condition) => follows(condition, conditions))
}

/** Whether the condition holds wherever all of `given` hold, for attributes with one value and with many. */
function follows({ operator, values }: Condition, given: readonly Condition[]): boolean {
  const wanted = new Set(values)
  if (operator === 'eq' || operator === 'anyof') {
    return given.some((one) => {
      if (one.operator === 'allof') return one.values.some((value) => wanted.has(value))
      return isAlternative(one) && one.values.every((value) => wanted.has(value))
    })
  }
  const relevant = given.filter((one) => {
    if (operator !== 'allof') return one.operator === 'noteq' || one.operator === 'noneof'
    return one.operator === 'allof' || (isAlternative(one) && one.values.length === 1)
  })
  const settled = new Set(relevant.flatMap((one) => one.values))
  return values.every((value) => settled.has(value))
}

const isAlternative = ({ operator }: Condition): boolean => operator === 'eq' || operator === 'anyof'
