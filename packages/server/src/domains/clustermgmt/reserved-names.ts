import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { type Transaction, UniqueViolation } from '../../store/store.ts'

/** A request that waits for its task may have reserved the name: then that task fails, and the monitor inserts the row. */
export async function insertUnlessReserved<R extends AnyResource>(
  store: Transaction,
  kind: R,
  entity: EntityOf<R>,
): Promise<void> {
  try {
    await store.insert(kind, entity)
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  }
}
