import { isRequiredIn, type ObjectSchema, type Operation } from '@hyperplane/contract'
import { LRUCache } from 'lru-cache'
import {
  and,
  checkApply,
  checkExpand,
  checkFilter,
  checkOrderby,
  checkSelect,
  type FilterRules,
  ODataFault,
  parseApply,
  parseExpand,
  parseFilter,
  parseOrderby,
  parseSelect,
} from '../../odata/index.ts'
import { ApiError, type ShapeFault } from '../api-error.ts'
import type { Kinds } from '../ports.ts'
import { frozen } from './frozen.ts'
import type { ExpandOption, QueryOptions } from './request-input.ts'
import { validateText } from './validate.ts'

export interface QueryConventions {
  readonly unknown: 'refuse' | 'ignore'
  readonly version?: string
  /** Instead of a refusal (storage v4.0.a3). */
  readonly clamped: boolean
  readonly canonical?: FilterRules['canonical'] | undefined
}

/** Faults of shape go to `faults`; else call the result, which parses expressions. @throws ApiError 400 for bad percent-encoding */
export function readQuery(
  operation: Operation,
  text: string,
  conventions: QueryConventions,
  kinds: Kinds,
  faults: ShapeFault[],
  warnings: string[],
): () => QueryOptions {
  const plain = text === '' ? withoutQuery(operation) : undefined
  if (plain !== undefined) return plain
  const { version, clamped, unknown, canonical } = conventions
  const key = `${operation.key} ${version} ${clamped} ${unknown} ${canonical !== undefined} ${text}`
  const latest = latestQueries.get(key)
  if (latest !== undefined && latest.operation === operation && latest.kinds === kinds) {
    for (const [vocabulary, name] of latest.names) canonical?.(vocabulary, name)
    warnings.push(...latest.warnings)
    return () => latest.query
  }
  const names: Parameters<Canonical>[] = []
  const noting: Canonical | undefined =
    canonical &&
    ((...name) => {
      names.push(name)
      return canonical(...name)
    })
  const ownWarnings: string[] = []
  const options = readOptions(operation, parseQueryText(text), conventions, faults, ownWarnings)
  return () => {
    const query = frozen(readExpressions(operation, options, { ...conventions, canonical: noting }, kinds, ownWarnings))
    warnings.push(...ownWarnings)
    latestQueries.set(key, { operation, kinds, query, names, warnings: ownWarnings })
    return query
  }
}

type Canonical = NonNullable<FilterRules['canonical']>

interface CheckedQuery {
  readonly operation: Operation
  readonly kinds: Kinds
  readonly query: QueryOptions
  /** Given to `conventions.canonical`, which may note them for the journal. */
  readonly names: readonly Parameters<Canonical>[]
  readonly warnings: readonly string[]
}

/** Clients that poll repeat their queries. Equal texts give the same object, a key for further caches. */
const latestQueries = new LRUCache<string, CheckedQuery>({
  maxSize: 256 * 1024,
  maxEntrySize: 16 * 1024,
  sizeCalculation: (_, key) => key.length,
})

function withoutQuery(operation: Operation): (() => QueryOptions) | undefined {
  let cached = plainQueries.get(operation)
  if (cached === undefined) {
    const faults: ShapeFault[] = []
    const { page, limit, dryRun, parameters } = readOptions(operation, [], defaultConventions, faults, [])
    const query = Object.freeze({ page, limit, dryRun, parameters: Object.freeze(parameters), expand: [] })
    cached = faults.length > 0 ? null : () => query
    plainQueries.set(operation, cached)
  }
  return cached ?? undefined
}
const plainQueries = new WeakMap<Operation, (() => QueryOptions) | null>()
const defaultConventions: QueryConventions = { unknown: 'refuse', clamped: false }

/** @throws ApiError 400 for malformed percent-encoding */
export function parseQueryText(text: string): [name: string, value: string][] {
  if (text === '') return []
  return text
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=')
      const decode = (piece: string): string => {
        try {
          return decodeURIComponent(piece.replaceAll('+', ' '))
        } catch {
          throw new ApiError('MALFORMED_REQUEST', { fault: 'the query has malformed percent-encoding.' })
        }
      }
      return at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))]
    })
}

