import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Derivation } from './derivation.ts'

test('the result is the same object while entity and inputs are the same, and another one afterwards', () => {
  const derivation = new Derivation<{ name: string }, { shown: string }>()
  const entity = Object.freeze({ name: 'web' })
  let derived = 0
  const resultOf = (of: { name: string }, ...inputs: unknown[]) =>
    derivation.of(of, inputs, () => ({ shown: `${of.name} ${++derived}` }))
  const first = resultOf(entity, true, undefined)
  assert.equal(resultOf(entity, true, undefined), first)
  assert.deepEqual(resultOf(entity, false, undefined), { shown: 'web 2' })
  assert.deepEqual(resultOf(entity, false), { shown: 'web 3' })
  assert.deepEqual(resultOf(Object.freeze({ name: 'web' }), false), { shown: 'web 4' })
})

test('an entity that can still change is derived from each time', () => {
  const derivation = new Derivation<{ name: string }, { shown: string }>()
  const entity = { name: 'old' }
  const shownOf = () => derivation.of(entity, [], () => ({ shown: entity.name })).shown
  assert.equal(shownOf(), 'old')
  entity.name = 'new'
  assert.equal(shownOf(), 'new')
})
