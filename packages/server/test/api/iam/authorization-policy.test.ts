import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'
import {
  aRobot,
  aRole,
  etagOf,
  everything,
  fresh,
  grant,
  ok,
  policies,
  policyBody,
  roles,
  users,
  verdict,
} from './people.ts'

let app: TestApp
let url = ''
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const viewer = systemRoleId('Platform Viewer')
const nobody = '99999999-9999-4999-8999-999999999999'

/** Over HTTP, in public names. */
async function publicCall(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: any; text: string; etag: string | null }> {
  const answer = await fetch(`${url}/api${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`,
      'content-type': 'application/json',
      'ntnx-request-id': crypto.randomUUID(),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    text,
    body: text === '' ? undefined : JSON.parse(text),
    etag: answer.headers.get('etag'),
  }
}

test('filters sent under $reserved are returned there in their key order, beside the named field', async () => {
  const entityFilter = { zebra: { z_uuid: { eq: '1' }, a_uuid: { eq: '2' } }, image: { '*': { eq: '*' } } }
  const identityFilter = { user: { uuid: { anyof: [nobody] } } }
  const body = {
    displayName: fresh('reserved'),
    role: viewer,
    entities: [{ $reserved: entityFilter }],
    identities: [{ $reserved: identityFilter }],
  }
  const created = await publicCall('POST', policies, body)
  assert.equal(created.status, 201, created.text)
  const read = await publicCall('GET', `${policies}/${created.body.data.extId}`)
  const [entity] = read.body.data.entities
  assert.equal(JSON.stringify(entity.$reserved), JSON.stringify(entityFilter))
  assert.equal(JSON.stringify(entity.entityFilter), JSON.stringify(entityFilter))
  assert.deepEqual(read.body.data.identities[0].$reserved, identityFilter)
  // What was read can be sent back.
  const { data } = read.body
  const back = await publicCall(
    'PUT',
    `${policies}/${data.extId}`,
    { ...data, description: 'sent back' },
    { 'if-match': read.etag as string },
  )
  assert.equal(back.status, 200, back.text)
  assert.notEqual(back.etag, read.etag)
})

test('filters sent in the named field or as own properties are returned only in the named field in the specification profile', async () => {
  const entityFilter = { subnet: { b: { eq: '1' } }, image: { a: { eq: '2' } } }
  for (const element of [{ entityFilter }, entityFilter]) {
    const created = ok(
      await app.call('POST', policies, { body: { ...policyBody(viewer, nobody), entities: [element] } }),
      201,
    )
    const answer = await fetch(`${url}/api${policies}/${created.data.extId}`, {
      headers: { authorization: `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}` },
    })
    const text = await answer.text()
    assert.ok(!text.includes('$reserved'))
    assert.equal(JSON.stringify(JSON.parse(text).data.entities[0].entityFilter), JSON.stringify(entityFilter))
  }
})

test('an element with no filter or two is refused', async () => {
  const element = { entityFilter: everything, $reserved: { image: { '*': { eq: '*' } } } }
  assert.equal(
    (await app.call('POST', policies, { body: { ...policyBody(viewer, nobody), entities: [element] } })).status,
    400,
  )
  assert.equal(
    (await app.call('POST', policies, { body: { ...policyBody(viewer, nobody), entities: [{}] } })).status,
    400,
  )
  assert.equal(
    (await app.call('POST', policies, { body: { ...policyBody(viewer, nobody), entities: [] } })).status,
    400,
  )
})

test('a filter under $reserved is part of the body that a request id is bound to', async () => {
  const requestId = crypto.randomUUID()
  const body = { ...policyBody(viewer, nobody), entities: [{ $reserved: everything }] }
  ok(await app.call('POST', policies, { body, requestId }), 201)
  assert.equal(ok(await app.call('POST', policies, { body, requestId }), 201).replayed, true)
  const other = { ...body, entities: [{ $reserved: { image: { '*': { eq: '*' } } } }] }
  assert.equal((await app.call('POST', policies, { body: other, requestId })).status, 422)
})

