import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closestNames, editDistance } from './closest-names.ts'

for (const [from, to, distance] of [
  ['', '', 0],
  ['', 'abc', 3],
  ['kitten', 'sitting', 3],
  ['createVm', 'craeteVm', 1],
  ['vm', 'vms', 1],
] as const) {
  test(`from "${from}" to "${to}" it is ${distance}`, () => {
    assert.equal(editDistance(from, to), distance)
    assert.equal(editDistance(to, from), distance)
  })
}

test('the closest names come first, regardless of case and of a missing namespace', () => {
  const known = ['vmm.createVm', 'vmm.updateVm', 'iam.createUser', 'platform.createCategory']
  assert.equal(closestNames('CreateVn', known)[0], 'vmm.createVm')
  assert.equal(closestNames('vm.createVm', known)[0], 'vmm.createVm')
})
