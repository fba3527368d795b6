/**
 * wrk, a load generator in C. A generator in JavaScript is slower than a bare server: with it, the bare server waits for
 * the generator, and every ratio to it looks better than clients see it.
 */
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import type { Get, Measured } from './load.ts'

export const hasWrk = spawnSync('wrk', ['-v']).error === undefined

/** Answers a second. @throws Error if an answer is not 2xx or 3xx */
export async function wrkRate(get: Get, connections: number, seconds: number): Promise<number> {
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(await wrk(get, connections, seconds))?.[1])
}

/** Milliseconds. @throws Error if an answer is not 2xx or 3xx */
export async function wrkLatency(
  get: Get,
  connections: number,
  seconds: number,
): Promise<Pick<Measured, 'p50' | 'p99'>> {
  const printed = await wrk(get, connections, seconds, '--latency')
  const at = (percentage: number): number => {
    const [, number, unit] = new RegExp(`\\b${percentage}%\\s+([\\d.]+)(us|ms|s)\\b`).exec(printed) ?? []
    return Number(number) * { us: 0.001, ms: 1, s: 1000 }[unit as 'us' | 'ms' | 's']
  }
  return { p50: at(50), p99: at(99) }
}

async function wrk({ target, path, headers }: Get, connections: number, seconds: number, ...options: string[]) {
  const heads = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const load = ['-t1', `-c${connections}`, `-d${Math.max(1, Math.round(seconds))}`]
  const url = `https://${target.host}:${target.port}${path}`
  const { stdout } = await promisify(execFile)('wrk', [...load, ...options, ...heads, url])
  if (/Non-2xx/.test(stdout)) throw new Error(stdout)
  return stdout
}
