/**
 * The rules of one world at work, and how often each was met. Counts are kept here and written when there is time for it:
 * nobody who is met waits for that.
 */
import { Candidates, Known } from './candidates.ts'
import { type Counts, type Place, Rule, type StoredRule, type Subject, sortOf } from './rule.ts'

export interface KeptCounts extends Counts {
  readonly extId: string
  readonly heldTaskExtIds: string[]
}

export interface RuleBookOptions {
  /** Writes what became of rules that were met; of those that are there no longer, nothing. */
  readonly keep: (counts: readonly KeptCounts[]) => Promise<void>
  readonly log: { error(details: object, message: string): void }
}

/** What one sort of request, or of step, may meet. */
export interface Met {
  readonly rules: Candidates
  /** Calls of drivers are told in what they are made. */
  readonly isContext: boolean
}

/** Rules in all sets of candidates that are remembered: each set may hold them all. */
const maximumInSets = 100_000

export class RuleBook {
  readonly #options: RuleBookOptions
  /** In the order of creation. */
  #rules: readonly Rule[] = []
  /** Those at work, by place. */
  #active: ReadonlyMap<Place, readonly Rule[]> = new Map()
  readonly #met = new Known<Met | undefined>()
  readonly #calls = new Known<Candidates>()
  /** By their rules: most that meet any meet the same ones. */
  readonly #sets = new Map<string, Candidates>()
  #inSets = 0
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
    rule.startAgain()
    this.note(rule)
  }

  #replace(rules: readonly Rule[]): void {
    const before = this.#rules
    this.#lastOrdinal = Math.max(this.#lastOrdinal, ...rules.map(({ ordinal }) => ordinal))
    this.#rules = rules
    this.#active = Map.groupBy(
      rules.filter(({ isEnabled }) => isEnabled),
      ({ place }) => place,
    )
    this.#forget()
    // Told last: whoever waits by a rule goes on among those that are here now.
    const kept = new Set(rules)
    for (const rule of before) if (!kept.has(rule)) rule.retire()
  }

  #forget(): void {
    this.#met.forget()
    this.#calls.forget()
    this.#sets.clear()
    this.#inSets = 0
  }

  /** As they are now: what is written may lag behind. */
  countsOf(extId: string): KeptCounts | undefined {
    const rule = this.#rules.find((each) => each.extId === extId)
    return rule && keptOf(rule)
  }

  active(place: Place): readonly Rule[] {
    return this.#active.get(place) ?? none
  }

  /** What a request meets, or a step. Undefined: nothing. */
  metBy(subject: Subject): Met | undefined {
    return this.#met.at(subject.operation?.key ?? '', sortOf(subject), () => {
      // What waits in a task ends with the task, whoever asks; a request pays for it only where a rule asks in what it is.
      const isOfTask = subject.task !== undefined
      const rules = this.#meeting(isOfTask ? 'step' : 'request', subject)
      const isContext = this.active('call').some((rule) => isOfTask || (rule.needsContext && rule.meets(subject)))
      return rules.isEmpty && !isContext ? undefined : { rules, isContext }
    })
  }

  /** What a call of a driver meets that is made in this. */
  metByCall(driver: string, method: string, subject: Subject): Candidates {
    return this.#calls.at(`${driver}\n${method}`, `${subject.operation?.key}\n${sortOf(subject)}`, () =>
      this.#meeting('call', subject, (rule) => rule.meetsCall(driver, method)),
    )
  }

  metByCancel(subject: Subject): Candidates {
    return this.#meeting('cancel', subject)
  }

  #meeting(place: Place, subject: Subject, fits: (rule: Rule) => boolean = () => true): Candidates {
    const rules = this.active(place).filter((rule) => rule.meets(subject) && fits(rule))
    const set = rules.map(({ ordinal }) => ordinal).join()
    const known = this.#sets.get(set)
    if (known !== undefined) return known
    if (this.#inSets > maximumInSets) this.#forget()
    this.#inSets += rules.length
    const candidates = new Candidates(rules)
    this.#sets.set(set, candidates)
    return candidates
  }

  /** Its counts are to be written. */
  note(rule: Rule): void {
    this.#unwritten.add(rule)
    // After what is under way now: several of one request are one write.
    this.#writing ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.#write())
  }

  /** Resolves when all counts up to now are written. */
  async written(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  async #write(): Promise<void> {
    const rules = [...this.#unwritten].filter((rule) => this.#rules.includes(rule))
    this.#unwritten.clear()
    try {
      if (rules.length > 0) await this.#options.keep(rules.map(keptOf))
    } catch (error) {
      this.#options.log.error({ err: error }, 'counts of fault rules could not be written')
    }
    this.#writing = this.#unwritten.size > 0 ? this.#write() : undefined
  }
}

const none: readonly Rule[] = []

const keptOf = ({ extId, counts, heldTasks }: Rule): KeptCounts => ({
  extId,
  ...counts,
  heldTaskExtIds: [...heldTasks],
})
