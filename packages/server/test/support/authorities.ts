/** Certificate authorities and the certificates that they issue, made for a test. */
import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import type { ClientCertificate } from '../../src/core/ports.ts'
import type { AuthorityFact } from '../../src/drivers/simulated/authority.ts'
import { beginning, type TestApp } from './start-app.ts'

x509.cryptoProvider.set(webcrypto as never)

export { x509 }

export interface Issued {
  readonly certificate: x509.X509Certificate
  /** PEM. */
  readonly pem: string
  /** PKCS #8 in PEM. */
  readonly key: string
  readonly serial: string
}

export interface IssueOptions {
  readonly name?: string
  readonly from?: Issued
  readonly isAuthority?: boolean
  readonly pathLength?: number
  readonly notBefore?: number
  readonly notAfter?: number
  readonly usages?: number
  /** Extended key usages; none: no such extension. */
  readonly purposes?: readonly string[]
  readonly upn?: string
  readonly email?: string
  readonly ocspUrl?: string
  readonly rsaBits?: number
  readonly hash?: 'SHA-1' | 'SHA-256'
  readonly extensions?: readonly x509.Extension[]
}

const year = 365 * 24 * 3600 * 1000
const { keyCertSign, cRLSign, digitalSignature } = x509.KeyUsageFlags

/** A certificate, self-signed unless it comes from another. Valid around the beginning of test worlds. */
export async function issue(options: IssueOptions = {}): Promise<Issued> {
  const { name = 'CN=Test', from, isAuthority = false, hash = 'SHA-256' } = options
  const algorithm =
    options.rsaBits === undefined
      ? { name: 'ECDSA', namedCurve: 'P-256', hash }
      : { name: 'RSASSA-PKCS1-v1_5', modulusLength: options.rsaBits, publicExponent: new Uint8Array([1, 0, 1]), hash }
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair
  const signingKey = from === undefined ? keys.privateKey : await importKey(from.key)
  const serial = randomBytes(8).toString('hex').replace(/^./, '4')
  const names = [
    ...(options.upn === undefined ? [] : [{ type: 'upn' as const, value: options.upn }]),
    ...(options.email === undefined ? [] : [{ type: 'email' as const, value: options.email }]),
  ]
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    subject: name,
    issuer: from?.certificate.subject ?? name,
    notBefore: new Date(options.notBefore ?? beginning - year),
    notAfter: new Date(options.notAfter ?? beginning + year),
    publicKey: keys.publicKey as never,
    signingKey: signingKey as never,
    signingAlgorithm: from === undefined ? algorithm : { name: 'ECDSA', hash },
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, options.pathLength, true),
      new x509.KeyUsagesExtension(options.usages ?? (isAuthority ? keyCertSign | cRLSign : digitalSignature), true),
      ...(options.purposes === undefined ? [] : [new x509.ExtendedKeyUsageExtension([...options.purposes])]),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
      ...(options.ocspUrl === undefined ? [] : [new x509.AuthorityInfoAccessExtension({ ocsp: options.ocspUrl })]),
      ...(options.extensions ?? []),
    ],
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return {
    certificate,
    pem: `${certificate.toString('pem')}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/(.{64})/g, '$1\n')}\n-----END PRIVATE KEY-----\n`,
    serial,
  }
}

const importKey = (pem: string) =>
  webcrypto.subtle.importKey(
    'pkcs8',
    new Uint8Array(createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' })),
    { name: 'ECDSA', namedCurve: 'P-256' },
    true,
    ['sign'],
  )

/** The TLS client certificate with its chain. */
export const shown = ({ certificate }: Issued, ...beside: readonly Issued[]): ClientCertificate => ({
  raw: new Uint8Array(certificate.rawData),
  presented: beside.map((one) => new Uint8Array(one.certificate.rawData)),
})

/** Lets an authority publish its list and its answers in the world, under `<host>`. */
export function publish(
  app: TestApp,
  host: string,
  authority: Issued,
  more: Partial<AuthorityFact> = {},
): Promise<void> {
  const { pem: certificate, key } = authority
  return app.world
    .collection<AuthorityFact>('web.authorities')
    .put(host, { certificate, key, revoked: [], validSeconds: 3600, ...more })
}

/** The form of a certificate authentication provider; a list is a repeated part, `undefined` leaves a part out. */
export function providerForm(fields: Readonly<Record<string, unknown>>): FormData {
  const form = new FormData()
  const usual = { caCertFileName: 'ca.pem', isCertAuthEnabled: true, isCacEnabled: false }
  for (const [name, value] of Object.entries({ ...usual, ...fields })) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one instanceof File) form.append(name, one)
      else if (one !== undefined) form.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one))
    }
  }
  return form
}
