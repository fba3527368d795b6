/**
 * Bodies for every writable field of an operation, generated from the contract. Addresses and name-value pairs, which all kinds
 * share, count as one field each.
 */
import { randomUUID } from 'node:crypto'
import type { AnySchema } from '@hyperplane/contract'

type Step = { readonly field: string } | { readonly alternative: number } | 'item'

/** A field that a body may hold, for instance `policies/policyMatch/protocolParameters<ICMPObject>/icmpType`. */
export interface WritableField {
  readonly path: string
  readonly schema: AnySchema
  readonly steps: readonly Step[]
  readonly isSecret: boolean
  readonly isImmutable: boolean
}

const addresses: Readonly<Record<string, unknown>> = {
  IPAddress: { ipv4: { value: '10.44.1.77' } },
  IPAddressOrFQDN: { ipv4: { value: '10.44.1.77' } },
  IPv4Address: { value: '10.44.1.77' },
  IPv6Address: { value: 'fd00::77' },
  FQDN: { value: 'ntp.example.com' },
  IPSubnet: { ipv4: { ip: { value: '10.77.0.0' }, prefixLength: 16 } },
  IPv4Subnet: { ip: { value: '10.77.0.0' }, prefixLength: 16 },
  IPv6Subnet: { ip: { value: 'fd00:77::' }, prefixLength: 64 },
  KVPair: { name: 'colour', value: 'blue' },
}
const shortName = (schema: AnySchema): string =>
  schema.type === 'object' ? (schema.objectType ?? '').split('.').at(-1)! : schema.type

/** @param isUpdate immutable fields of items are left out: an update compares no items with the stored ones */
export function writableFields(schema: AnySchema, isUpdate: boolean): WritableField[] {
  const found: WritableField[] = []
  const visit = (at: AnySchema, { path, steps, isSecret, isImmutable }: Omit<WritableField, 'schema'>): void => {
    const below = (next: AnySchema, name: string, step: Step): void => {
      visit(next, {
        path: path === '' ? name : `${path}${name.startsWith('<') ? '' : '/'}${name}`,
        steps: [...steps, step],
        isSecret: isHidden,
        isImmutable: isImmutable || next.immutable === true,
      })
    }
    const isHidden = isSecret || at.secret === true
    if (at.type === 'list') {
      visit(at.items, { path, steps: [...steps, 'item'], isSecret: isHidden, isImmutable })
      return
    }
    if (at.type === 'oneOf') {
      for (const [index, each] of at.alternatives.entries()) below(each, `<${shortName(each)}>`, { alternative: index })
      return
    }
    const fields = at.type === 'object' && !(shortName(at) in addresses) ? Object.entries(at.fields) : []
    const isLeftOut = isUpdate && steps.includes('item')
    const writable = fields.filter(([, { readOnly, immutable }]) => readOnly !== true && !(isLeftOut && immutable))
    if (writable.length === 0) found.push({ path, schema: at, steps, isSecret: isHidden, isImmutable })
    for (const [name, field] of writable) below(field, name, { field: name })
  }
  visit(schema, { path: '', steps: [], isSecret: false, isImmutable: false })
  return found
}

/** Ids of entities, by kind. */
export type Known = (kind: string) => readonly string[]

/** Values to try for a field, likely ones first. */
export function valuesFor(schema: AnySchema, name: string, known: Known): unknown[] {
  switch (schema.type) {
    case 'boolean':
      return schema.defaultsTo === true ? [false, true] : [true, false]
    case 'integer':
    case 'number': {
      const { minimum = 0, maximum = 2 ** 40 } = schema
      const tried = [minimum + 1, minimum + 2, maximum, minimum, 77].filter((n) => n >= minimum && n <= maximum)
      return tried.filter((value) => value !== schema.defaultsTo)
    }
    case 'enumeration':
      return schema.values.filter((value) => value !== schema.defaultsTo)
    case 'uuid':
      return [...(schema.refersTo === undefined ? [] : known(schema.refersTo).slice(0, 4)), randomUUID()]
    case 'taskId':
      return [randomUUID()]
    case 'timestamp':
      return ['2027-01-01T00:00:00.000000Z']
    case 'text': {
      const plain = `${name.slice(0, 12)}-${randomUUID().slice(0, 6)}`.toLowerCase()
      const texts = [
        plain,
        'nqn.2014-08.org.example:a',
        'aa'.repeat(20),
        'bb'.repeat(32),
        '50:6b:8d:00:00:77',
        '7',
        'someone@example.com',
        'https://x.example.com/a',
        'cn=people,dc=example,dc=com',
        '10.44.0.0/255.255.0.0',
      ]
      const { minLength = 0, maxLength = 4096, pattern } = schema
      const fits = (text: string): boolean =>
        text.length <= maxLength && (pattern === undefined || new RegExp(pattern, 'u').test(text))
      return texts.map((text) => text.padEnd(minLength, 'x')).filter(fits)
    }
    case 'map':
      return valuesFor(schema.values, 'value', known).map((value) => ({ some: value }))
    case 'anything':
      return [{ some: 'value' }]
    default:
      return [smallest(schema, name, known)]
  }
}

