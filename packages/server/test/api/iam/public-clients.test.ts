/** Facts that public clients rely on. Source: behaviour iam.md 1, 2, 4, 8, 9; conventions 2.3, 13. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { http } from '../../support/http.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aRole, aUser, etagOf, fresh, ok, operationId, policies, roles, users } from './people.ts'

const directories = '/iam/v4.1.b2/authn/directory-services'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const inPublic = { headers: { 'user-agent': 'Nutanix-client' } } as const
const shown = async (path: string) => (await http(url, `/api${path}`, inPublic)).json

test('lastLoginTime is the creation time until the first sign-in', async () => {
  const { extId } = await aUser(app)
  const one = (await app.call('GET', `${users}/${extId}`)).data
  assert.equal(one.lastLoginTime, one.createdTime)
  const listed = (await app.call('GET', `${users}?$limit=100`)).data
  assert.deepEqual(
    listed.filter((user: any) => user.lastLoginTime === undefined),
    [],
  )
  const body = { userType: 'SERVICE_ACCOUNT', username: fresh('robot') }
  assert.notEqual(ok(await app.call('POST', users, { body }), 201).data.lastLoginTime, undefined)
})

test('the list of policies returns projections, expanded or not, while a single read returns the policy itself', async () => {
  const row = 'iam.v4.authz.AuthorizationPolicyProjection'
  for (const query of ['', '?$expand=role']) {
    const { data } = await shown(`${policies}${query}`)
    assert.deepEqual([...new Set(data.map((policy: any) => policy.$objectType))], [row])
  }
  const [first] = (await app.call('GET', policies)).data
  assert.equal((await shown(`${policies}/${first.extId}`)).data.$objectType, 'iam.v4.authz.AuthorizationPolicy')
})

test('empty lists of roles and policies are empty arrays in the public profile; other empty lists are absent', async () => {
  const none = `?$filter=${encodeURIComponent("displayName eq 'nobody has this name'")}`
  assert.deepEqual((await shown(`${roles}${none}`)).data, [])
  assert.deepEqual((await shown(`${policies}${none}`)).data, [])
  assert.equal((await shown(`${users}${none}`)).data, undefined)
})

test('revoking a key returns a message without a severity', async () => {
  const robot = await aRobot(app)
  const path = `${users}/${robot.extId}/keys/${robot.keyExtId}/$actions/revoke`
  const revoked = ok(await app.call('POST', path, { body: {} }), 200)
  const [said] = [revoked.data].flat()
  assert.equal(said.message, 'Revoke user key successful.')
  assert.equal('severity' in said, false)
})

test('a role created without a client gets the client Platform, or Prism in the public profile; a sent client is kept', async () => {
  const own = await aRole(app, ['View_Image'])
  assert.equal((await app.call('GET', `${roles}/${own}`)).data.clientName, 'Platform')
  assert.equal((await shown(`${roles}/${own}`)).data.clientName, 'Prism')
  const filter = encodeURIComponent(`clientName eq 'Prism' and extId eq '${own}'`)
  assert.equal((await shown(`${roles}?$filter=${filter}`)).data.length, 1)
  const body = { displayName: fresh('role'), operations: [operationId('View_Image')], clientName: 'Somebody' }
  const { extId } = ok(await app.call('POST', roles, { body }), 201).data
  assert.equal((await app.call('GET', `${roles}/${extId}`)).data.clientName, 'Somebody')
  const ifMatch = await etagOf(app, `${roles}/${extId}`)
  ok(await app.call('PUT', `${roles}/${extId}`, { body: { ...body, clientName: '' }, ifMatch }), 200)
  assert.equal((await app.call('GET', `${roles}/${extId}`)).data.clientName, 'Platform')
  const every = (await app.call('GET', `${roles}?$limit=100`)).data
  assert.deepEqual(
    every.filter((role: any) => !role.clientName),
    [],
  )
})

test('only the public profile returns a mask as directory password, and a PUT with the mask or an empty text keeps the password', async () => {
  const [directory] = (await app.call('GET', directories)).data
  const path = `${directories}/${directory.extId}`
  assert.equal((await shown(path)).data.serviceAccount.password, '********')
  assert.equal((await shown(directories)).data[0].serviceAccount.password, '********')
  const spec = (await http(url, `/api${path}`)).json
  assert.equal(spec.data.serviceAccount.password, undefined)
  const stored = async () => ((await app.store.find(DirectoryService))[0] as any).serviceAccount.password
  const before = await stored()
  const own = directory
  for (const password of ['', '********', undefined]) {
    const { username } = own.serviceAccount
    const serviceAccount = { username, ...(password === undefined ? {} : { password }) }
    const ifMatch = await etagOf(app, path)
    ok(await app.call('PUT', path, { body: { ...own, serviceAccount }, ifMatch }), 200)
    assert.deepEqual(await stored(), before)
  }
  const other = { ...own, name: fresh('directory'), domainName: `${fresh('d')}.example` }
  for (const password of ['', '********']) {
    const body = { ...other, serviceAccount: { ...own.serviceAccount, password } }
    assert.equal((await app.call('POST', directories, { body })).status, 400)
  }
})

test("a PUT with an empty password keeps the user's password, while creations and resets refuse it", async () => {
  const person = await aUser(app)
  const path = `${users}/${person.extId}`
  const body = { userType: 'LOCAL', username: person.username, password: '' }
  ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
  assert.equal((await app.call('GET', path, { as: person.as })).status, 200)
  const refused = await app.call('POST', users, { body: { ...body, username: fresh('person') } })
  assert.equal(refused.status, 400)
  assert.equal((await app.call('POST', `${path}/$actions/reset-password`, { body: { newPassword: '' } })).status, 400)
})
