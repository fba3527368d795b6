/** Nobody gives away more than they hold, by policies and roles. Source: behaviour iam.md 8. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RoleName } from '@hyperplane/contract'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  aRobot,
  aRole,
  categories,
  etagOf,
  everything,
  fresh,
  grant,
  ok,
  operationId,
  policies,
  policyBody,
  roles,
  verdict,
} from './people.ts'

let app: TestApp
before(async () => void (app = await startApp({ config: { seed: 'empty' } })))
after(() => app.close())

const nobody = '99999999-9999-4999-8999-999999999999'
const [one, two, three] = [1, 2, 3].map((n) => `${n}0000000-0000-4000-8000-000000000000`) as [string, string, string]
const denied = '403 PLAT-10403'
const all = { '*': { eq: '*' } }

/** An identity that writes policies and roles without limit, and holds these operations on these entities. */
async function aWriter(names: readonly string[], entityFilter: object) {
  const robot = await aRobot(app)
  const writing = ['Create_Authorization_Policy', 'Update_Authorization_Policy', 'View_Authorization_Policy']
  const role = await aRole(app, [...writing, 'Create_Role', 'Update_Role', 'View_Role'])
  await grant(app, { id: role }, robot.extId)
  await grant(app, { id: await aRole(app, names) }, robot.extId, entityFilter)
  const { apiKey } = robot
  const give = (role: string, filter: object, to = nobody) =>
    app.call('POST', policies, { apiKey, body: policyBody(role, to, filter) })
  const put = async (path: string, body: object) =>
    app.call('PUT', path, { apiKey, body, ifMatch: await etagOf(app, path) })
  return { ...robot, give, put }
}

test('an identity that may create policies on some entities cannot make itself Super Admin', async () => {
  const { extId, apiKey } = await aRobot(app)
  const role = await aRole(app, ['Create_Authorization_Policy', 'View_Authorization_Policy', 'View_Role'])
  await grant(app, { id: role }, extId, {
    authorization_policy: { owner_uuid: { eq: 'SELF_OWNED' } },
    role: all,
  })
  const give = (what: string, filter: object) =>
    app.call('POST', policies, { apiKey, body: policyBody(what, extId, filter) })
  const refused = await give(role, everything)
  assert.equal(verdict(refused), denied)
  assert.match(refused.errors[0]?.message ?? '', /Create_Authorization_Policy on \{"\*":\{"\*":\{"eq":"\*"\}\}\}/)
  for (const name of ['Super Admin', 'Platform Admin'] as const)
    assert.equal(verdict(await give(systemRoleId(name), everything)), denied)
  assert.equal(verdict(await give(role, { authorization_policy: all })), denied)
  assert.equal((await app.call('GET', categories, { apiKey })).status, 403)
  assert.equal((await app.call('GET', '/control/v1/worlds', { apiKey })).status, 403)
  // A copy of what the identity holds itself.
  ok(await give(role, { authorization_policy: { owner_uuid: { eq: 'SELF_OWNED' } }, role: all }), 201)
  ok(await give(role, { authorization_policy: { owner_uuid: { eq: extId } } }), 201)
})

test('a policy created by a batch is checked like a single request', async () => {
  const { extId, apiKey } = await aWriter(['View_Category'], { category: { uuid: { eq: one } } })
  await grant(app, 'Platform User', extId)
  const role = await aRole(app, ['View_Category'])
  const submitted = await app.call('POST', '/platform/v4.3/operations/$actions/batch', {
    apiKey,
    requestId: crypto.randomUUID(),
    body: {
      metadata: { action: 'CREATE', name: 'policies', uri: '/api/iam/v4.1.b2/authz/authorization-policies' },
      payload: [everything, { category: { uuid: { eq: one } } }].map((filter) => ({
        data: policyBody(role, nobody, filter),
      })),
    },
  })
  const task = await app.task(submitted)
  assert.equal(task.status, 'FAILED')
  assert.equal((await app.call('GET', `${policies}?$filter=role eq '${role}'`)).total, 1)
})

