/** Speeds up processes that a test starts: most of a start is compiling the sources. */
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'

const cache = getCompileCacheDir()

/** Environment variables that share this process's compile cache, if it has one. */
export const compiledSources: Readonly<Record<string, string>> =
  // Node adds a folder for its version below the given one.
  cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }
