/** Revocation list and OCSP answers of a simulated authority, signed with a real key. Source: behaviour iam.md 11. */
import { createHash, createPrivateKey, generateKeyPairSync, sign, webcrypto, X509Certificate } from 'node:crypto'

/** By the host name under which the authority publishes. Certificate and key (PKCS #8, elliptic curve) are PEM. */
export interface AuthorityFact {
  readonly certificate: string
  readonly key: string
  readonly revoked: readonly string[]
  readonly validSeconds: number
  /** `wrongSigner`: a foreign key signs publications. `tryLater`: the only OCSP answer. */
  readonly fault?: 'expired' | 'wrongSigner' | 'tryLater'
  /** How far its clock is ahead of the world's. */
  readonly skewSeconds?: number
}

const ecdsaWithSha256 = '1.2.840.10045.4.3.2'
const nonce = '1.3.6.1.5.5.7.48.1.2'

interface Times {
  readonly thisUpdate: Date
  readonly nextUpdate: Date
}

function timesOf(authority: AuthorityFact, now: number): Times {
  const thisUpdate = now + (authority.skewSeconds ?? 0) * 1000
  if (authority.fault === 'expired')
    return { thisUpdate: new Date(thisUpdate - authority.validSeconds * 1000), nextUpdate: new Date(thisUpdate - 1000) }
  return { thisUpdate: new Date(thisUpdate), nextUpdate: new Date(thisUpdate + authority.validSeconds * 1000) }
}

const keyOf = ({ key, fault }: AuthorityFact) =>
  fault === 'wrongSigner' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : createPrivateKey(key)

// `never`: the library uses the browser's key types, which Node's do not extend.
export async function revocationListOf(authority: AuthorityFact, now: number): Promise<Uint8Array> {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const pkcs8 = keyOf(authority).export({ type: 'pkcs8', format: 'der' })
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const list = await x509.X509CrlGenerator.create(
    {
      issuer: new x509.X509Certificate(authority.certificate).subject,
      ...timesOf(authority, now),
      entries: authority.revoked.map((serialNumber) => ({ serialNumber, revocationDate: new Date(now) })),
      signingAlgorithm: algorithm,
      // `never`: the library uses the browser's types, which Node's do not extend.
      signingKey: (await webcrypto.subtle.importKey('pkcs8', new Uint8Array(pkcs8), algorithm, false, [
        'sign',
      ])) as never,
    },
    webcrypto as never,
  )
  return new Uint8Array(list.rawData)
}

/** @throws Error when the question is malformed */
export async function ocspAnswerOf(authority: AuthorityFact, question: Uint8Array, now: number): Promise<Uint8Array> {
  await import('reflect-metadata')
  const { AsnConvert, OctetString } = await import('@peculiar/asn1-schema')
  const { AlgorithmIdentifier } = await import('@peculiar/asn1-x509')
  const ocsp = await import('@peculiar/asn1-ocsp')
  const answer = (response: InstanceType<typeof ocsp.OCSPResponse>): Uint8Array =>
    new Uint8Array(AsnConvert.serialize(response))
  if (authority.fault === 'tryLater')
    return answer(new ocsp.OCSPResponse({ responseStatus: ocsp.OCSPResponseStatus.tryLater }))

  const { tbsRequest } = AsnConvert.parse(question, ocsp.OCSPRequest)
  const revoked = new Set(authority.revoked.map(bare))
  const responses = tbsRequest.requestList.map(({ reqCert }) => {
    const isRevoked = revoked.has(bare(Buffer.from(reqCert.serialNumber).toString('hex')))
    const certStatus = isRevoked
      ? new ocsp.CertStatus({ revoked: new ocsp.RevokedInfo({ revocationTime: new Date(now) }) })
      : new ocsp.CertStatus({ good: null })
    return new ocsp.SingleResponse({ certID: reqCert, certStatus, ...timesOf(authority, now) })
  })
  const { publicKey } = new X509Certificate(authority.certificate)
  const key = createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
  const tbsResponseData = new ocsp.ResponseData({
    responderID: new ocsp.ResponderID({ byKey: new ocsp.KeyHash(new Uint8Array(key)) }),
    producedAt: timesOf(authority, now).thisUpdate,
    responses,
    responseExtensions: tbsRequest.requestExtensions?.filter(({ extnID }) => extnID === nonce) ?? [],
  })
  const signed = Buffer.from(AsnConvert.serialize(tbsResponseData))
  const basic = new ocsp.BasicOCSPResponse({
    tbsResponseData,
    signatureAlgorithm: new AlgorithmIdentifier({ algorithm: ecdsaWithSha256 }),
    signature: new Uint8Array(sign('sha256', signed, keyOf(authority))).buffer,
  })
  return answer(
    new ocsp.OCSPResponse({
      responseStatus: ocsp.OCSPResponseStatus.successful,
      responseBytes: new ocsp.ResponseBytes({
        responseType: '1.3.6.1.5.5.7.48.1.1',
        response: new OctetString(AsnConvert.serialize(basic)),
      }),
    }),
  )
}

const bare = (serial: string): string => serial.toLowerCase().replace(/^0+(?=.)/, '')
