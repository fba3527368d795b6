/** Which rules somebody can meet, found once: later requests of the same sort cost a look into a map of maps. */
import { GlobIndex } from './glob.ts'
import type { Rule } from './rule.ts'

export class Candidates {
  readonly #unnamed: readonly Rule[]
  readonly #named: GlobIndex<Rule> | undefined
  readonly isEmpty: boolean

  /** @param rules in the order of creation */
  constructor(rules: readonly Rule[]) {
    this.#unnamed = rules.filter(({ namePattern }) => namePattern === undefined)
    const named = rules.filter(({ namePattern }) => namePattern !== undefined)
    this.#named = named.length === 0 ? undefined : new GlobIndex(named, ({ namePattern }) => namePattern as string)
    this.isEmpty = rules.length === 0
  }

  /** Names have to be known. */
  get dependsOnNames(): boolean {
    return this.#named !== undefined
  }

  /** Those whose pattern fits one of these names, and those without one, in the order of creation. */
  matching(names: readonly string[]): readonly Rule[] {
    const fitting = this.#named?.matching(names)
    if (fitting === undefined || fitting.size === 0) return this.#unnamed
    return [...this.#unnamed, ...fitting].sort((a, b) => a.ordinal - b.ordinal)
  }
}

/** More sorts of what asks are not remembered. */
const maximumEntries = 5000

/** What was found, by what is done and who does it: joined to one key they would cost more than to look twice. */
export class LookupCache<T> {
  readonly #known = new Map<string, Map<string, T>>()
  #size = 0

  getOrCompute(what: string, who: string, find: () => T): T {
    const known = this.#known.get(what)
    const found = known?.get(who)
    // That nothing is met is known as well.
    if (found !== undefined || known?.has(who) === true) return found as T
    return this.#learn(what, who, find())
  }

  #learn(what: string, who: string, found: T): T {
    if (this.#size >= maximumEntries) this.clear()
    const known = this.#known.get(what) ?? new Map<string, T>()
    this.#known.set(what, known.set(who, found))
    this.#size++
    return found
  }

  clear(): void {
    this.#known.clear()
    this.#size = 0
  }
}
