/** Requests by which suites that cover every kind reach SAML identity providers. */

import { randomUUID } from 'node:crypto'
import { issue } from '../../support/authorities.ts'
import { createdPath, creating, named, once } from '../../support/field-bases.ts'
import type { FieldBase } from '../kind.ts'

let issued: Promise<string> | undefined
const certificate = (): Promise<string> => {
  issued ??= issue({ name: 'CN=idp.example.com' }).then(({ pem }) => pem)
  return issued
}
const samlProvider = async () => ({
  name: named(),
  idpMetadata: {
    entityId: `https://idp.example.com/${randomUUID()}`,
    loginUrl: 'https://idp.example.com/sso',
    certificate: await certificate(),
  },
})

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'iam.createSamlIdentityProvider': [creating('/iam/v4.1.b2/authn/saml-identity-providers', samlProvider)],
  'iam.updateSamlIdentityProviderById': [
    async (app) => {
      const body = await samlProvider()
      const collection = '/iam/v4.1.b2/authn/saml-identity-providers'
      return { path: await once(app, collection, () => createdPath(app, collection, body)) }
    },
  ],
}
