/** Requests by which suites that cover every kind reach certificate providers. */
import { randomUUID } from 'node:crypto'
import { issue, providerForm } from '../../support/authorities.ts'
import { type OrderCase, unknown } from '../kind.ts'

const certificateProvider = async () => ({
  name: 'by-order',
  clientCaChain: (await issue({ name: `CN=Root ${randomUUID()}`, isAuthority: true })).pem,
  dirSvcExtID: unknown,
})

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'iam.createCertAuthProvider': {
    path: '/authn/cert-auth-providers',
    body: certificateProvider,
    broken: { isCrlEnabled: true },
  },
  'iam.updateCertAuthProviderById': {
    path: async (app) => {
      const form = providerForm({ ...(await certificateProvider()), dirSvcExtID: undefined })
      const made = await app.call('POST', '/iam/v4.1.b2/authn/cert-auth-providers', { form })
      return `/authn/cert-auth-providers/${made.data.extId}`
    },
    body: certificateProvider,
    broken: { isCrlEnabled: true },
  },
}
