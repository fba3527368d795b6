import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offsetIn } from './json-places.ts'

const json = String.raw`{"a": 12, "b\"}":[true, {"c":"x,\\]"}, [] ,-1.5e3], "d" : {}, "a":null}`
const at = (...path: (string | number)[]): string => json.slice(offsetIn(json, path))

test('a value is found by its path, whatever the strings before it contain', () => {
  assert.equal(at(), json)
  assert.ok(at('b"}').startsWith('[true'))
  assert.ok(at('b"}', 0).startsWith('true'))
  assert.ok(at('b"}', 1, 'c').startsWith('"x,'))
  assert.ok(at('b"}', 2).startsWith('[]'))
  assert.ok(at('b"}', 3).startsWith('-1.5e3]'))
  assert.ok(at('d').startsWith('{},'))
})

test('the last of two equal names counts', () => {
  assert.equal(at('a'), 'null}')
})

test('a name is found as well as its value', () => {
  assert.ok(json.slice(offsetIn(json, ['d'], 'name')).startsWith('"d" :'))
})

test('a missing value is located at its parent', () => {
  assert.ok(at('b"}', 9).startsWith('[true'))
  assert.ok(at('d', 'e', 'f').startsWith('{},'))
  assert.ok(at('b"}', 0, 'c').startsWith('true'))
  assert.equal(at('none'), json)
})
