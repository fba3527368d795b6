/** Patterns of names: `*` stands for any text, also none, `?` for one character; all else for itself. */

export function fitsGlob(pattern: string, text: string): boolean {
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

/** What a pattern's texts begin with, whatever comes then. */
export const prefixOf = (pattern: string): string => /^[^*?]*/.exec(pattern)?.[0] ?? ''

/** Things by the patterns of their names: finds those that fit without trying every one. */
export class GlobIndex<T> {
  readonly #byPrefix = new Map<string, { readonly pattern: string; readonly thing: T }[]>()
  readonly #lengths: readonly number[]

  constructor(things: readonly T[], patternOf: (thing: T) => string) {
    for (const thing of things) {
      const pattern = patternOf(thing)
      const prefix = prefixOf(pattern)
      const same = this.#byPrefix.get(prefix)
      if (same === undefined) this.#byPrefix.set(prefix, [{ pattern, thing }])
      else same.push({ pattern, thing })
    }
    this.#lengths = [...new Set([...this.#byPrefix.keys()].map((prefix) => prefix.length))]
  }

  /** Those whose pattern fits one of the names, in no order. */
  fitting(texts: readonly string[]): ReadonlySet<T> {
    let found: Set<T> | undefined
    for (const text of texts) {
      for (const length of this.#lengths) {
        const near = length > text.length ? undefined : this.#byPrefix.get(text.slice(0, length))
        if (near === undefined) continue
        for (const { pattern, thing } of near) if (fitsGlob(pattern, text)) (found ??= new Set()).add(thing)
      }
    }
    return found ?? nothing
  }
}

const nothing: ReadonlySet<never> = new Set()
