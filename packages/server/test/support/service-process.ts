/** The service as a process of its own, in folders that are removed after the tests of the file. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { compiledSources } from './compiled.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface Launch {
  readonly argv?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly nodeOptions?: readonly string[]
}

export const parent = mkdtempSync(join(tmpdir(), 'hyperplane-process-'))
const running = new Set<ChildProcess>()
after(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(parent, { recursive: true })
})

export const newFolder = () => mkdtempSync(join(parent, 'data-'))

export function launch({ argv = [], env = {}, nodeOptions = [] }: Launch) {
  // An empty working directory, and no environment variable that could be a setting.
  const cwd = mkdtempSync(join(parent, 'cwd-'))
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...nodeOptions, main, ...argv], {
    cwd,
    env: { PATH: process.env['PATH'], ...compiledSources, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

const ready = /^Ready in \d+ ms: (https?:\/\/\S+\/api)$/

/** Resolves at the line that `until` matches; its group is the URL. */
export async function start(data: string, { argv = [], ...rest }: Launch = {}, until = ready) {
  const child = launch({ argv: ['--port', '0', '--data', data, ...argv], ...rest })
  const stderr = text(child.stderr)
  const lines: string[] = []
  let partial = ''
  for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    const [last, ...complete] = (partial + chunk).split('\n').reverse() as [string, ...string[]]
    lines.push(...complete.reverse())
    partial = last
    if (until.test(lines.at(-1) ?? '')) break
  }
  const url = until.exec(lines.at(-1) ?? '')?.[1]
  if (url === undefined) assert.fail(`not ready: ${lines.join('\n')} ${await stderr}`)
  return {
    url,
    lines,
    async end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null> {
      child.kill(signal)
      const [code] = await once(child, 'exit')
      return code
    },
  }
}