/** The smallest value that the schema allows. */
function smallest(schema: AnySchema, name: string, known: Known): unknown {
  if (schema.type === 'list') return schema.minItems === undefined ? [] : [smallest(schema.items, name, known)]
  if (schema.type === 'oneOf') return smallestAlternative(schema.alternatives[0]!, known)
  if (schema.type !== 'object') return valuesFor(schema, name, known)[0]
  const address = addresses[shortName(schema)]
  if (address !== undefined) return address
  const required = Object.entries(schema.fields).filter(([, field]) => field.optional !== true)
  return Object.fromEntries(required.map(([field, of]) => [field, smallest(of, field, known)]))
}
const typed = (schema: AnySchema, value: unknown): unknown =>
  schema.type === 'object' && schema.objectType !== undefined
    ? { $objectType: schema.objectType, ...(value as object) }
    : value
const smallestAlternative = (schema: AnySchema, known: Known): unknown => typed(schema, smallest(schema, '', known))

/** `body` with this value in this field; missing objects on the path are created. */
export function placed(schema: AnySchema, body: any, steps: readonly Step[], value: unknown, known: Known): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return value
  if (step === 'item') {
    const list: readonly unknown[] = Array.isArray(body) ? body : []
    return [placed((schema as any).items, list[0], rest, value, known), ...list.slice(1)]
  }
  if ('alternative' in step) {
    const chosen: AnySchema = (schema as any).alternatives[step.alternative]
    const { objectType } = chosen as { objectType?: string }
    const isChosen = body !== undefined && (objectType === undefined || body.$objectType === objectType)
    return placed(chosen, isChosen ? body : smallestAlternative(chosen, known), rest, value, known)
  }
  const whole = body ?? smallest(schema, '', known)
  const field = (schema as any).fields[step.field]
  return { ...whole, [step.field]: placed(field, whole[step.field], rest, value, known) }
}

/** The value of a field, or undefined; of lists the items that hold it, each as a value of its own. */
export function valuesIn(body: any, schema: AnySchema, steps: readonly Step[]): unknown[] {
  if (body === undefined || body === null) return []
  const [step, ...rest] = steps
  if (step === undefined) return [body]
  if (step === 'item')
    return Array.isArray(body) ? body.flatMap((each) => valuesIn(each, (schema as any).items, rest)) : []
  if (typeof step === 'object' && 'alternative' in step) {
    const chosen = (schema as any).alternatives[step.alternative]
    const isOther = chosen.objectType !== undefined && body.$objectType !== chosen.objectType
    return isOther ? [] : valuesIn(body, chosen, rest)
  }
  return valuesIn(body[step.field], (schema as any).fields[step.field], rest)
}

/** Whether `found` contains everything of `sent`; its objects may have more members. */
export function isContained(sent: any, found: any): boolean {
  if (Array.isArray(sent)) return Array.isArray(found) && sent.every((each, index) => isContained(each, found[index]))
  if (typeof sent !== 'object' || sent === null) return sent === found
  if (typeof found !== 'object' || found === null) return false
  return Object.entries(sent).every(([name, value]) => name === '$objectType' || isContained(value, found[name]))
}

/** The fields of an entity that a body may send. */
export function writablePart(schema: AnySchema, value: any): any {
  if (schema.type === 'list' && Array.isArray(value)) return value.map((each) => writablePart(schema.items, each))
  if (schema.type === 'oneOf') {
    const own = schema.alternatives.find((each) => (each as any).objectType === value?.$objectType)
    return own === undefined ? value : typed(own, writablePart(own, value))
  }
  if (schema.type !== 'object' || typeof value !== 'object' || value === null) return value
  const kept = Object.entries(schema.fields).filter(([name, f]) => f.readOnly !== true && value[name] !== undefined)
  return Object.fromEntries(kept.map(([name, field]) => [name, writablePart(field, value[name])]))
}
