/** Patterns of names: `*` stands for any text, also none, `?` for one character; all else for itself. */

export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0
  let inPattern = 0
  /** Where the last `*` stands, and how much of the text it has taken so far. */
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

/**
 * Things by the patterns of their names: finds those that fit, and tries few others. Each pattern is filed under a part that
 * all its texts have, three characters in a row: of its parts, the one that fewest patterns have.
 */
export class GlobIndex<T> {
  readonly #byPart = new Map<number, IndexedPattern<T>[]>()
  readonly #lengths = new Set<number>()

  constructor(things: readonly T[], patternOf: (thing: T) => string) {
    const patterns = Array.from(Map.groupBy(things, patternOf), ([pattern, things]) => {
      const { parts, length } = partsOf(pattern)
      this.#lengths.add(length)
      return { parts, filed: { pattern, things } }
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

  /** Those whose pattern fits one of the texts, in no order. */
  matching(texts: readonly string[]): ReadonlySet<T> {
    let found: Set<T> | undefined
    for (const text of texts) {
      for (const { pattern, things } of this.#near(text))
        if (matchesGlob(pattern, text)) for (const thing of things) (found ??= new Set()).add(thing)
    }
    return found ?? nothing
  }

  /** Those that have a part of the text. */
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
  readonly things: readonly T[]
}

const nothing: ReadonlySet<never> = new Set()

/** Stands before and after each text, so that how it begins and how it ends are parts of it as well. */
const frame = '\0\0'

/** What every text of the pattern has between its wildcards: two characters in a row where there are no three, as in `*ab*`. */
function partsOf(pattern: string): { readonly parts: readonly number[]; readonly length: number } {
  const pieces = (frame + pattern + frame).split(/[*?]+/)
  const length = pieces.some((piece) => piece.length >= 3) ? 3 : 2
  const parts: number[] = []
  for (const piece of pieces) for (let at = 0; at + length <= piece.length; at++) parts.push(partAt(piece, at, length))
  return { parts, length }
}

/** Two or three characters as one number. Others may have the same: then some patterns are tried in vain. */
function partAt(text: string, at: number, length: number): number {
  const two = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)
  return length === 2 ? two : two * 31 + text.charCodeAt(at + 2)
}
