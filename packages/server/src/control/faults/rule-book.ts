/** The active rules of one world and their counts, which are stored in the background: no request waits for them. */
import { Candidates, LookupCache } from './candidates.ts'
import { type Counts, cacheKeyOf, type Place, Rule, type StoredRule, type Subject } from './rule.ts'

export interface StoredCounts extends Counts {
  readonly extId: string
  readonly heldTaskExtIds: string[]
}

export interface RuleBookOptions {
  /** Stores counts; must ignore rules that no longer exist. */
  readonly saveCounts: (counts: readonly StoredCounts[]) => Promise<void>
  readonly log: { error(details: object, message: string): void }
}

export interface ApplicableRules {
  readonly rules: Candidates
  /** Needed by rules for driver calls that look at the request or task. */
  readonly needsContext: boolean
}

/** Limits the memory of cached candidates: each set may hold all rules. */
const maximumCachedRules = 100_000

export class RuleBook {
  readonly #options: RuleBookOptions
  #rules: readonly Rule[] = []
  #active: ReadonlyMap<Place, readonly Rule[]> = new Map()
  readonly #applicable = new LookupCache<ApplicableRules | undefined>()
  readonly #applicableCalls = new LookupCache<Candidates>()
  readonly #sets = new Map<string, Candidates>()
  #cachedRules = 0
  readonly #unwritten = new Set<Rule>()
  #writing: Promise<void> | undefined
  #lastOrdinal = 0

  constructor(options: RuleBookOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0
  }

  /** Ordinals of removed rules are not reused. */
  nextOrdinal(): number {
    return ++this.#lastOrdinal
  }

  load(stored: readonly StoredRule[]): void {
    this.#lastOrdinal = 0
    this.#replace(stored.map((rule) => new Rule(rule)).sort((a, b) => a.ordinal - b.ordinal))
  }

  /** A replaced rule keeps its counts. */
  put(stored: StoredRule): void {
    const at = this.#rules.findIndex(({ extId }) => extId === stored.extId)
    const rule = new Rule(stored, this.#rules[at])
    this.#replace(at < 0 ? [...this.#rules, rule] : this.#rules.with(at, rule))
  }

  remove(extId: string): void {
    this.#replace(this.#rules.filter((rule) => rule.extId !== extId))
  }

  removeAll(): void {
    this.#replace([])
  }

  resetCounts(extId: string): void {
    const rule = this.#rules.find((each) => each.extId === extId)
    if (rule === undefined) return
    rule.resetCounts()
    this.noteChange(rule)
  }

  #replace(rules: readonly Rule[]): void {
    const before = this.#rules
    this.#lastOrdinal = Math.max(this.#lastOrdinal, ...rules.map(({ ordinal }) => ordinal))
    this.#rules = rules
    this.#active = Map.groupBy(
      rules.filter(({ isEnabled }) => isEnabled),
      ({ place }) => place,
    )
    this.#clearCaches()
    // Last: requests and tasks that a retired rule keeps waiting must continue under the new rules.
    const remaining = new Set(rules)
    for (const rule of before) if (!remaining.has(rule)) rule.retire()
  }

  #clearCaches(): void {
    this.#applicable.clear()
    this.#applicableCalls.clear()
    this.#sets.clear()
    this.#cachedRules = 0
  }

  /** The stored counts may lag behind these. */
  countsOf(extId: string): StoredCounts | undefined {
    const rule = this.#rules.find((each) => each.extId === extId)
    return rule && storedCountsOf(rule)
  }

  active(place: Place): readonly Rule[] {
    return this.#active.get(place) ?? none
  }

  applicableTo(subject: Subject): ApplicableRules | undefined {
    return this.#applicable.getOrCompute(subject.operation?.key ?? '', cacheKeyOf(subject), () => {
      // Driver calls of a task belong to the task. A plain request gets a fault context only if an active rule needs it.
      const isOfTask = subject.task !== undefined
      const rules = this.#candidatesFor(isOfTask ? 'step' : 'request', subject)
      const isContext = this.active('call').some((rule) => isOfTask || (rule.needsContext && rule.matches(subject)))
      return rules.isEmpty && !isContext ? undefined : { rules, needsContext: isContext }
    })
  }

  applicableToCall(driver: string, method: string, subject: Subject): Candidates {
    return this.#applicableCalls.getOrCompute(
      `${driver}\n${method}`,
      `${subject.operation?.key}\n${cacheKeyOf(subject)}`,
      () => this.#candidatesFor('call', subject, (rule) => rule.matchesCall(driver, method)),
    )
  }

  applicableToCancel(subject: Subject): Candidates {
    return this.#candidatesFor('cancel', subject)
  }

  #candidatesFor(place: Place, subject: Subject, fits: (rule: Rule) => boolean = () => true): Candidates {
    const rules = this.active(place).filter((rule) => rule.matches(subject) && fits(rule))
    const set = rules.map(({ ordinal }) => ordinal).join()
    const cached = this.#sets.get(set)
    if (cached !== undefined) return cached
    if (this.#cachedRules > maximumCachedRules) this.#clearCaches()
    this.#cachedRules += rules.length
    const candidates = new Candidates(rules)
    this.#sets.set(set, candidates)
    return candidates
  }

  noteChange(rule: Rule): void {
    this.#unwritten.add(rule)
    // Deferred, so that several matches of one request share one write.
    this.#writing ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.#write())
  }

  async countsWritten(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  async #write(): Promise<void> {
    const rules = [...this.#unwritten].filter((rule) => this.#rules.includes(rule))
    this.#unwritten.clear()
    try {
      if (rules.length > 0) await this.#options.saveCounts(rules.map(storedCountsOf))
    } catch (error) {
      this.#options.log.error({ err: error }, 'counts of fault rules could not be written')
    }
    this.#writing = this.#unwritten.size > 0 ? this.#write() : undefined
  }
}

const none: readonly Rule[] = []

const storedCountsOf = ({ extId, counts, heldTasks }: Rule): StoredCounts => ({
  extId,
  ...counts,
  heldTaskExtIds: [...heldTasks],
})
