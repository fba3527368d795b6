/** Login providers: the configured ways to sign in. Source: behaviour iam.md 5. */

import { CertAuthProvider } from '@hyperplane/contract/iam/cert-auth-provider'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { loginProviderOperations } from '@hyperplane/contract/iam/login-provider'
import { SamlIdentityProvider } from '@hyperplane/contract/iam/saml-identity-provider'
import { catalogueId } from '../../core/ids/named-id.ts'
import { listOf } from '../../core/standard.ts'
import { localProviderId } from '../accounts/local-provider.ts'
import { implement, type ReadContext } from '../context.ts'
import { releaseTime } from './catalogue/release.ts'

export const loginProvider = implement(loginProviderOperations, {
  async listLoginProviders(ctx, request) {
    return listOf(await providers(ctx), request)
  },
})

interface Source {
  readonly extId: string
  readonly name: string
  readonly createdTime?: string
  readonly lastUpdatedTime?: string
}

type ProviderType = 'local' | 'saml' | 'ldap' | 'cert' | 'service_account'

async function providers({ store, tenantId }: ReadContext) {
  const of = (
    type: ProviderType,
    { extId, name, createdTime = releaseTime, lastUpdatedTime = createdTime }: Source,
  ) => ({
    extId,
    tenantId,
    name,
    type,
    // Service accounts sign in with keys only.
    isBrowserLoginSupported: type !== 'service_account',
    createdTime,
    lastUpdatedTime,
  })
  const certificates = (await store.find(CertAuthProvider)).filter((provider) => provider.isCertAuthEnabled)
  return [
    of('local', { extId: localProviderId, name: 'Local' }),
    of('service_account', { extId: catalogueId('loginProvider', 'service_account'), name: 'Service Account' }),
    ...(await store.find(DirectoryService)).map((directory) => of('ldap', directory)),
    ...(await store.find(SamlIdentityProvider)).map((provider) => of('saml', provider)),
    ...certificates.map((provider) => of('cert', provider)),
  ]
}
