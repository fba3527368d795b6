import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  areAddressesKnown,
  type Carrier,
  isPassing,
  observedPath,
  passingShare,
  type StretchPath,
  type StretchSurroundings,
} from './stretch-path.ts'

const delays = { establishMillis: 10_000, failoverMillis: 5_000 }
const a = { extId: 'a', upFrom: 0 }
const b = { extId: 'b', upFrom: 0 }
const open = (...carriers: readonly Carrier[]): StretchSurroundings => ({ carriers, isRemoteReachable: true })
const after = (...seen: readonly (readonly [number, StretchSurroundings])[]): StretchPath =>
  seen.reduce<StretchPath | undefined>(
    (before, [now, surroundings]) => observedPath(before, surroundings, delays, now),
    undefined,
  ) as StretchPath

test('a new tunnel is up after the time that it takes, and an unchanged world leaves the record alone', () => {
  const path = after([1000, open(a)])
  assert.deepEqual(path.passing, [{ from: 11_000 }])
  assert.deepEqual([isPassing(path, 10_999), isPassing(path, 11_000)], [false, true])
  assert.equal(observedPath(path, open(a), delays, 99_000), path)
})

test('a gateway that still boots delays the tunnel', () => {
  const path = after([1000, open({ extId: 'a', upFrom: 20_000 })])
  assert.deepEqual(path.passing, [{ from: 30_000 }])
})

test('a standby takes over, and the gateway that comes back does not take the frames again', () => {
  const dead = after([0, open(a, b)], [50_000, open(b)])
  assert.deepEqual([dead.carrier?.extId, dead.failover], ['b', 'IN_PROGRESS'])
  assert.deepEqual(dead.passing, [{ from: 10_000, to: 50_000 }, { from: 55_000 }])
  assert.equal(observedPath(dead, open({ extId: 'a', upFrom: 60_000 }, b), delays, 60_000), dead)
})

test('without a standby the failover fails until the gateway runs again', () => {
  const dead = after([0, open(a)], [50_000, open()])
  assert.deepEqual([dead.carrier, dead.failover, isPassing(dead, 60_000)], [undefined, 'FAILED', false])
  const back = observedPath(dead, open({ extId: 'a', upFrom: 70_000 }), delays, 65_000)
  assert.deepEqual([back.failover, back.passing.at(-1)], ['FAILED', { from: 80_000 }])
})

test('a standby that boots is no standby', () => {
  const dead = after([0, open(a, { extId: 'b', upFrom: 49_000 })], [50_000, open({ extId: 'b', upFrom: 49_000 })])
  assert.deepEqual([dead.failover, dead.passing.at(-1)], ['FAILED', { from: 60_000 }])
})

test('a site that falls silent interrupts the tunnel, and returns with a new one', () => {
  const cut = after([0, open(a)], [50_000, { carriers: [a], isRemoteReachable: false }])
  assert.deepEqual([cut.passing, isPassing(cut, 60_000)], [[{ from: 10_000, to: 50_000 }], false])
  const back = observedPath(cut, open(a), delays, 100_000)
  assert.deepEqual(back.passing, [{ from: 10_000, to: 50_000 }, { from: 110_000 }])
})

test('a tunnel that never came up has no period', () => {
  const path = after([0, open(a)], [5000, open()])
  assert.deepEqual(path.passing, [])
})

test('addresses are remembered for 300 s after the last frame', () => {
  const cut = after([0, open(a)], [50_000, open()])
  assert.deepEqual(
    [9999, 10_000, 349_999, 350_000].map((now) => areAddressesKnown(cut, now)),
    [false, true, true, false],
  )
})

test('a reading counts the part of its time in which frames passed', () => {
  const cut = after([0, open(a)], [40_000, open()])
  assert.deepEqual(
    [30_000, 60_000, 90_000].map((at) => passingShare(cut, at, 30_000)),
    [20 / 30, 10 / 30, 0],
  )
})

test('a connection whose peer is silent ends when the peer is found dead, unless it answers before', () => {
  const silent = after([0, open(a)], [50_000, open({ ...a, until: 80_000 })])
  assert.deepEqual(silent.passing, [{ from: 10_000, to: 80_000 }])
  assert.deepEqual(
    [79_999, 80_000].map((now) => isPassing(silent, now)),
    [true, false],
  )
  const back = observedPath(silent, open(a), delays, 60_000)
  assert.deepEqual(back.passing, [{ from: 10_000 }])
  const gone = observedPath(silent, open(), delays, 60_000)
  assert.deepEqual(gone.passing, [{ from: 10_000, to: 60_000 }])
})
