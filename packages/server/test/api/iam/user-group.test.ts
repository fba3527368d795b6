/** User groups: names of groups of directories and SAML providers. Source: behaviour iam.md 3, 13. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aDirectory, behave, directories, groups } from './directories.ts'
import { aRole, etagOf, everything, fresh, ok, policies, roles, verdict } from './people.ts'

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

const samlProvider = seedId('saml-identity-provider/corp-sso')
const create = (body: object) => app.call('POST', groups, { body })
const faultsOf = (result: { errors: readonly { argumentsMap?: Record<string, string> }[] }) =>
  result.errors.map((error) => error.argumentsMap?.['attributePath']).sort()

test('an LDAP group without a name is named after the first part of its distinguished name, and a sent name is returned unchanged', async () => {
  const { extId: idpId } = await aDirectory(app)
  const distinguishedName = 'CN=VM Admins, OU=groups,dc=example,dc=com'
  const created = ok(await create({ groupType: 'LDAP', idpId, distinguishedName }), 201)
  assert.equal(created.data.name, 'VM Admins')
  const path = `${groups}/${created.data.extId}`
  assert.equal((await app.call('GET', path)).data.distinguishedName, distinguishedName)
  const filter = encodeURIComponent(
    `idpId eq '${idpId}' and name eq 'VM Admins' and groupType eq Schema.Enums.GroupType'LDAP'`,
  )
  assert.equal((await app.call('GET', `${groups}?$filter=${filter}`)).total, 1)
})

test('a distinguished name in use, in any case and spacing, is refused in the same directory and accepted in another', async () => {
  const first = await aDirectory(app)
  const second = await aDirectory(app)
  const body = (idpId: string, distinguishedName: string) => ({ groupType: 'LDAP', idpId, distinguishedName })
  ok(await create(body(first.extId, 'cn=vm admins,ou=groups,dc=example,dc=com')), 201)
  const again = await create(body(first.extId, 'CN = VM  Admins , OU=Groups,DC=example, DC=com'))
  assert.equal(verdict(again), '409 IAM-20012')
  assert.match(
    again.errors[0]?.message ?? '',
    /Failed to create the user group as an user group already exists with same DN/,
  )
  ok(await create(body(second.extId, 'cn=vm admins,ou=groups,dc=example,dc=com')), 201)
})

test('of twenty concurrent creations with one distinguished name, one succeeds', async () => {
  const { extId: idpId } = await aDirectory(app)
  const body = { groupType: 'LDAP', idpId, distinguishedName: 'cn=race,dc=example,dc=com' }
  const results = await Promise.all(Array.from({ length: 20 }, () => create(body)))
  assert.deepEqual(results.map(verdict).sort(), ['201', ...Array(19).fill('409 IAM-20012')])
})

test('an LDAP group with an invalid distinguished name, or without one, is refused', async () => {
  const { extId: idpId } = await aDirectory(app)
  for (const distinguishedName of ['admins', 'cn=', 'cn=a;dc=b', 'cn=a,', undefined]) {
    const refused = await create({ groupType: 'LDAP', idpId, distinguishedName })
    assert.deepEqual([refused.status, faultsOf(refused)], [400, ['distinguishedName']], String(distinguishedName))
  }
})

test('a SAML group has a name and no distinguished name, and its name is unique for its provider', async () => {
  const body = { groupType: 'SAML', idpId: samlProvider, name: fresh('saml') }
  const unnamed = await create({ groupType: 'SAML', idpId: samlProvider, distinguishedName: 'cn=a' })
  assert.deepEqual([unnamed.status, faultsOf(unnamed)], [400, ['distinguishedName', 'name']])
  ok(await create(body), 201)
  assert.equal(verdict(await create(body)), '409 IAM-20012')
})

test('an unknown group or provider is 404 with the message that clients search for', async () => {
  const nobody = '11111111-2222-4333-8444-555555555555'
  const missing = await app.call('GET', `${groups}/${nobody}`)
  assert.equal(verdict(missing), '404 IAM-20003')
  assert.match(missing.errors[0]?.message ?? '', /the requested user group does not exist/)
  const ldap = await create({ groupType: 'LDAP', idpId: nobody, distinguishedName: 'cn=a' })
  assert.equal(verdict(ldap), '404 IAM-20004')
  const saml = await create({ groupType: 'SAML', idpId: nobody, name: 'a' })
  assert.equal(verdict(saml), '404 IAM-20005')
})

test('a provider of the other type is accepted with a warning', async () => {
  const { extId } = await aDirectory(app)
  const saml = ok(await create({ groupType: 'SAML', idpId: extId, name: fresh('saml') }), 201)
  assert.match(saml.warnings.join(), /is of type LDAP/)
  const ldap = ok(await create({ groupType: 'LDAP', idpId: samlProvider, distinguishedName: `cn=${fresh('x')}` }), 201)
  assert.match(ldap.warnings.join(), /is of type SAML/)
})

test('a group that its directory does not have is refused, and accepted with a warning when the directory does not answer', async () => {
  const directory = await aDirectory(app)
  const body = { groupType: 'LDAP', idpId: directory.extId, distinguishedName: 'cn=ghosts,dc=example,dc=com' }
  await behave(app, directory, { resolve: 'listed' })
  // The service account is nobody there: the directory answers, but not to us.
  await app.world
    .collection('directory.users')
    .put(`${directory.host}/svc`, { name: 'svc', distinguishedName: 'cn=svc' })
  const refused = await create(body)
  assert.deepEqual([refused.status, faultsOf(refused)], [400, ['distinguishedName']])
  await behave(app, directory, { fault: 'slow' })
  assert.match(ok(await create(body), 201).warnings.join(), /does not answer now/)
})

test('deleting a group leaves policies unchanged and lowers their group count', async () => {
  const { extId: idpId } = await aDirectory(app)
  const body = { groupType: 'LDAP', idpId, distinguishedName: `cn=${fresh('counted')}` }
  const group = ok(await create(body), 201).data.extId
  const role = await aRole(app, ['View_Category'])
  const created = await app.call('POST', policies, {
    body: {
      displayName: fresh('policy'),
      role,
      identities: [{ identityFilter: { user: { group: { eq: group } } } }],
      entities: [{ entityFilter: everything }],
    },
  })
  const policy = `${policies}/${ok(created, 201).data.extId}`
  const counts = async () => [
    (await app.call('GET', policy)).data.assignedUserGroupsCount,
    (await app.call('GET', `${roles}/${role}`)).data.assignedUserGroupsCount,
  ]
  assert.deepEqual(await counts(), [1, 1])
  const path = `${groups}/${group}`
  assert.equal((await app.call('DELETE', path)).status, 428)
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  assert.deepEqual(await counts(), [0, 0])
  assert.deepEqual((await app.call('GET', policy)).data.identities, [
    { identityFilter: { user: { group: { eq: group } } } },
  ])
})

test('the demo seed has a group of its directory and one of its SAML provider', async () => {
  const shown = await app.call('GET', `${groups}?$filter=name in ('vm-admins','saml-operators')&$orderby=name`)
  assert.deepEqual(
    shown.data.map((group: any) => [group.name, group.groupType, group.distinguishedName]),
    [
      ['saml-operators', 'SAML', undefined],
      ['vm-admins', 'LDAP', 'cn=vm-admins,ou=groups,dc=example,dc=com'],
    ],
  )
  const [directory] = (await app.call('GET', `${directories}?$filter=name eq 'corp-ad'`)).data
  assert.deepEqual(
    [directory.url, directory.domainName, directory.directoryType],
    ['ldap://ad.simulated:389', 'example.com', 'ACTIVE_DIRECTORY'],
  )
})
