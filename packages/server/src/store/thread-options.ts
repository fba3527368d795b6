/** Options of this process's threads: its own sources, none of the options of the process. */
import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import type { WorkerOptions } from 'node:worker_threads'

/**
 * Threads share the compile cache of the process, if it has one: without it each loads the type stripper, which takes
 * 35 MiB. A thread adds to the cache by `flushCompileCache`.
 */
export function threadOptions(): Pick<WorkerOptions, 'env' | 'execArgv'> {
  const cache = getCompileCacheDir()
  return {
    // Not the process's own options: a check of the Node version, a test runner.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // Node appends a folder for its own version to the given one.
    ...(cache === undefined ? {} : { env: { ...process.env, NODE_COMPILE_CACHE: dirname(cache) } }),
  }
}

/**
 * URL of a thread's program, `name.ts`, beside the module at `moduleUrl`. A published package holds compiled modules,
 * so the extension follows that of the importing module.
 */
export function threadProgram(name: string, moduleUrl: string): URL {
  return new URL(name.replace(/\.ts$/, extname(moduleUrl)), moduleUrl)
}
