/** Bounded request bodies. A refused body leaves the connection open, so that the refusal can be sent. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ApiError } from '../../core/api-error.ts'

/** After a refusal, a body up to this length is read, so that the connection can stay open. */
const smallBodyBytes = 32 * 1024

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** Clients that wait for `100 Continue`. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>()

/** Sends `100 Continue` when the body is first read: not for a request that is refused before. */
export function deferContinue(message: IncomingMessage, response: ServerResponse): void {
  waiting.set(message, response)
}

function sendContinue(message: IncomingMessage): void {
  waiting.get(message)?.writeContinue()
  waiting.delete(message)
}

/** The unread rest is too long to read it only to keep the connection. */
export function leavesBodyUnread(message: IncomingMessage): boolean {
  if (message.complete || !hasBody(message)) return false
  return waiting.has(message) || Number(message.headers['content-length'] ?? Infinity) > smallBodyBytes
}

/** @throws ApiError 413 as soon as the length is known; 400 when the connection ends within the body */
export async function readBody(message: IncomingMessage, maximum: number): Promise<Uint8Array> {
  refuseLength(message, maximum)
  sendContinue(message)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of chunksOf(message)) {
      size += chunk.length
      if (size > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
      chunks.push(chunk)
    }
  } catch (error) {
    throw asRefusal(error)
  }
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

/** Chunks as they arrive. The maximum limits the decompressed bytes. */
export async function* openBody(message: IncomingMessage, maximum: number): AsyncGenerator<Uint8Array> {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {
      expected: 'the encoding gzip, or none',
      found: encoding.slice(0, 100),
    })
  refuseLength(message, maximum)
  sendContinue(message)
  let size = 0
  try {
    for await (const chunk of encoding === 'gzip' ? decompressed(message) : chunksOf(message)) {
      size += chunk.length
      if (size > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
      yield chunk
    }
  } catch (error) {
    throw asRefusal(error)
  }
}

function refuseLength({ headers }: IncomingMessage, maximum: number): void {
  if (Number(headers['content-length'] ?? 0) > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
}

/** Without `destroyOnReturn: false`, a reader that stops early would destroy the connection. */
const chunksOf = (message: IncomingMessage): AsyncIterable<Buffer> => ({
  [Symbol.asyncIterator]: () => message.iterator({ destroyOnReturn: false }),
})

function asRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('MALFORMED_REQUEST', { fault: 'its body breaks off: the connection ended.' }, { cause: error })
}

async function* decompressed(message: IncomingMessage): AsyncGenerator<Buffer> {
  const content = createGunzip()
  // `pipeline` destroys its source: give it the chunks, not the message. Its errors reach the reader of `content`.
  pipeline(chunksOf(message), content, () => undefined)
  try {
    yield* content
  } catch {
    throw new ApiError('MALFORMED_REQUEST', {
      fault: 'its body is not compressed as its Content-Encoding says (gzip).',
    })
  }
}
