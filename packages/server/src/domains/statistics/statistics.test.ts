import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExternVmDiskStatsTuple } from '@hyperplane/contract/vmm/extern/vm-disk-stats'
import { ExternVmStatsTuple } from '@hyperplane/contract/vmm/extern/vm-stats'
import { VmDiskStatsTuple } from '@hyperplane/contract/vmm/vm/statistics/vm-disk-stats'
import { VmStatsTuple } from '@hyperplane/contract/vmm/vm/statistics/vm-stats'
import { diskFigures, vmFigures } from './figures.ts'
import { bucketsOf, gridOf, singleBucketOf, spanOf } from './grid.ts'

const namesOf = (tuple: { fields: object }): string[] =>
  Object.keys(tuple.fields).filter((name) => name !== 'timestamp')

test('every statistic of a tuple is computed', () => {
  for (const tuple of [VmStatsTuple, ExternVmStatsTuple])
    assert.deepEqual(
      namesOf(tuple).filter((name) => vmFigures[name] === undefined),
      [],
    )
  for (const tuple of [VmDiskStatsTuple, ExternVmDiskStatsTuple])
    assert.deepEqual(
      namesOf(tuple).filter((name) => diskFigures[name] === undefined),
      [],
    )
})

test('points are at multiples of the interval, after the start and up to the end', () => {
  const at = (from: number, to: number, interval: number): number[] =>
    bucketsOf(gridOf({ from, to }, interval)).map((bucket) => bucket.at)
  assert.deepEqual(at(60, 150, 30), [90, 120, 150])
  assert.deepEqual(at(61, 149, 30), [90, 120])
  assert.deepEqual(at(0, 100, 45), [45, 90])
  assert.deepEqual(at(0, 90, 1), [30, 60, 90])
  assert.deepEqual(at(100, 100, 30), [])
})

test('a point represents all readings of its interval and always samples the last one', () => {
  const [five] = bucketsOf(gridOf({ from: 0, to: 300 }, 300))
  assert.deepEqual(five, {
    at: 300,
    timestamp: '1970-01-01T00:05:00.000000Z',
    times: [30, 60, 90, 120, 150, 180, 210, 240, 270, 300],
    weight: 1,
  })
  const [hour] = bucketsOf(gridOf({ from: 0, to: 3600 }, 3600))
  assert.equal(hour?.times.length, 10)
  assert.equal(hour?.times.at(-1), 3600)
  assert.equal(hour?.weight, 12)
  assert.equal(singleBucketOf({ from: 0, to: 7200 }).times.length, 240)
})

test('an interval with too many points becomes the next multiple of 30 s that fits', () => {
  const grid = gridOf({ from: 0, to: 30 * 3001 }, 30)
  assert.deepEqual([grid.intervalSeconds, grid.widenedFrom], [60, 30])
  assert.equal(gridOf({ from: 0, to: 30 * 3000 }, 30).widenedFrom, undefined)
})

test('a span ends now at the latest and starts at most 90 days ago, and an end before the start is refused', () => {
  const now = Date.parse('2026-03-02T09:00:00Z')
  const span = spanOf({ $startTime: '2020-01-01T00:00:00Z', $endTime: '2030-01-01T00:00:00Z' }, now)
  assert.deepEqual(span, { from: now / 1000 - 90 * 86_400, to: now / 1000 })
  for (const end of ['2020-01-01T00:00:00Z', '2019-01-01T00:00:00Z']) {
    assert.throws(() => spanOf({ $startTime: '2020-01-01T00:00:00Z', $endTime: end }, now), /before \$endTime/)
  }
})
