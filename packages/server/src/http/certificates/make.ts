/** ECDSA P-256 with SHA-256. Source: RFC 5280 4.1, 4.2.1; RFC 5758 3.2; decision a-local-authority. */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import { serverDays } from '../../core/x509.ts'
import { bits, booleanTrue, explicit, implicit, integer, octets, oid, sequence, set, text, time } from './der.ts'

export interface Authority {
  readonly certificate: X509Certificate
  readonly key: KeyObject
}

/** PEM. A configured certificate may include its chain. */
export interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

export const dayMillis = 86_400_000
const authorityDays = 3650

const signature = sequence(oid('1.2.840.10045.4.3.2'))

/** The name contains a hash of the key: no two authorities have the same name. */
export function makeAuthority(now: Date): Authority {
  const { privateKey: key } = newKey()
  const id = keyId(key)
  const name = `Hyperplane local authority ${id.toString('hex').slice(0, 8)}`
  const notBefore = beforeNow(now)
  const certificate = makeCertificate({
    issuer: { name, key },
    subject: { name, key },
    notBefore,
    notAfter: after(notBefore, authorityDays),
    extensions: [
      // Path length 0: an issued certificate cannot issue others.
      extension('2.5.29.19', sequence(booleanTrue(), integer(0)), 'critical'),
      extension('2.5.29.15', usage.keyCertSign, 'critical'),
      extension('2.5.29.14', octets(id)),
    ],
  })
  return { certificate, key }
}

export function issueCertificate(authority: Authority, names: readonly string[], now: Date): ServerCertificate {
  const { privateKey: key } = newKey()
  const { certificate: issuer } = authority
  const notBefore = later(beforeNow(now), issuer.validFromDate)
  const certificate = makeCertificate({
    issuer: { name: issuer.subject.replace(/^CN=/, ''), key: authority.key },
    // A host name may be too long for a common name; clients check only the alternative names.
    subject: { name: 'Hyperplane', key },
    notBefore,
    notAfter: earlier(after(notBefore, serverDays), issuer.validToDate),
    extensions: [
      extension('2.5.29.19', sequence(), 'critical'),
      extension('2.5.29.15', usage.digitalSignature, 'critical'),
      extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
      extension('2.5.29.17', sequence(...names.map(alternativeName))),
      extension('2.5.29.14', octets(keyId(key))),
      extension('2.5.29.35', sequence(implicit(0, keyId(authority.key)))),
    ],
  })
  return { cert: certificate.toString(), key: privateKeyPem(key) }
}

interface Party {
  readonly name: string
  readonly key: KeyObject
}

function makeCertificate(fields: {
  readonly issuer: Party
  readonly subject: Party
  readonly notBefore: Date
  readonly notAfter: Date
  readonly extensions: readonly Buffer[]
}): X509Certificate {
  const toBeSigned = sequence(
    explicit(0, integer(2)), // version 3
    serialNumber(),
    signature,
    distinguished(fields.issuer.name),
    sequence(time(fields.notBefore), time(fields.notAfter)),
    distinguished(fields.subject.name),
    publicKeyOf(fields.subject.key),
    explicit(3, sequence(...fields.extensions)),
  )
  return new X509Certificate(sequence(toBeSigned, signature, bits(sign('sha256', toBeSigned, fields.issuer.key))))
}

export const privateKeyPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const publicKeyOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' })

/** 160 bits of the hash of the public point. Source: RFC 7093 2. */
function keyId(key: KeyObject): Buffer {
  const point = publicKeyOf(key).subarray(-65)
  return createHash('sha256').update(point).digest().subarray(0, 20)
}

function serialNumber(): Buffer {
  const [first = 0, ...others] = randomBytes(16)
  return integer((first & 0x3f) | 0x40, ...others)
}

const distinguished = (name: string): Buffer => sequence(set(sequence(oid('2.5.4.3'), text(name))))

const usage = { digitalSignature: bits(Buffer.of(0x80), 7), keyCertSign: bits(Buffer.of(0x04), 2) } as const

const extension = (id: string, content: Uint8Array, critical?: 'critical'): Buffer =>
  sequence(oid(id), ...(critical === undefined ? [] : [booleanTrue()]), octets(content))

const alternativeName = (name: string): Buffer =>
  isIP(name) === 0 ? implicit(2, Buffer.from(name, 'latin1')) : implicit(7, addressBytes(name))

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  // The URL parser writes an IPv4 address at the end as groups too.
  const [head = [], tail = []] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')))
  const zeros = new Array<string>(8 - head.length - tail.length).fill('0')
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex')
}

const beforeNow = (now: Date): Date => new Date(now.getTime() - dayMillis / 24)
const after = (date: Date, days: number): Date => new Date(date.getTime() + days * dayMillis)
const later = (one: Date, other: Date): Date => (one > other ? one : other)
const earlier = (one: Date, other: Date): Date => (one < other ? one : other)
