/** External identity providers that users and groups belong to. Source: behaviour iam.md 1, 3, 4, 5. */
import type { AnyResource } from '@hyperplane/contract'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { SamlIdentityProvider } from '@hyperplane/contract/iam/saml-identity-provider'
import { User } from '@hyperplane/contract/iam/user'
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import { ApiError } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'

export type ProviderType = 'LDAP' | 'SAML'

export async function providerType(store: Reader, idpId: string): Promise<ProviderType | undefined> {
  if (await store.has(DirectoryService, idpId)) return 'LDAP'
  return (await store.has(SamlIdentityProvider, idpId)) ? 'SAML' : undefined
}

export const unknownProvider = (type: ProviderType, idpId: string): ApiError =>
  type === 'LDAP'
    ? new ApiError('DIRECTORY_SERVICE_NOT_FOUND', { id: idpId, attribute: 'idpId' })
    : new ApiError('IDENTITY_PROVIDER_NOT_FOUND', { kind: 'SAML identity provider', id: idpId, attribute: 'idpId' })

/** @throws ApiError 409 while users, user groups or certificate providers refer to the provider */
export async function requireUnused(
  store: Reader,
  resource: AnyResource,
  provider: { readonly extId: string; readonly name: string },
): Promise<void> {
  const named = (kind: AnyResource) => store.count(kind, { filter: equals(pathOf(kind, 'idpId'), provider.extId) })
  const counts = new Map([
    ['users', await named(User)],
    ['user groups', await named(UserGroup)],
    ['certificate authentication providers', await certificateProviders(store, resource, provider.extId)],
  ])
  const users = [...counts].filter(([, count]) => count > 0).map(([kind, count]) => `${count} ${kind}`)
  if (users.length === 0) return
  throw new ApiError('ENTITY_IN_USE', { kind: resource.title, name: provider.name, users: users.join(' and ') })
}

async function certificateProviders(store: Reader, resource: AnyResource, extId: string): Promise<number> {
  return (await store.referrerCounts(resource.kind, extId)).get('CertAuthProvider') ?? 0
}
