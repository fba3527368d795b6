interface Entry<V> {
  readonly value: V
  readonly size: number
}

/** Bounded by the sum of sizes, in two halves: when the newer is full, it replaces the older; a hit moves nothing. */
export class BoundedCache<V, K = string> {
  readonly #half: number
  #newer = new Map<K, Entry<V>>()
  #older = new Map<K, Entry<V>>()
  #newerSize = 0
  #olderSize = 0

  constructor(maximumSize: number) {
    this.#half = maximumSize / 2
  }

  get size(): number {
    return this.#newerSize + this.#olderSize
  }

  get(key: K): V | undefined {
    const newer = this.#newer.get(key)
    if (newer !== undefined) return newer.value
    const older = this.#older.get(key)
    if (older === undefined) return undefined
    this.#older.delete(key)
    this.#olderSize -= older.size
    this.#add(key, older)
    return older.value
  }

  set(key: K, value: V, size: number): void {
    this.delete(key)
    this.#add(key, { value, size })
  }

  delete(key: K): void {
    this.#newerSize -= this.#newer.get(key)?.size ?? 0
    this.#olderSize -= this.#older.get(key)?.size ?? 0
    this.#newer.delete(key)
    this.#older.delete(key)
  }

  clear(): void {
    this.#newer.clear()
    this.#older.clear()
    this.#newerSize = 0
    this.#olderSize = 0
  }

  #add(key: K, entry: Entry<V>): void {
    if (this.#newerSize + entry.size > this.#half && this.#newer.size > 0) {
      this.#older = this.#newer
      this.#olderSize = this.#newerSize
      this.#newer = new Map()
      this.#newerSize = 0
    }
    this.#newer.set(key, entry)
    this.#newerSize += entry.size
  }
}
