import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DerFault, derAt, derTag, derValuesIn, expectDer, firstDerValuesIn } from './der.ts'

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values)
const boundsOf = (all: Uint8Array, offset = 0, limit?: number): number[] => {
  const { start, content, end } = derAt(all, offset, limit)
  return [start, content, end]
}

test('a value with a short or long length is found, and may end with its outer value', () => {
  assert.deepEqual(boundsOf(bytes(0x30, 0x00)), [0, 2, 2])
  assert.deepEqual(boundsOf(bytes(0x30, 0x02, 1, 2)), [0, 2, 4])
  assert.deepEqual(boundsOf(bytes(9, 0x30, 0x81, 0x01, 7), 1), [1, 4, 5])
  assert.deepEqual(boundsOf(bytes(0x30, 0x82, 0x00, 0x01, 7)), [0, 4, 5])
  assert.deepEqual(boundsOf(bytes(0x30, 0x84, 0, 0, 0, 1, 7)), [0, 6, 7])
})

const broken: readonly [string, Uint8Array, RegExp, number?][] = [
  ['no byte', bytes(), /too early/],
  ['a tag alone', bytes(0x30), /too early/],
  ['a tag as the last byte of the outer value', bytes(0x30, 0x00), /too early/, 1],
  ['a content that is longer than the text', bytes(0x30, 0x02, 1), /too early/],
  ['a content that is longer than the outer value', bytes(0x30, 0x02, 1, 2), /too early/, 3],
  ['a long length of which bytes are missing', bytes(0x30, 0x82, 0xff), /too early/],
  ['a tag of several bytes', bytes(0x3f, 0x00), /a tag/],
  ['an indefinite length', bytes(0x30, 0x80, 0, 0), /a length/],
  ['a length of five bytes', bytes(0x30, 0x85, 0, 0, 0, 0, 1, 7), /a length/],
]
for (const [title, all, fault, limit] of broken) {
  test(`${title} is refused`, () => {
    assert.throws(
      () => derAt(all, 0, limit),
      (error) => error instanceof DerFault && fault.test(error.message),
    )
  })
}

test('the requested number of inner values is returned in order', () => {
  const all = bytes(0x30, 0x07, 0x02, 0x01, 5, 0x06, 0x00, 0x02, 0x00, 0x02)
  const outer = derAt(all, 0)
  assert.deepEqual(
    [...derValuesIn(all, outer)].map(({ tag, start }) => [tag, start]),
    [
      [derTag.integer, 2],
      [derTag.oid, 5],
      [derTag.integer, 7],
    ],
  )
  assert.equal(firstDerValuesIn(all, outer, 2).length, 2)
  assert.throws(() => [...derValuesIn(all, { ...outer, end: 8 })], DerFault)
  assert.throws(() => expectDer(undefined, derTag.oid), DerFault)
  assert.throws(() => expectDer(outer, derTag.oid), DerFault)
  assert.equal(expectDer(outer, derTag.sequence), outer)
})