test('a filter that breaks the grammar is refused with every fault and its path', async () => {
  const body = {
    ...policyBody(viewer, nobody),
    identities: [{ identityFilter: { user: { shoe_size: { eq: '44' } }, planet: { uuid: { eq: 'x' } } } }],
    entities: [
      { entityFilter: { image: { name: { like: 'x' }, uuid: { eq: ['a', 'b'] }, owner_uuid: { anyof: [] } } } },
    ],
  }
  const refused = await app.call('POST', policies, { body })
  assert.equal(verdict(refused), '400 IAM-20033')
  assert.deepEqual(
    refused.errors.map((one) => one.argumentsMap?.['attributePath']),
    [
      'identities[0]/identityFilter/user/shoe_size',
      'identities[0]/identityFilter/planet',
      'entities[0]/entityFilter/image/name/like',
      'entities[0]/entityFilter/image/uuid/eq',
      'entities[0]/entityFilter/image/owner_uuid/anyof',
    ],
  )
})

test('a policy that names unknown users or entities is accepted with a warning and grants nothing', async () => {
  const { extId, apiKey } = await aRobot(app)
  const body = policyBody(viewer, extId, { marketplace_item: { '*': { eq: '*' } }, image: { shoe_size: { eq: '44' } } })
  const created = ok(await app.call('POST', policies, { body }), 201)
  assert.equal(created.warnings.length, 2)
  assert.match(created.warnings.join(), /marketplace_item/)
  assert.equal((await app.call('GET', '/vmm/v4.2/content/images', { apiKey })).status, 403)
})

test('a policy needs a name that is unique in any case, an existing role, and a type that clients may set', async () => {
  const body = policyBody(viewer, nobody)
  ok(await app.call('POST', policies, { body }), 201)
  const again = await app.call('POST', policies, { body: { ...body, displayName: body.displayName.toUpperCase() } })
  assert.equal(verdict(again), '409 IAM-20030')
  assert.match(again.errors[0]?.message ?? '', /as already exists/)
  assert.equal(verdict(await app.call('POST', policies, { body: policyBody(nobody, nobody) })), '404 IAM-20001')
  const predefined = { ...policyBody(viewer, nobody), authorizationPolicyType: 'PREDEFINED_READ_ONLY' }
  assert.equal((await app.call('POST', policies, { body: predefined })).status, 400)
})

test('PUT needs the ETag, is refused for a predefined policy, and changes only the identities of an identity-only one', async () => {
  const [predefined] = (await app.call('GET', `${policies}?$filter=authorizationPolicyType eq 'PREDEFINED_READ_ONLY'`))
    .data
  const path = `${policies}/${predefined.extId}`
  const body = {
    displayName: 'Super Admin',
    role: predefined.role,
    identities: predefined.identities,
    entities: predefined.entities,
  }
  assert.equal((await app.call('PUT', path, { body })).status, 428)
  const ifMatch = await etagOf(app, path)
  assert.equal(verdict(await app.call('PUT', path, { body, ifMatch })), '403 IAM-20031')
  assert.equal(verdict(await app.call('DELETE', path, { ifMatch })), '403 IAM-20031')

  const extId = crypto.randomUUID()
  const stored = {
    ...policyBody(viewer, nobody),
    extId,
    authorizationPolicyType: 'PREDEFINED_UPDATE_IDENTITY_ONLY',
    isSystemDefined: true,
  }
  await app.store.transaction((store) => store.insert(AuthorizationPolicy, stored as never))
  const { displayName, role, entities } = stored
  const put = async (changes: object) =>
    app.call('PUT', `${policies}/${extId}`, {
      body: {
        displayName,
        role,
        entities,
        identities: policyBody(viewer, (await aRobot(app)).extId).identities,
        ...changes,
      },
      ifMatch: await etagOf(app, `${policies}/${extId}`),
    })
  ok(await put({}), 200)
  assert.equal(verdict(await put({ displayName: 'other' })), '403 IAM-20031')
  assert.equal(
    (await app.call('GET', `${policies}/${extId}`)).data.authorizationPolicyType,
    'PREDEFINED_UPDATE_IDENTITY_ONLY',
  )
})

test('$expand=role returns the role beside its id', async () => {
  const id = await aRole(app, ['View_User'], fresh('expanded'))
  const policy = await grant(app, { id }, nobody)
  const found = await publicCall('GET', `${policies}?$filter=extId eq '${policy}'&$expand=role($select=displayName)`)
  assert.equal(found.body.data[0].role, id)
  assert.match(found.body.data[0].roleProjection.displayName, /^expanded/)
})

