import type { Ids } from '../caller.ts'

/** Version 4 UUIDs from one prefix and a counter: reproducible, without a hash for each request. Not secret. */
export function createRequestIds(ids: Ids): () => string {
  const prefix = ids.uuid().slice(0, 24)
  let count = 0
  return () => prefix + (++count).toString(16).padStart(12, '0')
}
