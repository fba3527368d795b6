import { performance } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: ((options: object) => Promise<void>) | undefined

/** Returns free pages to the system. Requests that arrive meanwhile wait for 100 to 250 ms. */
export async function giveBackMemory(): Promise<void> {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as (options: object) => Promise<void>
  }
  // Finalizers in the first collection release more objects.
  for (let pass = 0; pass < 2; pass++) await collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
  trimNativeHeap()
}

/** Share of a second: requests that arrive now and then stay below it. */
const idleBelow = 0.1

/** Collects garbage when few requests arrive that would wait for it; in a process that is always busy, never. */
export class IdleCollector {
  readonly #used: () => number
  readonly #collect: () => Promise<void>
  #isRequested = false

  /** @param used share of the time since the last call in which the event loop worked */
  constructor(used = eventLoopUse(), collect = giveBackMemory) {
    this.#used = used
    this.#collect = collect
  }

  request(): void {
    // Measured from here: the work that made the garbage does not count.
    this.#used()
    this.#isRequested = true
  }

  /** Call it every second. @returns whether it collected */
  async look(): Promise<boolean> {
    const used = this.#used()
    if (!this.#isRequested || used >= idleBelow) return false
    this.#isRequested = false
    await this.#collect()
    return true
  }
}

function eventLoopUse(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const before = last
    last = performance.eventLoopUtilization()
    return performance.eventLoopUtilization(last, before).utilization
  }
}

/** In bytes: returning less is not worth the 2 ms that it takes. */
const worthTrimming = 24 * 1024 ** 2

/**
 * Call it every second: V8's threads leave tens of MiB free in their own heaps, once they have compiled what requests run often.
 * @returns looks how much memory the process holds, and trims its heaps when this has grown since the last time
 */
export function createTrimmer(held = residentBytes, trim = trimNativeHeap): () => void {
  let least = Number.POSITIVE_INFINITY
  let needed = worthTrimming
  return () => {
    const before = held()
    if (before === undefined) return
    least = Math.min(least, before)
    if (before < least + needed) return
    trim()
    least = held() ?? before
    // A trim that returned little was of no use: the next one waits until the process has grown by twice as much.
    needed = before - least < worthTrimming / 4 ? 2 * needed : worthTrimming
  }
}

/** undefined: the process has no descriptor left with which to read it. */
function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}

/** glibc keeps free pages below used ones: SQLite's extension loader calls `malloc_trim`. Without it (musl, macOS, Windows): no effect. */
function trimNativeHeap(): void {
  if (process.platform !== 'linux') return
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(':memory:', { allowExtension: true })
    database.loadExtension('libc.so.6', 'malloc_trim')
  } catch {
    // The function does not answer as an extension would; the library or the function may also be missing.
  } finally {
    database?.close()
  }
}
