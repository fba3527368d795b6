import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Delay, draw } from './delay.ts'

const drawnOf = (delay: Delay, count = 2000): number[] =>
  Array.from({ length: count }, (_, index) => draw(delay, `seed/${index}`)).sort((a, b) => a - b)
const at = (values: readonly number[], share: number): number => values[Math.floor(share * values.length)] as number
const isNear = (found: number, expected: number, tolerance: number): void =>
  assert.ok(Math.abs(found - expected) <= tolerance * expected, `${found}, not about ${expected}`)

test('the same seed draws the same delay, another seed another one', () => {
  const delay = { mean: 'PT1S' }
  assert.equal(draw(delay, 'a'), draw(delay, 'a'))
  assert.notEqual(draw(delay, 'a'), draw(delay, 'b'))
})

test('a uniform delay fills its range evenly', () => {
  const values = drawnOf({ minimum: 'PT1S', maximum: 'PT3S' })
  assert.ok((values[0] as number) >= 1000 && (values.at(-1) as number) <= 3000)
  isNear(at(values, 0.5), 2000, 0.05)
  isNear(at(values, 0.25), 1500, 0.05)
})

test('an exponential delay has its mean', () => {
  const values = drawnOf({ mean: 'PT2S' })
  isNear(values.reduce((sum, value) => sum + value, 0) / values.length, 2000, 0.1)
  isNear(at(values, 0.5), 2000 * Math.LN2, 0.1)
})

test('a log-normal delay has its median and its 95th percentile', () => {
  const values = drawnOf({ median: 'PT1S', p95: 'PT4S' })
  isNear(at(values, 0.5), 1000, 0.1)
  isNear(at(values, 0.95), 4000, 0.15)
})

test('no delay is longer than it may be', () => {
  assert.equal(drawnOf({ mean: 'PT10S', atMost: 'PT1S' }).at(-1), 1000)
  assert.ok((drawnOf({ median: 'PT1H', p95: 'PT23H' }).at(-1) as number) <= 86_400_000)
})
