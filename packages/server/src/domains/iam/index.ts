/** What the operations of iam do: one line a kind, sorted. */
import { authorizationPolicy } from './authorization-policy.ts'
import { certAuthProvider } from './cert-auth-provider.ts'
import { client } from './client.ts'
import { entity } from './entity.ts'
import { key } from './key.ts'
import { operation } from './operation.ts'
import { role } from './role.ts'
import { user } from './user.ts'

export const iam = { authorizationPolicy, certAuthProvider, client, entity, key, operation, role, user }
