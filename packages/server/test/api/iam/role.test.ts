import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Role } from '@hyperplane/contract/iam/role'
import { systemRoles } from '@hyperplane/contract/roles'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  aRobot,
  aRole,
  categories,
  etagOf,
  fresh,
  grant,
  ok,
  operationId,
  policies,
  roles,
  users,
  verdict,
} from './people.ts'

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

test('a role keeps the order of its operations, and a second role with its name is refused', async () => {
  const displayName = fresh('Image Reader')
  const ids = ['View_Image', 'Create_Image'].map(operationId)
  const created = ok(await app.call('POST', roles, { body: { displayName, operations: ids } }), 201)
  assert.deepEqual(created.data.operations, ids)
  assert.equal(created.data.isSystemDefined, false)
  assert.deepEqual(created.data.accessibleEntityTypes, ['image'])
  assert.deepEqual([created.data.assignedUsersCount, created.data.accessibleClientsCount], [0, 1])
  for (const name of [displayName.toUpperCase(), 'super admin']) {
    const again = await app.call('POST', roles, { body: { displayName: name, operations: ids } })
    assert.equal(verdict(again), '409 IAM-20030')
    assert.match(again.errors[0]?.message ?? '', /Failed to create role as already exists/)
  }
})

test('PUT replaces the operations of a role, returns a message with the new ETag, and changes permissions with the next request', async () => {
  const id = await aRole(app, ['View_Category'])
  const { extId, apiKey } = await aRobot(app)
  await grant(app, { id }, extId)
  ok(await app.call('GET', categories, { apiKey }), 200)
  const path = `${roles}/${id}`
  const body = { displayName: fresh('renamed'), operations: [operationId('View_User')] }
  const updated = ok(await app.call('PUT', path, { body, ifMatch: await etagOf(app, path) }), 200)
  assert.equal(updated.data.severity, 'INFO')
  assert.ok(updated.data.message && updated.data.code)
  assert.equal(updated.etag, await etagOf(app, path))
  assert.equal((await app.call('GET', categories, { apiKey })).status, 403)
  ok(await app.call('GET', users, { apiKey }), 200)
})

test('a role that a policy uses is deleted only after the policy', async () => {
  const id = await aRole(app, ['View_Category'])
  const policy = `${policies}/${await grant(app, { id }, (await aRobot(app)).extId)}`
  const path = `${roles}/${id}`
  assert.equal(verdict(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) })), '409 IAM-20032')
  ok(await app.call('DELETE', policy, { ifMatch: await etagOf(app, policy) }), 204)
  ok(await app.call('DELETE', path, { ifMatch: await etagOf(app, path) }), 204)
  assert.equal(verdict(await app.call('GET', path)), '404 IAM-20001')
})

test('every system role exists and cannot be changed or deleted', async () => {
  const { total } = ok(await app.call('GET', `${roles}?$filter=isSystemDefined eq true`), 200)
  assert.equal(total, systemRoles.length)
  const path = `${roles}/${systemRoleId('Platform Admin')}`
  const ifMatch = await etagOf(app, path)
  const body = { displayName: 'Platform Admin', operations: [operationId('View_User')] }
  assert.equal(verdict(await app.call('PUT', path, { body, ifMatch })), '403 IAM-20031')
  assert.equal(verdict(await app.call('DELETE', path, { ifMatch })), '403 IAM-20031')
})

test('the list filters, orders and pages over system and custom roles together', async () => {
  await aRole(app, ['View_User'], 'Storage Apprentice')
  const found = await app.call('GET', `${roles}?$filter=startswith(displayName,'Storage ')&$orderby=displayName`)
  assert.deepEqual(
    found.data.map((one: any) => one.displayName),
    ['Storage Admin', 'Storage Apprentice', 'Storage Viewer'],
  )
  assert.equal((await app.call('GET', `${roles}?$filter=isSystemDefined eq null`)).total, 0)
  const walked: string[] = []
  for (let page = 0; page < 20; page++)
    walked.push(
      ...(await app.call('GET', `${roles}?$page=${page}&$limit=7&$orderby=displayName`)).data.map(
        (one: any) => one.extId,
      ),
    )
  assert.equal(new Set(walked).size, walked.length)
  assert.equal(walked.length, (await app.call('GET', roles)).total)
})

