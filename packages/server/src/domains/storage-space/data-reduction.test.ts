import assert from 'node:assert/strict'
import { test } from 'node:test'
import { physicalBytes, reductionsSince } from './data-reduction.ts'

const GiB = 1024 ** 3
const hour = 60 * 60 * 1000
const start = Date.parse('2026-03-02T09:00:00Z')
const begun = '2026-03-02T09:00:00.000000Z'
const container = (more: object): any => ({ extId: 'c', replicationFactor: 2, ...more })
const at = (hours: number, hosts = 4): { hosts: number; now: number } => ({ hosts, now: start + hours * hour })
const disk = { extId: 'disk-1', uniqueBytes: 100 * GiB }

test('without reductions each byte takes one byte per copy', () => {
  assert.equal(physicalBytes(container({}), at(0), disk), 200 * GiB)
  assert.equal(physicalBytes(container({ replicationFactor: 3 }), at(0), disk), 300 * GiB)
})

test('compression begins after its delay and ends between 1.2 and 2.4; images are compressed already', () => {
  const compressed = container({
    isCompressionEnabled: true,
    compressionDelaySecs: 3600,
    reductionsSince: { compression: begun },
  })
  assert.equal(physicalBytes(compressed, at(1), disk), 200 * GiB)
  const [some, more, most] = [2, 6, 1000].map((hours) => physicalBytes(compressed, at(hours), disk)) as [
    number,
    number,
    number,
  ]
  assert.ok(200 * GiB > some && some > more && more > most)
  assert.ok(most >= (200 * GiB) / 2.4 && most <= (200 * GiB) / 1.2)
  assert.equal(physicalBytes(compressed, at(1000), { ...disk, isIncompressible: true }), 200 * GiB)
})

test('deduplication grows over half a day to at most 1.5', () => {
  const deduplicated = container({ onDiskDedup: 'POST_PROCESS', reductionsSince: { deduplication: begun } })
  const [early, late] = [1, 1000].map((hours) => physicalBytes(deduplicated, at(hours), disk)) as [number, number]
  assert.ok(200 * GiB > early && early > late && late >= (200 * GiB) / 1.5)
})

test('erasure coding turns four fifths of two copies into strips, whose cost depends on the hosts', () => {
  const coded = container({ erasureCode: 'ON', erasureCodeDelaySecs: 3600, reductionsSince: { erasureCoding: begun } })
  assert.equal(physicalBytes(coded, at(1), disk), 200 * GiB)
  const end = (hosts: number): number => physicalBytes(coded, at(10_000, hosts), disk) / GiB
  assert.equal(Math.round(end(4)), 160)
  assert.equal(Math.round(end(5) * 10), 1464)
  assert.equal(Math.round(end(6)), 140)
  assert.equal(end(3), 200)
})

test('savings grow only from the time when the data was written', () => {
  const compressed = container({ isCompressionEnabled: true, reductionsSince: { compression: begun } })
  const young = physicalBytes(compressed, at(1000), { ...disk, ageMillis: hour })
  assert.ok(young > physicalBytes(compressed, at(1000), disk))
})

test('a reduction counts from its activation, and one that stays enabled keeps its start time', () => {
  const later = '2026-03-03T09:00:00.000000Z'
  const stored = container({ isCompressionEnabled: true, reductionsSince: { compression: begun } })
  assert.deepEqual(reductionsSince(container({ isCompressionEnabled: true, erasureCode: 'ON' }), stored, later), {
    compression: begun,
    erasureCoding: later,
  })
  assert.deepEqual(reductionsSince(container({}), stored, later), {})
  // A reduction without a stored time has always been on, and gets none.
  assert.deepEqual(reductionsSince(stored, container({ isCompressionEnabled: true }), later), {})
})
