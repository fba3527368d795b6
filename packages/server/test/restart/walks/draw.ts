/** Choices that were made before it was known what there is to choose from: numbers, read as what is needed when it is. */
export class Draw {
  readonly #numbers: readonly number[]
  #next = 0

  /** @param numbers when they are used up, zeros follow: the first of everything */
  constructor(numbers: readonly number[]) {
    this.#numbers = numbers
  }

  below(count: number): number {
    return (this.#numbers[this.#next++] ?? 0) % count
  }

  of<T>(items: readonly [T, ...T[]] | readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  /** Once in so many times, and never for 0. */
  isOneIn(count: number): boolean {
    return this.below(count) === count - 1
  }

  /** Some of them, in their order. */
  some<T>(items: readonly T[], most: number): T[] {
    return Array.from({ length: this.below(most + 1) }, () => this.of(items))
  }
}