test('assignedUsersCount of a role is the number of distinct existing users in all its policies', async () => {
  const id = await aRole(app, ['View_User'])
  const [a, b] = [await aRobot(app), await aRobot(app)]
  await grant(app, { id }, a.extId)
  await grant(app, { id }, a.extId)
  await grant(app, { id }, b.extId)
  await grant(app, { id }, '99999999-9999-4999-8999-999999999999')
  assert.equal(ok(await app.call('GET', `${roles}/${id}`), 200).data.assignedUsersCount, 2)
})

test('a role with an operation that this release does not know is shown with the clients and entities of the others', async () => {
  const id = await aRole(app, ['View_User'])
  const before = ok(await app.call('GET', `${roles}/${id}`), 200).data
  const unknown = operationId('No_Such')
  await app.store.transaction(async (store) => {
    await store.update(Role, id, { operations: [...before.operations, unknown] })
  })
  const { data } = ok(await app.call('GET', `${roles}/${id}`), 200)
  assert.deepEqual(
    [data.operations.length, data.accessibleClients, data.accessibleEntityTypes],
    [2, before.accessibleClients, before.accessibleEntityTypes],
  )
})

test('unknown and system-only operations of a role are refused, each with its path', async () => {
  const body = {
    displayName: fresh('bad'),
    operations: [operationId('View_User'), operationId('No_Such'), operationId('Submit_Batch')],
  }
  const refused = await app.call('POST', roles, { body })
  assert.equal(verdict(refused), '400 IAM-20034')
  assert.deepEqual(
    refused.errors.map((one) => one.argumentsMap?.['attributePath']),
    ['operations[1]', 'operations[2]'],
  )
  assert.equal((await app.call('POST', roles, { body: { displayName: fresh('none'), operations: [] } })).status, 400)
  const twice = [operationId('View_User'), operationId('View_User')]
  assert.equal(
    (await app.call('POST', roles, { body: { displayName: fresh('twice'), operations: twice } })).status,
    400,
  )
})

test('nobody can add operations to a role that they do not hold', async () => {
  const { extId, apiKey } = await aRobot(app)
  await grant(app, 'Project Manager', extId)
  const create = (name: string) =>
    app.call('POST', roles, { apiKey, body: { displayName: fresh('own'), operations: [operationId(name)] } })
  ok(await create('View_Image'), 201)
  assert.equal(verdict(await create('Reset_Password_User')), '403 PLAT-10403')
  const id = await aRole(app, ['View_Image', 'Reset_Password_User'])
  const path = `${roles}/${id}`
  const put = async (names: string[]) =>
    app.call('PUT', path, {
      apiKey,
      body: { displayName: fresh('own'), operations: names.map(operationId) },
      ifMatch: await etagOf(app, path),
    })
  ok(await put(['Reset_Password_User']), 200)
  assert.equal((await put(['Reset_Password_User', 'Change_State_User'])).status, 403)
})

test('of ten concurrent updates with the same ETag one succeeds', async () => {
  const path = `${roles}/${await aRole(app, ['View_User'])}`
  const ifMatch = await etagOf(app, path)
  const put = (n: number) =>
    app.call('PUT', path, {
      body: { displayName: fresh(`parallel ${n}`), operations: [operationId('View_User')] },
      ifMatch,
    })
  const results = await Promise.all(Array.from({ length: 10 }, (_, n) => put(n)))
  assert.deepEqual(results.map((one) => one.status).sort(), [200, ...Array(9).fill(412)])
})

test('users without further permissions read only the roles that they hold', async () => {
  const { extId, apiKey } = await aRobot(app)
  assert.equal((await app.call('GET', `${roles}/${systemRoleId('Cluster Admin')}`, { apiKey })).status, 403)
  await grant(app, 'Cluster Admin', extId)
  assert.equal(
    ok(await app.call('GET', `${roles}/${systemRoleId('Cluster Admin')}`, { apiKey }), 200).data.displayName,
    'Cluster Admin',
  )
  assert.equal((await app.call('GET', `${roles}/${systemRoleId('Super Admin')}`, { apiKey })).status, 403)
  assert.equal((await app.call('GET', roles, { apiKey })).status, 403)
})
