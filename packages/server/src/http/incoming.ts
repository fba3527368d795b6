/** Source: conventions 1 (steps 1, 2), 2.1. */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../core/api-error.ts'
import type { ApiRequest } from '../core/pipeline/request.ts'
import type { Trace } from '../core/recording/trace.ts'
import { canonicalPath, type Profile, profileOf, receivedHeaders } from './profiles/names.ts'
import { clientCertificateOf } from './tls.ts'
import { hasBody, openBody, readBody } from './wire/body.ts'

export const maximumTarget = 16 * 1024
export const maximumHeaderBytes = 32 * 1024
const maximumHeaders = 100

export interface IncomingRequest extends RequestNames {
  readonly api: ApiRequest
}

export interface RequestNames {
  readonly profile: Profile
  readonly requestId: string
}

const headerOf =
  ({ headers }: IncomingMessage) =>
  (name: string): string | undefined => {
    const value = headers[name]
    return Array.isArray(value) ? value[0] : value
  }

/** For a request outside the API, whose path names no profile. */
export function readNames(message: IncomingMessage, fallback: Profile, makeRequestId: () => string): RequestNames {
  const header = headerOf(message)
  const clientId = header(receivedHeaders.spec.requestId) || header(receivedHeaders.public.requestId)
  return { profile: profileOf({ pathProfile: undefined, header, fallback }), requestId: clientId || makeRequestId() }
}

/** @param path in the names of either profile @param traceOf called once, with the canonical path */
export function readRequest(
  message: IncomingMessage,
  path: string,
  query: string,
  fallback: Profile,
  makeRequestId: () => string,
  traceOf: (canonicalPath: string) => Trace | undefined,
): IncomingRequest {
  const canonical = canonicalPath(path)
  const header = headerOf(message)
  const profile = profileOf({ pathProfile: canonical.profile, header, fallback })
  const specId = header(receivedHeaders.spec.requestId) || undefined
  const publicId = header(receivedHeaders.public.requestId) || undefined
  const clientId = specId ?? publicId
  const requestId = clientId ?? makeRequestId()
  const authorization = header('authorization')
  const apiKey = header(receivedHeaders.spec.apiKey) ?? header(receivedHeaders.public.apiKey)
  const certificateCounts = authorization === undefined && apiKey === undefined
  const api: ApiRequest = {
    method: message.method ?? 'GET',
    path: canonical.path,
    query,
    headers: {
      authorization,
      apiKey,
      ifMatch: header('if-match'),
      requestId: clientId,
      clusterId: header('x-cluster-id'),
      contentType: header('content-type'),
      accept: header('accept'),
      lastEventId: header('last-event-id'),
      // Downloads have no entity tag, so that no `If-Range` matches; other methods than GET ignore ranges.
      range: header('if-range') === undefined && message.method === 'GET' ? header('range') : undefined,
    },
    address: message.socket.remoteAddress ?? '',
    certificate: certificateCounts ? clientCertificateOf(message.socket) : undefined,
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

/** False for the version negotiation (OPTIONS), which ignores credentials. */
export const hasCredentials = ({ method, headers, socket }: IncomingMessage): boolean =>
  method !== 'OPTIONS' &&
  (headers.authorization !== undefined ||
    headers[receivedHeaders.spec.apiKey] !== undefined ||
    headers[receivedHeaders.public.apiKey] !== undefined ||
    clientCertificateOf(socket) !== undefined)

/** A malformed head, whatever its target: 400, 414, 417, 431. The connection closes after such an answer. */
export function headFault({ url = '', rawHeaders, headers, httpVersion }: IncomingMessage): ApiError | undefined {
  if (url.length > maximumTarget) return new ApiError('TARGET_TOO_LONG', { maximum: maximumTarget })
  if (rawHeaders.length / 2 > maximumHeaders)
    return new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaders} headers` })
  let bytes = 0
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index++) {
    const text = rawHeaders[index] ?? ''
    bytes += text.length
    if (index % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host') hosts++
  }
  if (bytes > maximumHeaderBytes) return new ApiError('HEADERS_TOO_LARGE', { maximum: `${maximumHeaderBytes} bytes` })
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    return new ApiError('MALFORMED_REQUEST', { fault: `expected one header Host, found ${hosts}.` })
  const { expect } = headers
  if (expect !== undefined && httpVersion === '1.1' && expect.trim().toLowerCase() !== '100-continue')
    return new ApiError('EXPECTATION_FAILED', { found: expect.slice(0, 100) })
  return undefined
}
