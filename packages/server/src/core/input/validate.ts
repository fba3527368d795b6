/** Reports all faults at once and returns the clean value for handlers. Source: conventions 2.4, 3. */
import { type AnySchema, type ObjectSchema, secretMask, walk } from '@hyperplane/contract'
import type { ShapeFault } from '../api-error.ts'
import { defined } from '../defined.ts'
import type { Document } from '../document.ts'
import type { CanonicalNames } from '../ports.ts'
import { canonicalTime } from '../time/clock.ts'
import { didYouMean } from './nearest.ts'

export interface ValidationOptions {
  readonly unknown: 'refuse' | 'ignore'
  readonly version: string
  readonly sparse: boolean
  readonly defaults: boolean
  /** The body replaces an entity: an absent immutable field keeps its stored value instead of the default. */
  readonly replaces?: boolean
  /** Absent: the value has canonical names. */
  readonly names?: Pick<CanonicalNames, 'type' | 'taskId'>
}

export interface ValidationResult {
  readonly value: unknown
  readonly faults: readonly ShapeFault[]
  readonly warnings: readonly string[]
  /** Fields of the outermost object that were absent and got their default. */
  readonly defaulted: readonly string[]
}

const uuidForm = /^[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}$/
const controlCharacters = /[\u0000-\u001f]/
const controlCharactersInText = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]|\r(?!\n)/
const decoration = /^\$(?:objectType|reserved|unknownFields|\w+Discriminator)$/
const maximumFaults = 100

export function validateBody(schema: AnySchema, value: unknown, options: ValidationOptions): ValidationResult {
  const run = new Validation(options)
  const clean = run.check(schema, value, '')
  return { value: clean, faults: run.faults, warnings: run.warnings, defaulted: run.defaulted }
}

export function validateText(
  schema: AnySchema,
  text: string,
  path: string,
  location: ShapeFault['location'],
): { value?: unknown; fault?: ShapeFault } {
  const fault = (message: string): { fault: ShapeFault } => ({ fault: { location, attributePath: path, message } })
  switch (schema.type) {
    case 'uuid':
      return uuidForm.test(text)
        ? { value: text.toLowerCase() }
        : fault(
            `expected a UUID, found "${clip(text)}", which does not match the regular expression ${uuidForm.source}`,
          )
    case 'integer':
    case 'number': {
      if (!/^-?\d{1,15}$/.test(text)) return fault(`expected ${rangeOf(schema)}, found "${clip(text)}"`)
      const value = Number(text)
      if (value < (schema.minimum ?? -Infinity) || value > (schema.maximum ?? Infinity)) {
        return fault(`expected ${rangeOf(schema)}, found ${text}`)
      }
      return { value }
    }
    case 'boolean':
      return text === 'true' || text === 'false'
        ? { value: text === 'true' }
        : fault(`expected true or false, found "${clip(text)}"`)
    default: {
      const run = new Validation({ unknown: 'refuse', version: '', sparse: false, defaults: false })
      const value = run.check(schema, text, path)
      const first = run.faults[0]
      return first === undefined ? { value } : fault(first.message)
    }
  }
}

const clip = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text)

const describe = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') return `"${clip(value)}"`
  return String(value)
}

const rangeOf = (schema: { minimum?: number; maximum?: number }): string => {
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    return `an integer from ${schema.minimum} to ${schema.maximum}`
  if (schema.minimum !== undefined) return `an integer of at least ${schema.minimum}`
  return schema.maximum !== undefined ? `an integer of at most ${schema.maximum}` : 'an integer'
}

const patterns = new Map<string, RegExp>()
const patternOf = (source: string): RegExp => {
  let pattern = patterns.get(source)
  if (pattern === undefined) patterns.set(source, (pattern = new RegExp(source, 'u')))
  return pattern
}

class Validation {
  readonly faults: ShapeFault[] = []
  readonly warnings: string[] = []
  readonly defaulted: string[] = []
  readonly options: ValidationOptions
  constructor(options: ValidationOptions) {
    this.options = options
  }

