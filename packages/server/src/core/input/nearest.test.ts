import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closestNames, didYouMean, editDistance, nearest } from './nearest.ts'

test('a typing error finds the intended name, regardless of case', () => {
  const known = ['clusters', 'categories', 'subnets', 'vms']
  for (const [written, meant] of [
    ['cluster', 'clusters'],
    ['Cluster', 'clusters'],
    ['sbunets', 'subnets'],
    ['vm', 'vms'],
    ['catgories', 'categories'],
  ] as const)
    assert.deepEqual(nearest(written, known), [meant], written)
})

test('a name unlike all others finds none', () => {
  assert.deepEqual(nearest('gateways', ['vms', 'users']), [])
  assert.equal(didYouMean('gateways', ['vms', 'users']), '')
})

test('the nearest comes first, and there are at most three', () => {
  assert.deepEqual(nearest('web-01', ['web-11', 'web-01x', 'db-01', 'web-0', 'wxb-02', 'web-10']), [
    'web-0',
    'web-01x',
    'web-10',
  ])
  assert.equal(didYouMean('vm', ['vms', 'vpcs']), '; did you mean "vms"?')
})

for (const [from, to, distance] of [
  ['', '', 0],
  ['', 'abc', 3],
  ['kitten', 'sitting', 3],
  ['createVm', 'craeteVm', 1],
  ['vm', 'vms', 1],
] as const) {
  test(`the edit distance from "${from}" to "${to}" is ${distance}`, () => {
    assert.equal(editDistance(from, to), distance)
    assert.equal(editDistance(to, from), distance)
  })
}

test('the closest names come first, regardless of case and of a missing namespace', () => {
  const known = ['vmm.createVm', 'vmm.updateVm', 'iam.createUser', 'platform.createCategory']
  assert.equal(closestNames('CreateVn', known)[0], 'vmm.createVm')
  assert.equal(closestNames('vm.createVm', known)[0], 'vmm.createVm')
})
