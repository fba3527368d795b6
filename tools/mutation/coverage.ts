/** Source ranges that each test file executes; cached in `node_modules/.cache`. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { filesOf, groups } from '../../packages/server/test/groups/groups.ts'
import { atOnce } from './at-once.ts'
import type { Mutant } from './mutants.ts'
import { domains, root } from './paths.ts'
import type { CoveredBySuite } from './suites.ts'
import { runTests } from './test-run.ts'

interface CoveredSource {
  /** Digest of the executed source: offsets do not apply to a changed source. */
  readonly digest: string
  /** Start and end alternate. */
  readonly ranges: readonly number[]
}

interface TestFile {
  readonly digest: string
  readonly seconds: number
  readonly sources: Readonly<Record<string, CoveredSource>>
}

export type Coverage = Record<string, TestFile>

const cache = join(root, 'node_modules/.cache/mutation/coverage.json')
const groupSeconds = 600

const digests = new Map<string, string>()
const digestOf = (file: string): string => {
  let digest = digests.get(file)
  if (digest === undefined) {
    digest = createHash('sha256')
      .update(readFileSync(join(root, file)))
      .digest('hex')
      .slice(0, 12)
    digests.set(file, digest)
  }
  return digest
}

/** Runs test files that are new or changed since their coverage was gathered. @throws Error when one of them fails */
export async function gatherCoverage(processes: number, say: (line: string) => void): Promise<Coverage> {
  const known: Coverage = existsSync(cache) ? JSON.parse(readFileSync(cache, 'utf8')) : {}
  const coverage: Coverage = {}
  const runs: string[][] = []
  for (const patterns of Object.values(groups)) {
    const files = filesOf(...patterns)
    const stale = files.filter((file) => known[file]?.digest !== digestOf(file))
    for (const file of files) if (!stale.includes(file)) coverage[file] = known[file] as TestFile
    if (stale.length > 0) runs.push(stale)
  }
  if (runs.length > 0) say(`gathering the coverage of ${runs.flat().length} test files`)
  mkdirSync(dirname(cache), { recursive: true })
  await atOnce(processes, runs, async (files) => {
    const written = `${cache}.${digestOf(files[0] as string)}`
    const { outcome, suite, test, output } = await runTests(files, { coverage: written, timeoutSeconds: groupSeconds })
    if (outcome !== 'passed')
      throw new Error(
        `expected tests that pass without a mutant, ${outcome}: ${suite} "${test}"\n${output.slice(-2000)}`,
      )
    for (const suite of JSON.parse(readFileSync(written, 'utf8')) as CoveredBySuite[])
      coverage[suite.file] = testFileOf(suite)
    rmSync(written)
    writeFileSync(cache, JSON.stringify(coverage))
  })
  return coverage
}

function testFileOf({ file, seconds, scripts }: CoveredBySuite): TestFile {
  const sources: Record<string, CoveredSource> = {}
  for (const { url, functions } of scripts) {
    const source = fileURLToPath(url).slice(root.length + 1)
    const ranges = executedRanges(functions.flatMap((one) => one.ranges))
    if (ranges.length > 0) sources[source] = { digest: digestOf(source), ranges }
  }
  return { digest: digestOf(file), seconds, sources }
}

interface CountedRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

/** V8's ranges are nested: the innermost one says how often a character was executed. */
export function executedRanges(counted: readonly CountedRange[]): number[] {
  const sorted = counted.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  const executed: number[] = []
  const open: CountedRange[] = []
  let from = 0
  const until = (offset: number): void => {
    if (offset > from && (open.at(-1)?.count ?? 0) > 0) {
      if (executed.at(-1) === from) executed[executed.length - 1] = offset
      else executed.push(from, offset)
    }
    from = Math.max(from, offset)
  }
  const close = (offset: number): void => {
    for (let last = open.at(-1); last !== undefined && last.endOffset <= offset; last = open.at(-1)) {
      until(last.endOffset)
      open.pop()
    }
  }
  for (const range of sorted) {
    close(range.startOffset)
    until(range.startOffset)
    open.push(range)
  }
  close(Number.POSITIVE_INFINITY)
  return executed
}

/** Tests whose file names the mutant's namespace or stem come first, then the fastest. */
export function testsOf(mutant: Mutant, coverage: Coverage): { file: string; seconds: number }[] {
  const words = new Set(mutant.file.replace(domains, '').split(/[/.]/))
  const nearness = (file: string): number => file.split(/[/.]/).filter((word) => words.has(word)).length
  return Object.entries(coverage)
    .filter(([, { sources }]) => isExecuted(mutant, sources[mutant.file]))
    .map(([file, { seconds }]) => ({ file, seconds }))
    .sort((a, b) => nearness(b.file) - nearness(a.file) || a.seconds - b.seconds)
}

function isExecuted({ file, executedAt: at, isModuleLevel }: Mutant, source: CoveredSource | undefined): boolean {
  if (source === undefined) return false
  // A module runs once per process: every test file that uses it later depends on that run.
  if (isModuleLevel || source.digest !== digestOf(file)) return true
  return source.ranges.some((from, index) => index % 2 === 0 && from <= at && at < source.ranges[index + 1]!)
}
