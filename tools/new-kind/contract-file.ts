import { contract } from '@hyperplane/contract'
import { canonicalType } from '../../packages/server/src/http/profiles/names.ts'
import { type Facts, type FieldFact, kindOf, type OperationFact, pathOf } from './facts.ts'
import { iamName } from './iam-name.ts'

/** Exported name and file of each shape of the contract. */
export type Declared = ReadonlyMap<string, { readonly name: string; readonly file: string }>

const baseFields = new Set(['extId', 'tenantId', 'links'])

const kinds = new Set(contract.flatMap(({ operations }) => operations.flatMap(({ resource }) => resource?.kind ?? [])))

/** `externalSubnetReference` -> `Subnet`. */
function referredKind(name: string): string | undefined {
  const words = /^(.*)(?:Reference|ExtId)s?$/.exec(name)?.[1]?.match(/[A-Z]?[a-z0-9]+/g) ?? []
  const titled = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return titled.map((_, index) => titled.slice(index).join('')).find((kind) => kinds.has(kind))
}

export class ContractFile {
  readonly #facts: Facts
  readonly #declared: Declared
  readonly #roles: ReadonlyMap<string, readonly string[]>
  /** Each after those that it uses. */
  readonly #shapes = new Map<string, string>()
  readonly #imports = new Map<string, Set<string>>()

  constructor(facts: Facts, declared: Declared, roles: ReadonlyMap<string, readonly string[]>) {
    this.#facts = facts
    this.#declared = declared
    this.#roles = roles
  }

  /** @param up path from the file's folder to the root of the contract, `..` */
  text(tag: string, up: string): string {
    const { operations, shape } = kindOf(this.#facts, tag)
    const kind = shape.slice(shape.lastIndexOf('.') + 1)
    const fact = this.#shape(shape)
    const objectType = canonicalType(fact.objectType)
    const verbs = [...new Set(operations.map(verbOf))].sort()
    const resource = `export const ${kind} = resource('${objectType}', {
      fields: {${this.#fields(fact.fields, true)}},
      iam: undecided.attributes,
    })`
    const declarations = operations.map((operation) => this.#operation(operation, kind)).join('\n')
    const imports = [...this.#imports].map(
      ([file, names]) => `import { ${[...names].join(', ')} } from '${up}/${file}'`,
    )
    return `/** Source: catalogue ${this.#facts.specNamespace}.json. */
import { names } from '${up}/names.ts'
import { ${verbs.join(', ')}, resource } from '${up}/operation.ts'
import * as s from '${up}/schema.ts'
${imports.join('\n')}

${[...this.#shapes.values(), resource].join('\n\n')}

export const ${camel(kind)}Operations = {
${declarations}
}
`
  }

  #shape(key: string) {
    const fact = this.#facts.schemas[key]
    if (fact === undefined) throw new Error(`the facts name the shape ${key} without declaring it`)
    return fact
  }

  #fields(fields: readonly FieldFact[], isKind = false): string {
    const own = fields.filter(({ name }) => !(isKind && baseFields.has(name)))
    return own.map((field) => `${field.name}: ${this.#field(field)},`).join('\n')
  }

