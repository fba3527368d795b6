/**
 * Makes an authority, and certificates for servers that it issues, in the one form that they have here: ECDSA P-256 with
 * SHA-256. Source: RFC 5280 4.1, 4.2.1; RFC 5758 3.2; decision a-local-authority.
 */
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
import { bits, integer, numbered, octets, oid, sequence, set, text, time, truth, wrapped } from './der.ts'

export interface Authority {
  readonly certificate: X509Certificate
  readonly key: KeyObject
}

/** A server's certificate with its key, both PEM. A given one may bring its chain. */
export interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

export const dayMillis = 86_400_000
/** The longest that Apple's clients accept of a server. */
export const serverDays = 825
const authorityDays = 3650

const signature = sequence(oid('1.2.840.10045.4.3.2'))

/** Named after its key: no two have the same name. */
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
      // What it issues issues nothing.
      extension('2.5.29.19', sequence(truth(), integer(0)), 'critical'),
      extension('2.5.29.15', usage.keyCertSign, 'critical'),
      extension('2.5.29.14', octets(id)),
    ],
  })
  return { certificate, key }
}

/** A new key, and a certificate for a server that is reached under `names`: host names and IP addresses. */
export function issueCertificate(authority: Authority, names: readonly string[], now: Date): ServerCertificate {
  const { privateKey: key } = newKey()
  const { certificate: issuer } = authority
  const notBefore = later(beforeNow(now), issuer.validFromDate)
  const certificate = makeCertificate({
    issuer: { name: issuer.subject.replace(/^CN=/, ''), key: authority.key },
    // A host name can be longer than a common name; clients look at the names below.
    subject: { name: 'Hyperplane', key },
    notBefore,
    notAfter: earlier(after(notBefore, serverDays), issuer.validToDate),
    extensions: [
      extension('2.5.29.19', sequence(), 'critical'),
      extension('2.5.29.15', usage.digitalSignature, 'critical'),
      extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
      extension('2.5.29.17', sequence(...names.map(alternativeName))),
      extension('2.5.29.14', octets(keyId(key))),
      extension('2.5.29.35', sequence(numbered(0, keyId(authority.key)))),
    ],
  })
  return { cert: certificate.toString(), key: key.export({ type: 'pkcs8', format: 'pem' }) as string }
}

interface Party {
  /** Common name. */
  readonly name: string
  readonly key: KeyObject
}

function makeCertificate(of: {
  readonly issuer: Party
  readonly subject: Party
  readonly notBefore: Date
  readonly notAfter: Date
  readonly extensions: readonly Buffer[]
}): X509Certificate {
  const toBeSigned = sequence(
    wrapped(0, integer(2)), // version 3
    serialNumber(),
    signature,
    distinguished(of.issuer.name),
    sequence(time(of.notBefore), time(of.notAfter)),
    distinguished(of.subject.name),
    publicKeyOf(of.subject.key),
    wrapped(3, sequence(...of.extensions)),
  )
  return new X509Certificate(sequence(toBeSigned, signature, bits(sign('sha256', toBeSigned, of.issuer.key))))
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const publicKeyOf = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' })

/** How certificates point to the key of their issuer: 160 bits of the hash of its point. Source: RFC 7093 2. */
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
  sequence(oid(id), ...(critical === undefined ? [] : [truth()]), octets(content))

const alternativeName = (name: string): Buffer =>
  isIP(name) === 0 ? numbered(2, Buffer.from(name, 'latin1')) : numbered(7, addressBytes(name))

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  // As URLs write it: an IPv4 address at the end is in groups, too.
  const [head = [], tail = []] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')))
  const zeros = new Array<string>(8 - head.length - tail.length).fill('0')
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex')
}

/** For clients whose clock is behind. */
const beforeNow = (now: Date): Date => new Date(now.getTime() - dayMillis / 24)
const after = (date: Date, days: number): Date => new Date(date.getTime() + days * dayMillis)
const later = (one: Date, other: Date): Date => (one > other ? one : other)
const earlier = (one: Date, other: Date): Date => (one < other ? one : other)
