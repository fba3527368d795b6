/**
 * Kinds of networking do not queue: what a task changes now is refused to others. The mark is in the row and is written
 * with the task, so that of two requests at once one sees the other's. Source: behaviour networking.md 1.1 (life of a row).
 */
import { ApiError } from '../../core/api-error.ts'

interface Changing {
  readonly name: string
  readonly change?: { readonly taskExtId: string; readonly verb: 'create' | 'update' | 'delete' }
}

/** @throws ApiError 409 ENTITY_BUSY */
export function refuseWhileChanging(kind: string, { name, change }: Changing): void {
  if (change === undefined) return
  const { taskExtId, verb } = change
  throw new ApiError('NETWORKING_ENTITY_BUSY', { kind, name, taskExtId, change: `${verb}d` })
}

/** Of what something is to be added to. @throws ApiError 409 while it comes into being or goes */
export function refuseUnlessStanding(kind: string, entity: Changing): void {
  if (entity.change?.verb !== 'update') refuseWhileChanging(kind, entity)
}
