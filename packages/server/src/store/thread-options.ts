/** How a thread of this process starts: with its own sources and nothing that the process was started with. */
import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import type { WorkerOptions } from 'node:worker_threads'

/**
 * A thread reads what Node made of the sources from where the process reads it, if it does: by itself it would load the
 * type stripper, 35 MiB for as long as it lives. What it is the first to load it keeps there with `flushCompileCache`.
 */
export function threadOptions(): Pick<WorkerOptions, 'env' | 'execArgv'> {
  const cache = getCompileCacheDir()
  return {
    // Not what the process was started with: a check of the Node version, a test runner.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Node names the folder of its own version below the one that it was given.
    ...(cache === undefined ? {} : { env: { ...process.env, NODE_COMPILE_CACHE: dirname(cache) } }),
  }
}

/**
 * The program of a thread, `name.ts`, beside the module at `moduleUrl`. A published package holds compiled modules only, so
 * the program has the extension of the module that starts it.
 */
export function threadProgram(name: string, moduleUrl: string): URL {
  return new URL(name.replace(/\.ts$/, extname(moduleUrl)), moduleUrl)
}
