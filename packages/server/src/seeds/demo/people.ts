/** Users, roles and policies of a new world. Source: behaviour iam.md 12. */

import { createHash } from 'node:crypto'
import type { RoleName } from '@hyperplane/contract'
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { Key } from '@hyperplane/contract/iam/key'
import { Role } from '@hyperplane/contract/iam/role'
import { User } from '@hyperplane/contract/iam/user'
import { WelcomeBanner } from '@hyperplane/contract/iam/welcome-banner'
import { catalogueId, seedId } from '../../core/ids/named-id.ts'
import { localProviderId } from '../../domains/accounts/local-provider.ts'
import { clientNameOf } from '../../domains/iam/catalogue/clients.ts'
import { systemRoleId } from '../../domains/iam/catalogue/system-roles.ts'
import type { SeedContext } from '../context.ts'
import { seedDirectory, seedDirectorySettings } from './directory.ts'
import { seedSaml } from './saml.ts'

const system = '00000000-0000-0000-0000-000000000000'
export const allEntities = { '*': { '*': { eq: '*' } } }
const day = 24 * 3600

export async function seedBase(ctx: SeedContext): Promise<void> {
  await insertUser(ctx, 'admin', {
    userType: 'LOCAL',
    displayName: 'Administrator',
    creationType: 'PREDEFINED',
    createdBy: system,
  })
  await insertPolicy(ctx, 'Super Admin', systemRoleId('Super Admin'), [ctx.adminId], allEntities, {
    authorizationPolicyType: 'PREDEFINED_READ_ONLY',
    isSystemDefined: true,
    createdBy: system,
  })
  const times = { createdTime: ctx.ago(30 * day), lastUpdatedTime: ctx.ago(30 * day) }
  await ctx.store.insert(WelcomeBanner, {
    extId: seedId('welcome-banner'),
    content: '',
    isEnabled: false,
    ...times,
  })
  await seedDirectorySettings(ctx)
}

export async function seedDemo(ctx: SeedContext): Promise<void> {
  await seedDirectory(ctx)
  await seedSaml(ctx)
  await insertUser(ctx, 'operator', {
    userType: 'LOCAL',
    displayName: 'Olga Operator',
    emailId: 'operator@example.com',
  })
  await insertUser(ctx, 'viewer', { userType: 'LOCAL', displayName: 'Viktor Viewer', emailId: 'viewer@example.com' })
  await insertUser(ctx, 'ci-robot', {
    userType: 'SERVICE_ACCOUNT',
    description: 'Takes snapshots before each deployment.',
  })
  await insertUser(ctx, 'alice', {
    userType: 'LDAP',
    displayName: 'Alice Example',
    idpId: seedId('directory-service/corp-ad'),
  })
  await insertUser(ctx, 'bob', {
    userType: 'SAML',
    displayName: 'Bob Example',
    idpId: seedId('saml-identity-provider/corp-sso'),
  })
  await insertUser(ctx, 'former', { userType: 'LOCAL', displayName: 'Frank Former', status: 'INACTIVE' })
  const robot = { userExtId: seedId('user/ci-robot'), username: 'ci-robot', assignedTo: 'build pipeline' } as const
  await insertKey(ctx, { ...robot, name: 'deployment' })
  await insertKey(ctx, { ...robot, name: 'deployment-2025', status: 'REVOKED' })

  const snapshots = seedId('role/Snapshot Operator')
  await ctx.store.insert(Role, {
    extId: snapshots,
    tenantId: ctx.tenantId,
    displayName: 'Snapshot Operator',
    description: 'Takes and restores recovery points of virtual machines.',
    clientName: clientNameOf('platform'),
    operations: [
      'View_Existing_Virtual_Machine',
      'View_Virtual_Machine_Recovery_Point',
      'Create_Virtual_Machine_Recovery_Point',
    ].map((name) => catalogueId('operation', name)),
    isSystemDefined: false,
    operationSchemaChangeImpact: 'NOT_IMPACTED',
    createdBy: ctx.adminId,
    createdTime: ctx.ago(28 * day),
    lastUpdatedTime: ctx.ago(28 * day),
  })
  const role = (name: RoleName): string => systemRoleId(name)
  const dev = { virtual_machine: { category_uuid: { anyof: [seedId('category/Environment/Dev')] } } }
  await insertPolicy(ctx, 'Viewers', role('Platform Viewer'), [seedId('user/viewer')], allEntities)
  await insertPolicy(ctx, 'Operators', role('Virtual Machine Operator'), [seedId('user/operator')], allEntities)
  await insertPolicy(ctx, 'Snapshots before deployments', snapshots, [seedId('user/ci-robot')], allEntities)
  await insertPolicy(
    ctx,
    'Own images',
    role('Virtual Machine Admin'),
    [seedId('user/ci-robot'), seedId('user/alice')],
    { image: { owner_uuid: { eq: 'SELF_OWNED' } } },
  )
  await insertPolicy(ctx, 'Development machines', role('Virtual Machine Admin'), [], dev, {
    identities: [{ identityFilter: { user_group: { uuid: { anyof: [seedId('user-group/vm-admins')] } } } }],
  })
}

