/** Runs test files in this process; with coverage, records the code that each of them executed. */
import { writeFileSync } from 'node:fs'
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector'
import { after, before, describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { domains } from './paths.ts'

/** Paths below the working directory; `coverage` is the output file. */
const { files, coverage }: { files: string[]; coverage?: string } = JSON.parse(process.env['HYPERPLANE_SUITES'] ?? '{}')

export interface CoveredBySuite {
  readonly file: string
  readonly seconds: number
  readonly scripts: readonly Profiler.ScriptCoverage[]
}

const session = new Session()
const covered: CoveredBySuite[] = []
if (coverage !== undefined) {
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
}

for (const file of files) {
  describe(file, async () => {
    let began = 0
    before(() => {
      began = Date.now()
    })
    await import(pathToFileURL(file).href)
    after(() => {
      if (coverage !== undefined) take(file, (Date.now() - began) / 1000)
    })
  })
}

/** Counters restart each time, so that each suite is credited with its own calls only. */
function take(file: string, seconds: number): void {
  session.post('Profiler.takePreciseCoverage', (error, found) => {
    if (error !== null) throw error
    const scripts = found.result.filter(({ url }) => url.includes(domains))
    covered.push({ file, seconds, scripts })
    if (covered.length === files.length) writeFileSync(coverage as string, JSON.stringify(covered))
  })
}
