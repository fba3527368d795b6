/** Asks an OCSP responder. Everything but a signed, fresh "good" is a failure. Source: behaviour iam.md 5; RFC 6960. */
import { createHash } from 'node:crypto'
import type { BasicOCSPResponse, CertID, SingleResponse } from '@peculiar/asn1-ocsp'
import { isIssuedBy } from './ca-chain.ts'
import { type Certificate, readCertificate } from './certificate.ts'
import { isValid } from './path.ts'
import { isAcceptedAlgorithm, isSignedBy } from './signatures.ts'

export const ocspMediaType = 'application/ocsp-request'
export const maximumAnswerBytes = 100 * 1024

/** Clocks differ: a response may start this far in the future. */
const toleranceMilliseconds = 5 * 60_000
/** Maximum age of a response that does not announce its next update. */
const maximumAgeMilliseconds = 24 * 3600_000

const sha1 = '1.3.14.3.2.26'
const basicResponse = '1.3.6.1.5.5.7.48.1.1'
const nonceExtension = '1.3.6.1.5.5.7.48.1.2'
const ocspSigning = '1.3.6.1.5.5.7.3.9'

export interface OcspQuestion {
  readonly content: Uint8Array
  readonly nonce: Uint8Array
}

const loadLibraries = async () => {
  await import('reflect-metadata')
  const [ocsp, schema, x509] = await Promise.all([
    import('@peculiar/asn1-ocsp'),
    import('@peculiar/asn1-schema'),
    import('@peculiar/asn1-x509'),
  ])
  return { ...ocsp, ...schema, AlgorithmIdentifier: x509.AlgorithmIdentifier, Extension: x509.Extension }
}

/** @param nonce random bytes, so that a replayed response is recognised */
export async function ocspQuestion(
  certificate: Certificate,
  issuer: Certificate,
  nonce: Uint8Array,
): Promise<OcspQuestion> {
  const { AlgorithmIdentifier, AsnConvert, CertID, Extension, OCSPRequest, OctetString, Request, TBSRequest } =
    await loadLibraries()
  // SHA-1 only identifies the issuer, which needs no collision resistance; every responder supports it.
  const reqCert = new CertID({
    hashAlgorithm: new AlgorithmIdentifier({ algorithm: sha1, parameters: null }),
    issuerNameHash: new OctetString(sha1Of(issuer.subject)),
    issuerKeyHash: new OctetString(sha1Of(issuer.key)),
    serialNumber: bufferOf(serialBytes(certificate.serial)),
  })
  const extnValue = new OctetString(bufferOf(Buffer.concat([Buffer.from([0x04, nonce.length]), nonce])))
  const tbsRequest = new TBSRequest({
    requestList: [new Request({ reqCert })],
    requestExtensions: [new Extension({ extnID: nonceExtension, extnValue })],
  })
  return { content: new Uint8Array(AsnConvert.serialize(new OCSPRequest({ tbsRequest }))), nonce }
}

/** The reason why the response does not prove that the certificate is good, or undefined. */
export async function ocspFault(
  answer: Uint8Array,
  question: OcspQuestion,
  certificate: Certificate,
  issuer: Certificate,
  now: number,
): Promise<string | undefined> {
  const { AsnConvert, BasicOCSPResponse, OCSPResponse } = await loadLibraries()
  let basic: BasicOCSPResponse
  try {
    const response = AsnConvert.parse(answer, OCSPResponse)
    if (response.responseStatus !== 0) return `the responder has no answer (status ${response.responseStatus})`
    if (response.responseBytes?.responseType !== basicResponse) return 'the answer is of an unknown kind'
    basic = AsnConvert.parse(response.responseBytes.response, BasicOCSPResponse)
  } catch {
    return 'the answer is no OCSP response'
  }
  const signer = await signerOf(basic, issuer, now)
  if (signer === undefined) return 'the answer is not signed by the issuer, nor by whom the issuer appointed'
  const single = basic.tbsResponseData.responses.find(({ certID }) => names(certID, certificate, issuer))
  if (single === undefined) return 'the answer is about another certificate'
  if (!repeatsNonce(basic, question.nonce)) return 'the answer is to another question'
  const stale = freshnessFault(single, now)
  if (stale !== undefined) return stale
  if (single.certStatus.revoked !== undefined) return 'the certificate is revoked'
  // The parser reads the empty choice `good` as null; only an absent one is undefined.
  return single.certStatus.good === undefined ? 'the responder does not know the certificate' : undefined
}

/** The signer must be the issuer, or a certificate that the issuer made for OCSP signing. */
async function signerOf(basic: BasicOCSPResponse, issuer: Certificate, now: number): Promise<Certificate | undefined> {
  const { AsnConvert } = await loadLibraries()
  const signed = basic.tbsResponseDataRaw
  if (signed === undefined) return undefined
  const isSigner = ({ x509 }: Certificate): boolean =>
    isSignedBy(
      x509.publicKey,
      basic.signatureAlgorithm.algorithm,
      new Uint8Array(signed),
      new Uint8Array(basic.signature),
    )
  if (isSigner(issuer)) return issuer
  for (const brought of (basic.certs ?? []).slice(0, 5)) {
    const certificate = await readAttachedSigner(new Uint8Array(AsnConvert.serialize(brought)))
    if (certificate === undefined) continue
    const isAppointed =
      certificate.purposes?.includes(ocspSigning) === true &&
      certificate.signsMessages &&
      isValid(certificate, now) &&
      isAcceptedAlgorithm(certificate.signatureAlgorithm) &&
      isIssuedBy(certificate, issuer)
    if (isAppointed && isSigner(certificate)) return certificate
  }
  return undefined
}

async function readAttachedSigner(raw: Uint8Array): Promise<Certificate | undefined> {
  try {
    return await readCertificate(raw)
  } catch {
    return undefined
  }
}

const names = (id: CertID, certificate: Certificate, issuer: Certificate): boolean =>
  id.hashAlgorithm.algorithm === sha1 &&
  Buffer.from(id.issuerNameHash.buffer).equals(sha1Of(issuer.subject)) &&
  Buffer.from(id.issuerKeyHash.buffer).equals(sha1Of(issuer.key)) &&
  hexOf(id.serialNumber) === certificate.serial

/** Responders that sign responses in advance omit the nonce; `freshnessFault` limits the age of those. */
function repeatsNonce(basic: BasicOCSPResponse, nonce: Uint8Array): boolean {
  const found = basic.tbsResponseData.responseExtensions?.find(({ extnID }) => extnID === nonceExtension)
  if (found === undefined) return true
  return Buffer.from(found.extnValue.buffer).subarray(-nonce.length).equals(nonce)
}

function freshnessFault({ thisUpdate, nextUpdate }: SingleResponse, now: number): string | undefined {
  // Negated, so that an invalid date (NaN) fails the check.
  if (!(thisUpdate.getTime() <= now + toleranceMilliseconds)) return 'the answer comes from the future'
  const end = nextUpdate?.getTime() ?? thisUpdate.getTime() + maximumAgeMilliseconds
  return now < end ? undefined : 'the answer is too old'
}

const sha1Of = (bytes: Uint8Array): Buffer => createHash('sha1').update(bytes).digest()
const hexOf = (bytes: ArrayBuffer): string =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^0+(?=.)/, '')
const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** DER integers are signed: a zero byte keeps a leading set bit from making the number negative. */
function serialBytes(serial: string): Uint8Array {
  const bytes = Buffer.from(serial.length % 2 === 0 ? serial : `0${serial}`, 'hex')
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes
}
