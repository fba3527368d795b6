import { diskFault } from '../../store/disk-fault.ts'
import { RowMissing, TooManyReferrers, UniqueViolation } from '../../store/store.ts'
import { ApiError, type AppMessage, Refusal, tooManyReferrers } from '../api-error.ts'
import { CancelAccepted, DriverError } from './define-task.ts'
import type { RunnerLog } from './runner-options.ts'

/** Source: conventions 18. */
export function messagesOf(error: unknown, task: string, log: RunnerLog): readonly AppMessage[] {
  if (error instanceof CancelAccepted) return [canceled(error.message)]
  if (error instanceof ApiError) return [error.appMessage, ...error.further]
  if (error instanceof DriverError) {
    if (error.appMessage !== undefined) return [error.appMessage]
    const wrapped = error.retryable
      ? new ApiError('BACKEND_TIMEOUT', { fault: error.message })
      : new ApiError('SERVICE_UNAVAILABLE', { fault: error.message })
    return [wrapped.appMessage]
  }
  if (error instanceof UniqueViolation) {
    const key = (error.error ?? 'ENTITY_ALREADY_EXISTS') as 'ENTITY_ALREADY_EXISTS'
    return [new ApiError(key, { kind: error.kind, fields: error.fields.join(' and ') }).appMessage]
  }
  if (error instanceof TooManyReferrers) return [tooManyReferrers(error).appMessage]
  if (error instanceof RowMissing) {
    return [new ApiError('CONFLICT', { fault: 'The entity was removed while the task waited or ran.' }).appMessage]
  }
  if (error instanceof Refusal) return [new ApiError('CONFLICT', { fault: error.message }).appMessage]
  const fault = diskFault(error)
  if (fault !== undefined) return [new ApiError('SERVICE_UNAVAILABLE', { fault }).appMessage]
  log.error({ err: error, task }, 'a task step failed unexpectedly')
  return [new ApiError('INTERNAL_ERROR', { requestId: task }).appMessage]
}

export const canceled = (message = ''): AppMessage => ({
  message: message === '' ? 'The task was cancelled as requested; what it had done was undone.' : message,
  severity: 'ERROR',
  code: 'TSKS-20905',
  locale: 'en_US',
  errorGroup: 'TASK_CANCELED',
})

export const isCanceled = (failure: readonly AppMessage[]): boolean => failure[0]?.errorGroup === 'TASK_CANCELED'

export const interruptedByStop = (): AppMessage =>
  new ApiError('SERVICE_UNAVAILABLE', { fault: 'The service was stopped before this could end; start it again.' })
    .appMessage

export const warning = (message: string): AppMessage => ({
  message,
  severity: 'WARNING',
  code: 'TSKS-20906',
  locale: 'en_US',
  errorGroup: 'TASK_WARNING',
})
