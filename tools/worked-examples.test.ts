import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { page, withExamples } from './worked-examples.ts'

test('the page shows every example, and exactly as it runs', () => {
  const shown = readFileSync(page, 'utf8')
  const { text, missing } = withExamples(shown)
  assert.equal(shown, text, 'run npm run examples -- --update')
  assert.deepEqual(missing, [])
})

test('an example that the page shows otherwise, or not at all, is found', () => {
  const shown = readFileSync(page, 'utf8')
  assert.notEqual(withExamples(shown.replace('PT45S', 'PT46S')).text, shown.replace('PT45S', 'PT46S'))
  assert.deepEqual(withExamples(shown.replace('(examples/stale-tag.py)', '')).missing, ['stale-tag.py'])
})
