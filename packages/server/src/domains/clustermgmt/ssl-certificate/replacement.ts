/** Rules for a certificate and its key before a cluster uses them. Source: behaviour clustermgmt.md 1.15. */
import type { KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { BodyOf } from '@hyperplane/contract'
import type { SSLCertificate } from '@hyperplane/contract/clustermgmt/ssl-certificate'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import { formatTime } from '../../../core/time/clock.ts'
import type { CertificatePair } from '../../../drivers/cluster-certificates.ts'
import { isFault, readCertificates, readPrivateKey } from './pem.ts'

type Body = BodyOf<typeof SSLCertificate>

const maximumIssuers = 10
const replaceable = ['RSA_2048', 'RSA_4096', 'ECDSA_256', 'ECDSA_384', 'ECDSA_521']
export const regenerated = 'RSA_2048'

const curves: Readonly<Record<string, string>> = {
  prime256v1: 'ECDSA_256',
  secp384r1: 'ECDSA_384',
  secp521r1: 'ECDSA_521',
}

const fault = (attributePath: keyof Body, expected: string, found: string): ApiError =>
  new ApiError('INVALID_CERTIFICATE', { attributePath, expected, found })

/** As `privateKeyAlgorithm` names it, if it can. */
export function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string {
  if (type === 'rsa') return `RSA_${details?.modulusLength}`
  if (type === 'ec') return curves[details?.namedCurve ?? ''] ?? `the curve ${details?.namedCurve}`
  return String(type).toUpperCase()
}

/** Whether the body asks for a new key of the service's making. */
export const requestsNewKey = ({ publicCertificate, privateKey }: Body): boolean =>
  publicCertificate === undefined && privateKey === undefined

/** @param now milliseconds since 1970. @throws ApiError 400 with all faults */
export function readReplacement(body: Body, now: number): CertificatePair {
  const faults: ApiError[] = []
  const { publicCertificate, privateKey, caChain, privateKeyAlgorithm } = body
  if (!replaceable.includes(privateKeyAlgorithm))
    faults.push(
      fault(
        'privateKeyAlgorithm',
        `one of ${replaceable.join(', ')}`,
        `${privateKeyAlgorithm}, which is not supported for replacement`,
      ),
    )
  const leaf = publicCertificate === undefined ? undefined : leafIn(publicCertificate, faults)
  const key = privateKey === undefined ? undefined : keyIn(privateKey, body.passphrase, faults)
  const issuers = caChain === undefined ? [] : issuersIn(caChain, faults)
  if (publicCertificate === undefined) faults.push(fault('publicCertificate', 'the certificate of privateKey', 'none'))
  if (privateKey === undefined) faults.push(fault('privateKey', 'the private key of publicCertificate', 'none'))
  if (leaf !== undefined) faults.push(...leafFaults(leaf, now), ...chainFaults(leaf, issuers, now))
  if (key !== undefined) faults.push(...keyFaults(key, leaf, privateKeyAlgorithm))
  refuseAll(faults)
  const pair = {
    certificate: String(leaf),
    privateKey: String(key?.export({ type: 'pkcs8', format: 'pem' })),
    ...(issuers.length === 0 ? {} : { caChain: issuers.join('') }),
  }
  if (!servesTls(pair)) throw fault('publicCertificate', 'a pair that TLS accepts', 'another')
  return pair
}

/** Such a body has no certificate and key, and requests new ones. */
export function regenerationFaults({ privateKeyAlgorithm, caChain, passphrase }: Body): ApiError[] {
  const faults: ApiError[] = []
  if (privateKeyAlgorithm !== regenerated)
    faults.push(
      fault(
        'privateKeyAlgorithm',
        `${regenerated} for a new self-signed certificate, or publicCertificate and privateKey`,
        replaceable.includes(privateKeyAlgorithm)
          ? privateKeyAlgorithm
          : `${privateKeyAlgorithm}, which is not supported for replacement`,
      ),
    )
  if (caChain !== undefined) faults.push(fault('caChain', 'publicCertificate and privateKey with it', 'neither'))
  if (passphrase !== undefined) faults.push(fault('passphrase', 'publicCertificate and privateKey with it', 'neither'))
  return faults
}

function leafIn(given: string, faults: ApiError[]): X509Certificate | undefined {
  const read = readCertificates(given, 1)
  if (!isFault(read)) return read.certificates[0]
  faults.push(fault('publicCertificate', read.expected, read.found))
  return undefined
}

function issuersIn(given: string, faults: ApiError[]): readonly X509Certificate[] {
  const read = readCertificates(given, maximumIssuers)
  if (!isFault(read)) return read.certificates
  faults.push(fault('caChain', read.expected, read.found))
  return []
}

function keyIn(given: string, passphrase: string | undefined, faults: ApiError[]): KeyObject | undefined {
  const read = readPrivateKey(given, passphrase)
  if (!isFault(read)) return read.key
  faults.push(fault(read.isPassphrase === true ? 'passphrase' : 'privateKey', read.expected, read.found))
  return undefined
}

function leafFaults(leaf: X509Certificate, now: number): ApiError[] {
  const of: FaultOf = (expected, found) => fault('publicCertificate', expected, found)
  const faults: ApiError[] = []
  if (!isVersion3(leaf)) faults.push(of('an X.509 certificate of version 3', 'an older version'))
  if (leaf.ca && !isSelfSigned(leaf)) faults.push(of('the certificate of a server', 'that of an authority (CA:TRUE)'))
  return [...faults, ...timeFaults(of, leaf, now), ...signatureFaults(of, leaf)]
}

type FaultOf = (expected: string, found: string) => ApiError

function timeFaults(of: FaultOf, { validFromDate: from, validToDate: to }: X509Certificate, now: number): ApiError[] {
  const expected = `a certificate that is valid at ${formatTime(now)}`
  if (!(from.getTime() <= now)) return [of(expected, `one that is valid from ${timeOf(from)} on`)]
  return now < to.getTime() ? [] : [of(expected, `one that was valid until ${timeOf(to)}`)]
}

const signatureFaults = (of: FaultOf, certificate: X509Certificate): ApiError[] =>
  isWeaklySigned(certificate) ? [of('a signature with SHA-256 or stronger', certificate.signatureAlgorithm ?? '')] : []

const timeOf = (date: Date): string => (Number.isNaN(date.getTime()) ? 'no date' : formatTime(date.getTime()))

function chainFaults(leaf: X509Certificate, issuers: readonly X509Certificate[], now: number): ApiError[] {
  const faults: ApiError[] = []
  for (const [index, issuer] of issuers.entries()) {
    const place = `certificate ${index + 1}`
    const of: FaultOf = (expected, found) => fault('caChain', `as ${place} ${expected}`, found)
    const below = index === 0 ? leaf : (issuers[index - 1] as X509Certificate)
    const nameOfBelow = index === 0 ? 'publicCertificate' : `certificate ${index}`
    if (!isIssuedBy(below, issuer)) faults.push(of(`the issuer of ${nameOfBelow}`, 'another certificate'))
    faults.push(...timeFaults(of, issuer, now))
    // A root's own signature proves nothing, so its algorithm does not matter.
    if (!isSelfSigned(issuer)) faults.push(...signatureFaults(of, issuer))
  }
  return faults
}

function keyFaults(key: KeyObject, leaf: X509Certificate | undefined, declared: string): ApiError[] {
  const faults: ApiError[] = []
  const algorithm = algorithmOf(key)
  if (replaceable.includes(declared) && algorithm !== declared)
    faults.push(fault('privateKeyAlgorithm', `the algorithm of privateKey, ${algorithm}`, declared))
  if (leaf !== undefined && !leaf.checkPrivateKey(key))
    faults.push(fault('privateKey', 'the private key of publicCertificate', 'the key of another certificate'))
  return faults
}

const isSelfSigned = (certificate: X509Certificate): boolean => isIssuedBy(certificate, certificate)

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  } catch {
    return false
  }
}

/** The version is the first field of the signed part, with context tag 0; absent: version 1. */
function isVersion3({ raw }: X509Certificate): boolean {
  const contentAt = (at: number): number => at + 2 + ((raw[at + 1] ?? 0) > 0x80 ? (raw[at + 1] as number) - 0x80 : 0)
  const version = contentAt(contentAt(0))
  return raw.subarray(version, version + 5).equals(Buffer.of(0xa0, 3, 2, 1, 2))
}

const rsaPss = '1.2.840.113549.1.1.10'
/** Common prefix of SHA-2 and SHA-3 object identifiers, which a PSS signature names among its parameters. */
const strongHashes = Buffer.from('6086480165030402', 'hex')

function isWeaklySigned({ signatureAlgorithm, signatureAlgorithmOid, raw }: X509Certificate): boolean {
  if (signatureAlgorithmOid === rsaPss) return !raw.includes(strongHashes)
  return /md[245]|sha-?1(?!\d)/i.test(signatureAlgorithm ?? '')
}

function servesTls({ certificate, caChain = '', privateKey }: CertificatePair): boolean {
  try {
    createSecureContext({ cert: certificate + caChain, key: privateKey })
    return true
  } catch {
    return false
  }
}
