/** Which rules somebody can meet, found once: later requests of the same sort cost one look into a map. */
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
  get isNamed(): boolean {
    return this.#named !== undefined
  }

  /** Those whose pattern fits one of these names, and those without one, in the order of creation. */
  of(names: readonly string[]): readonly Rule[] {
    const fitting = this.#named?.fitting(names)
    if (fitting === undefined || fitting.size === 0) return this.#unnamed
    return [...this.#unnamed, ...fitting].sort((a, b) => a.ordinal - b.ordinal)
  }
}

/** More sorts of requests than these are not remembered. */
const maximumKnown = 5000

/** What was found, by the sort of what asks; forgotten when rules change. */
export class Known<T> {
  readonly #known = new Map<string, T>()

  at(sort: string, find: () => T): T {
    const known = this.#known.get(sort)
    // That nothing is met is known as well.
    if (known !== undefined || this.#known.has(sort)) return known as T
    if (this.#known.size >= maximumKnown) this.#known.clear()
    const found = find()
    this.#known.set(sort, found)
    return found
  }

  forget(): void {
    this.#known.clear()
  }
}
