/** The RSA key pair of this service for SAML identity providers, created at first use. Source: behaviour iam.md 5. */
import { generateKeyPair, webcrypto } from 'node:crypto'
import { promisify } from 'node:util'
import type { ServiceIdentity } from '../../core/ports.ts'
import type { Clock } from '../../core/time/clock.ts'
import type { Store } from '../../store/store.ts'
import { loadX509 } from './certificates/certificate.ts'
import { ServiceKey } from './records.ts'

const modulusLength = 2048
const validYears = 10
const extId = '5e1f0000-0000-5000-8000-000000000001'

export function createServiceIdentity(options: { readonly store: Store; readonly clock: Clock }): ServiceIdentity {
  const { store, clock } = options
  let certificate: Promise<string> | undefined

  async function load(): Promise<string> {
    const stored = await store.get(ServiceKey, extId)
    if (stored !== undefined) return stored.certificate
    const generated = await makeKey(clock.now())
    await store.transaction((transaction) => transaction.insert(ServiceKey, { extId, ...generated }))
    return generated.certificate
  }

  return {
    certificate() {
      certificate ??= load().catch((error) => {
        certificate = undefined
        throw error
      })
      return certificate
    },
  }
}

async function makeKey(now: number): Promise<{ certificate: string; privateKey: string }> {
  // The asynchronous form uses a worker thread: generating a key can take a second.
  const generated = await promisify(generateKeyPair)('rsa', {
    modulusLength,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const privateKey = generated.privateKey
  const der = Buffer.from(privateKey.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64')
  const x509 = await loadX509()
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const { subtle } = webcrypto
  const notBefore = new Date(now)
  const notAfter = new Date(now)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + validYears)
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Hyperplane SAML service provider',
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
      ],
    },
    webcrypto as never,
  )
  return { certificate: `${certificate.toString('pem')}\n`, privateKey }
}
