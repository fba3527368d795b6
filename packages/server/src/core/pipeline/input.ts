/** Steps 7 and 8. Source: conventions 1, 2.4, 3, 6, 11. */

import type { AnySchema, Operation, TaskIdSchema } from '@hyperplane/contract'
import { ApiError, type ShapeFault, ShapeRefusal } from '../api-error.ts'
import { frozen } from '../input/frozen.ts'
import { parseJson } from '../input/json.ts'
import { readForm } from '../input/multipart.ts'
import { type QueryConventions, readQuery } from '../input/query.ts'
import type { RequestInput } from '../input/request-input.ts'
import { readSpooledForm, type SpooledParts } from '../input/spooled-form.ts'
import { type ValidationOptions, type ValidationResult, validateBody, validateText } from '../input/validate.ts'
import type { CanonicalNames } from '../ports.ts'
import { noteRewrite, notingNames } from '../recording/trace.ts'
import type { Call } from './call.ts'
import type { Machinery } from './machinery.ts'
import { checkAccept, checkContentType } from './media.ts'
import type { ApiRequest } from './request.ts'
import type { FoundRoute } from './routes.ts'

const defaultMaximumBody = 1024 * 1024
const uuidSchema = { type: 'uuid' } as const

/** @throws ShapeRefusal with all faults of shape; ApiError 400, 406, 413, 415 */
export async function readInput<D>(
  machinery: Machinery<D>,
  request: ApiRequest,
  route: FoundRoute,
  warnings: string[],
  spooled?: SpooledParts,
): Promise<Call['input']> {
  const { namespace, operation, path, version } = route
  const { names, kinds } = machinery
  checkAccept(request.headers.accept, operation)
  const { readBody: read, onBehalfOf } = request
  const rawBody =
    onBehalfOf !== undefined || read === undefined
      ? onBehalfOf?.body
      : spooled === undefined
        ? await readRawBody(operation, request, read)
        : await readLongBody(machinery, operation, request, read, spooled)
  const conventions: QueryConventions = {
    unknown: request.unknown,
    version,
    clamped: namespace.conventions === 'alpha',
    canonical: request.profile === 'public' ? notingNames(request.trace, names.text) : undefined,
  }
  const faults: ShapeFault[] = []
  const cleanPath = readPath(request, operation, path, names, faults)
  const query = readQuery(operation, request.query, conventions, kinds, faults, warnings)
  const headers = readHeaders(request, operation, faults)
  const { body, defaulted } = readBody(request, operation, rawBody, version, names, faults, warnings)
  if (faults.length > 0) throw new ShapeRefusal(faults)
  const files = spooled === undefined ? {} : { files: spooled.files }
  // Frozen from here on: a step that completes the input makes a new object, so that every step sees the change.
  const input = Object.freeze({
    path: frozen(cleanPath),
    query: Object.freeze(query()),
    body: frozen(body),
    ...(defaulted === undefined ? {} : { defaulted }),
    headers: frozen(headers),
    rawBody,
    ...files,
  })
  if (request.trace !== undefined) request.trace.input = input
  return input
}

async function readRawBody(
  operation: Operation,
  request: ApiRequest,
  read: NonNullable<ApiRequest['readBody']>,
): Promise<unknown> {
  const bytes = await read(operation.maximumBodyBytes ?? defaultMaximumBody)
  if (request.trace !== undefined) request.trace.bytes = bytes
  if (operation.body === undefined || bytes.length === 0) return undefined
  checkContentType(request.headers.contentType, operation)
  return operation.form === undefined
    ? parseJson(bytes)
    : readForm(operation, bytes, request.headers.contentType as string)
}

async function readLongBody<D>(
  { spool }: Machinery<D>,
  operation: Operation,
  request: ApiRequest,
  read: NonNullable<ApiRequest['readBody']>,
  spooled: SpooledParts,
): Promise<unknown> {
  const maximum = Math.min(operation.maximumBodyBytes ?? defaultMaximumBody, spool?.maximumBytes ?? defaultMaximumBody)
  const chunks = (request.openBody?.(maximum) ?? once(read(maximum)))[Symbol.asyncIterator]()
  const first = await chunks.next()
  if (first.done === true || first.value.length === 0) return undefined
  checkContentType(request.headers.contentType, operation)
  return readSpooledForm(operation, allOf(first.value, chunks), request.headers.contentType as string, spooled)
}

async function* once(bytes: Promise<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield await bytes
}

