/** The fields of an X.509 certificate that this service uses. Source: behaviour iam.md 5; RFC 5280 4. */
import { hash, X509Certificate } from 'node:crypto'
import { bytesOf, derAt, derTag, derValuesIn, expectDer, integerOf, oidOf } from '../../../core/der.ts'
import { loadX509 } from '../../../core/x509.ts'

export interface Certificate {
  readonly x509: X509Certificate
  readonly raw: Buffer
  readonly fingerprint: string
  readonly name: string
  readonly serial: string
  /** Names in DER. */
  readonly subject: Buffer
  readonly issuer: Buffer
  /** Content of the public key's bit string: OCSP hashes these bytes. */
  readonly key: Buffer
  readonly signatureAlgorithm: string
  /** Milliseconds since 1970. */
  readonly notBefore: number
  readonly notAfter: number
  readonly isAuthority: boolean
  /** Limit of authorities between this one and a user's certificate. */
  readonly pathLength: number
  readonly signsCertificates: boolean
  readonly signsLists: boolean
  /** Object identifiers; undefined: every purpose is allowed. */
  readonly purposes: readonly string[] | undefined
  readonly signsMessages: boolean
  /** Extensions that this service cannot process and must not ignore (RFC 5280 4.2): the certificate is refused. */
  readonly notUnderstood: readonly string[]
  readonly userPrincipalNames: readonly string[]
  readonly emails: readonly string[]
  readonly commonNames: readonly string[]
  readonly ocspUrl: string | undefined
}

export const clientAuthentication = '1.3.6.1.5.5.7.3.2'
const maximumShownName = 255
const anyPurpose = '2.5.29.37.0'

const extension = {
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  subjectAlternativeName: '2.5.29.17',
  authorityInfoAccess: '1.3.6.1.5.5.7.1.1',
} as const
/** Limits the names that an authority may certify. Not implemented, so certificates with it are refused. */
const nameConstraints = '2.5.29.30'
/** Certificate policies (2.5.29.32) restrict nothing unless somebody requires one. */
const understood: ReadonlySet<string> = new Set([...Object.values(extension), '2.5.29.32'])

/** Without the extension, every purpose is allowed. On an authority it limits the certificates that it may issue. */
export const isForClients = ({ purposes }: Certificate): boolean =>
  purposes === undefined || purposes.includes(clientAuthentication) || purposes.includes(anyPurpose)

/** Identifies an authority by subject and key, so that a renewed certificate means the same authority. */
export const authorityOf = ({ subject, key }: Certificate): string =>
  `${subject.toString('hex')} ${key.toString('hex')}`

export const fingerprintOf = (raw: Uint8Array): string => hash('sha256', raw, 'hex')

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

function structureOf(raw: Buffer): Pick<Certificate, 'serial' | 'subject' | 'issuer' | 'key' | 'signatureAlgorithm'> {
  const outer = expectDer(derAt(raw, 0), derTag.sequence)
  const [toBeSigned, algorithm] = derValuesIn(raw, outer)
  const fields = [...derValuesIn(raw, expectDer(toBeSigned, derTag.sequence))]
  // The optional version comes first and is the only one of these fields with a context tag.
  const [serial, , issuer, , subject, publicKey] = fields[0]?.tag === 0xa0 ? fields.slice(1) : fields
  const [oid] = derValuesIn(raw, expectDer(algorithm, derTag.sequence))
  const [, key] = derValuesIn(raw, expectDer(publicKey, derTag.sequence))
  const bits = expectDer(key, derTag.bitString)
  return {
    serial: integerOf(raw, expectDer(serial, derTag.integer)),
    issuer: bytesOf(raw, expectDer(issuer, derTag.sequence)),
    subject: bytesOf(raw, expectDer(subject, derTag.sequence)),
    // The first octet is the number of unused bits.
    key: Buffer.from(raw.subarray(bits.content + 1, bits.end)),
    signatureAlgorithm: oidOf(raw, expectDer(oid, derTag.oid)),
  }
}
