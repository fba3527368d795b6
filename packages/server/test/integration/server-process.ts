/** The real service as a process of its own: started as the README says, ended by its id. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { adminPassword } from '../support/start-app.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface ServerProcess {
  /** Origin, without a trailing slash. */
  readonly url: string
  readonly pid: number
  /** Lines of its log so far. */
  readonly log: readonly string[]
  stop(): Promise<void>
}

export async function startServer(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-integration-'))
  const settings = ['--http', '--port', '0', '--data', join(folder, 'world'), '--rate-limits', 'off']
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...settings, ...argv], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HYPERPLANE_ADMIN_PASSWORD: adminPassword, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line))
  const ready = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /^Ready in .*: (http:.*)\/api$/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
  const ended = once(child, 'exit').then(() => {
    throw new Error(`the service ended: ${log.join('\n')}`)
  })
  ended.catch(() => undefined)
  return {
    url: await Promise.race([ready, ended]),
    pid: child.pid as number,
    log,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(folder, { recursive: true })
    },
  }
}