export async function insertUser(
  ctx: SeedContext,
  username: string,
  fields: Partial<User> & Pick<User, 'userType'>,
): Promise<void> {
  const texts = fields.userType === 'SERVICE_ACCOUNT' ? '' : undefined
  const isLocal = fields.userType === 'LOCAL'
  await ctx.store.insert(User, {
    extId: seedId(`user/${username}`),
    tenantId: ctx.tenantId,
    username,
    idpId: localProviderId,
    locale: texts ?? 'en-US',
    region: texts ?? 'en-US',
    ...(texts === undefined ? {} : { displayName: '', firstName: '', middleInitial: '', lastName: '', emailId: '' }),
    isForceResetPasswordEnabled: false,
    status: 'ACTIVE',
    creationType: 'USERDEFINED',
    createdBy: ctx.adminId,
    createdTime: ctx.ago(30 * day),
    lastLoginTime: ctx.ago(30 * day),
    lastUpdatedBy: ctx.adminId,
    lastUpdatedTime: ctx.ago(30 * day),
    // Local users of the demo have the initial admin password.
    ...(isLocal ? { passwordHash: ctx.adminPasswordHash, formerPasswordHashes: [ctx.adminPasswordHash] } : {}),
    ...fields,
  })
}

interface SeedKey {
  readonly userExtId: string
  readonly username: string
  readonly name: string
  readonly extId?: string
  readonly description?: string
  readonly status?: 'VALID' | 'REVOKED'
  readonly assignedTo?: string
}

export async function insertKey(ctx: SeedContext, described: SeedKey): Promise<void> {
  const { username, name, extId = seedId(`key/${username}/${name}`), status = 'VALID', ...more } = described
  await ctx.store.insert(Key, {
    extId,
    tenantId: ctx.tenantId,
    name,
    keyType: 'API_KEY',
    status,
    ...more,
    // Digest of a random key that nobody has: the row shows what keys look like, but authenticates nobody.
    apiKeyDigest: createHash('sha256').update(ctx.ids.secretBytes(32)).digest('hex'),
    creationType: 'USERDEFINED',
    createdBy: ctx.adminId,
    createdTime: ctx.ago(29 * day),
    lastUpdatedBy: ctx.adminId,
    lastUpdatedTime: ctx.ago(29 * day),
  })
}

export async function insertPolicy(
  ctx: SeedContext,
  displayName: string,
  role: string,
  users: readonly string[],
  entityFilter: object,
  fields: Partial<AuthorizationPolicy> = {},
): Promise<void> {
  await ctx.store.insert(AuthorizationPolicy, {
    extId: seedId(`authorization-policy/${displayName}`),
    tenantId: ctx.tenantId,
    displayName,
    clientName: '',
    role,
    identities: [{ identityFilter: { user: { uuid: { anyof: users } } } }],
    entities: [{ entityFilter }],
    authorizationPolicyType: 'USER_DEFINED',
    isSystemDefined: false,
    createdBy: ctx.adminId,
    createdTime: ctx.ago(28 * day),
    lastUpdatedTime: ctx.ago(28 * day),
    ...fields,
  })
}
