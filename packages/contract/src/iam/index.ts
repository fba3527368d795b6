import { namespace } from '../operation.ts'
import { authorizationPolicyOperations } from './authorization-policy.ts'
import { certAuthProviderOperations } from './cert-auth-provider.ts'
import { clientOperations } from './client.ts'
import { directoryServiceOperations } from './directory-service.ts'
import { entityOperations } from './entity.ts'
import { iamErrors } from './errors.ts'
import { keyOperations } from './key.ts'
import { loginProviderOperations } from './login-provider.ts'
import { operationOperations } from './operation.ts'
import { roleOperations } from './role.ts'
import { samlIdentityProviderOperations } from './saml-identity-provider.ts'
import { userOperations } from './user.ts'
import { userGroupOperations } from './user-group.ts'
import { welcomeBannerOperations } from './welcome-banner.ts'

export const iam = namespace({
  name: 'iam',
  versions: ['v4.1.b2'],
  label: '1.0.0-beta-2',
  kinds: {
    'authorization-policy': authorizationPolicyOperations,
    'cert-auth-provider': certAuthProviderOperations,
    client: clientOperations,
    'directory-service': directoryServiceOperations,
    entity: entityOperations,
    key: keyOperations,
    'login-provider': loginProviderOperations,
    operation: operationOperations,
    role: roleOperations,
    'saml-identity-provider': samlIdentityProviderOperations,
    user: userOperations,
    'user-group': userGroupOperations,
    'welcome-banner': welcomeBannerOperations,
  },
  errors: iamErrors,
})
