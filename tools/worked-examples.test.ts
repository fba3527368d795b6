import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { missingIn, pages, withExamples } from './worked-examples.ts'

const texts = pages.map((page) => readFileSync(page, 'utf8'))

test('the pages show every example, and exactly as it runs', () => {
  assert.deepEqual(texts, texts.map(withExamples), 'run npm run examples -- --update')
  assert.deepEqual(missingIn(texts), [])
})

test('an example that a page shows otherwise, or no page at all, is found', () => {
  const [shown = '', ...others] = texts
  assert.notEqual(withExamples(shown.replace('PT45S', 'PT46S')), shown.replace('PT45S', 'PT46S'))
  assert.deepEqual(missingIn([shown.replace('(examples/stale-tag.py)', ''), ...others]), ['stale-tag.py'])
})