const maximumParameters = 100

interface Texts {
  readonly texts: ReadonlyMap<string, string>
  readonly page: number
  readonly limit: number
  readonly dryRun: boolean
  readonly parameters: Readonly<Record<string, unknown>>
}

const accepts = (operation: Operation, option: string): boolean =>
  (operation.paged && (option === '$page' || option === '$limit')) ||
  (option === '$filter' && operation.filter !== undefined) ||
  (option === '$orderby' && operation.orderby !== undefined) ||
  (option === '$select' && operation.select !== undefined) ||
  (option === '$expand' && operation.expand !== undefined) ||
  (option === '$apply' && operation.apply !== undefined) ||
  (option === '$dryrun' && operation.dryRun) ||
  Object.hasOwn(operation.query, option)

export function readOptions(
  operation: Operation,
  given: readonly (readonly [string, string])[],
  conventions: QueryConventions,
  faults: ShapeFault[],
  warnings: string[],
): Texts {
  const texts = new Map<string, string>()
  const fault = (name: string, message: string): void =>
    void faults.push({ location: 'query', attributePath: name, message })
  if (given.length > maximumParameters)
    fault('', `expected at most ${maximumParameters} parameters, found ${given.length}`)
  for (const [name, value] of given.slice(0, maximumParameters)) {
    const shown = name.slice(0, 80)
    if (!accepts(operation, name)) {
      // An ignored `$dryrun` would change what the caller wanted left alone.
      if (conventions.unknown === 'refuse' || name === '$dryrun') fault(shown, 'is not an option of this operation')
      else warnings.push(`The option ${shown} is not known to this operation and was ignored.`)
    } else if (texts.has(name)) {
      fault(shown, 'is given twice')
    } else {
      texts.set(name, value)
    }
  }

  const page = pageNumber(texts.get('$page'), conventions.clamped, faults)
  const limit = pageSize(texts.get('$limit'), conventions.clamped, faults)
  const dryRunText = texts.get('$dryrun')
  if (dryRunText !== undefined && dryRunText !== 'true' && dryRunText !== 'false')
    fault('$dryrun', `expected true or false, found "${dryRunText.slice(0, 80)}"`)

  const parameters: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(operation.query)) {
    const text = texts.get(name)
    if (text === undefined) {
      if (schema.optional !== true || isRequiredIn(schema, conventions.version)) fault(name, 'is required')
      else if (schema.defaultsTo !== undefined) parameters[name] = schema.defaultsTo
      continue
    }
    const checked = validateText(schema, text, name, 'query')
    if (checked.fault === undefined) parameters[name] = checked.value
    else faults.push(checked.fault)
  }
  return { texts, page, limit, dryRun: dryRunText === 'true', parameters }
}

function pageNumber(text: string | undefined, clamped: boolean, faults: ShapeFault[]): number {
  if (text === undefined) return 0
  const checked = validateText(
    { type: 'integer', minimum: clamped ? -2147483648 : 0, maximum: 2147483647 },
    text,
    '$page',
    'query',
  )
  if (checked.fault !== undefined) faults.push(checked.fault)
  return Math.max(0, Number(checked.value ?? 0))
}

function pageSize(text: string | undefined, clamped: boolean, faults: ShapeFault[]): number {
  if (text === undefined) return 50
  const rule = clamped ? { type: 'integer' as const } : { type: 'integer' as const, minimum: 1, maximum: 100 }
  const checked = validateText(rule, text, '$limit', 'query')
  if (checked.fault !== undefined) faults.push(checked.fault)
  const limit = Number(checked.value ?? 50)
  return clamped && (limit < 0 || limit > 100) ? 100 : limit
}

export const itemSchemaOf = (operation: Operation): ObjectSchema | undefined => {
  const answer = operation.answer?.type === 'list' ? operation.answer.items : operation.answer
  return answer?.type === 'object' ? answer : operation.resource?.schema
}

