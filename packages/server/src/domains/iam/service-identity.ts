/** The RSA key pair of this service for SAML identity providers, created at first use. Source: behaviour iam.md 5. */
import type { ServiceIdentity } from '../../core/ports.ts'
import type { Clock } from '../../core/time/clock.ts'
import { makeSelfSigned, type SelfSigned } from '../../core/x509.ts'
import type { Store } from '../../store/store.ts'
import { ServiceKey } from './records.ts'

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

async function makeKey(now: number): Promise<SelfSigned> {
  const notAfter = new Date(now)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + validYears)
  return makeSelfSigned({ commonName: 'Hyperplane SAML service provider', notBefore: new Date(now), notAfter })
}
