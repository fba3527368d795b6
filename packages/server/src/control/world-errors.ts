import { ApiError } from '../core/api-error.ts'
import { unusableBecause } from '../worlds/unusable.ts'

export async function orWorldUnusable<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('WORLD_UNUSABLE', { name, fault: unusableBecause(error) }, { cause: error })
  }
}

export function worldClosedError(name: string): ApiError {
  const fault = `The world ${name} is being reset or deleted: repeat the request in a moment.`
  const error = new ApiError('SERVICE_UNAVAILABLE', { fault })
  error.headers['Retry-After'] = '1'
  return error
}