describe('a policy whose writer may view the VMs of two categories, when it gives', () => {
  const own = { virtual_machine: { category_uuid: { anyof: [one, two] } } }
  const cases: readonly (readonly [string, object, '201' | typeof denied])[] = [
    ['the same entities', own, '201'],
    ['fewer of them', { virtual_machine: { category_uuid: { eq: one } } }, '201'],
    [
      'those of them that meet another condition',
      { virtual_machine: { ...own.virtual_machine, name: { eq: 'web' } } },
      '201',
    ],
    [
      'those that are in all of several categories',
      { virtual_machine: { category_uuid: { allof: [one, three] } } },
      '201',
    ],
    ['the same under the other names', { virtual_machines: { categories: { in: [two] } } }, '201'],
    ['another category', { virtual_machine: { category_uuid: { anyof: [one, three] } } }, denied],
    ['all but one category', { virtual_machine: { category_uuid: { noteq: three } } }, denied],
    ['all of the kind', { virtual_machine: all }, denied],
    ['another kind', { image: { category_uuid: { eq: one } } }, denied],
    ['every kind', { '*': { category_uuid: { eq: one } } }, denied],
    ['everything', everything, denied],
    ['some of them, and others', { ...own, image: all }, denied],
    ['machines that the grantee owns', { virtual_machine: { owner_uuid: { eq: 'SELF_OWNED' } } }, denied],
  ]
  for (const [title, filter, expected] of cases) {
    test(`${title}, is answered ${expected}`, async () => {
      const { give } = await aWriter(['View_Existing_Virtual_Machine'], own)
      const role = await aRole(app, ['View_Existing_Virtual_Machine'])
      assert.equal(verdict(await give(role, filter)), expected)
    })
  }
})

