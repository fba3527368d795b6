import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type Allocation,
  chooseHost,
  type Demand,
  type HostCandidate,
  heldMemoryBytes,
  usableMemoryBytes,
} from './placement.ts'

const GiB = 1024 ** 3
const host = (name: string, usableGiB = 100, more: Partial<HostCandidate> = {}): HostCandidate => ({
  extId: name,
  name,
  memorySizeBytes: (usableGiB + 40) * GiB,
  threads: 16,
  switchExtIds: new Set(['vs0']),
  ...more,
})
const demand = (memoryGiB: number, more: Partial<Demand> = {}): Demand => ({
  memoryBytes: memoryGiB * GiB,
  vcpus: 1,
  isPinned: false,
  switchExtIds: [],
  ...more,
})
const held = (hostExtId: string, memoryGiB: number, more: Partial<Allocation> = {}): Allocation => ({
  vmExtId: 'other',
  hostExtId,
  memoryBytes: memoryGiB * GiB,
  vcpus: 1,
  isPinned: false,
  ...more,
})
const chosen = (...given: Parameters<typeof chooseHost>): string | readonly string[] => {
  const choice = chooseHost(...given)
  return 'hostExtId' in choice ? choice.hostExtId : choice.reasons
}

test('a host reserves 40 GiB for itself, so a host of 40 GiB has no room for VMs', () => {
  assert.equal(usableMemoryBytes(host('a')), 100 * GiB)
  assert.equal(usableMemoryBytes({ memorySizeBytes: 40 * GiB }), 0)
})

test('with overcommitment a VM reserves 60 % of its memory, at least 1 GiB, and never more than its size', () => {
  const holding = (memorySizeBytes: number): number =>
    heldMemoryBytes({ memorySizeBytes, isMemoryOvercommitEnabled: true })
  assert.equal(holding(10 * GiB), 6 * GiB)
  assert.equal(holding(1.5 * GiB), GiB)
  assert.equal(holding(0.5 * GiB), 0.5 * GiB)
  assert.equal(heldMemoryBytes({ memorySizeBytes: 10 * GiB }), 10 * GiB)
})

test("the host with more free memory is chosen, then with fewer reserved CPUs, then the VM's last host, then by name", () => {
  assert.equal(chosen([host('a'), host('b')], [held('a', 50)], demand(1)), 'b')
  assert.equal(chosen([host('a'), host('b')], [held('a', 0, { vcpus: 4 })], demand(1)), 'b')
  assert.equal(chosen([host('a'), host('b')], [], demand(1, { lastHostExtId: 'b' })), 'b')
  assert.equal(chosen([host('b'), host('a')], [], demand(1)), 'a')
})

test('the host with fewer peers is chosen even if it has less free memory, and VMs that are no peers do not count', () => {
  const peers = demand(1, { peerVmExtIds: new Set(['peer']) })
  const taken = [held('a', 1, { vmExtId: 'peer' }), held('b', 80)]
  assert.equal(chosen([host('a'), host('b')], taken, peers), 'b')
  assert.equal(chosen([host('a'), host('b')], taken, demand(1)), 'a')
  assert.equal(chosen([host('a')], taken, peers), 'a')
})

test('differences of memory below 2 % do not decide', () => {
  assert.equal(chosen([host('a'), host('b')], [held('a', 0.5), held('b', 0, { vcpus: 2 })], demand(1)), 'a')
})

test('each host without room is reported with its reason', () => {
  const hosts = [
    host('full'),
    host('small', 100, { threads: 1 }),
    host('closed', 100, { closed: 'maintenance: the host is entering_maintenance' }),
    host('bare', 100, { switchExtIds: new Set() }),
  ]
  const wanted = demand(60, { vcpus: 2, switchExtIds: ['vs0'] })
  const reasons = chosen(hosts, [held('full', 50)], wanted) as readonly string[]
  assert.equal(reasons.length, 4)
  for (const [index, word] of ['memory', 'CPU', 'maintenance', 'network'].entries())
    assert.match(reasons[index] as string, new RegExp(word))
})

test('an agent VM runs on its host or nowhere', () => {
  assert.equal(chosen([host('a'), host('b')], [held('b', 90)], demand(5, { onlyHostExtId: 'b' })), 'b')
  assert.match(
    (chosen([host('a'), host('b')], [held('b', 99)], demand(5, { onlyHostExtId: 'b' })) as string[]).join(),
    /affinity.*memory/,
  )
})

test('pinned CPUs have exclusive hardware threads', () => {
  const pinned = held('a', 1, { vcpus: 15, isPinned: true })
  assert.equal(chosen([host('a')], [pinned], demand(1, { vcpus: 4 })), 'a')
  assert.match((chosen([host('a')], [pinned], demand(1, { vcpus: 5 })) as string[])[0] as string, /CPU/)
  assert.match((chosen([host('a')], [pinned], demand(1, { vcpus: 2, isPinned: true })) as string[])[0] as string, /CPU/)
})

test('random placements and releases never reserve more memory or CPUs than a host has', () => {
  const step = fc.record({
    memoryGiB: fc.integer({ min: 1, max: 70 }),
    vcpus: fc.integer({ min: 1, max: 20 }),
    isPinned: fc.boolean(),
    leaves: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const hosts = [host('a', 100), host('b', 64), host('c', 128, { threads: 4 })]
      let allocations: Allocation[] = []
      for (const { memoryGiB, vcpus, isPinned, leaves } of steps) {
        if (leaves) allocations = allocations.slice(1)
        const choice = chooseHost(hosts, allocations, demand(memoryGiB, { vcpus, isPinned }))
        if ('hostExtId' in choice) allocations.push(held(choice.hostExtId, memoryGiB, { vcpus, isPinned }))
        for (const each of hosts) {
          const own = allocations.filter(({ hostExtId }) => hostExtId === each.extId)
          const sum = (of: (held: Allocation) => number): number => own.reduce((total, one) => total + of(one), 0)
          const pinned = sum((one) => (one.isPinned ? one.vcpus : 0))
          assert.ok(sum((one) => one.memoryBytes) <= usableMemoryBytes(each))
          assert.ok(pinned <= each.threads)
          assert.ok(sum((one) => (one.isPinned ? 0 : one.vcpus)) <= 4 * (each.threads - pinned))
        }
      }
    }),
    { numRuns: 50 },
  )
})
