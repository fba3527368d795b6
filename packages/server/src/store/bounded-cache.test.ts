import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedCache } from './bounded-cache.ts'

test('the sizes of all values stay within the bound, and the oldest entries leave first', () => {
  const cache = new BoundedCache<number>(10)
  for (let number = 0; number < 100; number++) {
    cache.set(`${number}`, number, 1)
    assert.ok(cache.size <= 10)
  }
  assert.equal(cache.get('99'), 99)
  assert.equal(cache.get('0'), undefined)
})

test('an entry that is used again and again stays while others pass', () => {
  const cache = new BoundedCache<string>(10)
  cache.set('used', 'value', 1)
  for (let number = 0; number < 100; number++) {
    cache.set(`${number}`, 'passing', 1)
    assert.equal(cache.get('used'), 'value')
  }
})

test('a value that replaces another is counted once', () => {
  const cache = new BoundedCache<string>(100)
  cache.set('name', 'short', 5)
  cache.set('name', 'longer', 6)
  assert.equal(cache.size, 6)
  cache.delete('name')
  assert.deepEqual([cache.size, cache.get('name')], [0, undefined])
})

test('one value that is larger than the bound does not make the cache grow', () => {
  const cache = new BoundedCache<string>(10)
  for (let number = 0; number < 5; number++) cache.set(`${number}`, 'large', 50)
  assert.ok(cache.size <= 100)
})