/** @throws ApiError 400 PLAT-10010 */
export function readExpressions(
  operation: Operation,
  options: Texts,
  conventions: QueryConventions,
  kinds: Kinds,
  warnings: string[],
): QueryOptions {
  const { texts, page, limit, dryRun, parameters } = options
  const schema = itemSchemaOf(operation)
  const given = (name: string): string | undefined => texts.get(name)
  const { canonical } = conventions
  const lenient = conventions.unknown === 'ignore'
  try {
    const filter = given('$filter')
    const orderby = given('$orderby')
    const select = Object.hasOwn(operation.query, '$select') ? undefined : given('$select')
    const expand = given('$expand')
    const apply = given('$apply')
    const selection =
      select === undefined || schema === undefined
        ? undefined
        : checkSelect(parseSelect(select), { fields: operation.select ?? 'any', schema, lenient })
    for (const name of selection?.ignored ?? []) warnings.push(`$select: ${name} is not a field here and was ignored.`)
    if (apply !== undefined && (select !== undefined || expand !== undefined)) {
      throw new ODataFault({
        option: '$apply',
        position: 1,
        found: '$select or $expand',
        expected: '$apply alone',
        message: '$apply excludes $select and $expand',
      })
    }
    const grouping =
      apply === undefined || schema === undefined
        ? undefined
        : checkApply(parseApply(apply), {
            fields: operation.apply ?? [],
            filterFields: operation.filter ?? [],
            schema,
            canonical,
          })
    const filterOption =
      filter === undefined || schema === undefined
        ? undefined
        : checkFilter(parseFilter(filter), { fields: operation.filter ?? [], schema, canonical })
    const combinedFilter =
      filterOption === undefined
        ? grouping?.filter
        : grouping === undefined
          ? filterOption
          : and(filterOption, grouping.filter)
    return {
      page,
      limit,
      dryRun,
      parameters,
      expand: expand === undefined ? [] : readExpand(operation, expand, kinds, lenient),
      filter: combinedFilter,
      orderby:
        orderby === undefined || schema === undefined
          ? undefined
          : checkOrderby(parseOrderby(orderby), { fields: operation.orderby ?? [], schema }),
      select: selection,
      groupby: grouping?.groupby,
    }
  } catch (error) {
    if (!(error instanceof ODataFault)) throw error
    throw new ApiError(
      'INVALID_ODATA_EXPRESSION',
      { option: error.option, position: error.position, fault: error.message },
      { extra: { found: error.found, expected: error.expected } },
    )
  }
}

function readExpand(operation: Operation, text: string, kinds: Kinds, lenient: boolean): ExpandOption[] {
  const items = checkExpand(parseExpand(text), { names: Object.keys(operation.expand ?? {}) })
  return items.map((item) => {
    const declared = operation.expand?.[item.name] ?? {}
    const target = declared.kind === undefined ? undefined : kinds.resource(declared.kind)
    const shape = target?.schema ?? (declared.shape?.type === 'object' ? declared.shape : undefined)
    const lists = target === undefined ? undefined : kinds.listOf(target.kind)
    const fields = (listed: readonly string[] | undefined): readonly string[] => listed ?? scalarFields(shape)
    return {
      name: item.name,
      filter:
        item.filter === undefined || shape === undefined
          ? undefined
          : checkFilter(item.filter, { fields: fields(lists?.filter), schema: shape, option: '$expand' }),
      orderby:
        item.orderby === undefined || shape === undefined
          ? undefined
          : checkOrderby(item.orderby, { fields: fields(lists?.orderby), schema: shape }),
      select:
        item.select === undefined || shape === undefined
          ? undefined
          : checkSelect(item.select, { fields: lists?.select ?? 'any', schema: shape, lenient, option: '$expand' }),
    }
  })
}

const scalarFields = (schema: ObjectSchema | undefined): readonly string[] =>
  Object.entries(schema?.fields ?? {})
    .filter(([, field]) => !['list', 'object', 'oneOf', 'map', 'anything'].includes(field.type))
    .map(([name]) => name)
