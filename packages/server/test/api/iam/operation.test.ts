import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract, type Resource, walk } from '@hyperplane/contract'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aRole, entities, grant, ok, operations, roles } from './people.ts'

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

async function all(path: string): Promise<any[]> {
  const found: any[] = []
  for (let page = 0; ; page++) {
    const result = ok(await app.call('GET', `${path}?$page=${page}&$limit=100`), 200)
    found.push(...result.data)
    if (found.length >= (result.total as number)) return found
  }
}

test('the catalogue has at least 200 operations, 30 of them creations, and both spellings of startswith find the same', async () => {
  const every = await all(operations)
  assert.ok(every.length >= 200)
  const called = await app.call('GET', `${operations}?$filter=startswith(displayName,'Create_')&$limit=100`)
  const infix = await app.call('GET', `${operations}?$filter=displayName startswith 'Create_'&$limit=100`)
  assert.ok((called.total ?? 0) >= 30)
  assert.deepEqual(called.data, infix.data)
})

test('every endpoint of the service belongs to exactly one operation', async () => {
  const counts = new Map<string, number>()
  for (const one of await all(operations)) {
    for (const { httpMethod, endpointUrl } of one.associatedEndpointList) {
      const endpoint = `${httpMethod} ${endpointUrl}`
      counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1)
    }
  }
  const known = contract.flatMap((namespace) =>
    namespace.operations.map((one) => `${one.method} /${namespace.name}${one.path}`),
  )
  for (const endpoint of known) assert.equal(counts.get(endpoint), 1, endpoint)
  assert.deepEqual(
    [...counts.keys()].filter((endpoint) => !known.includes(endpoint)),
    [],
  )
})

