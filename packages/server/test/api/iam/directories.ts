/** Simulated directories with people and groups of their own, for the tests of iam. */
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import {
  type DirectoryHost,
  directoryKey,
  type SimulatedGroup,
  type SimulatedUser,
} from '../../../src/drivers/simulated/directory.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import { adminPassword } from '../../support/start-app.ts'
import { fresh, ok, users } from './people.ts'

export const directories = '/iam/v4.1.b2/authn/directory-services'
export const groups = '/iam/v4.1.b2/authn/user-groups'

export interface TestDirectory {
  readonly extId: string
  readonly host: string
  readonly domainName: string
  readonly base: string
}

export const directoryBody = (name: string, fields: object = {}) => ({
  name,
  url: `ldap://${name}.simulated`,
  domainName: `${name}.test`,
  directoryType: 'ACTIVE_DIRECTORY',
  serviceAccount: { username: 'svc', password: adminPassword },
  ...fields,
})

export const openLdap = (base: string) => ({
  userConfiguration: {
    userObjectClass: 'inetOrgPerson',
    userSearchBase: `ou=people,${base}`,
    usernameAttribute: 'uid',
  },
  userGroupConfiguration: {
    groupObjectClass: 'groupOfNames',
    groupSearchBase: `ou=groups,${base}`,
    groupMemberAttribute: 'member',
    groupMemberAttributeValue: 'dn',
  },
})

/** A directory of which nobody else knows. */
export async function aDirectory(app: TestApp, fields: object = {}): Promise<TestDirectory> {
  const name = fresh('dir')
  const created = ok(await app.call('POST', directories, { body: directoryBody(name, fields) }), 201)
  return {
    extId: created.data.extId,
    host: `${name}.simulated`,
    domainName: `${name}.test`,
    base: `dc=${name},dc=test`,
  }
}

export const personIn = ({ base }: TestDirectory, name: string): string => `cn=${name},cn=users,${base}`
export const groupIn = ({ base }: TestDirectory, name: string): string => `cn=${name},ou=groups,${base}`

export const behave = (app: TestApp, { host }: TestDirectory, fact: DirectoryHost): Promise<void> =>
  app.world.collection<DirectoryHost>('directory.hosts').put(host, fact)

export const putGroup = (
  app: TestApp,
  directory: TestDirectory,
  name: string,
  members: readonly string[],
): Promise<void> =>
  app.world.collection<SimulatedGroup>('directory.groups').put(directoryKey(directory.host, groupIn(directory, name)), {
    distinguishedName: groupIn(directory, name),
    members,
  })

export const putUser = (app: TestApp, directory: TestDirectory, user: SimulatedUser): Promise<void> =>
  app.world.collection<SimulatedUser>('directory.users').put(directoryKey(directory.host, user.name), user)

export async function aGroup(app: TestApp, directory: TestDirectory, name: string): Promise<string> {
  const body = { groupType: 'LDAP', idpId: directory.extId, distinguishedName: groupIn(directory, name) }
  return ok(await app.call('POST', groups, { body }), 201).data.extId
}

export async function aDirectoryUser(
  app: TestApp,
  directory: TestDirectory,
  username = fresh('ldap'),
): Promise<string> {
  const body = { userType: 'LDAP', username, idpId: directory.extId }
  return ok(await app.call('POST', users, { body }), 201).data.extId
}

/** `identity filter` of a policy that speaks of a group. */
export const toGroup = (group: string): object => ({ user: { group: { eq: group } } })

export const groupRow = (app: TestApp, extId: string) => app.store.get(UserGroup, extId)

export const tagged = async (app: TestApp, path: string): Promise<CallResult> => ok(await app.call('GET', path), 200)