test('each operation of a granted role is checked against the filters of the writer for that operation', async () => {
  const { extId, give } = await aWriter(['View_Image'], { image: all })
  await grant(app, { id: await aRole(app, ['Delete_Image']) }, extId, { image: { name: { eq: 'old' } } })
  const both = await aRole(app, ['View_Image', 'Delete_Image'])
  const refused = await give(both, { image: all })
  assert.equal(verdict(refused), denied)
  const { message = '' } = refused.errors[0] ?? {}
  assert.match(message, /Delete_Image on \{"image"/)
  assert.doesNotMatch(message, /View_Image/)
  ok(await give(both, { image: { name: { eq: 'old' } } }), 201)
})

test('a holder of SELF_OWNED permissions cannot grant them to others, who own other entities', async () => {
  const mine = { image: { owner_uuid: { eq: 'SELF_OWNED' } } }
  const { extId, apiKey, give, put } = await aWriter(['View_Image'], mine)
  const role = await aRole(app, ['View_Image'])
  ok(await give(role, mine, extId), 201)
  ok(await give(role, { image: { owner_uuid: { eq: extId } } }), 201)
  assert.equal(verdict(await give(role, mine)), denied)
  assert.equal(verdict(await give(role, { image: { owner_uuid: { eq: nobody } } })), denied)
  const several = policyBody(role, nobody, mine)
  several.identities.push(...policyBody(role, extId, mine).identities)
  assert.equal(verdict(await app.call('POST', policies, { apiKey, body: several })), denied)
  await grant(app, { id: await aRole(app, ['Delete_Image']) }, extId, mine)
  const operations = ['View_Image', 'Delete_Image'].map(operationId)
  ok(await put(`${roles}/${role}`, { displayName: fresh('own'), operations }), 200)
  await grant(app, { id: role }, nobody, mine)
  ok(await put(`${roles}/${role}`, { displayName: fresh('own'), operations: operations.slice(0, 1) }), 200)
  assert.equal(verdict(await put(`${roles}/${role}`, { displayName: fresh('own'), operations })), denied)
})

test('an update of a policy is refused for wider entities, a stronger role or other identities', async () => {
  const scope = { category: { uuid: { eq: one } } }
  const { extId, give, put } = await aWriter(['View_Category'], scope)
  const role = await aRole(app, ['View_Category'])
  const stronger = await aRole(app, ['View_Category', 'Delete_Category'])
  const own = `${policies}/${ok(await give(role, scope), 201).data.extId}`
  assert.equal(verdict(await put(own, policyBody(role, extId, everything))), denied)
  assert.equal(verdict(await put(own, policyBody(stronger, extId, scope))), denied)
  ok(await put(own, policyBody(role, extId, scope)), 200)
  const foreign = `${policies}/${await grant(app, 'Platform Admin', nobody)}`
  assert.equal(verdict(await put(foreign, policyBody(systemRoleId('Platform Admin'), extId))), denied)
})

test('adding an operation to a role is checked on the entities of every policy with that role', async () => {
  const scope = { category: { uuid: { eq: one } } }
  const { extId, put } = await aWriter(['View_Category', 'Delete_Category'], scope)
  const role = await aRole(app, ['View_Category'])
  const path = `${roles}/${role}`
  const add = (...names: string[]) =>
    put(path, { displayName: fresh('changed'), operations: ['View_Category', ...names].map(operationId) })
  ok(await add('Delete_Category'), 200)
  ok(await add(), 200)
  await grant(app, { id: role }, extId, scope)
  ok(await add('Delete_Category'), 200)
  ok(await add(), 200)
  await grant(app, { id: role }, extId)
  const refused = await add('Delete_Category')
  assert.equal(verdict(refused), denied)
  assert.match(refused.errors[0]?.message ?? '', /Delete_Category on \{"\*"/)
  ok(await add(), 200)
})

test('a concurrent policy creation and role update cannot together grant more than the writer holds', async () => {
  const scope = { category: { uuid: { eq: one } } }
  const { extId, give, put } = await aWriter(['View_Category'], everything)
  await grant(app, { id: await aRole(app, ['Delete_Category']) }, extId, scope)
  const role = await aRole(app, ['View_Category'])
  const operations = ['View_Category', 'Delete_Category'].map(operationId)
  const both = await Promise.all([
    give(role, everything, extId),
    put(`${roles}/${role}`, { displayName: fresh('wider'), operations }),
  ])
  assert.equal(both.filter(({ status }) => status === 403).length, 1, both.map(verdict).join())
})

describe('administrators', () => {
  const identity = async (role: RoleName, entityFilter: object = everything) => {
    const robot = await aRobot(app)
    await grant(app, role, robot.extId, entityFilter)
    return (name: RoleName, filter: object = everything) =>
      app.call('POST', policies, { apiKey: robot.apiKey, body: policyBody(systemRoleId(name), nobody, filter) })
  }

  test('of all entities may grant anything except what only a Super Admin grants', async () => {
    for (const administrator of ['Platform Admin', 'Central Admin'] as const) {
      const give = await identity(administrator)
      for (const name of ['Platform Admin', 'Central Admin', 'Virtual Machine Admin'] as const)
        ok(await give(name), 201)
      for (const name of ['Super Admin', 'Internal Super Admin'] as const) {
        assert.equal(verdict(await give(name)), denied)
        assert.equal(verdict(await give(name, { image: all })), denied)
      }
    }
    const give = await identity('Super Admin')
    for (const name of ['Super Admin', 'Internal Super Admin'] as const) ok(await give(name), 201)
  })

  test('of some entities are checked like everybody else', async () => {
    const scope = { authorization_policy: all, role: all, image: all }
    const give = await identity('Platform Admin', scope)
    assert.equal(verdict(await give('Platform Admin')), denied)
    ok(await give('Platform Admin', { image: all }), 201)
  })

  test('cannot be appointed by an identity that holds their operations but not their role', async () => {
    const systemOnly = ['Submit_Batch', 'Restore_Domain_Manager_Restore_Point'].map(operationId)
    const held = ok(await app.call('GET', `${roles}/${systemRoleId('Platform Admin')}`), 200).data.operations
    const body = { displayName: fresh('copy'), operations: held.filter((id: string) => !systemOnly.includes(id)) }
    const copy = ok(await app.call('POST', roles, { body }), 201)
    const robot = await aRobot(app)
    await grant(app, { id: copy.data.extId }, robot.extId)
    const give = (role: string) =>
      app.call('POST', policies, { apiKey: robot.apiKey, body: policyBody(role, robot.extId) })
    ok(await give(copy.data.extId), 201)
    assert.equal(verdict(await give(systemRoleId('Platform Admin'))), denied)
  })
})

test('a Project Manager creates roles only from operations that it holds', async () => {
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Project Manager', extId)
  const create = (name: string) =>
    app.call('POST', roles, { apiKey, body: { displayName: fresh('project'), operations: [operationId(name)] } })
  ok(await create('View_Image'), 201)
  assert.equal(verdict(await create('Create_Authorization_Policy')), denied)
})
