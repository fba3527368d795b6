import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { factKinds, happeningTypes } from '@hyperplane/contract/control/world-happening'
import { catalogue } from './index.ts'

const reference = readFileSync(join(import.meta.dirname, '../../../../../../docs/reference/world-events.md'), 'utf8')

test('every event of the contract is in the catalogue and in the reference page', () => {
  assert.deepEqual(Object.keys(catalogue).sort(), [...happeningTypes].sort())
  for (const name of [...happeningTypes, ...factKinds]) assert.ok(reference.includes(`\`${name}\``), name)
})

test('an event that ends a lasting event does not last itself; guests and uplinks recover from every fault that they can have', () => {
  const ends = Object.values(catalogue).flatMap(({ until }) => until ?? [])
  for (const type of ends) assert.equal(catalogue[type].until, undefined, type)
  const repeated = ends.filter((type, index) => ends.indexOf(type) < index)
  assert.deepEqual(new Set(repeated), new Set(['GUEST_RECOVERS', 'UPLINK_RETURNS']))
})
