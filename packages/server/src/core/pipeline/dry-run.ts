/** Source: conventions 7. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import type { Transaction } from '../../store/store.ts'

export function readOnlyView(transaction: Transaction): Transaction {
  const unchanged = async <R extends AnyResource>(_kind: R, entity: EntityOf<R>): Promise<EntityOf<R>> => entity
  const merged = async <R extends AnyResource>(kind: R, extId: string, changes: object): Promise<EntityOf<R>> =>
    ({ ...(await transaction.get(kind, extId)), ...changes }) as EntityOf<R>
  return {
    kinds: transaction.kinds,
    get: (kind, extId) => transaction.get(kind, extId),
    row: (kind, extId) => transaction.row(kind, extId),
    getMany: (kind, extIds) => transaction.getMany(kind, extIds),
    find: (kind, query) => transaction.find(kind, query),
    page: (kind, query) => transaction.page(kind, query),
    count: (kind, query) => transaction.count(kind, query),
    findOne: (kind, where) => transaction.findOne(kind, where),
    findWhere: (kind, where) => transaction.findWhere(kind, where),
    walk: (kind, walk) => transaction.walk(kind, walk),
    sums: (kind, query) => transaction.sums(kind, query),
    pending: (kind, extId) => transaction.pending(kind, extId),
    referrers: (kind, extId, limit, narrowing) => transaction.referrers(kind, extId, limit, narrowing),
    referrerCounts: (kind, extId, counting) => transaction.referrerCounts(kind, extId, counting),
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
