/** Entity filters select entities by kind and attributes. Source: behaviour iam.md 9.3, 9.4. */
import type { Resource } from '@hyperplane/contract'
import { pathOf } from '../../../core/standard.ts'
import {
  always,
  and,
  anyOf,
  equals,
  never,
  not,
  or,
  type ResolvedPath,
  type TypedFilter,
} from '../../../odata/index.ts'
import { entityNamed } from '../catalogue/entities.ts'
import { entityNameOf } from '../catalogue/scoped-kind.ts'
import { type AttributeConditions, FilterReader, isEverything } from './conditions.ts'

export interface EntityFilterPart {
  /** `*`, or the singular name (`images` becomes `image`). Unknown names are kept and match nothing. */
  readonly entity: string
  readonly attributes: readonly AttributeConditions[]
}
export type EntityFilter = readonly EntityFilterPart[]

export function readEntityFilter(filter: unknown, path: string, reader = new FilterReader(filter)): EntityFilter {
  return reader.properties(filter, path, '').map(([written, value]) => {
    const at = `${path}/${written}`
    const attributes = reader.attributes(value, at, written)
    for (const attribute of attributes) {
      if (attribute.attribute === '*' && !isEverything(attribute)) reader.fault(`${at}/*`, '*', 'expected {"eq": "*"}.')
    }
    return { entity: written === '*' ? '*' : (entityNamed(written)?.name ?? written), attributes }
  })
}

/** For a warning: clients also use names that this service does not have. */
export function unknownNames(filter: EntityFilter): string[] {
  return filter.flatMap(({ entity, attributes }) => {
    if (entity === '*')
      return attributes.filter(({ attribute }) => !generalAttributes.has(attribute)).map((one) => `*/${one.attribute}`)
    const entityKind = entityNamed(entity)
    if (entityKind === undefined) return [entity]
    const names = new Set([...entityKind.attributes, ...generalAttributes])
    return attributes
      .map(({ attribute }) => attribute)
      .filter((attribute) => !names.has(synonyms[attribute] ?? attribute))
      .map((attribute) => `${entity}/${attribute}`)
  })
}

export const coversEverything = (filter: EntityFilter): boolean =>
  filter.some(({ entity, attributes }) => entity === '*' && attributes.every((one) => one.attribute === '*'))

const synonyms: Readonly<Record<string, string>> = { extId: 'uuid', categories: 'category_uuid' }
const generalAttributes = new Set([
  '*',
  'uuid',
  'extId',
  'owner_uuid',
  'category_uuid',
  'categories',
  'cluster_uuid',
  'project_uuid',
  'name',
])

export function scopeOf(filters: readonly EntityFilter[], resource: Resource, caller: string): TypedFilter {
  const name = entityNameOf(resource)
  const alternatives: TypedFilter[] = []
  // Most policies differ only in the value of one attribute: combine them into one condition.
  const values = new Map<string, Set<string>>()
  for (const part of filters.flat()) {
    if (part.entity !== '*' && part.entity !== name) continue
    const [only, ...others] = part.attributes
    const [condition, ...further] = only?.conditions ?? []
    const isPlain =
      others.length === 0 && further.length === 0 && (condition?.operator === 'eq' || condition?.operator === 'anyof')
    const path = only === undefined ? undefined : pathOfAttribute(resource, only.attribute)
    if (isPlain && path !== undefined && only !== undefined && condition !== undefined && !isAll(only)) {
      const alternativeValues = values.get(path) ?? new Set()
      values.set(path, alternativeValues)
      for (const value of condition.values) alternativeValues.add(resolvedValue(only.attribute, value, caller))
    } else {
      alternatives.push(partScope(part, resource, caller))
    }
  }
  for (const [path, wanted] of values) alternatives.push(anyOf(pathOf(resource, path), [...wanted]))
  return or(...alternatives)
}

function partScope(part: EntityFilterPart, resource: Resource, caller: string): TypedFilter {
  return and(
    ...part.attributes.map((attribute) => {
      if (isAll(attribute)) return always
      const path = pathOfAttribute(resource, attribute.attribute)
      // A kind without the attribute matches nothing, whatever the operator.
      if (path === undefined) return never
      const resolved = pathOf(resource, path)
      return and(
        ...attribute.conditions.map(({ operator, values }) =>
          conditionScope(
            operator,
            resolved,
            values.map((value) => resolvedValue(attribute.attribute, value, caller)),
          ),
        ),
      )
    }),
  )
}

function conditionScope(
  operator: AttributeConditions['conditions'][number]['operator'],
  path: ResolvedPath,
  values: readonly string[],
): TypedFilter {
  if (operator === 'allof') return and(...values.map((value) => equals(path, value)))
  const any = anyOf(path, values)
  return operator === 'noteq' || operator === 'noneof' ? not(any) : any
}

export const isAll = (attribute: AttributeConditions): boolean =>
  (attribute.attribute === '*' || attribute.attribute === 'uuid' || attribute.attribute === 'extId') &&
  isEverything(attribute)

export const attributeNamed = (written: string): string =>
  Object.hasOwn(synonyms, written) ? (synonyms[written] as string) : written

function pathOfAttribute(resource: Resource, written: string): string | undefined {
  const attribute = attributeNamed(written)
  if (attribute === 'uuid') return 'extId'
  const attributes = resource.iam?.attributes
  return attributes !== undefined && Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined
}

export const ownedBy = (part: EntityFilterPart, owner: string): EntityFilterPart => ({
  ...part,
  attributes: part.attributes.map(({ attribute, conditions }) => ({
    attribute,
    conditions: conditions.map(({ operator, values }) => ({
      operator,
      values: values.map((value) => resolvedValue(attribute, value, owner)),
    })),
  })),
})

const resolvedValue = (attribute: string, value: string, caller: string): string =>
  attribute === 'owner_uuid' && value === 'SELF_OWNED' ? caller : value
