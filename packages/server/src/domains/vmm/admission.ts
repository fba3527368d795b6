/** Tasks of one VM wait in a queue. Source: behaviour vmm.md 1.0 (serialisation, tasks). */
import { ApiError } from '../../core/api-error.ts'
import type { WriteContext } from '../context.ts'

const longestQueue = 20

/** @returns the number of tasks ahead of a new one @throws ApiError 409 VM_BUSY */
export function requireShortQueue({ services }: Pick<WriteContext, 'services'>, vmExtId: string, name: string): number {
  const waiting = services.runner.queueAhead(vmExtId)
  if (waiting > longestQueue) throw new ApiError('VM_BUSY', { name, reason: `${waiting} operations wait already` })
  return waiting
}

export const describedOperation = (operation: string): string =>
  operation.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/\bVm\b/, 'VM')
