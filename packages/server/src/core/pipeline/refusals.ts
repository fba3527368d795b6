/** Translates errors for clients, and audits requests without effect. Source: conventions 11, 21. */

import type { Namespace, Operation } from '@hyperplane/contract'
import { diskFault } from '../../store/disk-fault.ts'
import { QueryStopped, RowMissing, TooManyReferrers, UniqueViolation } from '../../store/store.ts'
import { ApiError, inTermsOf, Refusal, tooManyReferrers } from '../api-error.ts'
import type { Caller } from '../caller.ts'
import { DriverError } from '../tasks/define-task.ts'
import type { Machinery } from './machinery.ts'
import type { ApiRequest } from './request.ts'

export const denied = (operation: Operation, reason = ''): ApiError =>
  new ApiError('ACCESS_DENIED', { operation: operation.iamOperation, reason })

export const inWordsOfClients = (error: unknown, namespace: Namespace | undefined): unknown =>
  inTermsOf(namespace?.name, translate(error))

function translate(error: unknown): unknown {
  if (error instanceof UniqueViolation) {
    const key = (error.error ?? 'ENTITY_ALREADY_EXISTS') as 'ENTITY_ALREADY_EXISTS'
    return new ApiError(key, { kind: error.kind, fields: error.fields.join(' and ') }, { cause: error })
  }
  if (error instanceof TooManyReferrers) return tooManyReferrers(error)
  if (error instanceof RowMissing)
    return new ApiError('CONFLICT', { fault: 'The entity is being removed.' }, { cause: error })
  if (error instanceof QueryStopped) return stoppedQueryRefusal(error)
  if (error instanceof DriverError) return driverRefusal(error)
  return diskRefusal(error) ?? error
}

function diskRefusal(error: unknown): ApiError | undefined {
  if (error instanceof Refusal) return undefined
  const fault = diskFault(error)
  if (fault === undefined) return undefined
  const refusal = new ApiError(
    'SERVICE_UNAVAILABLE',
    { fault: `${fault} Nothing was changed: free room on it, then ask again.` },
    { cause: error },
  )
  refusal.headers['Retry-After'] = '5'
  return refusal
}

function driverRefusal(error: DriverError): ApiError {
  if (error.cause instanceof ApiError) return error.cause
  const key = error.retryable ? 'BACKEND_TIMEOUT' : 'SERVICE_UNAVAILABLE'
  return new ApiError(key, { fault: error.message }, { cause: error })
}

function stoppedQueryRefusal(error: QueryStopped): ApiError {
  const faults = {
    'too long':
      'The query took longer than one query may and was stopped. Narrow it: compare listed fields with eq or in first, and order by fewer of them.',
    busy: 'Too many slow queries wait. Ask again, or narrow the query.',
    closing: 'The service is stopping. Ask again.',
  }
  const refusal = new ApiError('SERVICE_UNAVAILABLE', { fault: faults[error.why] }, { cause: error })
  // No Retry-After for a query that ran too long: it would do so again.
  if (error.why !== 'too long') refusal.headers['Retry-After'] = '5'
  return refusal
}

export const credentialOf = (caller: Caller): string =>
  caller.credentialId === undefined ? caller.credential : `${caller.credential} ${caller.credentialId}`

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi

export const auditedId = ({ echoedId, headers }: ApiRequest, own: string | undefined): string | undefined =>
  own ?? echoedId ?? headers.requestId

export async function auditRefusal<D>(
  { audit, access, log }: Machinery<D>,
  request: ApiRequest,
  operation: Operation | undefined,
  caller: Caller | undefined,
  refusal: unknown,
): Promise<void> {
  const { authorization, apiKey } = request.headers
  const isAttempt = authorization !== undefined || apiKey !== undefined || request.certificate !== undefined
  if (caller === undefined && !isAttempt) return
  const status = refusal instanceof Refusal ? refusal.status : 500
  if (status === 429) return
  const isDenied = status === 403 && operation !== undefined && caller !== undefined
  const decision = isDenied
    ? await Promise.resolve(access.explain(caller, operation)).catch(() => undefined)
    : undefined
  await audit
    .writeAlone({
      caller,
      credential: caller === undefined ? 'failed' : credentialOf(caller),
      address: request.address,
      operation: operation?.key ?? request.path.slice(0, 200),
      status,
      requestId: auditedId(request, request.onBehalfOf?.requestId),
      target: request.path.match(uuids)?.at(-1)?.toLowerCase(),
      code: refusal instanceof ApiError ? refusal.appMessage.code : undefined,
      decision,
    })
    .catch((error) => log.error({ err: error }, 'a refusal could not be audited'))
}
