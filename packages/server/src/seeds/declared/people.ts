import { type RoleName, systemRoles } from '@hyperplane/contract'
import { CertAuthProvider } from '@hyperplane/contract/iam/cert-auth-provider'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { Role } from '@hyperplane/contract/iam/role'
import { SamlIdentityProvider } from '@hyperplane/contract/iam/saml-identity-provider'
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import { WelcomeBanner } from '@hyperplane/contract/iam/welcome-banner'
import { defined } from '../../core/defined.ts'
import { catalogueId, seedId } from '../../core/ids/named-id.ts'
import { didYouMean } from '../../core/input/nearest.ts'
import { iamOperations } from '../../domains/iam/catalogue/operations.ts'
import { systemRoleId, systemRoleRows } from '../../domains/iam/catalogue/system-roles.ts'
import { seedSimulatedDirectory } from '../demo/directory.ts'
import { allEntities, insertKey, insertPolicy, insertUser } from '../demo/people.ts'
import { seedCategory } from '../demo/platform.ts'
import type { Declared } from '../format.ts'
import { eachOf } from '../numbered.ts'
import { bodyOf } from '../readable.ts'
import type { Filling } from './filling.ts'

export const fillCategories = (filling: Filling, categories: Declared['categories']): Promise<void> =>
  filling.each('categories', categories, async ({ key, value, description, extId }, path) => {
    filling.judge(path, 'platform.createCategory', {
      key,
      value,
      ...defined({ description }),
    })
    await seedCategory(filling.ctx, { key, value, description, extId })
  })

export async function fillPeople(filling: Filling, declared: Declared): Promise<void> {
  const { roles, directories, samlIdentityProviders, userGroups, users, certAuthProviders } = declared
  // Granting rights requires those of the administrator, who has them by a system role.
  if (roles !== undefined || declared.authorizationPolicies !== undefined) await storeSystemRoles(filling)
  await fillRoles(filling, roles)
  await fillDirectories(filling, directories)
  await filling.each('samlIdentityProviders', samlIdentityProviders, async (item, path) => {
    const { extId, count: _, ...fields } = item
    const body = await bodyOf(SamlIdentityProvider.schema.fields, fields, path, filling)
    const called = `saml-identity-provider/${item.name}`
    await filling.perform(path, 'iam.createSamlIdentityProvider', { called, extId, body })
  })
  await fillUserGroups(filling, userGroups)
  await fillUsers(filling, users)
  await filling.each('certAuthProviders', certAuthProviders, async (item, path) => {
    const { extId, count: _, directory, caCertFileName = `${item.name}.pem`, ...fields } = item
    const body = await bodyOf(CertAuthProvider.schema.fields, { ...fields, dirSvcExtID: directory }, path, filling)
    const called = `cert-auth-provider/${item.name}`
    await filling.perform(path, 'iam.createCertAuthProvider', { called, extId, body: { ...body, caCertFileName } })
  })
  const { welcomeBanner } = declared
  if (welcomeBanner === undefined) return
  await filling.item('welcomeBanner', async () => {
    const [{ extId }] = (await filling.ctx.store.find(WelcomeBanner)) as [{ readonly extId: string }]
    const banner = { called: 'welcome-banner', path: { extId }, body: { ...welcomeBanner } }
    await filling.perform('welcomeBanner', 'iam.updateWelcomeBanner', banner)
  })
}

async function storeSystemRoles({ ctx }: Filling): Promise<void> {
  for (const row of systemRoleRows(ctx.tenantId))
    if (!(await ctx.store.has(Role, row.extId))) await ctx.store.insert(Role, row)
}

const fillRoles = (filling: Filling, roles: Declared['roles']): Promise<void> =>
  filling.each('roles', roles, async ({ name, extId, description, operations }, path) => {
    const ids = await filling.all(
      operations.map((operation, index) => async () => {
        if (iamOperations.has(operation)) return catalogueId('operation', operation)
        const nearest = didYouMean(operation, iamOperations.keys())
        return filling.refuse(`${path}.operations[${index}]`, `"${operation}" is no operation${nearest}`)
      }),
    )
    const body = defined({ displayName: name, description, operations: [...ids] })
    await filling.perform(path, 'iam.createRole', { called: `role/${name}`, extId, body })
  })

