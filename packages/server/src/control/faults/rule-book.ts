/**
 * The rules of one world at work, and how often each was met. Counts are kept here and written when there is time for it:
 * nobody who is met waits for that.
 */
import { Candidates, LookupCache } from './candidates.ts'
import { type Counts, cacheKeyOf, type Place, Rule, type StoredRule, type Subject } from './rule.ts'

export interface StoredCounts extends Counts {
  readonly extId: string
  readonly heldTaskExtIds: string[]
}

export interface RuleBookOptions {
  /** Writes what became of rules that were met; of those that are there no longer, nothing. */
  readonly saveCounts: (counts: readonly StoredCounts[]) => Promise<void>
  readonly log: { error(details: object, message: string): void }
}

/** What one sort of request, or of step, may meet. */
export interface ApplicableRules {
  readonly rules: Candidates
  /** Calls of drivers are told in what they are made. */
  readonly needsContext: boolean
}

/** Rules in all sets of candidates that are remembered: each set may hold them all. */
const maximumCachedRules = 100_000

export class RuleBook {
  readonly #options: RuleBookOptions
  /** In the order of creation. */
  #rules: readonly Rule[] = []
  /** Those at work, by place. */
  #active: ReadonlyMap<Place, readonly Rule[]> = new Map()
  readonly #applicable = new LookupCache<ApplicableRules | undefined>()
  readonly #applicableCalls = new LookupCache<Candidates>()
  /** By their rules: most that meet any meet the same ones. */
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

  /** Of the rule that is made now: one after another, also where those before are gone. */
  nextOrdinal(): number {
    return ++this.#lastOrdinal
  }

  /** As they are kept, in place of all that were there. */
  load(stored: readonly StoredRule[]): void {
    this.#lastOrdinal = 0
    this.#replace(stored.map((rule) => new Rule(rule)).sort((a, b) => a.ordinal - b.ordinal))
  }

  /** A new one, or a changed one, whose counts go on. */
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
    // Told last: whoever waits by a rule goes on among those that are here now.
    const kept = new Set(rules)
    for (const rule of before) if (!kept.has(rule)) rule.retire()
  }

  #clearCaches(): void {
    this.#applicable.clear()
    this.#applicableCalls.clear()
    this.#sets.clear()
    this.#cachedRules = 0
  }

  /** As they are now: what is written may lag behind. */
  countsOf(extId: string): StoredCounts | undefined {
    const rule = this.#rules.find((each) => each.extId === extId)
    return rule && storedCountsOf(rule)
  }

  active(place: Place): readonly Rule[] {
    return this.#active.get(place) ?? none
  }

  /** What a request meets, or a step. Undefined: nothing. */
  applicableTo(subject: Subject): ApplicableRules | undefined {
    return this.#applicable.getOrCompute(subject.operation?.key ?? '', cacheKeyOf(subject), () => {
      // What waits in a task ends with the task, whoever asks; a request pays for it only where a rule asks in what it is.
      const isOfTask = subject.task !== undefined
      const rules = this.#candidatesFor(isOfTask ? 'step' : 'request', subject)
      const isContext = this.active('call').some((rule) => isOfTask || (rule.needsContext && rule.matches(subject)))
      return rules.isEmpty && !isContext ? undefined : { rules, needsContext: isContext }
    })
  }

  /** What a call of a driver meets that is made in this. */
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
    const known = this.#sets.get(set)
    if (known !== undefined) return known
    if (this.#cachedRules > maximumCachedRules) this.#clearCaches()
    this.#cachedRules += rules.length
    const candidates = new Candidates(rules)
    this.#sets.set(set, candidates)
    return candidates
  }

  /** Its counts are to be written. */
  noteChange(rule: Rule): void {
    this.#unwritten.add(rule)
    // After what is under way now: several of one request are one write.
    this.#writing ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.#write())
  }

  /** Resolves when all counts up to now are written. */
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
