import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DerFault, derAt, firstDerValuesIn } from '../../../core/der.ts'
import { checkEntries, isRevoked, readRevocationList } from './revocation-list.ts'

const der = (tag: number, ...parts: (Buffer | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
  const length =
    content.length < 0x80
      ? Buffer.from([content.length])
      : Buffer.from([0x84, ...[24, 16, 8, 0].map((bits) => (content.length >> bits) & 0xff)])
  return Buffer.concat([Buffer.from([tag]), length, content])
}
const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const time = (text: string): Buffer => der(0x17, text)
const algorithm = sequence(der(0x06, Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02])))
const entry = (serial: string): Buffer => sequence(der(0x02, Buffer.from(serial, 'hex')), time('260101000000Z'))

function listOf(serials: readonly string[], nextUpdate: readonly Buffer[] = [time('270101000000Z')]): Buffer {
  const entries = serials.length === 0 ? [] : [sequence(Buffer.concat(serials.map(entry)))]
  const body = sequence(
    der(0x02, Buffer.from([1])),
    algorithm,
    sequence(),
    time('260101000000Z'),
    ...nextUpdate,
    ...entries,
  )
  return sequence(body, algorithm, der(0x03, Buffer.from([0, 1, 2, 3])))
}

test('finds a serial number with any leading zeros, and no longer number with the same end', () => {
  const list = readRevocationList(listOf(['0a', '00ff01', '7f0001']))
  for (const serial of ['a', 'ff01', '7f0001']) assert.equal(isRevoked(list, serial), true, serial)
  for (const serial of ['1', '01', 'b', '1ff01', '7f', 'ff']) assert.equal(isRevoked(list, serial), false, serial)
  assert.equal(isRevoked(readRevocationList(listOf([])), 'a'), false)
})

test('finds a serial number among 200,000', () => {
  const serials = Array.from({ length: 200_000 }, (_, index) => (0x40000000 + index).toString(16))
  const list = readRevocationList(listOf(serials))
  assert.equal(isRevoked(list, serials.at(-1) as string), true)
  assert.equal(isRevoked(list, '3fffffff'), false)
})

test('refuses a CRL without nextUpdate, a truncated one, and other content', () => {
  assert.throws(() => readRevocationList(listOf(['0a'], [])), DerFault)
  const whole = listOf(['0a'])
  for (let length = 0; length < whole.length; length++)
    assert.throws(() => readRevocationList(whole.subarray(0, length)), DerFault, String(length))
  assert.throws(() => readRevocationList(Buffer.from('hello')), DerFault)
  assert.throws(() => readRevocationList(Buffer.from('-----BEGIN CERTIFICATE-----')), DerFault)
})

test('reads PEM as well', () => {
  const base64 = listOf(['0a']).toString('base64')
  const pem = `-----BEGIN X509 CRL-----\n${base64}\n-----END X509 CRL-----\n`
  assert.equal(isRevoked(readRevocationList(Buffer.from(pem)), 'a'), true)
})

const extensions = (oid: number, isCritical: boolean): Buffer =>
  der(
    0xa0,
    sequence(
      sequence(
        der(0x06, Buffer.from([0x55, 0x1d, oid])),
        ...(isCritical ? [der(0x01, Buffer.from([0xff]))] : []),
        der(0x04, ''),
      ),
    ),
  )

test('refuses a partial or delta CRL even without the critical mark, and unknown critical extensions', () => {
  const read = (oid: number, isCritical: boolean) => () =>
    readRevocationList(listOf([], [time('270101000000Z'), extensions(oid, isCritical)]))
  const [number, delta, part, unknown] = [20, 27, 28, 99]
  for (const refused of [read(delta, false), read(part, false), read(delta, true), read(unknown, true)])
    assert.throws(refused, DerFault)
  for (const accepted of [read(number, true), read(unknown, false)]) assert.doesNotThrow(accepted)
})

test('refuses a CRL with an unreadable entry', () => {
  checkEntries(readRevocationList(listOf(['0a'])))
  const damaged = listOf(['0a'], [time('270101000000Z'), sequence(sequence(time('260101000000Z')))])
  assert.throws(() => checkEntries(readRevocationList(damaged)), DerFault)
})

test('reads no more values than requested, because untrusted input may have millions', () => {
  const bytes = sequence(der(0x02, '\x01'), der(0x02, '\x02'), Buffer.from([0x02, 0x7f]))
  assert.equal(firstDerValuesIn(bytes, derAt(bytes, 0), 2).length, 2)
  assert.throws(() => firstDerValuesIn(bytes, derAt(bytes, 0), 3), DerFault)
})

test('a CRL with random changes is either read or refused with a DER fault', () => {
  const whole = listOf(['0a', '00ff01', '7f0001'], [time('270101000000Z'), extensions(20, false)])
  const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
  const searched = (content: Uint8Array): void => {
    try {
      const list = readRevocationList(content)
      checkEntries(list)
      isRevoked(list, 'a')
      assert.ok(Number.isFinite(list.nextUpdate))
    } catch (error) {
      assert.ok(error instanceof DerFault, String(error))
    }
  }
  fc.assert(
    fc.property(changes, (all) => {
      const content = Buffer.from(whole)
      for (const [at, value] of all) content[at] = value
      searched(content)
    }),
    { numRuns: 2000 },
  )
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => searched(Buffer.concat([sequence(), noise]))))
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (noise) => searched(sequence(sequence(Buffer.from(noise))))))
})
