import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enumeration, integer, object, oneOf, optional, text, timestamp } from '@hyperplane/contract'
import { validateBody } from './validate.ts'

const options = { unknown: 'refuse', version: 'v4.2', sparse: false, defaults: true } as const

test('a time is stored in UTC to the microsecond, also beyond what a number can hold', () => {
  assert.equal(validateBody(timestamp(), '2026-03-02T10:00:00.5+01:00', options).value, '2026-03-02T09:00:00.500000Z')
  assert.equal(validateBody(timestamp(), '9000-01-01T00:00:00.123457Z', options).value, '9000-01-01T00:00:00.123457Z')
})

test('a text without an offset, or of no real day, is refused', () => {
  for (const text of ['2026-03-02T10:00:00', '2026-02-30T10:00:00Z', '1969-12-31T23:59:59Z', 'now']) {
    assert.equal(validateBody(timestamp(), text, options).faults.length, 1, text)
  }
})

const shape = oneOf(
  object('test.v1.Circle', { type: enumeration(['CIRCLE']), radius: integer() }),
  object('test.v1.Square', { type: enumeration(['SQUARE']), side: integer(), name: text() }),
)

test('a tag selects the alternative, so that faults are about the intended one', () => {
  assert.deepEqual(validateBody(shape, { type: 'CIRCLE', radius: 1 }, options).value, {
    $objectType: 'test.v1.Circle',
    type: 'CIRCLE',
    radius: 1,
  })
  const faults = (value: unknown) =>
    validateBody(shape, value, options).faults.map(({ attributePath, message }) => `${attributePath}: ${message}`)
  assert.deepEqual(faults({ type: 'SQUARE', radius: 1 }), [
    'side: is required',
    'name: is required',
    'radius: is not a field of this object',
  ])
  assert.deepEqual(faults({ type: 'SQARE' }), [
    'type: expected one of CIRCLE, SQUARE; found "SQARE"; did you mean "SQUARE"?',
  ])
  assert.deepEqual(faults({ radius: 1 }), ['type: is required: one of CIRCLE, SQUARE'])
})

const journey = oneOf(
  object('test.v1.Train', { train: text(), coach: optional(integer()), at: optional(text()) }),
  object('test.v1.Flight', { flight: text(), at: optional(text()) }),
  object('test.v1.Walk', { steps: integer() }),
)

test('among fields of several alternatives, the fault names those that exclude each other', () => {
  const faults = (value: unknown) =>
    validateBody(object('test.v1.Trip', { by: journey }), { by: value }, options).faults.map(
      ({ attributePath, message }) => `${attributePath}: ${message}`,
    )
  assert.deepEqual(faults({ at: 'noon', flight: 'F1' }), [])
  assert.deepEqual(faults({ at: 'noon', train: 'T1', flight: 'F1' }), [
    'by: expected either train or flight, found both',
  ])
  assert.deepEqual(faults({ train: 'T1', flight: 'F1', coach: 7 }), [
    'by: expected either train with coach or flight, found both',
  ])
  assert.deepEqual(faults({ steps: 1, flight: 'F1', train: 'T1' }), [
    'by: expected either steps or flight or train, found all of them',
  ])
  assert.deepEqual(faults({ at: 'noon' }), [
    'by: expected exactly one of test.v1.Train, test.v1.Flight, test.v1.Walk; say which by $objectType. Found an object',
  ])
})