  #fault(path: string, message: string): undefined {
    if (this.faults.length < maximumFaults) {
      this.faults.push({ location: 'body', attributePath: path === '' ? '$' : path, message })
    }
    return undefined
  }

  check(schema: AnySchema, value: unknown, path: string): unknown {
    switch (schema.type) {
      case 'text':
        return this.#text(schema, value, path)
      case 'uuid':
        if (typeof value !== 'string' || !uuidForm.test(value)) {
          return this.#fault(
            path,
            `expected a UUID, found ${describe(value)}, which does not match the regular expression ${uuidForm.source}`,
          )
        }
        return value.toLowerCase()
      case 'taskId': {
        // Bodies hold task ids in the form of any profile; the profile `spec` accepts them all.
        const given = typeof value === 'string' ? value : ''
        const plain = this.options.names?.taskId('spec', given) ?? given
        return uuidForm.test(plain)
          ? plain.toLowerCase()
          : this.#fault(path, `expected the id of a task, found ${describe(value)}`)
      }
      case 'integer':
        if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
          return this.#fault(path, `expected ${rangeOf(schema)} within ±2^53-1, found ${describe(value)}`)
        }
        return this.#inRange(schema, value, path)
      case 'number':
        if (typeof value !== 'number') return this.#fault(path, `expected a number, found ${describe(value)}`)
        return this.#inRange(schema, value, path)
      case 'boolean':
        return typeof value === 'boolean'
          ? value
          : this.#fault(path, `expected true or false, found ${describe(value)}`)
      case 'timestamp': {
        const time = typeof value === 'string' ? canonicalTime(value) : undefined
        if (time === undefined)
          return this.#fault(
            path,
            `expected a date-time with an offset (RFC 3339, years 1970 to 9999), found ${describe(value)}`,
          )
        return time
      }
      case 'enumeration': {
        const newer = schema.valuesSince?.[value as string]
        const isListed = typeof value === 'string' && schema.values.includes(value)
        if (!isListed || (newer !== undefined && this.options.version < newer)) {
          return this.#fault(
            path,
            `expected one of ${schema.values.filter((name) => !this.#isNewer(schema.valuesSince?.[name])).join(', ')}; found ${describe(value)}`,
          )
        }
        return value
      }
      case 'list':
        return this.#list(schema, value, path)
      case 'map': {
        if (typeof value !== 'object' || value === null || Array.isArray(value))
          return this.#fault(path, `expected an object, found ${describe(value)}`)
        const clean: Record<string, unknown> = {}
        for (const [name, item] of Object.entries(value)) {
          if (!decoration.test(name)) clean[name] = this.check(schema.values, item, `${path}/${name}`)
        }
        return clean
      }
      case 'anything':
        return value
      case 'oneOf':
        return this.#oneOf(schema.alternatives, value, path)
      case 'object':
        return this.#object(schema, value, path)
    }
  }

  #isInSealed = false

  /** True for an empty text in an update, and for the mask. */
  #keepsSecret(field: AnySchema, value: unknown): boolean {
    if (field.type !== 'text' || field.secret !== true) return false
    const isKept = this.options.replaces === true && (value === '' || value === secretMask)
    return isKept || (field.maskedInPublic === true && value === secretMask)
  }

  #isKeptWhenAbsent(field: AnySchema): boolean {
    return field.secret === true && this.#isInSealed && this.options.replaces === true
  }

  #canonicalType(name: string): string {
    return this.options.names?.type(name) ?? name
  }

  #isNewer(version: string | undefined): boolean {
    return version !== undefined && this.options.version < version
  }

  #inRange(schema: { minimum?: number; maximum?: number }, value: number, path: string): unknown {
    if (value < (schema.minimum ?? -Infinity) || value > (schema.maximum ?? Infinity)) {
      return this.#fault(path, `expected ${rangeOf(schema)}, found ${value}`)
    }
    return value
  }

  #text(schema: Extract<AnySchema, { type: 'text' }>, value: unknown, path: string): unknown {
    const shown = schema.secret === true ? 'a secret that does not fit' : describe(value)
    if (typeof value !== 'string') return this.#fault(path, `expected a text, found ${shown}`)
    const text = value.normalize('NFC')
    if ((schema.multiline === true ? controlCharactersInText : controlCharacters).test(text)) {
      return this.#fault(path, 'expected no control characters')
    }
    // Code points are counted only near the limit: each takes one or two UTF-16 units.
    const maximum = schema.maxLength ?? Infinity
    const length = text.length > maximum || schema.minLength !== undefined ? lengthWithin(text, maximum) : 0
    if (length > maximum)
      return this.#fault(
        path,
        `expected at most ${maximum} characters, found ${text.length > 2 * maximum ? 'far more' : length}`,
      )
    if (length < (schema.minLength ?? 0))
      return this.#fault(path, `expected at least ${schema.minLength} characters, found ${length}`)
    if (schema.secret === true && text === '') return this.#fault(path, 'expected a secret, found an empty text')
    if (schema.pattern !== undefined && !patternOf(schema.pattern).test(text)) {
      return this.#fault(path, `expected a text that matches the regular expression ${schema.pattern}, found ${shown}`)
    }
    if (text !== '' && text.trim() === '' && (schema.isName === true || nameField.test(path)))
      return this.#fault(path, 'expected a name, found only blanks')
    return text
  }

  #list(schema: Extract<AnySchema, { type: 'list' }>, value: unknown, path: string): unknown {
    if (!Array.isArray(value)) return this.#fault(path, `expected an array, found ${describe(value)}`)
    if (value.length > (schema.maxItems ?? Infinity))
      return this.#fault(path, `expected at most ${schema.maxItems} items, found ${value.length}`)
    if (value.length < (schema.minItems ?? 0))
      return this.#fault(path, `expected at least ${schema.minItems} items, found ${value.length}`)
    const clean: unknown[] = []
    for (let index = 0; index < value.length && this.faults.length < maximumFaults; index++) {
      clean.push(this.check(schema.items, value[index], `${path}[${index}]`))
    }
    if (schema.uniqueItems === true && new Set(clean.map((item) => JSON.stringify(item))).size < clean.length) {
      return this.#fault(path, 'expected distinct items, found the same one twice')
    }
    return clean
  }

  #oneOf(alternatives: readonly AnySchema[], value: unknown, path: string): unknown {
    const fitting = chooseAlternative(alternatives, value, this.options.names?.type)
    const tag = fitting.length === 0 ? tagOf(alternatives) : undefined
    if (tag !== undefined && isPlainObject(value) && value['$objectType'] === undefined) {
      const values = alternatives.flatMap((alternative) => tagValue(alternative, tag) ?? [])
      const found = value[tag]
      const suggestion = typeof found === 'string' ? didYouMean(found, values) : ''
      if (found === undefined) return this.#fault(join(path, tag), `is required: one of ${values.join(', ')}`)
      return this.#fault(join(path, tag), `expected one of ${values.join(', ')}; found ${describe(found)}${suggestion}`)
    }
    if (fitting.length === 0 && isPlainObject(value) && value['$objectType'] === undefined) {
      const exclusiveGroups = exclusiveNames(alternatives, Object.keys(value))
      if (exclusiveGroups.length > 1) {
        const groups = exclusiveGroups.map((names) => names.join(' with ')).join(' or ')
        return this.#fault(
          path,
          `expected either ${groups}, found ${exclusiveGroups.length === 2 ? 'both' : 'all of them'}`,
        )
      }
    }
    if (fitting.length !== 1) {
      const names = alternatives
        .map((alternative) => (alternative.type === 'object' ? alternative.objectType : alternative.type))
        .join(', ')
      return this.#fault(path, `expected exactly one of ${names}; say which by $objectType. Found ${describe(value)}`)
    }
    const alternative = fitting[0] as AnySchema
    const clean = this.check(alternative, value, path)
    // The stored value keeps `$objectType`, which identifies the alternative.
    if (
      alternative.type === 'object' &&
      alternative.objectType !== undefined &&
      typeof clean === 'object' &&
      clean !== null
    ) {
      return { $objectType: alternative.objectType, ...clean }
    }
    return clean
  }

  /** Accepts content under `$reserved` and as own properties; it is stored in one field. */
  #folded(schema: ObjectSchema, given: Record<string, unknown>, path: string): Record<string, unknown> {
    const field = schema.foldsInto
    if (field === undefined) return given
    const isOwn = (name: string): boolean => !Object.hasOwn(schema.fields, name) && !decoration.test(name)
    const parts = (from: unknown, keep: (name: string) => boolean): object | undefined => {
      const content =
        typeof from === 'object' && from !== null ? Object.entries(from).filter(([name]) => keep(name)) : []
      return content.length === 0 ? undefined : Object.fromEntries(content)
    }
    const spellings = [
      given[field] ?? undefined,
      parts(given['$reserved'], (name) => !reservedMarks.has(name)),
      parts(given, isOwn),
    ]
    const found = spellings.filter((spelling) => spelling !== undefined)
    // A client that sends back a response has the same content twice.
    if (new Set(found.map((spelling) => JSON.stringify(spelling))).size > 1) {
      this.#fault(
        join(path, field),
        `expected one filter, found ${found.length} different ones: in ${field}, in $reserved or beside them`,
      )
    }
    const declared = Object.fromEntries(Object.entries(given).filter(([name]) => !isOwn(name)))
    return found.length === 0 ? declared : { ...declared, [field]: found[0] }
  }

  #object(schema: ObjectSchema, value: unknown, path: string): unknown {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return this.#fault(path, `expected an object, found ${describe(value)}`)
    }
    const given = this.#folded(schema, value as Record<string, unknown>, path)
    const type = given['$objectType']
    if (
      type !== undefined &&
      schema.objectType !== undefined &&
      (typeof type !== 'string' || this.#canonicalType(type) !== schema.objectType)
    ) {
      this.#fault(join(path, '$objectType'), `expected ${schema.objectType}, found ${describe(type)}`)
    }
    const clean: Record<string, unknown> = {}
    for (const [name, field] of Object.entries(schema.fields)) {
      // Kept although read-only: it is compared with the stored value.
      const isCompared = field.immutable === true && this.options.replaces === true && path === ''
      if (field.readOnly === true && !isCompared) continue
      if (this.#isNewer(field.since)) continue
      const isKept = Object.hasOwn(given, name) && this.#keepsSecret(field, given[name])
      if (isKept && this.#isInSealed) {
        // The mask marks where `kept-secrets.ts` puts the stored secret.
        clean[name] = secretMask
        continue
      }
      const item = Object.hasOwn(given, name) && !isKept ? given[name] : undefined
      if (item === undefined || item === null) {
        // A sparse body is merged one level deep; objects below replace the stored ones and must be complete.
        const isMerged = this.options.sparse && !/[/[]/.test(path)
        const keepsStored = this.options.replaces === true && field.immutable === true
        if (
          field.defaultsTo !== undefined &&
          !keepsStored &&
          (this.options.defaults || (this.options.sparse && !isMerged))
        ) {
          clean[name] = structuredClone(field.defaultsTo)
          if (path === '') this.defaulted.push(name)
        } else if (field.optional !== true && !(this.options.sparse && path === '') && !this.#isKeptWhenAbsent(field))
          this.#fault(join(path, name), 'is required')
        continue
      }
      const isInSealed = this.#isInSealed
      this.#isInSealed ||= field.secret === true
      const checked = this.check(field, item, join(path, name))
      this.#isInSealed = isInSealed
      if (checked !== undefined) clean[name] = checked
    }
    for (const name of Object.keys(given)) {
      if (Object.hasOwn(schema.fields, name) || decoration.test(name)) continue
      if (this.options.unknown === 'refuse') this.#fault(join(path, clip(name)), 'is not a field of this object')
      else if (this.warnings.length < maximumFaults)
        this.warnings.push(`${join(path, clip(name))} is not a field of this object and was ignored`)
    }
    return clean
  }
}

/** `name`, `displayName`, `username`, and the items of `vstoreNameList`. */
const nameField = /(?:^|\/|[a-z])[nN]ame(?:s?(?:List)?\[\d+\])?$/

/** Entries of `$reserved` that are not the client's own content. */
const reservedMarks = new Set(['$fv', '$fqObjectType', 'ETag'])

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function tagValue(schema: AnySchema, name: string): string | undefined {
  const field = schema.type === 'object' && Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined
  return field?.type === 'enumeration' && field.values.length === 1 ? field.values[0] : undefined
}

function tagOf(alternatives: readonly AnySchema[]): string | undefined {
  const [first] = alternatives
  if (first?.type !== 'object') return undefined
  return Object.keys(first.fields).find((name) =>
    alternatives.every((alternative) => tagValue(alternative, name) !== undefined),
  )
}

export function chooseAlternative(
  alternatives: readonly AnySchema[],
  value: unknown,
  canonicalType: CanonicalNames['type'] = (name) => name,
): readonly AnySchema[] {
  const kindOf = (schema: AnySchema): string => {
    if (schema.type === 'object' || schema.type === 'map') return 'object'
    if (schema.type === 'list') return 'array'
    if (schema.type === 'integer' || schema.type === 'number') return 'number'
    return schema.type === 'boolean' ? 'boolean' : 'string'
  }
  const actual = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
  const sameForm = alternatives.filter((alternative) => kindOf(alternative) === actual)
  if (sameForm.length <= 1) return sameForm
  if (actual === 'array') {
    const first = (value as unknown[])[0]
    if (first === undefined) return sameForm.slice(0, 1)
    return sameForm
      .filter((list) => list.type === 'list' && chooseAlternative([list.items], first, canonicalType).length === 1)
      .slice(0, 1)
  }
  if (actual !== 'object') return sameForm.slice(0, 1)
  const given = value as Record<string, unknown>
  const type = given['$objectType']
  if (typeof type === 'string') {
    const named = canonicalType(type)
    return sameForm.filter((schema) => schema.type === 'object' && schema.objectType === named)
  }
  const tag = tagOf(alternatives)
  if (tag !== undefined) return sameForm.filter((schema) => tagValue(schema, tag) === given[tag])
  const names = Object.keys(given).filter((name) => !decoration.test(name))
  return sameForm.filter((schema) => {
    if (schema.type !== 'object') return false
    const required = Object.entries(schema.fields).filter(([, field]) => field.optional !== true)
    return (
      names.every((name) => Object.hasOwn(schema.fields, name)) &&
      required.every(([name]) => Object.hasOwn(given, name))
    )
  })
}

function exclusiveNames(alternatives: readonly AnySchema[], names: readonly string[]): readonly (readonly string[])[] {
  const having = (required: readonly string[]): boolean =>
    alternatives.some(
      (schema) => schema.type === 'object' && required.every((name) => Object.hasOwn(schema.fields, name)),
    )
  const declared = names.filter((name) => having([name]))
  const groups: string[][] = []
  for (const name of declared) {
    if (declared.every((other) => having([name, other]))) continue
    const group = groups.find((others) => having([...others, name]))
    if (group === undefined) groups.push([name])
    else group.push(name)
  }
  return groups
}

/** In code points; stops counting at twice the maximum. */
function lengthWithin(text: string, maximum: number): number {
  if (text.length > 2 * maximum) return maximum + 1
  let length = 0
  for (const _ of text) length++
  return length
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`)

export interface Reference {
  readonly kind: string
  readonly orKind?: string
  readonly extId: string
  readonly path: string
}

/** Read-only fields are skipped. */
export function referencesIn(schema: AnySchema, value: unknown): Reference[] {
  const found: Reference[] = []
  const visit = (at: AnySchema, item: unknown, path: string): void => {
    if (item === undefined || item === null || at.readOnly === true) return
    if (at.type === 'uuid' && at.refersTo !== undefined && typeof item === 'string')
      found.push({ kind: at.refersTo, ...defined({ orKind: at.orRefersTo }), extId: item, path })
    else if (at.type === 'object')
      for (const [name, field] of Object.entries(at.fields)) visit(field, (item as Document)[name], join(path, name))
    else if (at.type === 'list' && Array.isArray(item))
      for (const [index, one] of item.entries()) visit(at.items, one, `${path}[${index}]`)
    else if (at.type === 'map')
      for (const [key, one] of Object.entries(item as Document)) visit(at.values, one, join(path, key))
    else if (at.type === 'oneOf')
      for (const alternative of chooseAlternative(at.alternatives, item)) visit(alternative, item, path)
  }
  if (hasReferences(schema)) visit(schema, value, '')
  return found
}

const referring = new WeakMap<AnySchema, boolean>()
function hasReferences(schema: AnySchema): boolean {
  let cached = referring.get(schema)
  if (cached === undefined) {
    cached = [...walk(schema)].some((entry) => entry.schema.type === 'uuid' && entry.schema.refersTo !== undefined)
    referring.set(schema, cached)
  }
  return cached
}
