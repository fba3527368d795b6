/**
 * `npm run test:mutation` mutates the sources of the domains and lists the mutants that no test notices.
 * `-- --check` runs the killed mutants of the reference file again: all must still be killed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { atOnce } from './at-once.ts'
import { gatherCoverage } from './coverage.ts'
import { judge, type Verdict } from './judge.ts'
import type { Mutant } from './mutants.ts'
import { domains, root } from './paths.ts'
import { allMutants, allSources, drawSample, findAgain, type Reference } from './sample.ts'
import { runTests } from './test-run.ts'

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    sample: { type: 'string', default: '100' },
    files: { type: 'string', default: allSources },
    processes: { type: 'string', default: '2' },
    check: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
  },
})

const processes = numberOf('processes')
const referenceFile = join(import.meta.dirname, 'reference.jsonl')
/** The fixed sample is outdated when more than this share of its mutants has disappeared with their code. */
const goneAtMost = 0.2
const checkSeconds = 120

function numberOf(name: 'seed' | 'sample' | 'processes'): number {
  const value = Number(options[name])
  if (Number.isInteger(value) && value >= (name === 'seed' ? 0 : 1)) return value
  console.error(`--${name}: expected a whole number, found "${options[name]}"`)
  process.exit(2)
}

const print = (line: string): void => console.log(line)
const placeOf = ({ file, lineNumber }: Mutant): string => `${file}:${lineNumber}`

function diffOf({ file, start, end, text, line }: Mutant): string {
  const source = readFileSync(join(root, file), 'utf8')
  const lineStart = source.lastIndexOf('\n', start - 1) + 1
  const lineEnd = source.indexOf('\n', end)
  const mutated = source.slice(lineStart, start) + text + source.slice(end, lineEnd)
  return `  - ${line}\n  + ${mutated.trim()}`
}

async function tryMutants(mutants: readonly Mutant[]): Promise<Verdict[]> {
  const coverage = await gatherCoverage(processes, print)
  const verdicts: Verdict[] = []
  await atOnce(processes, mutants, async (mutant) => {
    const verdict = await judge(mutant, coverage)
    verdicts.push(verdict)
    const why = verdict.state === 'killed' ? `${verdict.by}: ${verdict.test}` : `${verdict.passed ?? 0} test files pass`
    print(`${verdicts.length}/${mutants.length} ${verdict.state} ${placeOf(mutant)} ${mutant.change} (${why})`)
  })
  return verdicts.sort((a, b) => (placeOf(a.mutant) < placeOf(b.mutant) ? -1 : 1))
}

function report(verdicts: readonly Verdict[]): void {
  const alive = verdicts.filter(({ state }) => state !== 'killed')
  for (const { mutant, state, leftOut = 0 } of alive) {
    const more = leftOut === 0 ? '' : ` (${leftOut} test files that execute it were not run)`
    print(`\n${state} ${placeOf(mutant)}${more}\n${diffOf(mutant)}`)
  }
  const killed = verdicts.length - alive.length
  print(`\nscore: ${killed} of ${verdicts.length} killed, ${((100 * killed) / verdicts.length).toFixed(1)} %`)
}

const referenceOf = ({ mutant: { file, line, change, occurrence }, state, by }: Verdict): Reference => ({
  state,
  file,
  line,
  change,
  occurrence,
  ...(by === undefined ? {} : { by }),
})

/** Runs one test file per mutant, the one that killed it: a few seconds, without coverage. */
async function check(): Promise<boolean> {
  const lines = readFileSync(referenceFile, 'utf8').trim().split('\n')
  const references = lines.map((line): Reference => JSON.parse(line))
  // Also finds code that has moved out of the domains since.
  const mutants = allMutants('packages/server/src/**/*.ts')
  const gone: Reference[] = []
  const alive: string[] = []
  const killed = references.filter(({ state }) => state === 'killed')
  await atOnce(processes, killed, async (reference) => {
    const mutant = findAgain(mutants, reference)
    const by = reference.by as string
    if (mutant === undefined || !existsSync(join(root, by))) return void gone.push(reference)
    const { outcome } = await runTests([by], { mutant, timeoutSeconds: checkSeconds })
    if (outcome === 'passed') alive.push(`survived ${placeOf(mutant)} (killed before by ${by})\n${diffOf(mutant)}`)
  })
  for (const line of alive.sort()) print(line)
  for (const { file, line, change, by } of gone) print(`gone, it or ${by}: ${file}: ${change} in ${line}`)
  const isOutdated = gone.length > goneAtMost * killed.length
  print(
    `${killed.length - alive.length - gone.length} of ${references.length} mutants still killed, ${gone.length} gone`,
  )
  if (alive.length > 0 || isOutdated)
    print(
      `If other tests notice these changes, or much code has gone: npm run test:mutation -- --update, and review ${relative(root, referenceFile)}.`,
    )
  return alive.length === 0 && !isOutdated
}

if (options.check) process.exitCode = (await check()) ? 0 : 1
else {
  const mutants = allMutants(options.files)
  print(`${mutants.length} mutants of ${options.files}, seed ${options.seed}`)
  if (mutants.length === 0) {
    console.error(`--files: expected a pattern of sources below ${domains}, such as '${domains}iam/**/*.ts'`)
    process.exit(2)
  }
  const verdicts = await tryMutants(drawSample(mutants, numberOf('seed'), numberOf('sample')))
  report(verdicts)
  if (options.update)
    writeFileSync(referenceFile, verdicts.map((verdict) => `${JSON.stringify(referenceOf(verdict))}\n`).join(''))
}
