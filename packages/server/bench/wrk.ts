/**
 * wrk, a load generator in C. A generator in JavaScript is slower than a bare server: with it, the bare server waits for
 * the generator, and every ratio to it looks better than clients see it.
 */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import type { Get } from './load.ts'

export const hasWrk = spawnSync('wrk', ['-v']).error === undefined

/** Answers a second. @throws Error if an answer is not 2xx or 3xx */
export async function wrkRate(get: Get, connections: number, seconds: number): Promise<number> {
  const { target, path, headers } = get
  const heads = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const load = ['-t1', `-c${connections}`, `-d${Math.max(1, Math.round(seconds))}`]
  const { stdout } = await promisify(execFile)('wrk', [
    ...load,
    ...heads,
    `https://${target.host}:${target.port}${path}`,
  ])
  if (/Non-2xx/.test(stdout)) throw new Error(stdout)
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
}
