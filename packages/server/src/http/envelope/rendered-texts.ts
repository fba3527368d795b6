/** JSON texts by entity: one whose row and derived values are unchanged is the same frozen object at each read. */
import { LRUCache } from 'lru-cache'

/** UTF-16 units; nearly all are ASCII, which V8 stores as bytes. */
const maximumLength = 4 * 1024 * 1024

const maximumForms = 8

type Texts = ReadonlyMap<string, string>

export class RenderedTexts {
  readonly #texts = new LRUCache<object, Texts>({
    maxSize: maximumLength,
    sizeCalculation: (texts) => [...texts.values()].reduce((sum, { length }) => sum + length, 0),
  })
  hits = 0
  misses = 0

  get bytes(): number {
    return this.#texts.calculatedSize
  }

  /** @param form everything else that the text depends on: operation, profile, version, origin of links */
  of(entity: unknown, form: string, render: () => string): string {
    if (typeof entity !== 'object' || entity === null) return render()
    const texts = this.#texts.get(entity)
    const cached = texts?.get(form)
    if (cached !== undefined) {
      this.hits++
      return cached
    }
    const text = render()
    this.misses++
    // Not frozen: made for this answer only.
    if (!Object.isFrozen(entity)) return text
    // Clients choose the host of links, and so the form: without a bound, one entity could have any number of texts.
    const others = texts === undefined || texts.size >= maximumForms ? [] : texts
    this.#texts.set(entity, new Map([...others, [form, text]]))
    return text
  }
}

/** For all worlds and sites of the process. */
export const renderedTexts = new RenderedTexts()
