/** Addresses are `10.0.0.1`, prefixes `10.0.0.0/24`, references names. No server fields and secrets: seeds are kept in repositories. */
import { type AnySchema, type Fields, type ObjectSchema, type Schema, text } from '@hyperplane/contract'
import { defined } from '../core/defined.ts'
import { chooseAlternative } from '../core/input/validate.ts'
import { type Address, bitsOf, parseAddress, prefixOf, writeAddress } from '../core/ip-address.ts'
import { writeSubnet } from '../domains/networking/ip-subnet.ts'

/** Values of readable schemas have no types: `bodyOf` converts them to a body. */
type Written<F, N extends keyof F> = {
  readonly [K in N]: F[K] extends { readonly optional: true } ? Schema<any> & { readonly optional: true } : Schema<any>
}

export function written<F extends Fields, const N extends keyof F & string>(fields: F, ...chosen: N[]): Written<F, N> {
  return Object.fromEntries(chosen.map((one) => [one, readable(fields[one] as AnySchema)])) as Written<F, N>
}

// `never`: the compiler loses the names of the fields on the way through their entries.
export const allOptional = <F extends Fields>(
  fields: F,
): { readonly [K in keyof F]: F[K] & { readonly optional: true } } =>
  Object.fromEntries(Object.entries(fields).map(([field, schema]) => [field, { ...schema, optional: true }])) as never

export function readable(schema: AnySchema): AnySchema {
  const { defaultsTo: _, immutable: __, since: ___, ...plain } = schema
  const { optional } = schema
  const kept = optional === true ? ({ optional } as const) : {}
  switch (schema.type) {
    case 'uuid':
      return schema.refersTo === undefined
        ? (plain as AnySchema)
        : { ...text({ minLength: 1, maxLength: 512 }), ...kept }
    case 'list':
      return { ...plain, items: readable(schema.items) } as AnySchema
    case 'object':
      return asText(schema) ? { ...addressText(), ...kept } : { type: 'object', fields: fieldsOf(schema), ...kept }
    case 'oneOf':
      return { type: 'object', fields: fieldsOfAny(schema.alternatives as readonly ObjectSchema[]), ...kept }
    default:
      return plain as AnySchema
  }
}

const addressText = () => text({ minLength: 1, maxLength: 255 })
const addressTypes = ['IPv4Address', 'IPv6Address', 'IPAddress', 'IPAddressOrFQDN', 'FQDN']
const prefixTypes = ['IPv4Subnet', 'IPv6Subnet', 'IPSubnet']
const typeName = ({ objectType = '' }: ObjectSchema): string => objectType.replace(/^.*\./, '')
const asText = (schema: ObjectSchema): boolean => [...addressTypes, ...prefixTypes].includes(typeName(schema))

const ofTheServer = new Set(['extId', 'links', 'tenantId'])
const isWritten = ([name, schema]: [string, AnySchema]): boolean =>
  schema.readOnly !== true && schema.secret !== true && !ofTheServer.has(name)

const fieldsOf = ({ fields }: ObjectSchema): Fields =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(isWritten)
      .map(([name, field]) => [name, readable(field)]),
  )

const fieldsOfAny = (alternatives: readonly ObjectSchema[]): Fields =>
  allOptional(Object.assign({}, ...alternatives.map(fieldsOf)))

export interface Names {
  /** @param kind undefined: the contract does not say to which kind the id belongs */
  idOf(kind: string | undefined, name: string, path: string): Promise<string>
  refuse(path: string, message: string): never
  all<T extends readonly unknown[]>(lookups: { readonly [I in keyof T]: () => Promise<T[I]> }): Promise<T>
}

/** Absent fields stay absent; fields that are not in `fields` are left out. */
export async function bodyOf(
  fields: Fields,
  value: object,
  path: string,
  names: Names,
): Promise<Record<string, unknown>> {
  const own = Object.entries(value).filter(
    ([name, item]) => item !== undefined && Object.hasOwn(fields, name) && fields[name]?.readOnly !== true,
  )
  return sentFields(fields, Object.fromEntries(own), path, names)
}

async function sentFields(fields: Fields, value: object, path: string, names: Names): Promise<Record<string, unknown>> {
  const entries = Object.entries(value)
  const sent = await names.all(
    entries.map(([name, item]) => async () => {
      const schema = Object.hasOwn(fields, name) ? fields[name] : undefined
      return schema === undefined ? item : sentOf(schema, item, `${path}.${name}`, names)
    }),
  )
  return Object.fromEntries(entries.map(([name], index) => [name, sent[index]]))
}

