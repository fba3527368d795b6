import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract } from '@hyperplane/contract'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { entities, ok, operations, roles } from './people.ts'

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

test('there are at least 200 operations, 30 of them creations; both spellings of startswith find the same', async () => {
  const every = await all(operations)
  assert.ok(every.length >= 200)
  const called = await app.call('GET', `${operations}?$filter=startswith(displayName,'Create_')&$limit=100`)
  const infix = await app.call('GET', `${operations}?$filter=displayName startswith 'Create_'&$limit=100`)
  assert.ok((called.total ?? 0) >= 30)
  assert.deepEqual(called.data, infix.data)
})

test('every endpoint of the service stands in exactly one operation', async () => {
  const counts = new Map<string, number>()
  for (const one of await all(operations)) {
    for (const { httpMethod, endpointUrl } of one.associatedEndpointList) {
      const endpoint = `${httpMethod} ${endpointUrl}`
      counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1)
    }
  }
  const known = contract.flatMap((namespace) =>
    [...namespace.operations, ...namespace.unimplemented].map((one) => `${one.method} /${namespace.name}${one.path}`),
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

test('one entity is called image; its attributes say what a policy can ask', async () => {
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

test('there is no certificate provider yet, and the list says so', async () => {
  assert.equal(ok(await app.call('GET', '/iam/v4.1.b2/authn/cert-auth-providers'), 200).total, 0)
})

test('Super Admin holds every operation that a role can hold', async () => {
  const [superAdmin] = (await app.call('GET', `${roles}?$filter=displayName eq 'Super Admin'`)).data
  const held = new Set(superAdmin.operations)
  for (const one of await all(operations)) assert.ok(held.has(one.extId), one.displayName)
})
