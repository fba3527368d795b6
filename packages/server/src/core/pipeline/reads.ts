import type { Reader } from '../../store/store.ts'

/** Every read of a store as a plain object: spreading an instance of a class would lose its methods. */
export const readsOf = (reader: Reader): Reader => ({
  kinds: reader.kinds,
  get: (kind, extId) => reader.get(kind, extId),
  has: (kind, extId) => reader.has(kind, extId),
  row: (kind, extId) => reader.row(kind, extId),
  getMany: (kind, extIds) => reader.getMany(kind, extIds),
  find: (kind, query) => reader.find(kind, query),
  findInParts: (kind, query) => reader.findInParts(kind, query),
  page: (kind, query) => reader.page(kind, query),
  count: (kind, query) => reader.count(kind, query),
  findOne: (kind, where) => reader.findOne(kind, where),
  findWhere: (kind, where) => reader.findWhere(kind, where),
  walk: (kind, walk) => reader.walk(kind, walk),
  sums: (kind, query) => reader.sums(kind, query),
  pending: (kind, extId) => reader.pending(kind, extId),
  referrers: (kind, extId, limit, narrowing) => reader.referrers(kind, extId, limit, narrowing),
  referrerCounts: (kind, extId, counting) => reader.referrerCounts(kind, extId, counting),
})
