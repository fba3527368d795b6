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
  const changed = texts.map((text) => text.replace('PT45S', 'PT46S'))
  assert.notDeepEqual(changed.map(withExamples), changed)
  assert.deepEqual(missingIn(texts.map((text) => text.replace('(examples/stale-tag.py)', ''))), ['stale-tag.py'])
})
