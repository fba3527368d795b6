import type { Ids } from '../caller.ts'
/** Ids for requests that bring none. */

/**
 * A version 4 UUID for each call, from one draw and a counter: equal worlds name equal calls equally, and a request costs no
 * hash. The ids are not secret.
 */
export function createRequestIds(ids: Ids): () => string {
  const prefix = ids.uuid().slice(0, 24)
  let made = 0
  return () => prefix + (++made).toString(16).padStart(12, '0')
}
