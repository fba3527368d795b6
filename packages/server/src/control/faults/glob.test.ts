import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GlobIndex, matchesGlob } from './glob.ts'

for (const [pattern, fitting, others] of [
  ['web-01', ['web-01'], ['web-011', 'Web-01', '']],
  ['web-*', ['web-', 'web-01'], ['we', 'my-web-01']],
  ['*-db', ['-db', 'a-db', 'a-db-db'], ['a-dbs']],
  ['v?', ['v1', 'vm'], ['v', 'v12']],
  ['a*b*c', ['abc', 'a1b2c', 'abbcc'], ['acb', 'ab']],
  ['*', ['', 'anything'], []],
  ['a.b(c)[d]', ['a.b(c)[d]'], ['axb(c)[d]']],
] as const) {
  test(`${pattern} matches ${fitting.length} names and not ${others.length} others`, () => {
    for (const text of fitting) assert.equal(matchesGlob(pattern, text), true, text)
    for (const text of others) assert.equal(matchesGlob(pattern, text), false, text)
  })
}

test('a pattern of many stars is fast against a long text that almost matches', () => {
  assert.equal(matchesGlob(`${'*a'.repeat(128)}b`, 'a'.repeat(4096)), false)
})

test('an index finds what trying every pattern finds', () => {
  const patterns = [
    'web-*',
    'web-01',
    '*-01',
    'w?b-*',
    'db-*',
    '*',
    'web-02',
    '*b-*',
    '*-*',
    '?',
    '*ab-*',
    'w?b*1',
    '**',
  ]
  const index = new GlobIndex(patterns, (pattern) => pattern)
  for (const text of ['web-01', 'db-01', 'w', '', 'wab-9']) {
    const expected = patterns.filter((pattern) => matchesGlob(pattern, text))
    assert.deepEqual([...index.matching([text])].sort(), expected.sort(), text)
  }
})
