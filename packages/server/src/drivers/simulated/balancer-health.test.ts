import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BalancerHealth, healthyPeriods, observed } from './balancer-health.ts'

const check = { intervalSeconds: 5, timeoutSeconds: 2, successThreshold: 3, failureThreshold: 2 }
const target = { nicExtId: 'nic', vmExtId: 'vm', port: 80 }
const second = 1000

/** Observations of one target, `[second, since when its guest can be reached]`. */
function after(...observations: readonly (readonly [number, number | undefined])[]): BalancerHealth {
  let health: BalancerHealth = { targets: [] }
  for (const [at, reachable] of observations) {
    const since = reachable === undefined ? undefined : reachable * second
    health = observed(health, { targets: [target], check }, at * second, () => since)
  }
  return health
}
const periodsAt = (health: BalancerHealth, at: number): unknown[] =>
  healthyPeriods(health.targets[0]!, health.check, at * second).map(({ from, to }) =>
    to === undefined ? [from / second] : [from / second, to / second],
  )

test('a target is healthy after its good checks, counted from its addition', () => {
  const health = after([100, 10])
  assert.deepEqual(periodsAt(health, 114), [])
  assert.deepEqual(periodsAt(health, 115), [[115]])
})

test('a target whose guest still boots is healthy after the boot and its good checks', () => {
  const health = after([100, 140])
  assert.deepEqual(periodsAt(health, 154), [])
  assert.deepEqual(periodsAt(health, 1000), [[155]])
})

test('an outage that is shorter than the failed checks changes nothing', () => {
  assert.deepEqual(periodsAt(after([100, 10], [200, undefined], [209, 10]), 1000), [[115]])
  assert.deepEqual(periodsAt(after([100, 10], [200, 209]), 1000), [[115]])
})

test('an outage that is as long as the failed checks ends the health, which returns after good ones', () => {
  assert.deepEqual(periodsAt(after([100, 10], [200, undefined]), 209), [[115]])
  assert.deepEqual(periodsAt(after([100, 10], [200, undefined]), 210), [[115, 210]])
  assert.deepEqual(periodsAt(after([100, 10], [200, undefined], [300, 10]), 314), [[115, 210]])
  assert.deepEqual(periodsAt(after([100, 10], [200, undefined], [300, 10]), 315), [[115, 210], [315]])
  assert.deepEqual(periodsAt(after([100, 10], [200, 220]), 1000), [[115, 210], [235]])
})

test('a recovery that is shorter than the good checks changes nothing', () => {
  const flapping = after([100, 10], [200, undefined], [300, 10], [310, undefined], [400, 10])
  assert.deepEqual(periodsAt(flapping, 414), [[115, 210]])
  assert.deepEqual(periodsAt(flapping, 1000), [[115, 210], [415]])
})

test('an observation without a change returns the same record', () => {
  const health = after([100, 10], [200, undefined])
  assert.equal(
    observed(health, { targets: [target], check }, 900 * second, () => undefined),
    health,
  )
})

test('other checks judge from their change on', () => {
  const slow = { ...check, intervalSeconds: 100 }
  const health = observed(after([100, 10]), { targets: [target], check: slow }, 120 * second, () => 10 * second)
  assert.deepEqual(periodsAt(health, 1000), [[115]])
  const lost = observed(health, { targets: [target], check: slow }, 500 * second, () => undefined)
  assert.deepEqual([periodsAt(lost, 699), periodsAt(lost, 700)], [[[115]], [[115, 700]]])
})

test('other checks change nothing that the checks before them found', () => {
  const slow = { ...check, intervalSeconds: 100 }
  const changedAt = (at: number, health: BalancerHealth, by: typeof check, reachable?: number): BalancerHealth =>
    observed(health, { targets: [target], check: by }, at * second, () => reachable)
  const slowly = changedAt(100, { targets: [] }, slow, 10 * second)
  assert.deepEqual(periodsAt(changedAt(120, slowly, check, 10 * second), 1000), [[120]])
  const silent = changedAt(500, slowly, slow)
  assert.deepEqual(periodsAt(silent, 650), [[400]])
  assert.deepEqual(periodsAt(changedAt(650, silent, check), 1000), [[400, 650]])
  const back = changedAt(600, silent, slow, 10 * second)
  assert.deepEqual(periodsAt(changedAt(800, back, check, 10 * second), 1000), [[400]])
})

test('a removed target keeps its history for 90 days, and starts a new one when it returns', () => {
  const left = observed(after([100, 10]), { targets: [], check }, 300 * second, () => 10 * second)
  assert.deepEqual(periodsAt(left, 1000), [[115, 300]])
  const back = observed(left, { targets: [target], check }, 400 * second, () => 10 * second)
  const [former, present] = back.targets
  assert.deepEqual([former?.until, present?.since], [300 * second, 400 * second])
  assert.deepEqual(healthyPeriods(present!, check, 415 * second), [{ from: 415 * second }])
  const later = 91 * 24 * 3600
  const much = observed(back, { targets: [target], check }, later * second, () => undefined)
  assert.deepEqual(
    much.targets.map(({ since }) => since),
    [400 * second],
  )
})

test('of the targets that left, the last 500 are kept, and every present one', () => {
  let health = observed({ targets: [] }, { targets: [target], check }, 0, () => 0)
  for (let number = 0; number < 510; number++) {
    const passing = { nicExtId: `nic-${number}`, vmExtId: 'vm', port: 80 }
    health = observed(health, { targets: [target, passing], check }, 10 * number, () => 0)
  }
  const ids = health.targets.map(({ nicExtId }) => nicExtId)
  assert.deepEqual([ids.length, ids[0], ids[1], ids.at(-1)], [502, 'nic', 'nic-9', 'nic-509'])
})
