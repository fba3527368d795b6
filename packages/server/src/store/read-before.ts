/** Remembers texts by hash, so that a cache keeps only results that are requested again. */
export class ReadBefore {
  readonly #generationSize: number
  #recent = new Set<number>()
  #earlier = new Set<number>()
  #recentSize = 0

  /** @param maximumSize of the cache: results beyond it would replace each other before they are read again */
  constructor(maximumSize: number) {
    this.#generationSize = maximumSize / 2
  }

  /** @param size of the text's result @returns whether the text was noted before; equal hash values count as one text */
  note(hash: number, size: number): boolean {
    if (this.#recent.has(hash)) return true
    const wasEarlier = this.#earlier.has(hash)
    this.#recentSize += size
    if (this.#recentSize > this.#generationSize) {
      this.#earlier = this.#recent
      this.#recent = new Set()
      this.#recentSize = size
    }
    this.#recent.add(hash)
    return wasEarlier
  }
}

/** FNV-1a of the UTF-16 units, 30 bits: V8 stores such a number without a heap object. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 2
}

const samples = 128

/** Hashes some units of a long text, and its length. */
export function sampleOf(text: string): number {
  const step = Math.ceil(text.length / samples)
  let hash = text.length
  for (let index = 0; index < text.length; index += step) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 2
}
