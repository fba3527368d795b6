import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import type { WorkerOptions } from 'node:worker_threads'

/** Threads share the compile cache: without it each loads the type stripper, 35 MiB. */
export function threadOptions(): Pick<WorkerOptions, 'env' | 'execArgv'> {
  const cache = getCompileCacheDir()
  return {
    // Not the options of the process: a check of the Node version, a test runner.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Node appends a folder for its own version to the given one.
    ...(cache === undefined ? {} : { env: { ...process.env, NODE_COMPILE_CACHE: dirname(cache) } }),
  }
}

/** `name.ts` beside the module at `moduleUrl`; `.js` in a published package. */
export function threadProgram(name: string, moduleUrl: string): URL {
  return new URL(name.replace(/\.ts$/, extname(moduleUrl)), moduleUrl)
}
