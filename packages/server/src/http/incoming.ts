/** What a request of HTTP says, in the words of the pipeline. Source: conventions 1 (steps 1, 2), 2.1. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ApiError } from '../core/api-error.ts'
import type { ApiRequest } from '../core/pipeline/request.ts'
import type { Trace } from '../core/trace.ts'
import { apiKeyHeader, canonicalPath, type Profile, profileOf, requestIdHeader } from './profiles/names.ts'
import { clientCertificateOf } from './tls.ts'

export const maximumTarget = 16 * 1024
export const maximumHeaderBytes = 32 * 1024
const maximumHeaders = 100

/** Names of headers as Node spells them. */
const idHeaders = {
  spec: requestIdHeader.spec.toLowerCase(),
  public: requestIdHeader.public.toLowerCase(),
} as const
const keyHeaders = { spec: apiKeyHeader.spec.toLowerCase(), public: apiKeyHeader.public.toLowerCase() } as const

export interface Incoming {
  readonly api: ApiRequest
  readonly profile: Profile
  /** The client's, else one that is made up here: answers carry one in any case. */
  readonly requestId: string
}

/**
 * @param path below /api, in the names of either profile; `query` is the text after `?`
 * @param traceOf asked once, with the path in canonical names; undefined: nobody records the request
 */
export function readRequest(
  message: IncomingMessage,
  path: string,
  query: string,
  fallback: Profile,
  traceOf: (canonicalPath: string) => Trace | undefined,
): Incoming {
  const canonical = canonicalPath(path)
  const { headers } = message
  const header = (name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? value[0] : value
  }
  const profile = profileOf({ pathProfile: canonical.profile, header, fallback })
  // An empty one says nothing.
  const specId = header(idHeaders.spec) || undefined
  const publicId = header(idHeaders.public) || undefined
  const givenId = specId ?? publicId
  const requestId = givenId ?? randomUUID()
  const authorization = header('authorization')
  const apiKey = header(keyHeaders.spec) ?? header(keyHeaders.public)
  const mayCount = authorization === undefined && apiKey === undefined
  const api: ApiRequest = {
    method: message.method ?? 'GET',
    path: canonical.path,
    query,
    headers: {
      authorization,
      apiKey,
      ifMatch: header('if-match'),
      requestId: givenId,
      clusterId: header('x-cluster-id'),
      contentType: header('content-type'),
      accept: header('accept'),
      lastEventId: header('last-event-id'),
    },
    address: message.socket.remoteAddress ?? '',
    certificate: mayCount ? clientCertificateOf(message.socket) : undefined,
    profile,
    unknown: profile === 'spec' ? 'refuse' : 'ignore',
    echoedId: requestId.slice(0, 100),
    requestIdsDiffer: specId !== undefined && publicId !== undefined && specId.toLowerCase() !== publicId.toLowerCase(),
    trace: traceOf(canonical.path),
    readBody: hasBody(message) ? (maximum) => readBody(message, maximum) : undefined,
    openBody: hasBody(message) ? (maximum) => openBody(message, maximum) : undefined,
  }
  return { api, profile, requestId }
}

/** @throws ApiError 414, 431 */
export function checkHead(message: IncomingMessage): void {
  const { url = '', rawHeaders } = message
  if (url.length > maximumTarget) throw new ApiError('TARGET_TOO_LONG', { maximum: maximumTarget })
  if (rawHeaders.length / 2 > maximumHeaders)
    throw new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaders} headers` })
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  if (bytes > maximumHeaderBytes) throw new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaderBytes} bytes` })
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

async function readBody(message: IncomingMessage, maximum: number): Promise<Uint8Array> {
  const declared = Number(message.headers['content-length'] ?? 0)
  if (declared > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
      chunks.push(chunk)
    }
  } catch (error) {
    throw toldAs(error)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

/** As it arrives. The bound is that of what is read, so also of what a compressed body expands to. */
async function* openBody(message: IncomingMessage, maximum: number): AsyncGenerator<Uint8Array> {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {
      expected: 'the encoding gzip, or none',
      found: encoding.slice(0, 100),
    })
  if (Number(message.headers['content-length'] ?? 0) > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
  let size = 0
  try {
    for await (const chunk of encoding === 'gzip' ? expanded(message) : (message as AsyncIterable<Buffer>)) {
      size += chunk.length
      if (size > maximum) throw new ApiError('BODY_TOO_LARGE', { maximum })
      yield chunk
    }
  } catch (error) {
    throw toldAs(error)
  }
}

/** That a client goes away is no fault of this service. */
function toldAs(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('MALFORMED_REQUEST', { fault: 'its body breaks off: the connection ended.' }, { cause: error })
}

async function* expanded(message: IncomingMessage): AsyncGenerator<Buffer> {
  // What goes wrong is told to whoever reads.
  const content = pipeline(message, createGunzip(), () => undefined)
  try {
    yield* content as AsyncIterable<Buffer>
  } catch {
    throw new ApiError('MALFORMED_REQUEST', {
      fault: 'its body is not compressed as its Content-Encoding says (gzip).',
    })
  }
}
