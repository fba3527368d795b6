/** Bodies as the journal stores them: without secrets and up to a maximum size; only the size of forms and files. */

import type { Operation } from '@hyperplane/contract'
import { BatchSpec } from '@hyperplane/contract/platform/batch'
import { secretDetails, Task } from '@hyperplane/contract/platform/task'
import type { ApiRequest } from '../../../core/pipeline/request.ts'
import type { CanonicalNames } from '../../../core/ports.ts'
import type { Trace } from '../../../core/recording/trace.ts'
import type { RawAnswer } from '../../../core/reply.ts'
import type { Router } from '../../../core/router.ts'
import type { SentBody } from '../protocol.ts'
import { holdsSecrets, redacted, secretMark, unknownMark } from './redaction.ts'

const maximumBodyBytes = 64 * 1024

export interface BodyText {
  readonly mediaType?: string
  readonly sizeBytes: number
  readonly text?: string
  readonly isCut?: true
}

/** Finds the operation that the elements of a batch invoke, and with it the schema of their bodies. */
export interface Naming {
  readonly router: Router
  readonly names: CanonicalNames
}

export function requestText(request: ApiRequest, trace: Trace, naming: Naming): BodyText | undefined {
  const { operation, bytes } = trace
  const { onBehalfOf } = request
  if (onBehalfOf !== undefined) {
    if (onBehalfOf.body === undefined) return undefined
    const text = JSON.stringify(onBehalfOf.body)
    return truncated(
      redactedText(operation, text, onBehalfOf.body, naming),
      Buffer.byteLength(text),
      'application/json',
    )
  }
  if (bytes === undefined || bytes.length === 0) return undefined
  const mediaType = request.headers.contentType?.slice(0, 200)
  if (operation?.form !== undefined || operation?.body === undefined) return { mediaType, sizeBytes: bytes.length }
  if (!mayHoldSecrets(operation)) return truncated(bytes, bytes.length, mediaType)
  return truncated(
    redactedText(operation, undefined, trace.input?.rawBody ?? parsed(bytes), naming),
    bytes.length,
    mediaType,
  )
}

/** @param body the contract renders no secrets except those that a creation shows once @param bytes of the body, if encoded already */
export function sentBody(body: string, bytes: Uint8Array | undefined): SentBody {
  if (bytes === undefined && isShort(body)) return { text: body }
  const encoded = bytes ?? Buffer.from(body)
  return { text: body, kept: encoded.subarray(0, keptLength(encoded)), sizeBytes: encoded.length, sent: encoded }
}

/** For an answer with secrets. */
export function redactedAnswer(operation: Operation, body: string): BodyText {
  const envelope = JSON.parse(body)
  const data = redacted(operation.answer as NonNullable<Operation['answer']>, envelope.data)
  return truncated(JSON.stringify({ ...envelope, data }), Buffer.byteLength(body), 'application/json')
}

export const showsSecrets = (operation: Operation | undefined): operation is Operation =>
  operation?.verb === 'create' && holdsSecrets(operation.answer)

const searched = new WeakMap<Uint8Array, boolean>()

/** The task is shown to its owner, with a secret. @param bytes of the body; the same object for polling clients is searched once */
export function holdsSecretDetails(operation: Operation | undefined, body: string, bytes?: Uint8Array): boolean {
  if (operation?.resource !== Task) return false
  const cached = bytes && searched.get(bytes)
  if (cached !== undefined) return cached
  const isFound = secretDetails.some((name) => body.includes(JSON.stringify(name)))
  if (bytes !== undefined) searched.set(bytes, isFound)
  return isFound
}

export function withoutSecretDetails(body: string): BodyText {
  const text = JSON.stringify(JSON.parse(body), (_, value) =>
    secretDetails.includes(value?.name) && 'value' in value ? { ...value, value: secretMark } : value,
  )
  return truncated(text, Buffer.byteLength(body), 'application/json')
}

export function rawText({ contentType, content, contentLength }: RawAnswer): BodyText {
  const keepsText =
    typeof content === 'string' || (content instanceof Uint8Array && /^text\/|[/+](?:json|xml)$/.test(contentType))
  if (keepsText) return truncated(content, Buffer.byteLength(content), contentType)
  const sizeBytes = content instanceof Uint8Array ? content.length : (contentLength ?? 0)
  return { mediaType: contentType, sizeBytes }
}

/** Elements of a batch are bodies of the operation that the batch invokes, and may hold its secrets. */
const isBatch = ({ body }: Operation): boolean => body === BatchSpec
const mayHoldSecrets = (operation: Operation): boolean => isBatch(operation) || holdsSecrets(operation.body)

function redactedText(
  operation: Operation | undefined,
  text: string | undefined,
  body: unknown,
  naming: Naming,
): string {
  // Without an operation there is no schema that says which fields are secrets.
  if (operation?.body === undefined || body === undefined) return unknownMark
  if (isBatch(operation)) return JSON.stringify(redactedBatch(body as UncheckedBatch | null, naming))
  if (!holdsSecrets(operation.body)) return text ?? JSON.stringify(body)
  return JSON.stringify(redacted(operation.body, body))
}

interface UncheckedBatch {
  readonly metadata?: { readonly uri?: unknown } | null
  readonly payload?: unknown
}

function redactedBatch(body: UncheckedBatch | null, { router, names }: Naming): unknown {
  const elements: unknown[] = Array.isArray(body?.payload) ? body.payload : []
  const uri = String(body?.metadata?.uri ?? '').split('?')[0] as string
  const path = names.path(uri.replace(/^\/api/, ''))
  const invoked = ['POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) => {
    const route = router.route(method, path)
    return route.found === 'operation' && route.operation.body !== undefined ? [route.operation.body] : []
  })
  const [schema] = invoked
  const payload = elements.map((element) => {
    const data = (element as { readonly data?: unknown } | null)?.data
    if (data === undefined) return element
    const isPlain = schema !== undefined && !invoked.some(holdsSecrets)
    const shown = isPlain ? data : schema === undefined ? unknownMark : redacted(schema, data)
    return { ...(element as object), data: shown }
  })
  return { ...body, payload }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
  } catch {
    return undefined
  }
}

const isShort = (text: string): boolean => text.length * 3 <= maximumBodyBytes

function truncated(content: string | Uint8Array, sizeBytes: number, mediaType: string | undefined): BodyText {
  const size = mediaType === undefined ? { sizeBytes } : { mediaType, sizeBytes }
  if (typeof content === 'string' && isShort(content)) return { ...size, text: content }
  const bytes =
    typeof content === 'string' ? Buffer.from(content) : Buffer.from(content.buffer, content.byteOffset, content.length)
  const length = keptLength(bytes)
  return { ...size, text: bytes.toString('utf8', 0, length), ...(length < bytes.length ? { isCut: true } : {}) }
}

/** Without a character that would be cut at the end. */
function keptLength(bytes: Uint8Array): number {
  if (bytes.length <= maximumBodyBytes) return bytes.length
  let length = maximumBodyBytes
  while (isContinuation(bytes[length]) && length > maximumBodyBytes - longestCharacter) length--
  return length
}

const longestCharacter = 4
const isContinuation = (byte = 0): boolean => (byte & 0b1100_0000) === 0b1000_0000
