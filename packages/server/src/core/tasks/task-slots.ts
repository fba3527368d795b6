/** A free slot goes to the identity with the fewest slots, then to the longest waiting one. Source: conventions 18.3 (at most 64). */
export class TaskSlots {
  readonly #count: number
  readonly #lines = new Map<string, Set<string>>()
  readonly #ownerOf = new Map<string, string>()
  readonly #holders = new Map<string, Set<string>>()
  #held = 0
  readonly #turns = new Map<string, number>()
  #turn = 0

  constructor(count: number) {
    this.#count = count
  }

  wait(task: string, owner: string): void {
    this.#ownerOf.set(task, owner)
    if (!this.#turns.has(owner)) this.#turns.set(owner, 0)
    const line = this.#lines.get(owner)
    if (line === undefined) this.#lines.set(owner, new Set([task]))
    else line.add(task)
  }

  take(mayRun: (task: string) => boolean): string | undefined {
    if (this.#held >= this.#count) return undefined
    const owners = [...this.#lines.keys()].sort(
      (a, b) => this.#heldBy(a) - this.#heldBy(b) || this.#turnOf(a) - this.#turnOf(b),
    )
    for (const owner of owners) {
      for (const task of this.#lines.get(owner) ?? []) {
        if (!mayRun(task)) continue
        this.#leaveLine(task, owner)
        this.hold(task)
        this.#turns.set(owner, ++this.#turn)
        return task
      }
    }
    return undefined
  }

  bypass(task: string): void {
    const owner = this.#ownerOf.get(task)
    if (owner !== undefined) this.#leaveLine(task, owner)
  }

  hold(task: string): void {
    const owner = this.#ownerOf.get(task)
    if (owner === undefined) return
    const held = this.#holders.get(owner) ?? new Set()
    if (!held.has(task)) this.#held++
    this.#holders.set(owner, held.add(task))
  }

  release(task: string): void {
    const owner = this.#ownerOf.get(task)
    const held = owner === undefined ? undefined : this.#holders.get(owner)
    if (held?.delete(task) !== true) return
    this.#held--
    if (held.size === 0) this.#holders.delete(owner as string)
  }

  forget(task: string): void {
    this.release(task)
    const owner = this.#ownerOf.get(task)
    this.#ownerOf.delete(task)
    if (owner !== undefined && !this.#lines.has(owner) && !this.#holders.has(owner)) this.#turns.delete(owner)
  }

  #heldBy(owner: string): number {
    return this.#holders.get(owner)?.size ?? 0
  }

  #turnOf(owner: string): number {
    return this.#turns.get(owner) ?? 0
  }

  #leaveLine(task: string, owner: string): void {
    const line = this.#lines.get(owner)
    line?.delete(task)
    if (line?.size === 0) this.#lines.delete(owner)
  }
}
