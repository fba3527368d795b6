/** Validates uploaded chains: 1 to 10 PEM certificates, each followed by its issuer. Source: behaviour iam.md 5. */
import { ApiError } from '../../../core/api-error.ts'
import { formatTime } from '../../../core/time/clock.ts'
import { type Certificate, isForClients, readCertificate } from './certificate.ts'
import { isAcceptedAlgorithm } from './signatures.ts'

const maximumCertificates = 10
const minimumRsaBits = 2048
const minimumCurveBits = 256
const attributePath = 'clientCaChain'
const curveBits: Readonly<Record<string, number>> = {
  prime256v1: 256,
  secp256k1: 256,
  secp384r1: 384,
  secp521r1: 521,
  brainpoolP256r1: 256,
  brainpoolP384r1: 384,
  brainpoolP512r1: 512,
}

export const trustFault = (path: string, fault: string): ApiError =>
  new ApiError('TRUST_MATERIAL_INVALID', { attributePath: path, fault })
const fault = (text: string): ApiError => trustFault(attributePath, text)

/** @returns the certificates, the root last, or all faults */
export async function readCaChain(text: string, now: number): Promise<readonly Certificate[] | readonly ApiError[]> {
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text))
    return [
      fault(
        'expected certificates, found a private key. Nothing of it was kept; still, replace a key that left its place.',
      ),
    ]
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g)]
  if (blocks.length === 0) return [fault(notPem(text))]
  const others = blocks.filter(([, label]) => label !== 'CERTIFICATE' && label !== 'X509 CERTIFICATE')
  if (others.length > 0) return [fault(`expected certificates alone, found a PEM block "${others[0]?.[1]}".`)]
  if (text.split('-----BEGIN ').length - 1 !== blocks.length)
    return [fault('a PEM block begins and does not end, or has a dash inside: the file is cut off or damaged.')]
  if (blocks.length > maximumCertificates)
    return [fault(`expected 1 to ${maximumCertificates} certificates, found ${blocks.length}.`)]

  const certificates: Certificate[] = []
  const faults: ApiError[] = []
  for (const [index, block] of blocks.entries()) {
    const bare = (block[2] as string).replace(/\s/g, '')
    try {
      if (!/^[A-Za-z0-9+/]+={0,2}$/.test(bare)) throw new Error('no base64')
      certificates.push(await readCertificate(Buffer.from(bare, 'base64')))
    } catch {
      faults.push(fault(`certificate ${index + 1} cannot be read: its content is damaged.`))
    }
  }
  if (faults.length > 0) return faults
  for (const [index, certificate] of certificates.entries()) faults.push(...authorityFaults(certificate, index, now))
  if (faults.length === 0) faults.push(...orderFaults(certificates))
  return faults.length > 0 ? faults : certificates
}

export const readStoredChain = (pem: string): Promise<readonly Certificate[]> =>
  Promise.all(
    [...pem.matchAll(/-----BEGIN (?:X509 )?CERTIFICATE-----([^-]+)-----END/g)].map(([, base64]) =>
      readCertificate(Buffer.from(base64 as string, 'base64')),
    ),
  )

export const areCertificates = (read: readonly Certificate[] | readonly ApiError[]): read is readonly Certificate[] =>
  !(read[0] instanceof ApiError)

function notPem(text: string): string {
  const bytes = Buffer.from(text.replace(/\s/g, ''), 'base64')
  const isDer = bytes[0] === 0x30 && (bytes[1] ?? 0) > 0x80
  return isDer
    ? 'expected PEM, found DER (binary). Convert it: openssl x509 -inform DER -in FILE -out FILE.pem'
    : 'expected PEM (-----BEGIN CERTIFICATE-----), found no certificate.'
}

function authorityFaults(certificate: Certificate, index: number, now: number): ApiError[] {
  const named = `certificate ${index + 1} (${certificate.name})`
  const faults: string[] = []
  if (!certificate.isAuthority)
    faults.push('is no authority (basicConstraints CA:TRUE); upload the chain of its issuers')
  else if (!certificate.signsCertificates) faults.push('may not sign certificates (keyUsage keyCertSign)')
  if (certificate.notAfter <= now) faults.push(`has expired on ${formatTime(certificate.notAfter)}`)
  if (certificate.notBefore > now) faults.push(`is not valid before ${formatTime(certificate.notBefore)}`)
  const key = keyFault(certificate)
  if (key !== undefined) faults.push(key)
  // A root's own signature proves nothing, so its algorithm does not matter.
  const isRoot = isIssuedBy(certificate, certificate)
  if (!isRoot && !isAcceptedAlgorithm(certificate.signatureAlgorithm))
    faults.push('is signed with a weak algorithm; expected SHA-256 or stronger')
  if (certificate.notUnderstood.length > 0)
    faults.push(`has an extension that is not understood here (${certificate.notUnderstood.join(', ')})`)
  if (!isForClients(certificate)) faults.push('may not issue certificates of clients (extendedKeyUsage)')
  return faults.map((text) => fault(`${named} ${text}.`))
}

export function keyFault({ x509 }: Certificate): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = x509.publicKey
  const bits =
    type === 'rsa' ? details?.modulusLength : type === 'ec' ? curveBits[details?.namedCurve ?? ''] : undefined
  if (type === 'ed25519' || type === 'ed448') return undefined
  const isStrong = (bits ?? 0) >= (type === 'rsa' ? minimumRsaBits : minimumCurveBits)
  return isStrong
    ? undefined
    : `has a weak key; expected RSA of ${minimumRsaBits} bits, an elliptic curve of ${minimumCurveBits}, or more`
}

function orderFaults(certificates: readonly Certificate[]): ApiError[] {
  const nameOf = (index: number): string => `certificate ${index + 1} (${certificates[index]?.name})`
  const order = 'Put each certificate before the one that issued it, the root last.'
  for (const [index, certificate] of certificates.entries()) {
    const next = certificates[index + 1]
    if (isIssuedBy(certificate, next ?? certificate)) {
      const below = index + 1
      if (next === undefined || below <= next.pathLength) continue
      return [fault(`${nameOf(index + 1)} allows ${next.pathLength} authorities below it, found ${below}.`)]
    }
    if (isIssuedBy(certificate, certificate))
      return [fault(`${nameOf(index)} is out of order: it is a root, and others follow. ${order}`)]
    const issuer = certificates.findIndex((candidate) => isIssuedBy(certificate, candidate))
    if (issuer >= 0) return [fault(`${nameOf(index)} is out of order: its issuer is ${nameOf(issuer)}. ${order}`)]
    return [fault(`${nameOf(index)} is issued by none of the chain; expected its issuers, up to a self-signed root.`)]
  }
  return []
}

export const isIssuedBy = (certificate: Certificate, issuer: Certificate): boolean =>
  certificate.x509.checkIssued(issuer.x509) && certificate.x509.verify(issuer.x509.publicKey)
