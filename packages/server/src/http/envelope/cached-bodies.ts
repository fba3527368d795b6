/** Bodies of whole answers: a client that polls gets the bytes of the previous answer while its entities are the same. */
import { LRUCache } from 'lru-cache'
import type { RenderedAnswer, RenderedBody } from '../../core/pipeline/request.ts'
import type { AnswerContext } from './answer-context.ts'

/** In UTF-8; each body is also kept as text, for the journal. */
const maximumBytes = 4 * 1024 * 1024
const maximumBody = 512 * 1024
const noBytes = new Uint8Array()

interface CachedBody extends RenderedBody {
  readonly entities: readonly unknown[]
  body: string
  bytes: Uint8Array
  isKept: boolean
}

/** A kept read may still refer to the body. */
const drop = (cached: CachedBody): void => void Object.assign(cached, { body: '', bytes: noBytes, isKept: false })

export class CachedBodies {
  readonly #bodies = new LRUCache<string, CachedBody>({
    maxSize: maximumBytes,
    maxEntrySize: maximumBody,
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length,
    dispose: drop,
  })
  hits = 0
  misses = 0

  get bytes(): number {
    return this.#bodies.calculatedSize
  }

  /** @param key everything that the body depends on beside its entities */
  of(entities: readonly unknown[], key: string, write: () => string): RenderedBody {
    const cached = this.#bodies.get(key)
    if (cached !== undefined && isSame(cached.entities, entities)) {
      this.hits++
      return cached
    }
    this.misses++
    const body = write()
    const written: CachedBody = { entities, body, bytes: Buffer.from(body), isKept: false }
    // An entity that is not frozen was made for this answer only.
    if (entities.every(Object.isFrozen)) {
      this.#bodies.set(key, written)
      written.isKept = this.#bodies.peek(key) === written
    }
    return written
  }

  again({ latest }: RenderedAnswer, { origin, base }: AnswerContext): RenderedBody | undefined {
    if (latest === undefined || latest.origin !== origin || latest.base !== base || !latest.content.isKept)
      return undefined
    this.hits++
    return latest.content
  }

  keepFor(rendered: RenderedAnswer, { origin, base }: AnswerContext, content: RenderedBody): void {
    if (content.isKept) rendered.latest = { origin, base, content }
  }
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean =>
  one.length === other.length && one.every((entity, index) => entity === other[index])

/** For all worlds and sites of the process. */
export const cachedBodies = new CachedBodies()
