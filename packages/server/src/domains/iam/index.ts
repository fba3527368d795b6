import { authorizationPolicy } from './authorization-policy.ts'
import { certAuthProvider } from './cert-auth-provider.ts'
import { client } from './client.ts'
import { directoryService } from './directory-service.ts'
import { entity } from './entity.ts'
import { key } from './key.ts'
import { loginProvider } from './login-provider.ts'
import { operation } from './operation.ts'
import { role } from './role.ts'
import { samlIdentityProvider } from './saml-identity-provider.ts'
import { user } from './user.ts'
import { userGroup } from './user-group.ts'
import { welcomeBanner } from './welcome-banner.ts'

export const iam = {
  authorizationPolicy,
  certAuthProvider,
  client,
  directoryService,
  entity,
  key,
  loginProvider,
  operation,
  role,
  samlIdentityProvider,
  user,
  userGroup,
  welcomeBanner,
}
