import type { Ids } from '../caller.ts'

/**
 * Ids for requests without one: version 4 UUIDs from one random prefix and a counter. Equal worlds give equal ids to
 * equal calls, and a request costs no hash. The ids are not secret.
 */
export function createRequestIds(ids: Ids): () => string {
  const prefix = ids.uuid().slice(0, 24)
  let count = 0
  return () => prefix + (++count).toString(16).padStart(12, '0')
}
