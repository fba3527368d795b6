import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endOfMessage } from './stream-socket.ts'

test('a message ends where its length says, in the short and in the long form', () => {
  assert.equal(endOfMessage(Buffer.from('3003020101', 'hex')), 5)
  assert.equal(endOfMessage(Buffer.from('308180', 'hex')), 3 + 128)
  assert.equal(endOfMessage(Buffer.from('30820400', 'hex')), 4 + 1024)
})

test('the end is unknown until the length has arrived, and an impossible length exceeds every limit', () => {
  for (const bytes of ['', '30', '3082', '308204'])
    assert.equal(endOfMessage(Buffer.from(bytes, 'hex')), undefined, bytes)
  for (const bytes of ['3080', '3085ffffffffff', '30ff'])
    assert.equal(endOfMessage(Buffer.from(bytes, 'hex')), Number.POSITIVE_INFINITY, bytes)
})
