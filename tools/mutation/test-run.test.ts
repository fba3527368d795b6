import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mutantsOf } from './mutants.ts'
import { root } from './paths.ts'
import { runTests } from './test-run.ts'

test('a mutant makes the test fail that covers it, and the file stays as it is', async () => {
  const file = 'tools/mutation/sample.ts'
  const before = readFileSync(join(root, file), 'utf8')
  const mutants = mutantsOf(file, before)
  const outcomeWith = async (change?: string): Promise<string> => {
    const mutant = mutants.find((each) => each.change === change)
    assert.equal(mutant?.change, change)
    return (await runTests(['tools/mutation/sample.test.ts'], { mutant, timeoutSeconds: 60 })).outcome
  }
  assert.equal(await outcomeWith(), 'passed')
  assert.equal(await outcomeWith('< -> <='), 'passed', 'no two mutants have one lot')
  assert.equal(await outcomeWith('candidates.length === 1 -> true'), 'failed')
  assert.equal(readFileSync(join(root, file), 'utf8'), before)
})
