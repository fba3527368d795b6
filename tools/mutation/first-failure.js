/** Test reporter: ends the process after the first failure, which it reports, or when all tests have passed. */
import { writeSync } from 'node:fs'

export default async function* firstFailure(events) {
  const suites = []
  for await (const { type, data } of events) {
    if (type === 'test:start') suites[data.nesting] = data.name
    const isFailure = type === 'test:fail' && data.todo === undefined && data.details.type !== 'suite'
    if (isFailure) end(1, { suite: suites[0], test: data.name })
    // A file that cannot be loaded fails as a suite without a failed test.
    if (type === 'test:summary' && data.file === undefined) end(data.success ? 0 : 1, { test: 'a suite as a whole' })
    yield ''
  }
}

function end(code, failure) {
  if (code !== 0) writeSync(1, `\nfirst failure: ${JSON.stringify(failure)}\n`)
  process.exit(code)
}
