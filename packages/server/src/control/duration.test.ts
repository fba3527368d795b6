import assert from 'node:assert/strict'
import { test } from 'node:test'
import { millisecondsOf } from './duration.ts'

test('durations of fixed length are read', () => {
  assert.equal(millisecondsOf('PT0.5S'), 500)
  assert.equal(millisecondsOf('PT90M'), 5_400_000)
  assert.equal(millisecondsOf('P90D'), 90 * 86_400_000)
  assert.equal(millisecondsOf('P1W2DT3H4M5S'), (((9 * 24 + 3) * 60 + 4) * 60 + 5) * 1000)
  assert.equal(millisecondsOf('PT0S'), 0)
})

test('texts without a fixed length, an amount or the right form are no durations', () => {
  for (const text of [
    '',
    'P',
    'PT',
    'P1DT',
    'P1M',
    'P1Y',
    '-PT1S',
    'PT-1S',
    'PT1.0000001S',
    '1h',
    '3600',
    'pt1h',
    'PT1H ',
  ])
    assert.equal(millisecondsOf(text), undefined, text)
})
