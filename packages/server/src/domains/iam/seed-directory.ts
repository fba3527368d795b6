/**
 * The directory of a new world: corp-ad with its people and groups, as facts of the world, and what the service knows of
 * it. Source: behaviour iam.md 12.
 */
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import {
  type DirectoryHost,
  type DirectorySettings,
  directoryKey,
  type SimulatedGroup,
  type SimulatedUser,
} from '../../drivers/simulated/directory.ts'
import { digestOf } from '../../drivers/simulated/place-doors.ts'
import { type SeedContext, seedId } from '../seed.ts'
import { normalForm } from './directory/distinguished-name.ts'

const host = 'ad.simulated'
const day = 24 * 3600
const serviceAccount = 'svc-hyperplane'
const vmAdmins = 'cn=vm-admins,ou=groups,dc=example,dc=com'

/** People who are made up sign in with the password of the first start, like the demo's own. */
export const seedDirectorySettings = (ctx: SeedContext): Promise<void> =>
  ctx.world.collection<DirectorySettings>('directory.settings').put('world', { passwordHash: ctx.adminPasswordHash })

export async function seedDirectory(ctx: SeedContext): Promise<void> {
  const password = ctx.ids.secretBytes(24).toString('base64url')
  await ctx.world.collection<DirectoryHost>('directory.hosts').put(host, {})
  await ctx.world.collection<SimulatedUser>('directory.users').putAll(new Map(people(password).map(byName)))
  await ctx.world
    .collection<SimulatedGroup>('directory.groups')
    .putAll(new Map(groups.map((group) => [directoryKey(host, group.distinguishedName), group])))
  const times = { createdTime: ctx.ago(29 * day), lastUpdatedTime: ctx.ago(29 * day) }
  const base = { tenantId: ctx.tenantId, createdBy: ctx.adminId, ...times }
  await ctx.store.insert(DirectoryService, {
    extId: seedId('directory-service/corp-ad'),
    ...base,
    name: 'corp-ad',
    url: `ldap://${host}:389`,
    domainName: 'example.com',
    directoryType: 'ACTIVE_DIRECTORY',
    groupSearchType: 'RECURSIVE',
    serviceAccount: { username: `${serviceAccount}@example.com`, password },
  })
  await ctx.store.insert(UserGroup, {
    extId: seedId('user-group/vm-admins'),
    ...base,
    groupType: 'LDAP',
    idpId: seedId('directory-service/corp-ad'),
    name: 'vm-admins',
    distinguishedName: vmAdmins,
    identity: normalForm(vmAdmins) as string,
  })
  await ctx.store.insert(UserGroup, {
    extId: seedId('user-group/saml-operators'),
    ...base,
    groupType: 'SAML',
    idpId: seedId('saml-identity-provider/corp-sso'),
    name: 'saml-operators',
    identity: 'saml-operators',
  })
}

const byName = (user: SimulatedUser): readonly [string, SimulatedUser] => [directoryKey(host, user.name), user]

const personNamed = (name: string): string => `cn=${name},ou=people,dc=example,dc=com`
const groupNamed = (name: string): string => `cn=${name},ou=groups,dc=example,dc=com`

/** 40: the one that has a user here, the service's own account, one that was closed, and others. */
function people(servicePassword: string): SimulatedUser[] {
  const others = Array.from({ length: 37 }, (_, index) => `person-${String(index + 1).padStart(2, '0')}`)
  const person = (name: string, fields: Partial<SimulatedUser> = {}): SimulatedUser => ({
    name,
    distinguishedName: personNamed(name),
    displayName: name,
    emailId: `${name}@example.com`,
    ...fields,
  })
  return [
    person('alice', { displayName: 'Alice Example' }),
    person('dora', { displayName: 'Dora Departed', isDisabled: true }),
    person(serviceAccount, { password: digestOf(servicePassword) }),
    ...others.map((name) => person(name)),
  ]
}

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => personNamed(`person-${String(from + index).padStart(2, '0')}`))

/** 8, one of which is in another: platform-team in vm-admins. */
const groups: readonly SimulatedGroup[] = [
  {
    distinguishedName: vmAdmins,
    members: [personNamed('alice'), personNamed('dora'), ...numbered(1, 3), groupNamed('platform-team')],
  },
  { distinguishedName: groupNamed('platform-team'), members: numbered(4, 8) },
  { distinguishedName: groupNamed('developers'), members: numbered(1, 20) },
  { distinguishedName: groupNamed('database-admins'), members: numbered(9, 12) },
  { distinguishedName: groupNamed('network-team'), members: numbered(13, 16) },
  { distinguishedName: groupNamed('support'), members: numbered(17, 30) },
  { distinguishedName: groupNamed('auditors'), members: numbered(31, 33) },
  { distinguishedName: groupNamed('everyone'), members: [personNamed('alice'), ...numbered(1, 37)] },
]