/** Names become ids, texts addresses and prefixes. Values in request form, and values that the contract will refuse, stay as they are. */
export async function sentOf(schema: AnySchema, value: unknown, path: string, names: Names): Promise<unknown> {
  switch (schema.type) {
    case 'uuid':
      return typeof value !== 'string' || isUuid(value) ? value : names.idOf(schema.refersTo, value, path)
    case 'list':
      if (!Array.isArray(value)) return value
      return names.all(value.map((item, index) => () => sentOf(schema.items, item, `${path}[${index}]`, names)))
    case 'object':
      if (typeof value === 'string' && asText(schema)) return placeOf(schema, value, path, names)
      return isMapping(value) ? sentFields(schema.fields, value, path, names) : value
    case 'oneOf': {
      const chosen = isMapping(value) ? alternativeFor(schema.alternatives, value, path, names) : undefined
      if (chosen?.type !== 'object') return value
      const fields = await sentFields(chosen.fields, value as object, path, names)
      return { ...defined({ $objectType: chosen.objectType }), ...fields }
    }
    default:
      return value
  }
}

const uuidForm = /^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$/i
/** Ids may have capital letters, as in requests. */
export const isUuid = (text: string): boolean => uuidForm.test(text)
const isMapping = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Chosen as by validation, else the first one that has all fields of the value. */
function alternativeFor(
  alternatives: readonly AnySchema[],
  value: object,
  path: string,
  names: Names,
): AnySchema | undefined {
  const [chosen] = chooseAlternative(alternatives, value)
  if (chosen !== undefined || '$objectType' in value) return chosen
  const objects = alternatives.filter((each): each is ObjectSchema => each.type === 'object')
  const given = Object.keys(value)
  const fitting = objects.find(({ fields }) => given.every((name) => Object.hasOwn(fields, name)))
  if (fitting !== undefined) return fitting
  const sets = objects.map((each) => Object.keys(fieldsOf(each)).join(', '))
  return names.refuse(path, `expected fields that go together (${sets.join('; or ')}), found ${given.join(', ')}`)
}

function placeOf(schema: ObjectSchema, value: string, path: string, names: Names): unknown {
  const type = typeName(schema)
  if (prefixTypes.includes(type)) {
    const subnet = writeSubnet(prefixIn(value, path, names))
    return type === 'IPSubnet' ? subnet : type === 'IPv4Subnet' ? subnet.ipv4 : subnet.ipv6
  }
  const address = type === 'FQDN' ? undefined : (parseAddress('IPV4', value) ?? parseAddress('IPV6', value))
  if (address !== undefined) {
    const written = writeAddress(address)
    return type === 'IPv4Address' ? written.ipv4 : type === 'IPv6Address' ? written.ipv6 : written
  }
  if (type === 'FQDN') return { value }
  if (type === 'IPAddressOrFQDN') return { fqdn: { value } }
  return names.refuse(path, `expected an address, found "${value}"`)
}

/** `10.0.0.0/24`, without host bits. */
export function prefixIn(text: string, path: string, names: Pick<Names, 'refuse'>) {
  const [ip = '', length = ''] = text.split('/')
  const address = parseAddress(ip.includes(':') ? 'IPV6' : 'IPV4', ip)
  const isLength = /^\d{1,3}$/.test(length) && address !== undefined && Number(length) <= bitsOf(address.family)
  const prefix = isLength ? prefixOf(address as Address, Number(length)) : undefined
  if (address === undefined || prefix === undefined || prefix.first !== address.value)
    return names.refuse(path, `expected a prefix without host bits, such as 10.0.0.0/24; found "${text}"`)
  return prefix
}

export function addressIn(text: string, path: string, names: Pick<Names, 'refuse'>, family?: 'IPV4' | 'IPV6'): Address {
  const found =
    (family === 'IPV6' ? undefined : parseAddress('IPV4', text)) ??
    (family === 'IPV4' ? undefined : parseAddress('IPV6', text))
  const what = family === undefined ? 'an address' : family === 'IPV4' ? 'an IPv4 address' : 'an IPv6 address'
  return found ?? names.refuse(path, `expected ${what}, found "${text}"`)
}
