import { type ErrorDefinition, type ErrorKey, errorCatalogue } from '@hyperplane/contract/error-catalogue'
import { ApiError } from '../../core/api-error.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import { DirectoryError, type DirectoryFault } from '../../drivers/directory.ts'
import { ObjectStoreError, type ObjectStoreFault } from '../../drivers/object-store.ts'
import { RemoteFault, type RemoteFaultReason } from '../../drivers/remote-managers.ts'
import { WebError, type WebFault } from '../../drivers/web.ts'
import { type driverFaults, matchingErrorKeys } from './names.ts'
import type { Effect, Place } from './rule.ts'
import type { MessageArguments, Strike } from './strike.ts'

type ErrorEffect = Extract<Effect, { error: string }>
type DriverFaultEffect = Extract<Effect, { driverFault: string }>

/** Placeholders that the struck request or task fills; a rule need not give arguments for them. */
const alwaysProvided = ['kind', 'id', 'name', 'operation', 'requestId']
const providedByRequests = ['bucket', 'limit', 'unit']

export function requiredArguments({ message, status }: ErrorDefinition, place: Place): readonly string[] {
  const provided = [
    ...alwaysProvided,
    ...(place === 'request' ? providedByRequests : []),
    ...(status === 429 ? ['seconds'] : []),
  ]
  return placeholdersOf(message).filter((name) => !provided.includes(name))
}

const placeholdersOf = (message: string): readonly string[] =>
  [...message.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string)

export async function errorOf(effect: ErrorEffect | DriverFaultEffect, strike: Strike): Promise<Error> {
  const { place, driver } = strike
  // `faultsOfRule` accepts only faults of the driver that the rule names.
  if ('driverFault' in effect) return driverErrors[driver as keyof typeof driverErrors](effect.driverFault as never)
  const error = apiError(effect, await strike.messageArguments())
  const { isRetryable = false } = effect
  // A step fails permanently with an API error. Callers of drivers expect a DriverError, and so does a retry.
  if (place === 'request' || (place === 'step' && !isRetryable)) return error
  return new DriverError(error.message, { retryable: isRetryable, appMessage: error.appMessage, cause: error })
}

function apiError(
  { error: keyOrCode, arguments: given, retryAfterSeconds }: ErrorEffect,
  fromStrike: MessageArguments,
): ApiError {
  const key = matchingErrorKeys(keyOrCode)[0] as ErrorKey
  const { message, status }: ErrorDefinition = errorCatalogue[key]
  const seconds = retryAfterSeconds ?? (status === 429 ? 1 : undefined)
  const available: MessageArguments = { ...fromStrike, ...(seconds === undefined ? {} : { seconds: String(seconds) }) }
  const shown = Object.fromEntries(placeholdersOf(message).map((name) => [name, available[name] ?? '']))
  // The arguments were checked when the rule was created.
  const error: ApiError = new ApiError(key as 'CONFLICT', { ...shown, ...given } as { fault: string })
  if (seconds !== undefined) error.headers['Retry-After'] = String(seconds)
  if (status === 429 && fromStrike['limit'] !== undefined)
    Object.assign(error.headers, emptyBucketHeaders(fromStrike, String(seconds)))
  return error
}

const emptyBucketHeaders = ({ limit = '', unit }: MessageArguments, seconds: string): Record<string, string> => ({
  'X-Api-Ratelimit-Limit': limit,
  'X-Api-Ratelimit-Remaining': '0',
  'X-Api-Ratelimit-Reset': seconds,
  'X-Api-Ratelimit-Refresh-Period-Seconds': unit === 'minute' ? '60' : '1',
})

const reason = 'injected by a fault rule'
const driverErrors = {
  directory: (fault: DirectoryFault) => new DirectoryError(fault, reason),
  objectStore: (fault: ObjectStoreFault) => new ObjectStoreError(fault, reason),
  remoteManagers: (reason: RemoteFaultReason) => new RemoteFault(reason, reason),
  web: (fault: WebFault) => new WebError(fault, reason),
} satisfies Record<keyof typeof driverFaults, unknown>