async function roleId(filling: Filling, name: string, path: string): Promise<string> {
  if ((systemRoles as readonly string[]).includes(name)) return systemRoleId(name as RoleName)
  const found = await filling.ctx.store.findOne(Role, { displayName: name })
  if (found !== undefined) return found.extId
  const custom = (await filling.ctx.store.find(Role)).map(({ displayName }) => displayName)
  const names = new Set<string>([...systemRoles, ...custom])
  return filling.refuse(path, `"${name}" is none of the roles that there are${didYouMean(name, names)}`)
}

const rolesOf = (filling: Filling, roles: readonly string[] = [], path: string): Promise<string[]> =>
  filling.all(roles.map((role, index) => () => roleId(filling, role, `${path}.roles[${index}]`)))

async function fillDirectories(filling: Filling, directories: Declared['directories']): Promise<void> {
  await filling.each('directories', directories, async (item, path) => {
    const {
      name,
      extId,
      url = `ldap://${name}.simulated:389`,
      people = [],
      groups = [],
      isEverybodyKnown = true,
    } = item
    const host = URL.canParse(url) ? new URL(url).hostname : ''
    if (!host.endsWith('.simulated'))
      filling.refuse(
        `${path}.url`,
        `expected a simulated directory, ldap://HOST.simulated:389: a real one needs a password, which no seed holds`,
      )
    const { count: _, people: __, groups: ___, isEverybodyKnown: ____, ...fields } = item
    const body = await bodyOf(DirectoryService.schema.fields, fields, path, filling)
    const account = await seedSimulatedDirectory(filling.ctx, {
      host,
      domainName: item.domainName,
      people: people.flatMap((person) =>
        typeof person === 'string' ? { name: person } : [...eachOf(person)].map(([{ count: _count, ...each }]) => each),
      ),
      groups: groups.map(({ name: group, members = [] }) => ({ name: group, members })),
      isEverybodyKnown,
    })
    const called = `directory-service/${name}`
    const directory = { ...body, url, serviceAccount: account }
    await filling.perform(path, 'iam.createDirectoryService', { called, extId, body: directory })
  })
}

async function providerOf(
  filling: Filling,
  name: string,
  path: string,
): Promise<{ id: string; type: 'LDAP' | 'SAML' }> {
  const { store } = filling.ctx
  const [directory] = await store.findWhere(DirectoryService, { name })
  if (directory !== undefined) return { id: directory.extId, type: 'LDAP' }
  const [saml] = await store.findWhere(SamlIdentityProvider, { name })
  if (saml !== undefined) return { id: saml.extId, type: 'SAML' }
  const providers = [...(await store.find(DirectoryService)), ...(await store.find(SamlIdentityProvider))]
  const nearest = didYouMean(
    name,
    providers.map((each) => each.name),
  )
  return filling.refuse(path, `"${name}" is none of the directories and SAML providers that there are${nearest}`)
}

const fillUserGroups = (filling: Filling, groups: Declared['userGroups']): Promise<void> =>
  filling.each('userGroups', groups, async ({ name, extId, idp, distinguishedName, roles }, path) => {
    const [{ id: idpId, type: groupType }, given] = await filling.all([
      () => providerOf(filling, idp, `${path}.idp`),
      () => rolesOf(filling, roles, path),
    ])
    const body = { name, groupType, idpId, ...defined({ distinguishedName }) }
    await filling.perform(path, 'iam.createUserGroup', { called: `user-group/${name}`, extId, body })
    const group = extId ?? seedId(`user-group/${name}`)
    const identities = [{ identityFilter: { user_group: { uuid: { anyof: [group] } } } }]
    for (const [index, role] of given.entries())
      await insertPolicy(filling.ctx, `${name}: ${roles?.[index]}`, role, [], allEntities, { identities })
  })

