import { DatabaseSync } from 'node:sqlite'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: ((options: object) => Promise<void>) | undefined

/**
 * Collects all garbage and returns its pages to the system, which neither V8 nor the C library does while it is idle. It blocks the
 * thread for about 100 ms: only for a process that belongs to the service alone, and when no requests are under way.
 */
export async function giveBackMemory(): Promise<void> {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as (options: object) => Promise<void>
  }
  // Finalizers release more objects in the first collection; the second one collects those.
  for (let pass = 0; pass < 2; pass++) await collect({ type: 'major', execution: 'async', flavor: 'last-resort' })
  trimNativeHeap()
}

/**
 * Has glibc return the free pages of its heap, which it keeps wherever something in use lies above them. Node offers no
 * call for that. The loader of SQLite extensions does: it calls a function of a library by name, here `malloc_trim` of the
 * C library, which ignores all arguments but a number of bytes that may stay at the very end. Elsewhere (musl, macOS,
 * Windows) nothing happens.
 */
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
