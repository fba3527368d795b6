/**
 * JSON texts of entities that were answered before. An entity whose row and derived values are unchanged is the same
 * frozen object at each read; its text is then made once for each form of answer, and copied.
 */
import { BoundedCache } from '../../core/bounded-cache.ts'

/** UTF-16 units of all texts; nearly all are ASCII, which V8 stores as bytes. */
const maximumLength = 4 * 1024 * 1024

const maximumForms = 8

interface Texts {
  /** By form of answer. */
  readonly byForm: Map<string, string>
  length: number
}

export class RenderedTexts {
  readonly #texts = new BoundedCache<Texts, object>(maximumLength)
  hits = 0
  misses = 0

  get bytes(): number {
    return this.#texts.size
  }

  /** @param form everything else that the text depends on: operation, profile, version, origin of links */
  of(entity: unknown, form: string, render: () => string): string {
    if (typeof entity !== 'object' || entity === null) return render()
    const texts = this.#texts.get(entity)
    const cached = texts?.byForm.get(form)
    if (cached !== undefined) {
      this.hits++
      return cached
    }
    const text = render()
    this.misses++
    // An object that is not frozen was made for this answer only.
    if (!Object.isFrozen(entity)) return text
    // Clients choose the host in links, and with it the form: without a bound, one entity could take any number of texts.
    const isFull = texts === undefined || texts.byForm.size >= maximumForms
    const next = isFull ? { byForm: new Map<string, string>(), length: 0 } : texts
    next.byForm.set(form, text)
    next.length += text.length
    this.#texts.set(entity, next, next.length)
    return text
  }
}

/** Of all worlds and sites of the process. */
export const renderedTexts = new RenderedTexts()
