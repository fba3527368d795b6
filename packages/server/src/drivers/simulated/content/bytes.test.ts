import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { bytesOf, digestsOf, knownSizes } from './bytes.ts'
import { continueDigest } from './sha.ts'

const startOf = {
  sha1: '67452301efcdab8998badcfe10325476c3d2e1f0',
  sha256: '6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19',
} as const

test('a digest from the very beginning is the one that everybody computes', () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 1000]) {
    const bytes = new Uint8Array(length).fill(length)
    for (const algorithm of ['sha1', 'sha256'] as const) {
      const usual = createHash(algorithm).update(bytes).digest('hex')
      assert.equal(continueDigest(algorithm, startOf[algorithm], 0, bytes), usual)
    }
  }
})

test('the precomputed digests are those of the bytes', async () => {
  const content = { seed: 'https://images.example.com/small.iso', sizeBytes: (knownSizes[0] as number) * 1024 ** 2 }
  const hashes = { sha1: createHash('sha1'), sha256: createHash('sha256') }
  let length = 0
  for await (const bytes of bytesOf(content)) {
    length += bytes.length
    for (const hash of Object.values(hashes)) hash.update(bytes)
  }
  assert.equal(length, content.sizeBytes)
  assert.deepEqual(digestsOf(content), { sha1: hashes.sha1.digest('hex'), sha256: hashes.sha256.digest('hex') })
})

test('contents of different seeds differ, and a content of any other size has bytes but no digests', async () => {
  const sizeBytes = (knownSizes[0] as number) * 1024 ** 2
  assert.notEqual(digestsOf({ seed: 'a', sizeBytes }).sha1, digestsOf({ seed: 'b', sizeBytes }).sha1)
  assert.deepEqual(digestsOf({ seed: 'a', sizeBytes: sizeBytes + 1 }), {})
  for (const odd of [1, 65_536, 1_114_113]) {
    let length = 0
    for await (const bytes of bytesOf({ seed: 'a', sizeBytes: odd })) length += bytes.length
    assert.equal(length, odd)
  }
})
