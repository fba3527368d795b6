import { namespace } from '../operation.ts'
import { authorizationPolicyOperations } from './authorization-policy.ts'
import { certAuthProviderOperations } from './cert-auth-provider.ts'
import { clientOperations } from './client.ts'
import { entityOperations } from './entity.ts'
import { iamErrors } from './errors.ts'
import { keyOperations } from './key.ts'
import { operationOperations } from './operation.ts'
import { roleOperations } from './role.ts'
import { unimplemented } from './unimplemented.ts'
import { userOperations } from './user.ts'

export const iam = namespace({
  name: 'iam',
  versions: ['v4.1.b2'],
  label: '1.0.0-beta-2',
  kinds: {
    'authorization-policy': authorizationPolicyOperations,
    'cert-auth-provider': certAuthProviderOperations,
    client: clientOperations,
    entity: entityOperations,
    key: keyOperations,
    operation: operationOperations,
    role: roleOperations,
    user: userOperations,
  },
  unimplemented,
  errors: iamErrors,
})
