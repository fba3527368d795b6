/** A running task makes other requests for its entity 409. Source: behaviour networking.md 1.1 (life of a row). */
import { ApiError } from '../../core/api-error.ts'

interface Changing {
  readonly name: string
  readonly change?: { readonly taskExtId: string; readonly verb: 'create' | 'update' | 'upgrade' | 'delete' }
}

export function refuseWhileChanging(kind: string, { name, change }: Changing): void {
  if (change === undefined) return
  const { taskExtId, verb } = change
  throw new ApiError('NETWORKING_ENTITY_BUSY', { kind, name, taskExtId, change: `${verb}d` })
}

/** For requests that add something to the entity. @throws ApiError 409 while it is being created or deleted */
export function refuseDuringCreationOrDeletion(kind: string, entity: Changing): void {
  if (entity.change?.verb === 'create' || entity.change?.verb === 'delete') refuseWhileChanging(kind, entity)
}
