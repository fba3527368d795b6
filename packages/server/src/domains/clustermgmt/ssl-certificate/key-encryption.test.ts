import assert from 'node:assert/strict'
import { test } from 'node:test'
import { integer, octets, oid, sequence } from '../../../http/certificates/der.ts'
import { otherEncryptionOf } from './key-encryption.ts'

const encrypted = Buffer.alloc(144)

test('keys as `openssl pkcs8 -topk8` writes them are opened, also with another hash', () => {
  for (const pseudorandomFunction of ['09', '0b'])
    assert.equal(
      otherEncryptionOf(
        sequence(
          Buffer.from(
            `305706092a864886f70d01050d304a302906092a864886f70d01050c301c0408cef76a04432e9d5e02020800300c06082a864886f70d02${pseudorandomFunction}0500301d060960864801650304012a041021cf4eb3ea2c53b198f3f6218528d39e`,
            'hex',
          ),
          octets(encrypted),
        ),
      ),
      undefined,
    )
})

test('too many iterations, written in any length, and a long salt are reported', () => {
  const found = (salt: number, ...iterations: readonly number[]) => {
    const derivation = sequence(octets(Buffer.alloc(salt)), integer(...iterations))
    const parameters = sequence(sequence(oid('1.2.840.113549.1.5.12'), derivation))
    return otherEncryptionOf(sequence(sequence(oid('1.2.840.113549.1.5.13'), parameters), octets(encrypted)))
  }
  assert.equal(found(64, 0x0f, 0x42, 0x40), undefined)
  assert.equal(found(8, 0x0f, 0x42, 0x41), '1,000,001 iterations')
  assert.equal(found(65, 8, 0), 'a salt of 65 bytes')
  for (const bytes of [8, 400]) assert.equal(found(8, ...Array<number>(bytes).fill(0x7f)), 'more iterations')
  assert.equal(found(8), 'more iterations')
})

test('another scheme, and bytes that are no encrypted key, are reported', () => {
  const older = sequence(oid('1.2.840.113549.1.12.1.3'), sequence(octets(Buffer.alloc(8)), integer(8, 0)))
  assert.equal(otherEncryptionOf(sequence(older, octets(encrypted))), 'another scheme')
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(50), Buffer.from('3080', 'hex'), sequence(), sequence(sequence())])
    assert.equal(otherEncryptionOf(bytes), 'one that is damaged')
})
