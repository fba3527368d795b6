/** Whether one entity filter matches everything that another one matches; false if unsure. Source: behaviour iam.md 8, 9.3. */
import type { AttributeConditions, Condition } from './conditions.ts'
import { attributeNamed, type EntityFilterPart, isAll } from './entity-filter.ts'

/** The caller replaces SELF_OWNED if the owner is known. Values are case-sensitive. */
export const covers = (own: EntityFilterPart, given: EntityFilterPart): boolean =>
  (own.entity === '*' || own.entity === given.entity) &&
  own.attributes.every((required) => isAll(required) || isImplied(required, given.attributes))

function isImplied(required: AttributeConditions, given: readonly AttributeConditions[]): boolean {
  const name = attributeNamed(required.attribute)
  // `uuid: {eq: "*"}` matches everything and implies no other condition.
  const conditions = given
    .filter((one) => !isAll(one) && attributeNamed(one.attribute) === name)
    .flatMap((one) => one.conditions)
  return required.conditions.every((condition) => follows(condition, conditions))
}

function follows({ operator, values }: Condition, given: readonly Condition[]): boolean {
  const required = new Set(values)
  if (operator === 'eq' || operator === 'anyof') {
    return given.some((one) => {
      if (one.operator === 'allof') return one.values.some((value) => required.has(value))
      return isAlternative(one) && one.values.every((value) => required.has(value))
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
