/** Reads the request of a batch. Bodies are validated when their elements run. Source: behaviour conventions 20. */
import type { Operation } from '@hyperplane/contract'
import type { BatchSpec } from '@hyperplane/contract/platform/batch'
import { ApiError, invalid, type ShapeFault } from '../../core/api-error.ts'
import { parseQueryText, readOptions } from '../../core/input/query.ts'
import type { CanonicalNames } from '../../core/ports.ts'
import type { Router } from '../../core/router.ts'

type Spec = NonNullable<(typeof BatchSpec)['is']>
type Payload = Spec['payload'][number]

export interface Element {
  readonly path: string
  readonly ifMatch?: string
  readonly requestId?: string
  readonly clusterId?: string
  readonly data?: unknown
}

export interface BatchPlan {
  readonly operation: Operation
  readonly method: string
  readonly query: string
  readonly elements: readonly Element[]
}

const methodsOf = { CREATE: ['POST'], ACTION: ['POST'], MODIFY: ['PUT', 'PATCH'], DELETE: ['DELETE'] } as const
const variableForm = /\{([^{}/]+)\}/g
const uuidForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const ignoredHeaders = new Set(['accept', 'content-type'])

/** @throws ApiError 400 with all faults, 501 for an operation that is not implemented */
export function batchPlanOf(spec: Spec, router: Router, names: CanonicalNames): BatchPlan {
  const [below = '', query = ''] = spec.metadata.uri.slice('/api'.length).split(/\?(.*)/s)
  const template = names.path(below.replaceAll(/%24/gi, '$'))
  const { operation, method } = operationOf(spec.metadata.action, template, router)
  const faults = queryFaults(operation, query)
  const elements = spec.payload.map((payload, index) => elementOf(payload, index, template, faults))
  elements.forEach((element, index) => {
    const route = router.route(method, element.path)
    const isSame = route.found === 'operation' && route.operation === operation
    if (!isSame && faults.length === 0)
      faults.push(invalid(`payload[${index}]/metadata/path`, `"${element.path.slice(0, 200)}" is another operation`))
  })
  refuse(faults)
  return { operation, method, query, elements }
}

function operationOf(
  action: Spec['metadata']['action'],
  template: string,
  router: Router,
): { operation: Operation; method: string } {
  const isAction = template.includes('/$actions/')
  const fits = action === 'ACTION' ? isAction : action === 'CREATE' ? !isAction : true
  for (const method of fits ? methodsOf[action] : []) {
    const route = router.route(method, template)
    if (route.found !== 'operation') continue
    const { operation } = route
    if (!operation.mutates || operation.produces !== undefined)
      throw invalid('metadata/uri', 'names a read; a batch only changes things')
    if (operation.form !== undefined) throw invalid('metadata/uri', 'names an operation that takes a form, not JSON')
    if (operation.key === 'platform.submitBatch')
      throw invalid('metadata/uri', 'names the batch operation itself; batches do not nest')
    return { operation, method }
  }
  throw invalid(
    'metadata/uri',
    `no operation answers ${methodsOf[action].join(' or ')} there, as the action ${action} needs`,
  )
}

function queryFaults(operation: Operation, query: string): ApiError[] {
  const faults: ShapeFault[] = []
  readOptions(operation, parseQueryText(query), { unknown: 'refuse', clamped: false }, faults, [])
  return faults.map((fault) => invalid('metadata/uri', `${fault.attributePath} ${fault.message}`))
}

function elementOf(payload: Payload, index: number, template: string, faults: ApiError[]): Element {
  const at = `payload[${index}]/metadata`
  const values = new Map<string, string>()
  for (const { name, value } of payload.metadata?.path ?? []) {
    if (values.has(name)) faults.push(invalid(`${at}/path`, `"${name.slice(0, 80)}" is given twice`))
    else if (value === '') faults.push(invalid(`${at}/path`, `"${name.slice(0, 80)}" is empty`))
    values.set(name, value)
  }
  const variables = new Set([...template.matchAll(variableForm)].map((match) => match[1] as string))
  for (const name of variables)
    if (!values.has(name)) faults.push(invalid(`${at}/path`, `has no value for the variable {${name}} of the uri`))
  for (const name of values.keys())
    if (!variables.has(name)) faults.push(invalid(`${at}/path`, `"${name.slice(0, 80)}" is no variable of the uri`))
  return {
    path: template.replaceAll(variableForm, (_, name: string) => encodeURIComponent(values.get(name) ?? '')),
    ...headersOf(payload, `${at}/headers`, faults),
    ...(payload.data === undefined ? {} : { data: payload.data }),
  }
}

function headersOf(
  payload: Payload,
  at: string,
  faults: ApiError[],
): Pick<Element, 'ifMatch' | 'requestId' | 'clusterId'> {
  const headers: { ifMatch?: string; requestId?: string; clusterId?: string } = {}
  const set = (field: keyof typeof headers, name: string, value: string): void => {
    if (headers[field] !== undefined) faults.push(invalid(at, `${name} is given twice`))
    headers[field] = value
  }
  for (const { name, value } of payload.metadata?.headers ?? []) {
    const lowerCased = name.toLowerCase()
    if (lowerCased === 'if-match') set('ifMatch', name, value)
    else if (lowerCased === 'svc-request-id' || lowerCased === 'ntnx-request-id') {
      if (uuidForm.test(value)) set('requestId', name, value.toLowerCase())
      else faults.push(invalid(at, `${name}: expected a UUID, found "${value.slice(0, 80)}"`))
    } else if (lowerCased === 'x-cluster-id') set('clusterId', name, value)
    else if (!ignoredHeaders.has(lowerCased))
      faults.push(invalid(at, `"${name.slice(0, 80)}" is no header that an element may carry`))
  }
  return headers
}

const maximumFaults = 100

function refuse(faults: readonly ApiError[]): void {
  const [first, ...rest] = faults.slice(0, maximumFaults)
  if (first !== undefined)
    // Every fault was created by `invalid`, so it has these arguments.
    throw new ApiError('INVALID_ARGUMENT', first.appMessage.argumentsMap as never, {
      further: rest.map((fault) => fault.appMessage),
    })
}
