import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInefficient } from './vm-efficiency.ts'

const day = (cpuPpm: number, guestMemoryPpm: number, hours = 24) =>
  Array.from({ length: hours }, () => ({ cpuPpm, guestMemoryPpm }))

test('a VM with almost no CPU usage is idle, whatever its memory usage', () => {
  assert.ok(isInefficient(day(20_000, 900_000)))
})

test('a VM that never used a quarter of its CPUs and half of its memory is over-sized, but not after one busy hour', () => {
  assert.ok(isInefficient(day(200_000, 400_000)))
  assert.ok(!isInefficient(day(200_000, 600_000)))
  assert.ok(!isInefficient([...day(100_000, 400_000, 23), ...day(800_000, 400_000, 1)]))
})

test('a VM that ran for less than half of the day is not counted', () => {
  assert.ok(!isInefficient(day(1000, 1000, 11)))
  assert.ok(isInefficient(day(1000, 1000, 12)))
})
