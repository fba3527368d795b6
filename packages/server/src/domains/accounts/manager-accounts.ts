/** The service account of a registered remote manager. Source: behaviour platform.md 4 (exchange trust); iam.md 2, 8, 9. */

import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { Key } from '@hyperplane/contract/iam/key'
import { Role } from '@hyperplane/contract/iam/role'
import { User } from '@hyperplane/contract/iam/user'
import { systemCaller } from '../../core/caller.ts'
import { catalogueId, derivedId } from '../../core/ids/named-id.ts'
import type { Clock } from '../../core/time/clock.ts'
import { accountName } from '../../drivers/remote-managers.ts'
import type { Transaction } from '../../store/store.ts'
import { apiKeyDigest } from './api-key-digest.ts'
import { localProviderId } from './local-provider.ts'

/** A remote manager checks its registration, ends it, and reads the networks that a layer-2 stretch can join. */
const permitted = [
  'View_Domain_Manager',
  'Unregister_Domain_Manager',
  'View_Gateway',
  'View_Subnet',
  'View_VPN_Connection',
]
const allEntities = { '*': { '*': { eq: '*' } } }

const idOf = (what: string, managerExtId: string): string => derivedId('manager account', what, managerExtId)
export const accountIdOf = (managerExtId: string): string => idOf('user', managerExtId)

interface Making {
  readonly store: Transaction
  readonly clock: Pick<Clock, 'iso'>
  readonly tenantId: string
}

/** Policies are cached: call `access.changed()` after the commit. */
export async function makeAccount(
  ctx: Making,
  manager: { readonly extId: string; readonly name: string },
  apiKey: string | undefined,
): Promise<void> {
  const { store, tenantId } = ctx
  const time = ctx.clock.iso()
  const { extId: system } = systemCaller(tenantId)
  const displayName = accountName(manager.extId)
  const description = `The registered manager ${manager.name}. Removed with its registration.`
  const ownership = { tenantId, createdBy: system, createdTime: time }
  const user = accountIdOf(manager.extId)
  await store.insert(User, {
    ...ownership,
    extId: user,
    userType: 'SERVICE_ACCOUNT',
    username: displayName,
    idpId: localProviderId,
    description,
    status: 'ACTIVE',
    isForceResetPasswordEnabled: false,
    creationType: 'SERVICEDEFINED',
    lastLoginTime: time,
    lastUpdatedBy: system,
    lastUpdatedTime: time,
  })
  await store.insert(Role, {
    ...ownership,
    extId: idOf('role', manager.extId),
    displayName,
    description,
    clientName: '',
    operations: permitted.map((name) => catalogueId('operation', name)),
    isSystemDefined: false,
    operationSchemaChangeImpact: 'NOT_IMPACTED',
    lastUpdatedTime: time,
  })
  await store.insert(AuthorizationPolicy, {
    ...ownership,
    extId: idOf('policy', manager.extId),
    displayName,
    description,
    clientName: '',
    role: idOf('role', manager.extId),
    identities: [{ identityFilter: { user: { uuid: { anyof: [user] } } } }],
    entities: [{ entityFilter: allEntities }],
    authorizationPolicyType: 'SERVICE_DEFINED',
    isSystemDefined: true,
    lastUpdatedTime: time,
  })
  if (apiKey === undefined) return
  await store.insert(Key, {
    ...ownership,
    extId: idOf('key', manager.extId),
    userExtId: user,
    name: 'registration',
    keyType: 'API_KEY',
    status: 'VALID',
    creationType: 'SERVICEDEFINED',
    apiKeyDigest: apiKeyDigest(apiKey),
    lastUpdatedBy: system,
    lastUpdatedTime: time,
  })
}

export async function removeAccount(store: Transaction, managerExtId: string): Promise<void> {
  const user = accountIdOf(managerExtId)
  if (!(await store.has(User, user))) return
  for (const key of await store.findWhere(Key, { userExtId: user })) await store.remove(Key, key.extId)
  await store.remove(AuthorizationPolicy, idOf('policy', managerExtId))
  await store.remove(Role, idOf('role', managerExtId))
  await store.remove(User, user)
}