const fillUsers = (filling: Filling, users: Declared['users']): Promise<void> =>
  filling.each('users', users, async (item, path) => {
    const { name, extId = seedId(`user/${name}`), idp, roles, keys = [], count: _, userType: given, ...fields } = item
    const [provider, roleIds] = await filling.all([
      async () => (idp === undefined ? undefined : providerOf(filling, idp, `${path}.idp`)),
      () => rolesOf(filling, roles, path),
    ])
    const userType = given ?? provider?.type ?? 'LOCAL'
    if (provider === undefined) {
      // Users get the password of admin, which the rules require and seeds do not contain.
      const password = userType === 'LOCAL' ? { password: 'Somebody.1' } : {}
      filling.judge(path, 'iam.createUser', { username: name, userType, ...fields, ...password })
      await insertUser(filling.ctx, name, { ...fields, extId, userType })
    } else {
      const body = { username: name, userType, idpId: provider.id, ...fields }
      await filling.perform(path, 'iam.createUser', { called: `user/${name}`, extId, body })
    }
    for (const [index, role] of roleIds.entries())
      await insertPolicy(filling.ctx, `${name}: ${roles?.[index]}`, role, [extId], allEntities)
    for (const key of keys) {
      const { name: called, count: __, ...more } = typeof key === 'string' ? { name: key } : key
      await insertKey(filling.ctx, { userExtId: extId, username: name, name: called, ...more })
    }
  })

/** Last, because their filters may refer to any entity. */
export async function fillPolicies(filling: Filling, policies: Declared['authorizationPolicies']): Promise<void> {
  await filling.each('authorizationPolicies', policies, async (item, path) => {
    const { name, extId, description, role, users = [], userGroups = [], entities = [allEntities] } = item
    const [roleExtId, userIds, groupIds, filters] = await filling.all([
      () => roleId(filling, role, `${path}.role`),
      () => idsOf(users, (user, index) => filling.user(user, `${path}.users[${index}]`), filling),
      () =>
        idsOf(userGroups, (group, index) => filling.named(UserGroup, group, `${path}.userGroups[${index}]`), filling),
      () => filling.all(entities.map((filter, index) => () => withIds(filling, filter, `${path}.entities[${index}]`))),
    ])
    const identities = [
      ...(userIds.length === 0 ? [] : [{ identityFilter: { user: { uuid: { anyof: userIds } } } }]),
      ...(groupIds.length === 0 ? [] : [{ identityFilter: { user_group: { uuid: { anyof: groupIds } } } }]),
    ]
    if (identities.length === 0) filling.refuse(path, 'users, or userGroups, is missing')
    await filling.perform(path, 'iam.createAuthorizationPolicy', {
      called: `authorization-policy/${name}`,
      extId,
      body: {
        displayName: name,
        ...defined({ description }),
        role: roleExtId,
        identities,
        entities: filters.map((entityFilter) => ({ entityFilter })),
      },
    })
  })
}

const idsOf = async (
  names: readonly string[],
  find: (name: string, index: number) => Promise<{ readonly extId: string }>,
  filling: Filling,
): Promise<string[]> => filling.all(names.map((name, index) => async () => (await find(name, index)).extId))

const kindOf: Readonly<Record<string, string>> = { category_uuid: 'Category', cluster_uuid: 'Cluster', vpc_uuid: 'Vpc' }

/** The filter with ids where it has names: `{ virtual_machine: { category_uuid: { anyof: [Environment/Dev] } } }`. */
async function withIds(filling: Filling, filter: unknown, path: string, attribute = ''): Promise<unknown> {
  const { [attribute]: kind } = kindOf
  if (typeof filter === 'string')
    return kind === undefined || filter === '*' ? filter : filling.idOrName(kind, filter, path)
  if (Array.isArray(filter)) return filling.all(filter.map((item) => () => withIds(filling, item, path, attribute)))
  if (typeof filter !== 'object' || filter === null) return filter
  const entries = Object.entries(filter)
  const found = await filling.all(
    entries.map(
      ([name, item]) =>
        () =>
          withIds(filling, item, path, kindOf[name] === undefined ? attribute : name),
    ),
  )
  return Object.fromEntries(entries.map(([name], index) => [name, found[index]]))
}
