import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Period } from './balancer-health.ts'
import { activeAt } from './function-health.ts'

const pair = (name: string, isEnabled = true) => ({ vmExtId: name, ingressNicExtId: name, isEnabled })
const both = [pair('a'), pair('b')]
const healthy = (periods: Readonly<Record<string, readonly Period[]>>) => (name: string) => periods[name] ?? []
const never = healthy({})

test('the first enabled pair is active until a pair is healthy', () => {
  assert.equal(activeAt(both, never, undefined, 10)?.nicExtId, 'a')
  assert.equal(activeAt([pair('a', false), pair('b')], never, undefined, 10)?.nicExtId, 'b')
  assert.equal(activeAt(both, healthy({ b: [{ from: 5 }] }), undefined, 10)?.nicExtId, 'b')
  assert.equal(activeAt(both, healthy({ b: [{ from: 5 }] }), undefined, 4)?.nicExtId, 'a')
})

test('no pair is active while none is enabled', () => {
  assert.equal(activeAt([pair('a', false)], healthy({ a: [{ from: 1 }] }), undefined, 10), undefined)
})

test('traffic leaves a pair that fails, and does not return', () => {
  const periods = healthy({ a: [{ from: 1, to: 20 }, { from: 30 }], b: [{ from: 2 }] })
  assert.equal(activeAt(both, periods, undefined, 19)?.nicExtId, 'a')
  assert.equal(activeAt(both, periods, undefined, 20)?.nicExtId, 'b')
  assert.equal(activeAt(both, periods, undefined, 100)?.nicExtId, 'b')
})

test('a pair that fails stays active while the other one is down, and takes turns afterwards', () => {
  const periods = healthy({ a: [{ from: 1, to: 20 }, { from: 30 }], b: [{ from: 2, to: 10 }, { from: 40 }] })
  assert.equal(activeAt(both, periods, undefined, 25)?.nicExtId, 'a')
  assert.equal(activeAt(both, periods, undefined, 100)?.nicExtId, 'a')
})

test('a known active pair stays active, and a disabled one is replaced', () => {
  const periods = healthy({ a: [{ from: 1 }], b: [{ from: 1 }] })
  assert.equal(activeAt(both, periods, { nicExtId: 'b', at: 5 }, 10)?.nicExtId, 'b')
  assert.equal(activeAt([pair('a'), pair('b', false)], periods, { nicExtId: 'b', at: 5 }, 10)?.nicExtId, 'a')
})
