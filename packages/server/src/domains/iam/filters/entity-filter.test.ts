import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { evaluateFilter } from '../../../odata/index.ts'
import { FilterReader } from './conditions.ts'
import { coversEverything, readEntityFilter, scopeOf, unknownNames } from './entity-filter.ts'

const caller = '11111111-1111-4111-8111-111111111111'
const reach = (filter: object, image: object): boolean | null =>
  evaluateFilter(scopeOf([readEntityFilter(filter, '')], Image, caller), image)
const faultsOf = (filter: unknown): string[] => {
  const reader = new FilterReader(filter)
  readEntityFilter(filter, 'f', reader)
  return reader.faults.map((fault) => String(fault.appMessage.argumentsMap?.['attributePath']))
}

test('a filter names an entity in the singular, in the plural, or as everything', () => {
  for (const name of ['image', 'images', '*']) assert.equal(reach({ [name]: { '*': { eq: '*' } } }, {}), true, name)
  assert.equal(reach({ subnet: { '*': { eq: '*' } } }, {}), false)
  assert.equal(coversEverything(readEntityFilter({ '*': { '*': { eq: '*' } } }, '')), true)
  assert.equal(coversEverything(readEntityFilter({ image: { '*': { eq: '*' } } }, '')), false)
  assert.equal(coversEverything(readEntityFilter({ '*': { '*': { eq: '*' }, name: { eq: 'x' } } }, '')), false)
})

test('SELF_OWNED stands for the caller', () => {
  const own = { image: { owner_uuid: { eq: 'SELF_OWNED' } } }
  assert.equal(reach(own, { ownerExtId: caller }), true)
  assert.equal(reach(own, { ownerExtId: 'other' }), false)
  assert.equal(reach(own, {}), false)
})

test('a condition that excludes values holds for an entity without values', () => {
  assert.equal(reach({ image: { owner_uuid: { noteq: 'x' } } }, {}), true)
  assert.equal(reach({ image: { category_uuid: { noneof: ['a', 'b'] } } }, { categoryExtIds: ['c'] }), true)
  assert.equal(reach({ image: { category_uuid: { noneof: ['a', 'b'] } } }, { categoryExtIds: ['c', 'b'] }), false)
})

test('an attribute that the kind does not have matches nothing, not even by exclusion', () => {
  assert.equal(reach({ image: { vpc_uuid: { noteq: 'x' } } }, {}), false)
  for (const inherited of ['constructor', 'toString'])
    assert.equal(reach({ image: { [inherited]: { noteq: 'x' } } }, {}), false, inherited)
  assert.deepEqual(
    unknownNames(readEntityFilter({ image: { vpc_uuid: { eq: 'x' } }, marketplace_item: { '*': { eq: '*' } } }, '')),
    ['image/vpc_uuid', 'marketplace_item'],
  )
})

test('ids are compared without case, names exactly', () => {
  assert.equal(reach({ image: { uuid: { eq: caller.toUpperCase() } } }, { extId: caller }), true)
  assert.equal(reach({ image: { name: { eq: 'Ubuntu' } } }, { name: 'ubuntu' }), false)
})

test('faults name their path', () => {
  assert.deepEqual(faultsOf({}), ['f'])
  assert.deepEqual(faultsOf('image'), ['f'])
  assert.deepEqual(faultsOf({ image: {} }), ['f/image'])
  assert.deepEqual(faultsOf({ image: { name: { eq: 5 } } }), ['f/image/name/eq'])
  assert.deepEqual(faultsOf({ image: { '*': { eq: 'x' } } }), ['f/image/*'])
  assert.deepEqual(faultsOf({ image: { name: { anyof: Array(501).fill('x') } } }), ['f/image/name/anyof'])
})
