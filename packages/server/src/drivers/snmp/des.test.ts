import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decrypted, encrypted } from './des.ts'

test('triple DES with three equal keys gives the known block of DES', () => {
  const key = Buffer.from('133457799bbcdff10000000000000000', 'hex')
  const block = Buffer.from('0123456789abcdef', 'hex')
  assert.equal(encrypted(block, key, Buffer.alloc(8)).toString('hex'), '85e813540f0ab405')
})

test('a message of any length is read back, padded to whole blocks', () => {
  const key = Buffer.from('0123456789abcdeffedcba9876543210', 'hex')
  const salt = Buffer.from('0000000100000002', 'hex')
  for (const length of [0, 1, 7, 8, 9, 100]) {
    const message = Buffer.alloc(length, 'a')
    const read = decrypted(encrypted(message, key, salt), key, salt)
    assert.equal(read.length, Math.ceil(length / 8) * 8)
    assert.deepEqual(read.subarray(0, length), message)
  }
})
