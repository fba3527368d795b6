import { type Coverage, testsOf } from './coverage.ts'
import type { Mutant } from './mutants.ts'
import { runTests } from './test-run.ts'

export interface Verdict {
  readonly mutant: Mutant
  /** `unreached`: no test executes it. A test that times out counts as failed. */
  readonly state: 'killed' | 'survived' | 'unreached'
  readonly by?: string
  readonly test?: string
  /** Test files that passed in spite of the mutant, and the number of further ones that execute it. */
  readonly passed?: number
  readonly leftOut?: number
}

/** Limits the tests for a mutant in code that every test executes; the nearest tests run. */
const secondsOfTests = 60

export async function judge(mutant: Mutant, coverage: Coverage): Promise<Verdict> {
  const tests = testsOf(mutant, coverage)
  if (tests.length === 0) return { mutant, state: 'unreached' }
  let seconds = 0
  const near = tests.filter((test, index) => (seconds += test.seconds) <= secondsOfTests || index === 0)
  const files = near.map(({ file }) => file)
  const usual = near.reduce((sum, test) => sum + test.seconds, 0)
  const run = await runTests(files, { mutant, timeoutSeconds: 60 + 5 * usual })
  if (run.outcome === 'passed')
    return { mutant, state: 'survived', passed: files.length, leftOut: tests.length - files.length }
  const test = run.outcome === 'timed out' ? 'timed out' : (run.test ?? 'ended the process')
  return { mutant, state: 'killed', by: files.find((file) => file === run.suite) ?? files[0]!, test }
}
