import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

const dayMillis = 86_400_000
/** The longest that Apple's clients accept. */
const validDays = 825

/**
 * A new ECDSA P-256 key and a certificate that it signs itself, for a server reached under `names` (host names and IP addresses).
 * Valid from an hour before `now`, for clients whose clock is behind.
 *
 * Written in DER by hand: it is one fixed shape, and node:crypto signs but does not write certificates.
 * Source: RFC 5280 section 4 (layout), RFC 5758 (signature), X.690 (DER).
 */
export function makeSelfSigned(names: readonly string[], now: Date): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKeyDer = publicKey.export({ type: 'spki', format: 'der' })
  const notBefore = new Date(now.getTime() - dayMillis / 24)
  const notAfter = new Date(notBefore.getTime() + validDays * dayMillis)

  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x3f) | 0x40 // positive, and never shorter
  const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'))
  const name = sequence(set(sequence(objectId('2.5.4.3'), der(0x0c, Buffer.from('Hyperplane')))))

  const toBeSigned = sequence(
    der(0xa0, integer(Buffer.of(2))), // version 3
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    publicKeyDer,
    der(
      0xa3,
      sequence(
        extension('2.5.29.17', 'optional', sequence(...names.map(subjectAltName))),
        extension('2.5.29.19', 'critical', sequence()), // basic constraints: no authority
        extension('2.5.29.15', 'critical', der(0x03, Buffer.of(7, 0x80))), // key usage: digital signature
        extension('2.5.29.37', 'optional', sequence(objectId('1.3.6.1.5.5.7.3.1'))), // server authentication
        extension('2.5.29.14', 'optional', octets(createHash('sha1').update(publicKeyDer).digest())), // subject key id
      ),
    ),
  )
  const certificate = sequence(toBeSigned, ecdsaWithSha256, bits(sign('sha256', toBeSigned, privateKey)))
  return { cert: pem('CERTIFICATE', certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

function subjectAltName(name: string): Buffer {
  const kind = isIP(name)
  if (kind === 0) return der(0x82, Buffer.from(name, 'latin1'))
  return der(0x87, kind === 4 ? Buffer.from(name.split('.').map(Number)) : ipv6Bytes(name))
}

function ipv6Bytes(address: string): Buffer {
  // URL writes an embedded IPv4 part as two groups, so that only "::" is left to fill.
  const [head, tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array<string>(missing).fill('0'), ...groups(tail)]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

function extension(id: string, weight: 'critical' | 'optional', value: Buffer): Buffer {
  const critical = weight === 'critical' ? [der(0x01, Buffer.of(0xff))] : []
  return sequence(objectId(id), ...critical, octets(value))
}

/** UTCTime to 2049, GeneralizedTime after. */
function time(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]|\.\d+/g, '')
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text))
}

function objectId(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split('.').map(Number)
  return der(0x06, Buffer.from([first! * 40 + second!, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const digits = [value & 0x7f]
  for (let left = value >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80)
  return digits
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts)
const set = (...parts: Buffer[]) => der(0x31, ...parts)
const integer = (bytes: Buffer) => der(0x02, bytes)
const octets = (bytes: Buffer) => der(0x04, bytes)
const bits = (bytes: Buffer) => der(0x03, Buffer.of(0), bytes)

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const prefix = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...prefix), content])
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
