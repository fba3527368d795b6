/** In schemas with secret fields only declared fields are recorded: an unknown one may be a misspelled secret. */
import { type AnySchema, walk } from '@hyperplane/contract'
import { chooseAlternative } from '../../../core/input/validate.ts'
import { canonicalType } from '../../../http/profiles/names.ts'

export const secretMark = '[secret]'
export const unknownMark = '[not kept]'

const secretsBySchema = new WeakMap<AnySchema, boolean>()

export function holdsSecrets(schema: AnySchema | undefined): schema is AnySchema {
  if (schema === undefined) return false
  let hasSecrets = secretsBySchema.get(schema)
  if (hasSecrets === undefined) {
    hasSecrets = [...walk(schema)].some((entry) => entry.schema.secret === true)
    secretsBySchema.set(schema, hasSecrets)
  }
  return hasSecrets
}

/** Members such as `$objectType`, which naming profiles add. */
const isDecoration = (name: string): boolean => name.startsWith('$') && name !== '$reserved'

export function redacted(schema: AnySchema, value: unknown): unknown {
  if (value === undefined || value === null) return value
  if (schema.secret === true) return secretMark
  switch (schema.type) {
    case 'object': {
      if (typeof value !== 'object' || Array.isArray(value)) return unknownMark
      const entries = Object.entries(value).map(([name, item]) => {
        const field = Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined
        if (field !== undefined) return [name, redacted(field, item)]
        return [name, isDecoration(name) && typeof item === 'string' ? item : unknownMark]
      })
      return Object.fromEntries(entries)
    }
    case 'list':
      return Array.isArray(value) ? value.map((item) => redacted(schema.items, item)) : unknownMark
    case 'map': {
      if (typeof value !== 'object' || Array.isArray(value)) return unknownMark
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redacted(schema.values, item)]))
    }
    case 'oneOf': {
      const [alternative, other] = chooseAlternative(schema.alternatives, value, canonicalType)
      return alternative === undefined || other !== undefined ? unknownMark : redacted(alternative, value)
    }
    case 'anything':
      return value
    default:
      return typeof value === 'object' ? unknownMark : value
  }
}
