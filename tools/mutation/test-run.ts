import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Mutant } from './mutants.ts'
import { root } from './paths.ts'

/** Node's arguments before `--test` in the script `test`: the environment and the loader. */
function flagsOfTests(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const words = (scripts.test as string).split(' ')
  return words.slice(1, words.indexOf('--test'))
}

export interface TestRun {
  readonly outcome: 'passed' | 'failed' | 'timed out'
  /** Absent if the run was killed before it could report them. */
  readonly suite?: string
  readonly test?: string
  readonly output: string
}

export interface TestRunOptions {
  readonly mutant?: Mutant
  readonly coverage?: string
  readonly timeoutSeconds: number
}

/** Ends with the first failing test, and kills the processes that tests started. */
export async function runTests(files: readonly string[], options: TestRunOptions): Promise<TestRun> {
  const { mutant, coverage, timeoutSeconds } = options
  const temporary = mkdtempSync(join(tmpdir(), 'hyperplane-mutation-'))
  const own = (file: string): string => pathToFileURL(join(import.meta.dirname, file)).href
  const mutated = mutant && JSON.stringify({ ...mutant, url: pathToFileURL(join(root, mutant.file)).href })
  const reporter = ['--test-reporter', own('first-failure.js'), '--test-reporter-destination', 'stdout']
  const child = spawn(process.execPath, [...flagsOfTests(), ...reporter, join(import.meta.dirname, 'suites.ts')], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TMPDIR: temporary,
      // Node sets this variable if a test starts this run: its reporter would replace ours.
      NODE_TEST_CONTEXT: undefined,
      HYPERPLANE_SUITES: JSON.stringify({ files, coverage }),
      // Environment variables reach worker threads and child processes of the tests too.
      ...(mutated === undefined
        ? {}
        : { HYPERPLANE_MUTANT: mutated, NODE_OPTIONS: `--import ${own('apply-mutant.js')}` }),
    },
  })
  if (child.pid !== undefined) running.add(child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes))
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    endGroup(child.pid)
  }, timeoutSeconds * 1000)
  const code = await new Promise<number | null>((ended, failed) => {
    child.once('error', failed)
    child.once('close', ended)
    child.once('exit', () => endGroup(child.pid))
  })
  running.delete(child.pid ?? 0)
  clearTimeout(timer)
  rmSync(temporary, { recursive: true, force: true })
  if (isLate) return { outcome: 'timed out', output }
  if (code === 0) return { outcome: 'passed', output }
  const named = /^first failure: (.*)$/m.exec(output)?.[1]
  return { outcome: 'failed', output, ...(named === undefined ? {} : JSON.parse(named)) }
}

/** Process groups to kill when this process exits. */
const running = new Set<number>()
process.on('exit', () => running.forEach(endGroup))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended already.
  }
}
