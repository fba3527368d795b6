/** Services as `npm start` starts them, each in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Connection, requestBytes, type Target } from './load.ts'

export const password = 'Bench.Passw0rd!'
const sourceFolder = resolve(import.meta.dirname, '../src')

export interface Service {
  readonly target: Target
  readonly readyMilliseconds: number
  memory(): number
  /** Milliseconds; the longest since the previous call. */
  loopDelay(): Promise<number>
  stop(): Promise<void>
}

export async function start(data: string, seed: string, options: readonly string[] = []): Promise<Service> {
  const began = performance.now()
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--max-semi-space-size=8',
      '--import',
      join(sourceFolder, 'boot/node-version.js'),
      '--import',
      join(import.meta.dirname, 'loop-delay.ts'),
      join(sourceFolder, 'main.ts'),
      '--data',
      data,
      '--port',
      '0',
      '--seed',
      seed,
      '--rate-limits',
      'off',
      ...options,
    ],
    { env: { ...process.env, HYPERPLANE_ADMIN_PASSWORD: password }, stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  )
  const url = await new Promise<string>((found, fail) => {
    createInterface({ input: child.stdout as Readable }).on('line', (line) => {
      const match = /^Ready in .*(https:\S+)/.exec(line)
      if (match !== null) found(match[1] as string)
    })
    child.once('exit', (code) => fail(new Error(`the service ended with ${code}`)))
  })
  const target = { host: '127.0.0.1', port: Number(new URL(url).port) }
  const first = await Connection.open(target)
  await first.send(requestBytes('GET', '/health/ready', password))
  first.close()
  return {
    target,
    readyMilliseconds: performance.now() - began,
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024,
    loopDelay: () =>
      new Promise((told) => {
        child.once('message', (delay) => told(delay as number))
        child.send('longest delay')
      }),
    stop: () => ended(child),
  }
}

export const ended = (child: ChildProcess): Promise<void> =>
  new Promise((done) => {
    child.once('exit', () => done())
    child.kill('SIGTERM')
  })

/** @throws Error unless the service accepted the request */
export async function call(
  connection: Connection,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<any> {
  const { status, body: text } = await connection.send(requestBytes(method, path, password, body, headers))
  const parsed = text.length === 0 ? undefined : JSON.parse(text.toString())
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.toString().slice(0, 500)}`)
  return parsed
}