async function* allOf(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* { [Symbol.asyncIterator]: () => rest }
}

function readBody(
  request: ApiRequest,
  operation: Operation,
  rawBody: unknown,
  version: string,
  names: CanonicalNames,
  faults: ShapeFault[],
  warnings: string[],
): { readonly body?: unknown; readonly defaulted?: readonly string[] } {
  if (operation.body === undefined) return {}
  if (rawBody === undefined || rawBody === null) {
    if (operation.bodyRequired) faults.push({ location: 'body', attributePath: '$', message: 'a body is required' })
    return {}
  }
  const result = validateRequestBody(operation, rawBody, { unknown: request.unknown, version, names })
  faults.push(...result.faults)
  warnings.push(...result.warnings)
  return { body: result.value, defaulted: result.defaulted }
}

export function validateRequestBody(
  operation: Operation,
  body: unknown,
  options: Pick<ValidationOptions, 'unknown' | 'version' | 'names'>,
): ValidationResult {
  const sparse = operation.method === 'PATCH' || (operation.verb === 'update' && operation.resource?.sparsePut === true)
  const replaces = operation.verb === 'update'
  return validateBody(operation.body as AnySchema, body, { ...options, sparse, defaults: !sparse, replaces })
}

function readPath(
  request: ApiRequest,
  operation: Operation,
  path: Readonly<Record<string, string>>,
  names: CanonicalNames,
  faults: ShapeFault[],
): Record<string, string> {
  const clean: Record<string, string> = {}
  for (const name in path) {
    const decoded = decodeSegment(path[name] as string)
    const schema = operation.pathSchemas[name] ?? uuidSchema
    const checked =
      schema.type === 'taskId'
        ? taskIdIn(request, schema, decoded, name, names)
        : validateText(schema, decoded, name, 'path')
    if (checked.fault === undefined) clean[name] = String(checked.value)
    else faults.push(checked.fault)
  }
  return clean
}

function taskIdIn(
  { profile, trace }: ApiRequest,
  { isPrefixOptional }: TaskIdSchema,
  text: string,
  name: string,
  names: CanonicalNames,
): ReturnType<typeof validateText> {
  const plain = names.taskId(isPrefixOptional ? 'spec' : profile, text)
  if (plain !== undefined) noteRewrite(trace, 'taskId', text, plain)
  if (plain !== undefined) return validateText(uuidSchema, plain, name, 'path')
  const message = `expected the id of a task, found "${text.slice(0, 80)}", which does not match the regular expression ^ZXJnb24=:<UUID>$`
  return { fault: { location: 'path', attributePath: name, message } }
}

function readHeaders(request: ApiRequest, operation: Operation, faults: ShapeFault[]): RequestInput['headers'] {
  const fault = (attributePath: string, message: string): void =>
    void faults.push({ location: 'header', attributePath, message })
  const headers: { -readonly [Name in keyof RequestInput['headers']]: RequestInput['headers'][Name] } = {}
  const { ifMatch, requestId, clusterId, lastEventId, range } = request.headers
  if (ifMatch !== undefined && ifMatch.trim() !== '') headers.ifMatch = ifMatch.trim()
  if (lastEventId !== undefined) headers.lastEventId = lastEventId
  if (range !== undefined) headers.range = range
  if (operation.mutates) {
    if (request.requestIdsDiffer === true) fault('SVC-Request-Id', 'is given twice with different values')
    if (requestId !== undefined && requestId !== '') {
      const checked = validateText(uuidSchema, requestId, 'SVC-Request-Id', 'header')
      if (checked.fault === undefined) headers.requestId = String(checked.value)
      else faults.push(checked.fault)
    } else if (operation.requestId === 'required' && request.unknown === 'refuse') {
      fault('SVC-Request-Id', 'is required: a UUID that makes a retry safe')
    }
  }
  if (clusterId !== undefined && clusterId !== '') {
    const checked = validateText(uuidSchema, clusterId, 'X-Cluster-Id', 'header')
    if (checked.fault === undefined) headers.clusterId = String(checked.value)
    else if (operation.clusterId !== undefined) faults.push(checked.fault)
  } else if (operation.clusterId === 'required') {
    fault('X-Cluster-Id', 'is required: the id of the target cluster')
  }
  return headers
}

function decodeSegment(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ApiError('MALFORMED_REQUEST', { fault: 'the path has malformed percent-encoding.' })
  }
}
