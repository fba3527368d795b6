/** Whether a row is one of its kind: what nobody would ever read is refused, above all a misspelt name. */
import { type AnySchema, type Resource, text, uuid } from '@hyperplane/contract'
import { didYouMean } from '../core/nearest.ts'

/** Also of kinds whose answers do not show them. */
const ofEveryRow = { extId: text(), tenantId: uuid() }

/** The first thing that is wrong; undefined: nothing. */
export function rowFault(resource: Resource<any, any>, row: unknown): string | undefined {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return 'expected a mapping'
  const { extId } = row as { extId?: unknown }
  if (typeof extId !== 'string' || extId === '') return 'extId is missing'
  return fieldsFault({ ...ofEveryRow, ...resource.schema.fields, ...resource.internal }, row, '')
}

function fieldsFault(fields: Readonly<Record<string, AnySchema>>, value: object, path: string): string | undefined {
  for (const [name, item] of Object.entries(value)) {
    if (name.startsWith('$')) continue
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) return `${path}${name} is not known here${didYouMean(name, Object.keys(fields))}`
    const fault = valueFault(field, item, `${path}${name}`)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** `null` stands where something was left out. */
function valueFault(schema: AnySchema, value: unknown, path: string): string | undefined {
  if (value === null) return undefined
  const wrong = (expected: string): string => `${path}: expected ${expected}, found ${foundIn(value)}`
  switch (schema.type) {
    case 'anything':
      return undefined
    case 'integer':
      return Number.isInteger(value) ? undefined : wrong('an integer')
    case 'number':
      return typeof value === 'number' ? undefined : wrong('a number')
    case 'boolean':
      return typeof value === 'boolean' ? undefined : wrong('true or false')
    case 'enumeration':
      return schema.values.includes(value as string) ? undefined : wrong(schema.values.slice(0, 12).join(' or '))
    case 'list': {
      if (!Array.isArray(value)) return wrong('a list')
      for (const [index, item] of value.entries()) {
        const fault = valueFault(schema.items, item, `${path}[${index}]`)
        if (fault !== undefined) return fault
      }
      return undefined
    }
    case 'map':
    case 'object':
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong('a mapping')
      if (schema.type === 'object') return fieldsFault(schema.fields, value, `${path}.`)
      return Object.entries(value)
        .map(([name, item]) => valueFault(schema.values, item, `${path}.${name}`))
        .find((fault) => fault !== undefined)
    case 'oneOf': {
      const type = (value as { $objectType?: string } | null)?.$objectType
      const named = schema.alternatives.find((each) => each.type === 'object' && each.objectType === type)
      const candidates = named === undefined ? schema.alternatives : [named]
      const faults = candidates.map((candidate) => valueFault(candidate, value, path))
      return faults.includes(undefined) ? undefined : faults[0]
    }
    default:
      return typeof value === 'string' ? undefined : wrong('text')
  }
}

const foundIn = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
