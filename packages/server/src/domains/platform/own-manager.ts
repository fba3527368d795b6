/** The manager that this instance is. Source: behaviour platform.md 4. */
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { notFound } from '../../core/standard.ts'
import type { Reader } from '../../store/store.ts'

export type Manager = DomainManager

/** Its row, which every world has. A restored backup keeps the id of the manager that it was taken from. */
export async function ownManager(store: Reader): Promise<Manager> {
  const own = await store.findOne(DomainManager, { isOwn: true })
  if (own === undefined) throw new Error('the world has no manager of its own')
  return own
}

/** @throws ApiError 404 if the path names another manager, which is managed by itself only */
export function requireOwn(manager: Manager, attribute: string): void {
  if (manager.isOwn !== true) throw notFound(DomainManager, manager.extId, attribute)
}
