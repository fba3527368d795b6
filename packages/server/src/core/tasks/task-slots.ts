/**
 * A fair scheduler of task slots. A free slot goes to the identity that holds the fewest; among equals, to the one
 * whose last turn is the longest ago; within an identity, in the order of acceptance. Source: conventions 18.3 (at most
 * 64 at once, fair between identities).
 */
export class TaskSlots {
  readonly #count: number
  readonly #lines = new Map<string, Set<string>>()
  readonly #ownerOf = new Map<string, string>()
  readonly #holders = new Map<string, Set<string>>()
  #held = 0
  /** Number of the last turn of each identity that waits or holds; 0: none yet. */
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

  /** Gives a slot to the next task that `mayRun`. Undefined: there is none, or no slot is free. */
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

  /** Removes a task from its queue; it runs without a slot. */
  bypass(task: string): void {
    const owner = this.#ownerOf.get(task)
    if (owner !== undefined) this.#leaveLine(task, owner)
  }

  /** Takes a slot even if none is free: a running task continues. */
  hold(task: string): void {
    const owner = this.#ownerOf.get(task)
    if (owner === undefined) return
    const held = this.#holders.get(owner) ?? new Set()
    if (!held.has(task)) this.#held++
    this.#holders.set(owner, held.add(task))
  }

  /** Frees the slot of a task that only waits for its subtasks. */
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
