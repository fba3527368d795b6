/** For processes that a test starts: most of a start is reading the sources. */
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

const cache = getCompileCacheDir()

/** Environment that makes a process read what Node made of the sources from where this one does, if it does. */
export const compiledSources: Readonly<Record<string, string>> =
  // Node names the folder of its own version below the one that it was given.
  cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }
