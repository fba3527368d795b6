/** Patterns of names: `*` matches any text, also an empty one, `?` one character, everything else itself. */

export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0
  let inPattern = 0
  /** Position of the last `*` in the pattern, and of the end of its match in the text. */
  let star = -1
  let taken = 0
  while (at < text.length) {
    if (inPattern < pattern.length && pattern[inPattern] === '*') {
      star = inPattern++
      taken = at
    } else if (inPattern < pattern.length && (pattern[inPattern] === '?' || pattern[inPattern] === text[at])) {
      inPattern++
      at++
    } else if (star >= 0) {
      inPattern = star + 1
      at = ++taken
    } else return false
  }
  while (pattern[inPattern] === '*') inPattern++
  return inPattern === pattern.length
}

/** Patterns are filed under their rarest literal trigram, which every matching text contains, so a text is compared with few patterns. */
export class GlobIndex<T> {
  readonly #byPart = new Map<number, IndexedPattern<T>[]>()
  readonly #lengths = new Set<number>()

  constructor(items: readonly T[], patternOf: (item: T) => string) {
    const patterns = Array.from(Map.groupBy(items, patternOf), ([pattern, items]) => {
      const { parts, length } = globParts(pattern)
      this.#lengths.add(length)
      return { parts, filed: { pattern, items } }
    })
    const shares = new Map<number, number>()
    for (const { parts } of patterns) for (const part of parts) shares.set(part, (shares.get(part) ?? 0) + 1)
    const sharesOf = (part: number): number => shares.get(part) as number
    for (const { parts, filed } of patterns) {
      const rarest = parts.reduce((least, part) => (sharesOf(part) < sharesOf(least) ? part : least))
      const same = this.#byPart.get(rarest)
      if (same === undefined) this.#byPart.set(rarest, [filed])
      else same.push(filed)
    }
  }

  matching(texts: readonly string[]): ReadonlySet<T> {
    let found: Set<T> | undefined
    for (const text of texts) {
      for (const { pattern, items } of this.#near(text))
        if (matchesGlob(pattern, text)) for (const item of items) (found ??= new Set()).add(item)
    }
    return found ?? nothing
  }

  #near(text: string): ReadonlySet<IndexedPattern<T>> {
    let near: Set<IndexedPattern<T>> | undefined
    const framed = frame + text + frame
    for (const length of this.#lengths) {
      for (let at = 0; at + length <= framed.length; at++) {
        const filed = this.#byPart.get(partAt(framed, at, length))
        if (filed !== undefined) for (const each of filed) (near ??= new Set()).add(each)
      }
    }
    return near ?? nothing
  }
}

interface IndexedPattern<T> {
  readonly pattern: string
  readonly items: readonly T[]
}

const nothing: ReadonlySet<never> = new Set()

/** Gives the beginning and the end of a text trigrams of their own. */
const frame = '\0\0'

/** Trigrams between the wildcards of a pattern; bigrams where no literal part has three characters, as in `*ab*`. */
function globParts(pattern: string): { readonly parts: readonly number[]; readonly length: number } {
  const pieces = (frame + pattern + frame).split(/[*?]+/)
  const length = pieces.some((piece) => piece.length >= 3) ? 3 : 2
  const parts: number[] = []
  for (const piece of pieces) for (let at = 0; at + length <= piece.length; at++) parts.push(partAt(piece, at, length))
  return { parts, length }
}

/** A collision only costs a comparison that fails. */
function partAt(text: string, at: number, length: number): number {
  const two = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)
  return length === 2 ? two : two * 31 + text.charCodeAt(at + 2)
}
