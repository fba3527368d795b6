import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mutantsOf } from './mutants.ts'
import { drawSample, findAgain } from './sample.ts'

const source = 'if (a) b()\nif (c) d()\nif (e) f()\n'
const linesOf = (mutants: readonly { line: string; change: string }[]): string[] =>
  mutants.map(({ line, change }) => `${line} | ${change}`)

test('a seed draws the same mutants again, wherever their file lies and whatever is added above', () => {
  const drawn = drawSample(mutantsOf('domains/one.ts', source), 1, 4)
  const moved = mutantsOf('domains/theme/one.ts', `// moved\n${source}`)
  assert.deepEqual(linesOf(drawSample(moved, 1, 4)), linesOf(drawn))
  assert.notDeepEqual(linesOf(drawSample(moved, 2, 4)), linesOf(drawn))
})

test('a mutant is found again in its file, or in the only other file that has it', () => {
  const [wanted] = mutantsOf('one.ts', source)
  assert.ok(wanted)
  const reference = { ...wanted, state: 'killed' } as const
  const moved = mutantsOf('other.ts', source)
  assert.equal(findAgain(moved, reference)?.file, 'other.ts')
  assert.equal(findAgain([...moved, ...mutantsOf('one.ts', source)], reference)?.file, 'one.ts')
  assert.equal(findAgain([...moved, ...mutantsOf('third.ts', source)], reference), undefined)
  assert.equal(findAgain(mutantsOf('one.ts', 'if (x) b()'), reference), undefined)
  const withoutIt = mutantsOf('one.ts', 'if (x) y()')
  assert.equal(findAgain([...moved, ...withoutIt], reference), undefined, 'the file exists: the line is gone')
})
