/** Bodies as the journal keeps them: without secrets, up to a length, forms and files by their size alone. */

import type { Operation } from '@hyperplane/contract'
import { BatchSpec } from '@hyperplane/contract/platform/batch'
import type { ApiRequest } from '../../../core/pipeline/request.ts'
import type { CanonicalNames } from '../../../core/ports.ts'
import type { Trace } from '../../../core/recording/trace.ts'
import type { RawAnswer } from '../../../core/reply.ts'
import type { Router } from '../../../core/router.ts'
import { holdsSecrets, redacted, unknownMark } from './concealed.ts'

/** Bytes of one body. */
const maximumBodyBytes = 64 * 1024

export interface BodyText {
  readonly mediaType?: string
  /** Absent: that of the text, which is not empty. */
  readonly sizeBytes?: number
  readonly text?: string
  readonly isCut?: true
}

/** How the bodies of batches are told apart. */
export interface Naming {
  readonly router: Router
  readonly names: CanonicalNames
}

/** undefined: there was none, or it was not read. */
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

/** @param body as it was sent: rendered by the contract, so that it holds no secrets but those that are shown once */
export function answerText(operation: Operation | undefined, body: string, isSuccess: boolean): BodyText {
  const mediaType = 'application/json'
  const showsSecrets = isSuccess && operation?.verb === 'create' && holdsSecrets(operation.answer)
  // To know its size beforehand takes as long as to keep it.
  if (!showsSecrets && body !== '' && isShort(body)) return { mediaType, text: body }
  const sizeBytes = Buffer.byteLength(body)
  if (!showsSecrets) return truncated(body, sizeBytes, mediaType)
  const envelope = JSON.parse(body)
  const data = redacted(operation.answer as NonNullable<Operation['answer']>, envelope.data)
  return truncated(JSON.stringify({ ...envelope, data }), sizeBytes, mediaType)
}

/** A file is told by its size; a short text is kept. */
export function rawText({ contentType, content, contentLength }: RawAnswer): BodyText {
  const keepsText =
    typeof content === 'string' || (content instanceof Uint8Array && /^text\/|[/+](?:json|xml)$/.test(contentType))
  if (keepsText) return truncated(content, Buffer.byteLength(content), contentType)
  const sizeBytes = content instanceof Uint8Array ? content.length : (contentLength ?? 0)
  return { mediaType: contentType, sizeBytes }
}

/** Elements of a batch hold what the operation that they invoke takes. */
const isBatch = ({ body }: Operation): boolean => body === BatchSpec
const mayHoldSecrets = (operation: Operation): boolean => isBatch(operation) || holdsSecrets(operation.body)

function redactedText(
  operation: Operation | undefined,
  text: string | undefined,
  body: unknown,
  naming: Naming,
): string {
  // Of an element whose operation was never found nobody knows what is in it.
  if (operation?.body === undefined || body === undefined) return unknownMark
  if (isBatch(operation)) return JSON.stringify(redactedBatch(body, naming))
  if (!holdsSecrets(operation.body)) return text ?? JSON.stringify(body)
  return JSON.stringify(redacted(operation.body, body))
}

function redactedBatch(body: any, { router, names }: Naming): unknown {
  const elements: unknown[] = Array.isArray(body?.payload) ? body.payload : []
  const uri = String(body?.metadata?.uri ?? '').split('?')[0] as string
  const path = names.path(uri.replace(/^\/api/, ''))
  const invoked = ['POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) => {
    const route = router.route(method, path)
    return route.found === 'operation' && route.operation.body !== undefined ? [route.operation.body] : []
  })
  const [schema] = invoked
  const payload = elements.map((element: any) => {
    if (element?.data === undefined) return element
    const isPlain = schema !== undefined && !invoked.some(holdsSecrets)
    const data = isPlain ? element.data : schema === undefined ? unknownMark : redacted(schema, element.data)
    return { ...element, data }
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

/** No character takes more than three bytes for each of its code units. */
const isShort = (text: string): boolean => text.length * 3 <= maximumBodyBytes

function truncated(content: string | Uint8Array, sizeBytes: number, mediaType: string | undefined): BodyText {
  const told = mediaType === undefined ? { sizeBytes } : { mediaType, sizeBytes }
  if (typeof content === 'string' && isShort(content)) return { ...told, text: content }
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  if (bytes.length <= maximumBodyBytes) return { ...told, text: Buffer.from(bytes).toString() }
  // A character that the border divides is left out.
  const text = new TextDecoder().decode(bytes.subarray(0, maximumBodyBytes), { stream: true })
  return { ...told, text, isCut: true }
}
