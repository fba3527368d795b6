/** The provider's certificate is real, but nobody has the private key. Source: behaviour iam.md 12. */

import { SamlIdentityProvider } from '@hyperplane/contract/iam/saml-identity-provider'
import { seedId } from '../../core/ids/named-id.ts'
import type { SeedContext } from '../context.ts'

const day = 24 * 3600
const certificate = `-----BEGIN CERTIFICATE-----
MIIBazCCARCgAwIBAgIIbFGqDn9NKxkwCgYIKoZIzj0EAwIwKjEWMBQGA1UEAxMN
c3NvLnNpbXVsYXRlZDEQMA4GA1UEChMHRXhhbXBsZTAeFw0yNjAxMDEwMDAwMDBa
Fw00NjAxMDEwMDAwMDBaMCoxFjAUBgNVBAMTDXNzby5zaW11bGF0ZWQxEDAOBgNV
BAoTB0V4YW1wbGUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARaHeBYCydIFoFA
IINbRItji3UYEPispTiUIRuSVvWQL3ATWJyb3to+XtgBqabDr8OzLBqKQNT6NTpk
TbMa1YUzoyAwHjAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDAKBggqhkjO
PQQDAgNJADBGAiEA8b3BDxDNvsRhj5ZVgzd0QY4zY8tVXn6uibbU43urGXECIQCt
/OoLibE9zcN/xey4Ur9aYOVdnLikKv0Sc+cYSBWsmA==
-----END CERTIFICATE-----
`

export async function seedSaml(ctx: SeedContext): Promise<void> {
  const time = ctx.ago(29 * day)
  const base = { tenantId: ctx.tenantId, createdBy: ctx.adminId, createdTime: time, lastUpdatedTime: time }
  await ctx.store.insert(SamlIdentityProvider, {
    ...base,
    extId: seedId('saml-identity-provider/corp-sso'),
    name: 'corp-sso',
    idpMetadata: {
      entityId: 'https://sso.simulated/saml',
      loginUrl: 'https://sso.simulated/saml/login',
      logoutUrl: 'https://sso.simulated/saml/logout',
      certificate,
      nameIdPolicyFormat: 'emailAddress',
    },
    usernameAttribute: 'name',
    emailAttribute: 'email',
    groupsAttribute: 'groups',
    groupsDelim: ';',
    isSignedAuthnReqEnabled: true,
  })
}
