import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerFree, faultTolerantCapacity, hostCapacity, largestDisk, type PoolUsage } from './capacity.ts'
import { filled } from './written.ts'

const GiB = 1024 ** 3
const day = 24 * 60 * 60 * 1000
const poolOf = (freeBytes: number, usage: object = {}): PoolUsage => ({
  clusterExtId: 'c',
  capacityBytes: 1000 * GiB,
  freeBytes,
  takenBytes: 1000 * GiB - freeBytes,
  containers: new Map([['own', { logicalBytes: 0, physicalBytes: 0, reservedBytes: 0, ...usage }]]),
})
const hardwareOf = (sizes: Readonly<Record<string, readonly number[]>>): any => ({
  isHostUp: () => true,
  drivesOf: (host: string) => sizes[host]?.map((sizeBytes) => ({ sizeBytes, isInPool: true, isLeaving: false })),
})
const container = (more: object = {}): any => ({ extId: 'own', name: 'own', replicationFactor: 2, ...more })

test('a drive contributes 95 % of its size to the pool', () => {
  assert.equal(hostCapacity({ extId: 'a' }, hardwareOf({ a: [1000, 200] })), 1140)
})

test('guests fill their disks towards 65 %, most of it within twenty days', () => {
  assert.equal(filled(100 * GiB, 0), 0)
  assert.ok(filled(100 * GiB, 20 * day) > 40 * GiB)
  assert.ok(filled(100 * GiB, 20 * day) < 42 * GiB)
  assert.ok(Math.abs(filled(100 * GiB) - 65 * GiB) < GiB / 1000)
})

test("free bytes are logical and include the container's own reservation", () => {
  assert.equal(containerFree(poolOf(100 * GiB), container()), 50 * GiB)
  assert.equal(containerFree(poolOf(100 * GiB, { reservedBytes: 40 * GiB }), container()), 70 * GiB)
})

test('an advertised capacity bounds what can be written and how large a disk may be', () => {
  const advertised = container({ logicalAdvertisedCapacityBytes: 10 * GiB })
  assert.equal(containerFree(poolOf(100 * GiB, { logicalBytes: 4 * GiB, physicalBytes: 8 * GiB }), advertised), 6 * GiB)
  assert.equal(largestDisk(1000 * GiB, advertised), 10 * GiB)
  assert.equal(largestDisk(1000 * GiB, container()), 500 * GiB)
})

test('the fault-tolerant capacity is that of the pool without its largest hosts', () => {
  const hosts = ['a', 'b', 'c'].map((extId) => ({ extId })) as never
  const cluster = { config: { redundancyFactor: 2 } } as never
  assert.equal(faultTolerantCapacity(cluster, hosts, hardwareOf({ a: [1000], b: [3000], c: [1000] })), 950)
})