test('assignedUsersCount is the number of distinct existing users that the policy names', async () => {
  const { extId } = await aRobot(app)
  const body = {
    ...policyBody(viewer, extId),
    identities: [
      { identityFilter: { user: { uuid: { anyof: [extId, nobody] } } } },
      { identityFilter: { user: { uuid: { eq: extId } } } },
    ],
  }
  const created = ok(await app.call('POST', policies, { body }), 201)
  assert.deepEqual([created.data.assignedUsersCount, created.data.assignedUserGroupsCount], [1, 0])
})

test('nobody can grant a role with more permissions than their own, and only a Super Admin grants Internal Super Admin', async () => {
  const { extId, apiKey } = await aRobot(app)
  const writer = await aRole(app, ['Create_Authorization_Policy', 'View_Role', 'View_Category'])
  await grant(app, { id: writer }, extId)
  const harmless = await aRole(app, ['View_Category'])
  const give = (role: string) => app.call('POST', policies, { apiKey, body: policyBody(role, extId) })
  ok(await give(harmless), 201)
  assert.equal(verdict(await give(viewer)), '403 PLAT-10403')
  const administrator = await aRobot(app)
  await grant(app, 'Platform Admin', administrator.extId)
  const body = policyBody(systemRoleId('Internal Super Admin'), administrator.extId)
  assert.equal((await app.call('POST', policies, { apiKey: administrator.apiKey, body })).status, 403)
  ok(await app.call('POST', policies, { apiKey: administrator.apiKey, body: policyBody(viewer, nobody) }), 201)
  ok(await app.call('POST', policies, { body }), 201)
})

test('identity filters match by name, type, provider and everyone, and negative conditions exclude', async () => {
  const { extId, apiKey } = await aRobot(app)
  const { username, idpId } = (await app.call('GET', `${users}/${extId}`)).data
  const reach = async (...filters: object[]): Promise<number> => {
    const body = {
      ...policyBody(systemRoleId('Category Viewer'), nobody),
      identities: filters.map((identityFilter) => ({ identityFilter })),
    }
    const path = `${policies}/${ok(await app.call('POST', policies, { body }), 201).data.extId}`
    const { status } = await app.call('GET', '/platform/v4.3/config/categories', { apiKey })
    ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
    return status
  }
  assert.equal(await reach({ user: { username: { EQ: username.toUpperCase() } } }), 200)
  assert.equal(await reach({ user: { user_type: { in: ['SERVICE_ACCOUNT', 'LDAP'] }, idp_uuid: { eq: idpId } } }), 200)
  assert.equal(await reach({ user: { '*': { eq: '*' } } }), 200)
  assert.equal(await reach({ user: { uuid: { eq: nobody } } }, { user: { uuid: { eq: extId.toUpperCase() } } }), 200)
  assert.equal(await reach({ user: { uuid: { noteq: extId } } }), 403)
  assert.equal(await reach({ user: { uuid: { eq: extId } }, user_group: { uuid: { anyof: [nobody] } } }), 403)
  assert.equal(await reach({ user: { group: { noneof: [nobody] } } }), 200)
})

test('the demo seed has its policies, roles and users', async () => {
  assert.ok(((await app.call('GET', `${policies}?$filter=createdTime le ${app.clock.iso()}`)).total ?? 0) >= 6)
  assert.equal((await app.call('GET', `${roles}?$filter=displayName eq 'Snapshot Operator'`)).total, 1)
  ok(await app.call('GET', '/platform/v4.3/config/categories', { as: `viewer:${adminPassword}` }), 200)
  assert.equal(
    (
      await app.call('POST', '/platform/v4.3/config/categories', {
        as: `viewer:${adminPassword}`,
        body: { key: 'a', value: 'b' },
      })
    ).status,
    403,
  )
  assert.equal((await app.call('GET', users, { as: `former:${adminPassword}` })).status, 401)
  const [robot] = (await app.call('GET', `${users}?$filter=username eq 'ci-robot'`)).data
  const keys = (await app.call('GET', `${users}/${robot.extId}/keys?$orderby=status`)).data
  assert.deepEqual(
    keys.map((one: any) => one.status),
    ['REVOKED', 'VALID'],
  )
})
