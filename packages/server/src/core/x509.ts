/** The X.509 library, and self-signed RSA certificates. */
import { generateKeyPair, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import type * as X509 from '@peculiar/x509'

export interface SelfSigned {
  readonly certificate: string
  readonly privateKey: string
}

export interface SelfSignedOptions {
  readonly commonName: string
  readonly alternativeNames?: readonly string[]
  readonly notBefore: Date
  readonly notAfter: Date
}

const dayMillis = 86_400_000
/** The longest validity of a server's certificate that Apple's clients accept. */
export const serverDays = 825

const modulusLength = 2048
const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
const serverAuthentication = '1.3.6.1.5.5.7.3.1'

/** Imported at first use: the library loads slowly, and most instances never need it. */
export async function loadX509(): Promise<typeof X509> {
  await import('reflect-metadata')
  return import('@peculiar/x509')
}

/** For a server with these names, valid for `serverDays` from `now` on. */
export const makeSelfSignedServer = (name: string, names: readonly string[], now: number): Promise<SelfSigned> =>
  makeSelfSigned({
    commonName: name,
    alternativeNames: names,
    notBefore: new Date(now),
    notAfter: new Date(now + serverDays * dayMillis),
  })

/** A new RSA key of 2048 bits with its certificate. Takes up to a second, most of it in another thread. */
export async function makeSelfSigned(options: SelfSignedOptions): Promise<SelfSigned> {
  const { commonName, alternativeNames = [], notBefore, notAfter } = options
  const generated = await promisify(generateKeyPair)('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const { privateKey } = generated
  const der = Buffer.from(privateKey.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64')
  const x509 = await loadX509()
  const { subtle } = webcrypto
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [commonName] }],
      notBefore,
      notAfter,
      signingAlgorithm: algorithm,
      // `never`: the library uses the browser's key types, which Node's do not extend.
      keys: {
        privateKey: (await subtle.importKey('pkcs8', der, algorithm, false, ['sign'])) as never,
        publicKey: (await subtle.importKey('spki', new Uint8Array(generated.publicKey), algorithm, true, [
          'verify',
        ])) as never,
      },
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment, true),
        ...(alternativeNames.length === 0
          ? []
          : [
              new x509.ExtendedKeyUsageExtension([serverAuthentication]),
              new x509.SubjectAlternativeNameExtension(
                alternativeNames.map((value) => ({
                  type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const),
                  value,
                })),
              ),
            ]),
      ],
    },
    webcrypto as never,
  )
  return { certificate: `${certificate.toString('pem')}\n`, privateKey }
}
