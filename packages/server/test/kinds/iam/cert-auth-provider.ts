/** Requests by which suites that cover every kind reach certificate providers. */

import { randomUUID } from 'node:crypto'
import { issue, providerForm } from '../../support/authorities.ts'
import { creating, named, once } from '../../support/field-bases.ts'
import { type FieldBase, type OrderCase, unknown } from '../kind.ts'

const formFields = { caCertFileName: 'ca.pem', isCertAuthEnabled: true, isCacEnabled: false }
const aProvider = async () => {
  const { pem } = await issue({ name: `CN=${named()}`, isAuthority: true })
  return { name: named(), clientCaChain: pem }
}

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

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.createCertAuthProvider': [
    creating('/iam/v4.1.b2/authn/cert-auth-providers', async () => ({
      ...formFields,
      ...(await aProvider()),
    })),
  ],
  'iam.updateCertAuthProviderById': [
    async (app) => {
      const collection = '/iam/v4.1.b2/authn/cert-auth-providers'
      const path = await once(app, collection, async () => {
        const created = await app.call('POST', collection, { form: providerForm(await aProvider()) })
        return `${collection}/${created.data.extId}`
      })
      return { path, body: { ...formFields, ...(await aProvider()) } }
    },
  ],
}