test('operations, entities and clients are the same on every instance, and can be read one by one', async () => {
  const [one] = (await app.call('GET', `${operations}?$filter=displayName eq 'View_Image'`)).data
  assert.match(one.extId, /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.deepEqual(
    [one.entityType, one.clientName, one.operationType],
    ['image', 'VirtualMachineManagement', 'EXTERNAL'],
  )
  assert.deepEqual(ok(await app.call('GET', `${operations}/${one.extId}`), 200).data, one)
  const other = await startApp({ config: { seed: 'empty' } })
  try {
    const [same] = (await other.call('GET', `${operations}?$filter=displayName eq 'View_Image'`)).data
    assert.equal(same.extId, one.extId)
  } finally {
    await other.close()
  }
  assert.equal((await app.call('GET', `${operations}/99999999-9999-4999-8999-999999999999`)).status, 404)
})

test('the entity image lists the attributes that a policy can filter by', async () => {
  const found = ok(await app.call('GET', `${entities}?$filter=name eq 'image'`), 200)
  assert.equal(found.total, 1)
  const [image] = found.data
  const names = image.attributeList.map((attribute: any) => attribute.name)
  assert.ok(
    ['*', 'uuid', 'owner_uuid', 'category_uuid', 'name'].every((name) => names.includes(name)),
    names.join(),
  )
  const categories = image.attributeList.find((attribute: any) => attribute.name === 'category_uuid')
  assert.ok(categories.supportedOperators.includes('ALLOF'))
  assert.equal(image.searchURL, 'https://localhost:9440/api/vmm/v4.2/content/images')
  assert.equal(image.isLogicalAndSupportedForAttributes, true)
})

test('every operation names an entity and a client that exist, and related operations that exist', async () => {
  const every = await all(operations)
  const names = new Set((await all(entities)).map((one) => one.name))
  const ids = new Set(every.map((one) => one.extId))
  for (const one of every) {
    assert.ok(names.has(one.entityType), `${one.displayName}: ${one.entityType}`)
    for (const id of one.relatedOperationList ?? []) assert.ok(ids.has(id), one.displayName)
  }
})

test('a registered client is open to everyone authenticated', async () => {
  const { iamClients } = await import('../../../src/domains/iam/catalogue/clients.ts')
  assert.equal(iamClients.length, 7)
  for (const { extId, name } of iamClients) {
    assert.equal(ok(await app.call('GET', `/iam/v4.1.b2/authz/clients/${extId}`), 200).data.name, name)
  }
  assert.equal((await app.call('GET', '/iam/v4.1.b2/authz/clients/99999999-9999-4999-8999-999999999999')).status, 404)
})

test('the list of certificate providers of a new world is empty', async () => {
  assert.equal(ok(await app.call('GET', '/iam/v4.1.b2/authn/cert-auth-providers'), 200).total, 0)
})

test('Super Admin holds every operation that a role can hold', async () => {
  const [superAdmin] = (await app.call('GET', `${roles}?$filter=displayName eq 'Super Admin'`)).data
  const held = new Set(superAdmin.operations)
  for (const one of await all(operations)) assert.ok(held.has(one.extId), one.displayName)
})

test("related operations are the view operations of an operation's entity and of every entity that it references", async () => {
  const every = await all(operations)
  const names = new Map(every.map((one) => [one.extId, one.displayName as string]))
  const related = new Map(
    every.map((one) => [one.displayName, one.relatedOperationList.map((id: string) => names.get(id))]),
  )
  const withoutView = every.filter(({ displayName, entityType }) => {
    const own = every.filter((one) => one.entityType === entityType && one.displayName.startsWith('View_'))
    return !own.some((view) => related.get(displayName)?.includes(view.displayName))
  })
  assert.deepEqual(
    withoutView.map((one) => one.displayName),
    [],
  )
  for (const names of related.values()) assert.ok(names.every((name: string) => name?.startsWith('View_')))
  const built = contract.flatMap((namespace) => namespace.operations)
  for (const operation of built) {
    const shapes = [operation.resource?.schema, operation.body].flatMap((schema) => schema ?? [])
    const referred = shapes
      .flatMap((schema) => [...walk(schema)])
      .flatMap(({ schema }) => (schema.type === 'uuid' && schema.refersTo !== undefined ? [schema.refersTo] : []))
    for (const kind of [...referred, ...Object.values(operation.pathKinds)]) {
      const reads = built.filter(({ verb, resource }) => (verb === 'get' || verb === 'list') && resource?.kind === kind)
      for (const { iamOperation } of reads)
        assert.ok(
          related.get(operation.iamOperation)?.includes(iamOperation),
          `${operation.iamOperation}: ${iamOperation}`,
        )
    }
  }
})

test('each kind is one entity in snake_case, which every operation of the kind names', async () => {
  const every = await all(operations)
  const named = (await all(entities)).map((one) => one.name as string)
  assert.deepEqual(
    named.filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name)),
    [],
  )
  assert.equal(new Set(named.map((name) => name.replaceAll('_', ''))).size, named.length)
  const types = new Map(every.map((one) => [one.displayName, one.entityType as string]))
  for (const one of every) assert.ok(named.includes(one.entityType), one.displayName)
  for (const namespace of contract) {
    // Operations of one file of the contract, of which one has a kind of its own, are all of that kind's entity.
    const ownOf = (stem: string): Resource | undefined =>
      namespace.operations.find((one) => one.stem === stem && one.resource?.iam !== undefined && one.verb === 'list')
        ?.resource
    for (const { stem, resource, iamOperation } of namespace.operations) {
      if (resource === undefined && ownOf(stem) !== undefined)
        assert.equal(types.get(iamOperation), ownOf(stem)?.iam?.name, iamOperation)
    }
  }
})

test('an authorization policy for one routing policy lets an identity clear the counters of only that one', async () => {
  const routing = '/networking/v4.3'
  const all = (await app.call('GET', `${routing}/config/routing-policies?$limit=100`)).data
  const [one] = all
  const other = all.find((each: any) => each.vpcExtId === one.vpcExtId && each.extId !== one.extId)
  assert.ok(other !== undefined)
  const robot = await aRobot(app)
  const clearing = { id: await aRole(app, ['Clear_Routing_Policy_Stats', 'View_Routing_Policy']) }
  await grant(app, clearing, robot.extId, { routing_policy: { uuid: { eq: one.extId } } })
  await grant(app, { id: await aRole(app, ['View_VPC', 'View_Routing_Policy']) }, robot.extId)
  const clear = (body: object) =>
    app.call('POST', `${routing}/stats/routing-policies/$actions/clear`, { body, apiKey: robot.apiKey })
  const { vpcExtId } = one
  assert.equal((await clear({ vpcExtId, routingPolicyExtId: other.extId })).status, 404)
  assert.equal((await clear({ vpcExtId, routingPolicyExtId: one.extId })).status, 202)
  const ofVpc = await app.task(await clear({ vpcExtId }))
  assert.deepEqual(
    ofVpc.entitiesAffected.map((entity: any) => entity.extId),
    [one.extId],
  )
})
