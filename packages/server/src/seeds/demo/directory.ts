/** The directory corp-ad of a new world. Source: behaviour iam.md 12. */

import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import { seedId } from '../../core/ids/named-id.ts'
import { normalForm } from '../../domains/iam/directory/distinguished-name.ts'
import { baseOf } from '../../drivers/directory.ts'
import {
  type DirectoryHost,
  type DirectorySettings,
  directoryKey,
  type SimulatedGroup,
  type SimulatedUser,
} from '../../drivers/simulated/directory.ts'
import { digestOf } from '../../drivers/simulated/place-doors.ts'
import type { SeedContext } from '../context.ts'

const host = 'ad.simulated'
const day = 24 * 3600
const serviceAccount = 'svc-hyperplane'
const vmAdmins = 'cn=vm-admins,ou=groups,dc=example,dc=com'

/** Users of the directory without a password of their own have the initial admin password. */
export const seedDirectorySettings = (ctx: SeedContext): Promise<void> =>
  ctx.world.collection<DirectorySettings>('directory.settings').put('world', { passwordHash: ctx.adminPasswordHash })

interface DescribedDirectory {
  readonly host: string
  readonly domainName: string
  readonly people: readonly Person[]
  readonly groups: readonly { readonly name: string; readonly members: readonly string[] }[]
  /** Any well-formed name that is not listed is a person as well. */
  readonly isEverybodyKnown: boolean
}
interface Person {
  readonly name: string
  readonly displayName?: string
  readonly emailId?: string
  readonly isDisabled?: boolean
}

/** @returns the account by which this service queries the directory, with a random password */
export async function seedSimulatedDirectory(
  ctx: SeedContext,
  described: DescribedDirectory,
): Promise<{ readonly username: string; readonly password: string }> {
  const { host, domainName, groups, isEverybodyKnown } = described
  const base = baseOf(domainName)
  const nameOfPerson = (name: string): string => `cn=${name},ou=people,${base}`
  const nameOfGroup = (name: string): string => `cn=${name},ou=groups,${base}`
  const isGroup = new Set(groups.map(({ name }) => name))
  const password = ctx.ids.secretBytes(24).toString('base64url')
  const people: readonly (Person & { readonly password?: string })[] = [
    ...described.people,
    { name: serviceAccount, password: digestOf(password) },
  ]
  await ctx.world.collection<DirectoryHost>('directory.hosts').put(host, isEverybodyKnown ? {} : { resolve: 'listed' })
  await ctx.world.collection<SimulatedUser>('directory.users').putAll(
    new Map(
      people.map((person) => [
        directoryKey(host, person.name),
        {
          distinguishedName: nameOfPerson(person.name),
          displayName: person.name,
          emailId: `${person.name}@${domainName}`,
          ...person,
        },
      ]),
    ),
  )
  await ctx.world.collection<SimulatedGroup>('directory.groups').putAll(
    new Map(
      groups.map(({ name, members }) => [
        directoryKey(host, nameOfGroup(name)),
        {
          distinguishedName: nameOfGroup(name),
          members: members.map((member) => (isGroup.has(member) ? nameOfGroup(member) : nameOfPerson(member))),
        },
      ]),
    ),
  )
  return { username: `${serviceAccount}@${domainName}`, password }
}

export async function seedDirectory(ctx: SeedContext): Promise<void> {
  const account = await seedSimulatedDirectory(ctx, {
    host,
    domainName: 'example.com',
    people,
    groups,
    isEverybodyKnown: true,
  })
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
    serviceAccount: account,
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

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `person-${String(from + index).padStart(2, '0')}`)

const people: readonly Person[] = [
  { name: 'alice', displayName: 'Alice Example' },
  { name: 'dora', displayName: 'Dora Departed', isDisabled: true },
  ...numbered(1, 37).map((name) => ({ name })),
]

const groups = [
  { name: 'vm-admins', members: ['alice', 'dora', ...numbered(1, 3), 'platform-team'] },
  { name: 'platform-team', members: numbered(4, 8) },
  { name: 'developers', members: numbered(1, 20) },
  { name: 'database-admins', members: numbered(9, 12) },
  { name: 'network-team', members: numbered(13, 16) },
  { name: 'support', members: numbered(17, 30) },
  { name: 'auditors', members: numbered(31, 33) },
  { name: 'everyone', members: ['alice', ...numbered(1, 37)] },
]
