import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { callsIn, longestPacked, pack, unpack } from './packed-calls.ts'

const calls = fc.array(fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { minLength: 1, maxLength: 5 }))

test('what is packed one after another comes out as it went in', () => {
  fc.assert(
    fc.property(calls, (given) => {
      const longest = given.reduce((sum, call) => sum + longestPacked(call), 0)
      const bytes = Buffer.alloc(longest)
      const end = given.reduce((at, call) => pack(call, bytes, at), 0)
      assert.deepEqual([...callsIn(bytes.subarray(0, end))].map(unpack), given)
    }),
  )
})

test('half a character becomes a mark, and takes no room of what follows', () => {
  const call = ['{', '\ud83d', '}']
  const bytes = Buffer.alloc(longestPacked(call))
  const end = pack(call, bytes, 0)
  assert.deepEqual([...callsIn(bytes.subarray(0, end))].map(unpack), [['{', '\ufffd', '}']])
})
