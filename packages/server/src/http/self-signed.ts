import { webcrypto } from 'node:crypto'
import { isIP } from 'node:net'

const dayMillis = 86_400_000
/** The longest that Apple's clients accept. */
const validDays = 825
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/**
 * A new ECDSA P-256 key and a certificate that it signs itself, for a server reached under `names` (host names and IP
 * addresses). Valid from an hour before `now`, for clients whose clock is behind.
 */
export async function makeSelfSigned(names: readonly string[], now: Date): Promise<{ cert: string; key: string }> {
  // Needed once in the life of a data folder: no other start waits for it.
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  x509.cryptoProvider.set(webcrypto as never)
  const keys = await webcrypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])
  const notBefore = new Date(now.getTime() - dayMillis / 24)
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Hyperplane',
    keys: keys as never,
    signingAlgorithm: ecdsa,
    notBefore,
    notAfter: new Date(notBefore.getTime() + validDays * dayMillis),
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const), value: name })),
      ),
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  const lines = key.match(/.{1,64}/g)?.join('\n')
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`,
  }
}
