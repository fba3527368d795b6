import { GlobIndex } from './glob.ts'
import type { Rule } from './rule.ts'

export class Candidates {
  readonly #unnamed: readonly Rule[]
  readonly #named: GlobIndex<Rule> | undefined
  readonly isEmpty: boolean

  constructor(rules: readonly Rule[]) {
    this.#unnamed = rules.filter(({ namePattern }) => namePattern === undefined)
    const named = rules.filter(({ namePattern }) => namePattern !== undefined)
    this.#named = named.length === 0 ? undefined : new GlobIndex(named, ({ namePattern }) => namePattern as string)
    this.isEmpty = rules.length === 0
  }

  /** Some rules match by name: the caller must resolve names first. */
  get dependsOnNames(): boolean {
    return this.#named !== undefined
  }

  matching(names: readonly string[]): readonly Rule[] {
    const fitting = this.#named?.matching(names)
    if (fitting === undefined || fitting.size === 0) return this.#unnamed
    return [...this.#unnamed, ...fitting].sort((a, b) => a.ordinal - b.ordinal)
  }
}

const maximumEntries = 5000

/** A cache by two keys. Two nested lookups are cheaper than building one joined key on each request. */
export class LookupCache<T> {
  readonly #entries = new Map<string, Map<string, T>>()
  #size = 0

  getOrCompute(first: string, second: string, compute: () => T): T {
    const entries = this.#entries.get(first)
    const cached = entries?.get(second)
    // Negative results are cached too (the value is `undefined`).
    if (cached !== undefined || entries?.has(second) === true) return cached as T
    return this.#add(first, second, compute())
  }

  #add(first: string, second: string, value: T): T {
    if (this.#size >= maximumEntries) this.clear()
    const entries = this.#entries.get(first) ?? new Map<string, T>()
    this.#entries.set(first, entries.set(second, value))
    this.#size++
    return value
  }

  clear(): void {
    this.#entries.clear()
    this.#size = 0
  }
}
