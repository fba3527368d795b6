import { DatabaseSync } from 'node:sqlite'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: ((options: object) => Promise<void>) | undefined

/** Returns free pages to the system. Blocks for about 100 ms: only in the service's own process, without requests. */
export async function giveBackMemory(): Promise<void> {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as (options: object) => Promise<void>
  }
  // Finalizers in the first collection release more objects.
  for (let pass = 0; pass < 2; pass++) await collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
  trimNativeHeap()
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
