/** Identity filters: select users, by their own attributes or by their current groups. Source: behaviour iam.md 9.2. */
import { type AttributeConditions, conditionsHold, FilterReader, isEverything } from './conditions.ts'

/** Ids in lower case. */
export interface IdentityFacts {
  readonly uuid: string
  readonly username: string
  readonly idp: string
  readonly type: string
  readonly groups: ReadonlySet<string>
}

export interface IdentityFilter {
  readonly user: readonly AttributeConditions[]
  readonly group: readonly AttributeConditions[]
}

const userAttributes = new Set(['uuid', 'group', 'username', 'idp_uuid', 'user_type', '*'])
const groupAttributes = new Set(['uuid', '*'])

export function readIdentityFilter(filter: unknown, path: string, reader = new FilterReader(filter)): IdentityFilter {
  const found: { user: AttributeConditions[]; group: AttributeConditions[] } = { user: [], group: [] }
  for (const [subject, value] of reader.properties(filter, path, '')) {
    const at = `${path}/${subject}`
    if (subject !== 'user' && subject !== 'group' && subject !== 'user_group') {
      reader.fault(at, subject, 'expected user, group or user_group.')
      continue
    }
    const part = subject === 'user' ? 'user' : 'group'
    const allowed = part === 'user' ? userAttributes : groupAttributes
    for (const attribute of reader.attributes(value, at, subject)) {
      if (!allowed.has(attribute.attribute)) {
        reader.fault(`${at}/${attribute.attribute}`, attribute.attribute, `expected one of ${[...allowed].join(', ')}.`)
      } else if (attribute.attribute === '*' && !isEverything(attribute)) {
        reader.fault(`${at}/*`, '*', 'expected {"eq": "*"}.')
      } else {
        found[part].push(lowerCased(attribute))
      }
    }
  }
  return found
}

const lowerCased = ({ attribute, conditions }: AttributeConditions): AttributeConditions => ({
  attribute,
  conditions:
    attribute === 'user_type'
      ? conditions
      : conditions.map(({ operator, values }) => ({ operator, values: values.map((value) => value.toLowerCase()) })),
})

export function matchesIdentity(filter: IdentityFilter, facts: IdentityFacts): boolean {
  const valuesOf = (attribute: string): ReadonlySet<string> => {
    if (attribute === 'group') return facts.groups
    if (attribute === 'username') return new Set([facts.username])
    if (attribute === 'idp_uuid') return new Set([facts.idp])
    if (attribute === 'user_type') return new Set([facts.type])
    return new Set([facts.uuid])
  }
  return (
    filter.user.every((one) => one.attribute === '*' || conditionsHold(one, valuesOf(one.attribute))) &&
    filter.group.every((one) => (one.attribute === '*' ? facts.groups.size > 0 : conditionsHold(one, facts.groups)))
  )
}

export function namedIn(filter: IdentityFilter): {
  readonly users: readonly string[]
  readonly groups: readonly string[]
} {
  const named = (list: readonly AttributeConditions[], attribute: string): string[] =>
    list
      .filter((one) => one.attribute === attribute)
      .flatMap((one) => one.conditions)
      .filter((condition) => condition.operator !== 'noteq' && condition.operator !== 'noneof')
      .flatMap((condition) => condition.values)
  return { users: named(filter.user, 'uuid'), groups: [...named(filter.user, 'group'), ...named(filter.group, 'uuid')] }
}

export function mayMatchIdentity(
  { user, group }: IdentityFilter,
  facts: IdentityFacts,
  possibleGroups: ReadonlySet<string>,
): boolean {
  const isPossible = ({ attribute, conditions }: AttributeConditions): boolean => {
    if (attribute === '*') return possibleGroups.size > 0
    return conditions.every(({ operator, values }) => {
      if (operator === 'allof') return values.every((value) => possibleGroups.has(value))
      return operator === 'noteq' || operator === 'noneof' || values.some((value) => possibleGroups.has(value))
    })
  }
  const ofGroups = [...user.filter((one) => one.attribute === 'group'), ...group]
  const others = user.filter((one) => one.attribute !== 'group')
  return ofGroups.every(isPossible) && matchesIdentity({ user: others, group: [] }, facts)
}

export const namesOnly = ({ user }: IdentityFilter, uuid: string): boolean =>
  user.some(
    ({ attribute, conditions }) =>
      attribute === 'uuid' &&
      conditions.some(
        ({ operator, values }) =>
          (operator === 'eq' || operator === 'anyof') && values.every((value) => value === uuid),
      ),
  )

export const requiresGroup = (filter: IdentityFilter, isGroup: (value: string) => boolean): boolean =>
  filter.group.some((one) => one.attribute === '*') || groupValues(filter, 'required').some(isGroup)

export const excludesGroup = (filter: IdentityFilter, uuid: string): boolean =>
  groupValues(filter, 'excluded').includes(uuid)

const groupValues = (filter: IdentityFilter, use: 'required' | 'excluded'): readonly string[] =>
  [...filter.user.filter((one) => one.attribute === 'group'), ...filter.group.filter((one) => one.attribute === 'uuid')]
    .flatMap((one) => one.conditions)
    .filter(({ operator }) => (operator === 'noteq' || operator === 'noneof') === (use === 'excluded'))
    .flatMap((condition) => condition.values)
