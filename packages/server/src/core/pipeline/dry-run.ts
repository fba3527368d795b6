/** Source: conventions 7. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import type { Transaction } from '../../store/store.ts'
import { readsOf } from './reads.ts'

export function readOnlyView(transaction: Transaction): Transaction {
  const unchanged = async <R extends AnyResource>(_kind: R, entity: EntityOf<R>): Promise<EntityOf<R>> => entity
  const merged = async <R extends AnyResource>(kind: R, extId: string, changes: object): Promise<EntityOf<R>> =>
    ({ ...(await transaction.get(kind, extId)), ...changes }) as EntityOf<R>
  return {
    ...readsOf(transaction),
    insert: unchanged,
    replace: unchanged,
    update: merged,
    observe: merged,
    publish: async () => undefined,
    touch: async () => undefined,
    remove: async () => undefined,
    removeWhere: async () => 0,
  }
}
