import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { callsIn, documentOf, longestPacked, pack } from './packed-calls.ts'
import type { CallText } from './protocol.ts'

/** What each of them is, packed one after another and taken apart again. */
function throughBytes(given: readonly CallText[]): object[] {
  const bytes = Buffer.alloc(given.reduce((sum, call) => sum + longestPacked(call), 0))
  const end = given.reduce((at, call) => pack(call, bytes, at), 0)
  return [...callsIn(bytes.subarray(0, end))].map((call, index) => JSON.parse(documentOf(index + 1, call)))
}

test('what is packed one after another comes out as it went in', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 60 })
  const call = fc.record({ path: text, answer: fc.option(text.filter((answer) => answer !== '')) })
  fc.assert(
    fc.property(fc.array(call), (calls) => {
      const given = calls.map(({ path, answer }) => {
        const head = `{"path":${JSON.stringify(path)}`
        return answer === null ? { head } : { head: `${head},"answer":{`, answer }
      })
      const expected = calls.map(({ path, answer }, index) => ({
        sequence: index + 1,
        path,
        ...(answer === null ? {} : { answer: { sizeBytes: Buffer.byteLength(answer), text: answer } }),
      }))
      assert.deepEqual(throughBytes(given), expected)
    }),
  )
})

test('half a character becomes a mark, and takes no room of what follows', () => {
  const call = { head: '{"answer":{', answer: '\ud83d.' }
  const told = { answer: { sizeBytes: 4, text: '\ufffd.' } }
  assert.deepEqual(throughBytes([call, call]), [
    { sequence: 1, ...told },
    { sequence: 2, ...told },
  ])
})
