/** What of a certificate matters here. Source: behaviour iam.md 5; RFC 5280 4. */
import { hash, X509Certificate } from 'node:crypto'
import type * as X509 from '@peculiar/x509'
import { bytesOf, derAt, derTag, derValuesIn, expectDer, integerOf, oidOf } from './der.ts'

export interface Certificate {
  readonly x509: X509Certificate
  readonly raw: Buffer
  /** SHA-256 of the whole, in hex. */
  readonly fingerprint: string
  /** For people, one line: `CN=Example Root, O=Example`. */
  readonly name: string
  /** In hex, without leading zeros. */
  readonly serial: string
  /** Names in DER. */
  readonly subject: Buffer
  readonly issuer: Buffer
  /** Content of the public key, as identifiers of keys are made of it. */
  readonly key: Buffer
  /** Object identifier of the algorithm that it is signed with. */
  readonly signatureAlgorithm: string
  /** Milliseconds since 1970. */
  readonly notBefore: number
  readonly notAfter: number
  readonly isAuthority: boolean
  /** How many authorities may stand between this one and a certificate of a user. */
  readonly pathLength: number
  readonly signsCertificates: boolean
  readonly signsLists: boolean
  /** Object identifiers; undefined: for every purpose. */
  readonly purposes: readonly string[] | undefined
  readonly signsMessages: boolean
  /** Extensions that forbid its use to whoever does not understand them, as nothing here does (RFC 5280 4.2). */
  readonly notUnderstood: readonly string[]
  /** User principal names of a smart card. */
  readonly userPrincipalNames: readonly string[]
  readonly emails: readonly string[]
  readonly commonNames: readonly string[]
  /** Where its authority answers about revocation. */
  readonly ocspUrl: string | undefined
}

export const clientAuthentication = '1.3.6.1.5.5.7.3.2'
/** It stands in messages and in the audit trail. */
const maximumShownName = 255
const anyPurpose = '2.5.29.37.0'

const extension = {
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  subjectAlternativeName: '2.5.29.17',
  authorityInfoAccess: '1.3.6.1.5.5.7.1.1',
} as const
/** Narrows what an authority may vouch for; not understood here, and never to be overlooked, marked as critical or not. */
const nameConstraints = '2.5.29.30'
/** Understood: those above, and policies, which restrict nothing as long as nobody requires one. */
const understood: ReadonlySet<string> = new Set([...Object.values(extension), '2.5.29.32'])

/** The library reads extensions; it takes a while to load, and most services never meet a client certificate. */
export async function loadX509(): Promise<typeof X509> {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

/** It says nothing of what it is for, or that it is for clients. One of an authority speaks for what that may issue. */
export const isForClients = ({ purposes }: Certificate): boolean =>
  purposes === undefined || purposes.includes(clientAuthentication) || purposes.includes(anyPurpose)

/** Subject and key: an authority whose certificate was renewed is the same. */
export const authorityOf = ({ subject, key }: Certificate): string =>
  `${subject.toString('hex')} ${key.toString('hex')}`

/** SHA-256 in hex. */
export const fingerprintOf = (raw: Uint8Array): string => hash('sha256', raw, 'hex')

/** @throws Error when these bytes are no certificate */
export async function readCertificate(raw: Uint8Array): Promise<Certificate> {
  const library = await loadX509()
  const x509 = new X509Certificate(raw)
  const parsed = new library.X509Certificate(new Uint8Array(x509.raw))
  const constraints = parsed.getExtension(library.BasicConstraintsExtension)
  const usages = parsed.getExtension(library.KeyUsagesExtension)?.usages
  const purposes = parsed.getExtension(library.ExtendedKeyUsageExtension)?.usages
  const names = parsed.getExtension(library.SubjectAlternativeNameExtension)?.names.toJSON() ?? []
  const access = parsed.getExtension(library.AuthorityInfoAccessExtension)
  const named = (kind: 'upn' | 'email'): string[] => names.filter(({ type }) => type === kind).map(({ value }) => value)
  const may = (flag: number): boolean => usages === undefined || (usages & flag) !== 0
  return {
    x509,
    raw: x509.raw,
    fingerprint: fingerprintOf(x509.raw),
    name: (parsed.subject === '' ? `number ${parsed.serialNumber}` : parsed.subject).slice(0, maximumShownName),
    ...structureOf(x509.raw),
    notBefore: parsed.notBefore.getTime(),
    notAfter: parsed.notAfter.getTime(),
    isAuthority: constraints?.ca === true,
    pathLength: constraints?.pathLength ?? Number.POSITIVE_INFINITY,
    signsCertificates: may(library.KeyUsageFlags.keyCertSign),
    signsLists: may(library.KeyUsageFlags.cRLSign),
    purposes: purposes?.map(String),
    signsMessages: may(library.KeyUsageFlags.digitalSignature),
    notUnderstood: parsed.extensions
      .filter(({ critical, type }) => type === nameConstraints || (critical && !understood.has(type)))
      .map(({ type }) => type),
    userPrincipalNames: named('upn'),
    emails: named('email'),
    commonNames: parsed.subjectName.getField('CN'),
    ocspUrl: access?.ocsp.find(({ type }) => type === 'url')?.value,
  }
}

/** The parts that are compared as they stand. */
function structureOf(raw: Buffer): Pick<Certificate, 'serial' | 'subject' | 'issuer' | 'key' | 'signatureAlgorithm'> {
  const whole = expectDer(derAt(raw, 0), derTag.sequence)
  const [toBeSigned, algorithm] = derValuesIn(raw, whole)
  const fields = [...derValuesIn(raw, expectDer(toBeSigned, derTag.sequence))]
  // The version, where it stands, is the only field with a tag of its own.
  const [serial, , issuer, , subject, publicKey] = fields[0]?.tag === 0xa0 ? fields.slice(1) : fields
  const [oid] = derValuesIn(raw, expectDer(algorithm, derTag.sequence))
  const [, key] = derValuesIn(raw, expectDer(publicKey, derTag.sequence))
  const bits = expectDer(key, derTag.bitString)
  return {
    serial: integerOf(raw, expectDer(serial, derTag.integer)),
    issuer: bytesOf(raw, expectDer(issuer, derTag.sequence)),
    subject: bytesOf(raw, expectDer(subject, derTag.sequence)),
    // The first octet counts unused bits.
    key: Buffer.from(raw.subarray(bits.content + 1, bits.end)),
    signatureAlgorithm: oidOf(raw, expectDer(oid, derTag.oid)),
  }
}
