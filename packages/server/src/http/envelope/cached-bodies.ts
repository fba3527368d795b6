/** Bodies of whole answers: a client that polls gets the bytes of the previous answer while its entities are the same. */
import { LRUCache } from 'lru-cache'
import type { Answer } from '../answers/answer.ts'

/** In UTF-8; each body is also kept as text, for the journal. */
const maximumBytes = 4 * 1024 * 1024
const maximumBody = 512 * 1024

export type Body = Required<Pick<Answer, 'body' | 'bytes'>>

interface Cached extends Body {
  readonly entities: readonly unknown[]
}

export class CachedBodies {
  readonly #bodies = new LRUCache<string, Cached>({
    maxSize: maximumBytes,
    maxEntrySize: maximumBody,
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length,
  })
  hits = 0
  misses = 0

  get bytes(): number {
    return this.#bodies.calculatedSize
  }

  /** @param key everything that the body depends on beside its entities */
  of(entities: readonly unknown[], key: string, write: () => string): Body {
    const cached = this.#bodies.get(key)
    if (cached !== undefined && isSame(cached.entities, entities)) {
      this.hits++
      return cached
    }
    this.misses++
    const body = write()
    const written = { entities, body, bytes: Buffer.from(body) }
    // An entity that is not frozen was made for this answer only.
    if (entities.every(Object.isFrozen)) this.#bodies.set(key, written)
    return written
  }
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((entity, index) => entity === other[index])

/** For all worlds and sites of the process. */
export const cachedBodies = new CachedBodies()