  #field(field: FieldFact): string {
    const value = this.#value(field.type, field)
    if (field.readOnly === true) return `s.readOnly(${value})`
    const changeable = field.immutable === true ? `s.immutable(${value})` : value
    if (field.default !== undefined) return `s.withDefault(${changeable}, ${JSON.stringify(field.default)})`
    return field.required === true ? changeable : `s.optional(${changeable})`
  }

  #value(type: string, field: FieldFact): string {
    const [, form, inner = ''] = /^(array|map|oneOf)<(.*)>$/.exec(type) ?? []
    if (form === 'array')
      return `s.arrayOf(${this.#value(inner, field)}${rules(field, ['minItems', 'maxItems'], ', ')})`
    if (form === 'map') return `s.mapOf(${this.#value(inner, field)})`
    if (form === 'oneOf')
      return `s.oneOf(${inner
        .split('|')
        .map((each) => this.#value(each, field))
        .join(', ')})`
    const [reference, key = ''] = type.split(':')
    if (reference === 'ref') return this.#reference(key)
    if (reference === 'enum') return `s.enumeration(${JSON.stringify(this.#facts.enums[key] ?? [])})`
    return plainValue(type, field)
  }

  /** Imports the shape if the contract has it, else declares it. */
  #reference(key: string): string {
    const name = key.slice(key.lastIndexOf('.') + 1)
    const fact = this.#facts.schemas[key]
    const declared =
      this.#declared.get(canonicalType(fact?.objectType ?? key)) ??
      this.#declared.get(`common.v1.${key.replace(/^common\./, '')}`)
    if (declared !== undefined) {
      this.#imports.set(declared.file, (this.#imports.get(declared.file) ?? new Set()).add(declared.name))
      return declared.name
    }
    if (fact === undefined) return `undecided.${name}`
    if (!this.#shapes.has(key)) {
      // Reserved first: a shape may contain itself.
      this.#shapes.set(key, '')
      const text = `const ${name} = s.object('${canonicalType(fact.objectType)}', {${this.#fields(fact.fields)}})`
      this.#shapes.delete(key)
      this.#shapes.set(key, text)
    }
    return name
  }

  #operation(operation: OperationFact, kind: string): string {
    const { operationId, method, requestBody, headers } = operation
    const path = pathOf(this.#facts, operation)
    const verb = verbOf(operation)
    const isAction = verb === 'action'
    const { displayName } = this.#iam(operation)
    const use = verb === 'list' || verb === 'get' ? verb : 'do'
    const roles = this.#roles.get(`${displayName} ${use}`) ?? this.#roles.get(`${displayName} do`)
    const options = [
      ...(isAction || !displayName.endsWith(`_${words(kind)}`) ? [`iam: '${displayName}'`] : []),
      `roles: ${roles === undefined ? 'undecided.roles' : listText(roles)}`,
      'rateLimit: undecided.rateLimit',
      ...(isAction ? [`of: ${kind}`] : []),
      ...(isAction && requestBody !== null ? [`body: ${this.#reference(requestBody)}`] : []),
      ...(method !== 'PUT' && headers.some(({ name, required }) => name === 'If-Match' && required)
        ? [`ifMatch: 'required'`]
        : []),
      ...lists(operation),
    ]
    const subject = isAction ? '' : `${kind}, `
    return `${operationId}: ${verb}('${path}', ${subject}{ ${options.join(', ')} }),`
  }

  #iam(operation: OperationFact): { readonly displayName: string; readonly entity: string } {
    const { operationId, method } = operation
    return iamName(`${this.#facts.specNamespace}.${operationId}`, method, pathOf(this.#facts, operation))
  }
}

function verbOf({ method, path }: OperationFact): string {
  if (path.includes('/$actions/')) return 'action'
  if (method === 'GET') return path.endsWith('}') ? 'get' : 'list'
  return { POST: 'create', PUT: 'update', PATCH: 'update', DELETE: 'remove' }[method]
}

const listText = (list: readonly string[]): string => `names('${list.join(', ')}')`

/** An empty list of fields means that the facts do not name them. */
function lists(operation: OperationFact): string[] {
  const given = (word: string, fields: readonly string[] | undefined): string[] =>
    fields === undefined ? [] : [`${word}: ${fields.length === 0 ? `undecided.${word}` : listText(fields)}`]
  const { filterFields, orderbyFields, selectFields, expandFields } = operation
  const expand = (expandFields ?? []).map((field) => `${field}: undecided.expansion`)
  return [
    ...given('filter', filterFields),
    ...given('orderby', orderbyFields),
    ...given('select', selectFields),
    ...(expand.length === 0 ? [] : [`expand: { ${expand.join(', ')} }`]),
  ]
}

function plainValue(type: string, field: FieldFact): string {
  switch (type) {
    case 'string': {
      const kind = referredKind(field.name)
      if (kind !== undefined) return `s.referenceTo('${kind}')`
      return field.format === 'uuid' ? 's.uuid()' : `s.text(${rules(field, ['minLength', 'maxLength'])})`
    }
    case 'integer':
    case 'int64':
      return `s.integer(${rules(field, ['minimum', 'maximum'])})`
    case 'number':
      return `s.number(${rules(field, ['minimum', 'maximum'])})`
    case 'boolean':
      return 's.boolean()'
    case 'date-time':
      return 's.timestamp()'
    default:
      return 's.anything()'
  }
}

function rules(field: FieldFact, names: readonly (keyof FieldFact)[], before = ''): string {
  const given = names.filter((name) => field[name] !== undefined).map((name) => `${name}: ${field[name]}`)
  return given.length === 0 ? '' : `${before}{ ${given.join(', ')} }`
}

const words = (kind: string): string => kind.replace(/(?<=[a-z])(?=[A-Z])/g, '_')
export const kebab = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()
export const camel = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1)
