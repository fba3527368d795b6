/** Request bodies, read within bounds. A refused body leaves the connection open, so that the refusal can be sent on it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ApiError } from '../../core/api-error.ts'

/** A body that is announced with no more than this is read to its end after a refusal, and the connection stays open. */
const smallBodyBytes = 32 * 1024

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** Responses to clients that wait for `100 Continue` before they send their body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/** The client waits: it is told to go on when its body is first read, and never if the request is refused before. */
export function awaitsContinue(message: IncomingMessage, response: ServerResponse): void {
  waiting.set(message, response)
}

function askForBody(message: IncomingMessage): void {
  waiting.get(message)?.writeContinue()
  waiting.delete(message)
}

/** True when more of the body may still come than is worth reading for the sake of the connection. */
export function leavesBodyUnread(message: IncomingMessage): boolean {
  if (message.complete || !hasBody(message)) return false
  return waiting.has(message) || Number(message.headers['content-length'] ?? Infinity) > smallBodyBytes
}

/** @throws ApiError 413 as soon as the body is known to be larger, 400 when the connection ends within it */
export async function readBody(message: IncomingMessage, maximum: number): Promise<Uint8Array> {
  refuseAnnounced(message, maximum)
  askForBody(message)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of piecesOf(message)) {
      size += chunk.length
      if (size > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
      chunks.push(chunk)
    }
  } catch (error) {
    throw asRefusal(error)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

/** The body as it arrives. The maximum holds for what is read, so also for what a compressed body expands to. */
export async function* openBody(message: IncomingMessage, maximum: number): AsyncGenerator<Uint8Array> {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {
      expected: 'the encoding gzip, or none',
      found: encoding.slice(0, 100),
    })
  refuseAnnounced(message, maximum)
  askForBody(message)
  let size = 0
  try {
    for await (const chunk of encoding === 'gzip' ? expanded(message) : piecesOf(message)) {
      size += chunk.length
      if (size > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
      yield chunk
    }
  } catch (error) {
    throw asRefusal(error)
  }
}

function refuseAnnounced({ headers }: IncomingMessage, maximum: number): void {
  if (Number(headers['content-length'] ?? 0) > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
}

/** Without the option, a reader that stops early would destroy the connection. */
const piecesOf = (message: IncomingMessage): AsyncIterable<Buffer> => ({
  [Symbol.asyncIterator]: () => message.iterator({ destroyOnReturn: false }),
})

/** A client that goes away is no fault of this service. */
function asRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('MALFORMED_REQUEST', { fault: 'its body breaks off: the connection ended.' }, { cause: error })
}

async function* expanded(message: IncomingMessage): AsyncGenerator<Buffer> {
  const content = createGunzip()
  // Failures reach the reader of the content. The pieces, not the message itself: a pipeline destroys what it reads from.
  pipeline(piecesOf(message), content, () => undefined)
  try {
    yield* content as AsyncIterable<Buffer>
  } catch {
    throw new ApiError('MALFORMED_REQUEST', {
      fault: 'its body is not compressed as its Content-Encoding says (gzip).',
    })
  }
}
