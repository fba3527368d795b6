import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CallPart, callsIn, longestPacked, packedLength, sizesIn } from './packed-calls.ts'
import type { CallText } from './protocol.ts'

const times = { began: Date.UTC(2026, 2, 2, 9), ended: Date.UTC(2026, 2, 2, 9) + 1.5 }
const told = { time: '2026-03-02T09:00:00.000000Z', durationMicros: 1500 }

function throughBytes(given: readonly CallText[]): object[] {
  for (const call of given) assert.ok(packedLength(call) <= longestPacked(call))
  const part = new CallPart(new ArrayBuffer(given.reduce((sum, call) => sum + packedLength(call), 0)))
  for (const call of given) part.add(call)
  const packed = part.bytes.subarray(0, part.length)
  const calls = [...callsIn(packed)]
  const sizes = calls.map(({ sizeBytes }) => sizeBytes)
  assert.deepEqual(sizesIn(packed), sizes)
  assert.deepEqual([part.count, part.sizeBytes], [calls.length, sizes.reduce((sum, size) => sum + size, 0)])
  return calls.map((call, index) => JSON.parse(call.document(index + 1)))
}

test('packed calls are unpacked unchanged', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 60 })
  const call = fc.record({
    caller: fc.constantFrom('admin', 'anna', 'jörg'),
    path: text,
    isOwnRepeated: fc.boolean(),
    answer: fc.option(text.filter((answer) => answer !== '')),
  })
  fc.assert(
    fc.property(fc.array(call), (calls) => {
      const given = calls.map(({ caller, path, isOwnRepeated, answer }) => {
        const shared = `,"caller":"${caller}"`
        const own = `,"path":${JSON.stringify(path)}`
        if (answer === null) return { ...times, shared, own, isOwnRepeated }
        return { ...times, shared, own: `${own},"answer":{`, isOwnRepeated, answer: { text: answer } }
      })
      const expected = calls.map(({ caller, path, answer }, index) => ({
        sequence: index + 1,
        ...told,
        caller,
        path,
        ...(answer === null ? {} : { answer: { sizeBytes: Buffer.byteLength(answer), text: answer } }),
      }))
      assert.deepEqual(throughBytes(given), expected)
    }),
  )
})

test('half a surrogate pair becomes a replacement character, and the next call stays intact', () => {
  const call = { ...times, shared: '', own: ',"answer":{', answer: { text: '\ud83d.' } }
  const answer = { sizeBytes: 4, text: '\ufffd.' }
  assert.deepEqual(throughBytes([call, call]), [
    { sequence: 1, ...told, answer },
    { sequence: 2, ...told, answer },
  ])
})

test('a shared text is stored once, and counts for each call', () => {
  const [text, part] = ['x'.repeat(500), new CallPart(new ArrayBuffer(10_000))]
  const call = { ...times, shared: `,"decision":"${text}"`, own: ',"status":200' }
  for (let index = 0; index < 3; index++) part.add(call)
  const sizes = sizesIn(part.bytes.subarray(0, part.length))
  assert.ok(
    sizes.every((size) => size === sizes[0] && size > 500),
    String(sizes),
  )
  assert.ok(part.length < 1000, String(part.length))
})

test('an answer that several calls got is stored once, and counts for each call', () => {
  const part = new CallPart(new ArrayBuffer(10_000))
  const call = { ...times, shared: '', own: ',"answer":{', answer: { text: 'x'.repeat(2000) } }
  for (let index = 0; index < 5; index++) {
    assert.ok(part.hasRoom(call))
    part.add(call)
  }
  const packed = part.bytes.subarray(0, part.length)
  assert.ok(part.length < 3000, String(part.length))
  assert.ok(sizesIn(packed).every((size) => size > 2000))
  for (const each of callsIn(packed)) assert.equal(JSON.parse(each.document(1)).answer.text, call.answer.text)
})

test('an answer of which only the beginning is kept tells its whole size', () => {
  const answer = {
    text: 'beginning and end',
    kept: Buffer.from('beginning'),
    sizeBytes: 17,
    sent: Buffer.from('beginning and end'),
  }
  const call = { ...times, shared: '', own: ',"answer":{', answer }
  const expected = { sizeBytes: 17, isCut: true, text: 'beginning' }
  assert.deepEqual(throughBytes([call, call]), [
    { sequence: 1, ...told, answer: expected },
    { sequence: 2, ...told, answer: expected },
  ])
})

test('bytes that are no calls are refused', () => {
  for (const length of [0, 8, 5000]) {
    const bytes = Buffer.alloc(64)
    bytes.writeUInt32LE(length)
    assert.throws(() => [...callsIn(bytes)], SyntaxError)
    assert.throws(() => sizesIn(bytes), SyntaxError)
  }
  const part = new CallPart(new ArrayBuffer(1000))
  part.add({ ...times, began: Number.NaN, shared: '', own: '' })
  const [call] = callsIn(part.bytes.subarray(0, part.length))
  assert.throws(() => call?.document(1), SyntaxError)
})
