/** Derived from the configured providers. Source: catalogue iam.json; behaviour iam.md 5, 10. */
import { list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'

export const LoginProvider = resource('iam.v4.authn.LoginProvider', {
  fields: {
    name: s.readOnly(s.text()),
    type: s.readOnly(s.enumeration(['local', 'saml', 'ldap', 'cert', 'service_account'])),
    isBrowserLoginSupported: s.readOnly(s.boolean()),
    createdTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
  },
  derived: true,
  iam: { name: 'name' },
})

export const loginProviderOperations = {
  listLoginProviders: list('/authn/login-providers', LoginProvider, {
    roles: 'everyone',
    rateLimit: perSecond(10, 10, 15, 20),
    filter: ['extId', 'name', 'type'],
    orderby: ['createdTime', 'name', 'type'],
    select: 'any',
  }),
}
