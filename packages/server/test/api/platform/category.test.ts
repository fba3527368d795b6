/** Categories over the interface. Source: behaviour platform.md 14, statements 1 to 7. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { aUser } from '../../support/identities.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const categories = '/platform/v4.3/config/categories'

let app: TestApp
before(async () => {
  app = await startApp({ unchecked: 'one creation stays pending' })
})
after(() => app.close())

const create = (key: string, value: string, more: object = {}) =>
  app.call('POST', categories, { body: { key, value, ...more } })

/** An image that carries these categories, as its own creation would store it. */
const carry = (...categoryExtIds: string[]) =>
  app.store.transaction(async (store) => {
    const extId = crypto.randomUUID()
    await store.insert(Image, { extId, name: `carrier ${extId}`, type: 'DISK_IMAGE', categoryExtIds } as never)
    return extId
  })

test('a category lives from its creation to its delete', async () => {
  const created = await create('Life', 'one', { description: 'first' })
  assert.equal(created.status, 201)
  assert.equal(created.data.type, 'USER')
  assert.equal(created.data.ownerUuid, seedId('user/admin'))
  const path = `${categories}/${created.data.extId}`
  assert.equal(created.location, path)
  const read = await app.call('GET', path)
  assert.equal(read.etag, created.etag)
  const updated = await app.call('PUT', path, { body: { key: 'Life', value: 'two' }, ifMatch: read.etag })
  assert.equal(updated.status, 200)
  assert.equal(updated.data[0].severity, 'INFO')
  const changed = await app.call('GET', path)
  assert.equal(changed.data.value, 'two')
  assert.equal(changed.data.description, undefined, 'a PUT replaces')
  assert.equal(changed.data.ownerUuid, created.data.ownerUuid)
  assert.notEqual(changed.etag, read.etag)
  assert.equal((await app.call('DELETE', path)).status, 204)
  assert.equal((await app.call('GET', path)).status, 404)
})

test('the owner of a creation is the caller, of an update an existing user', async () => {
  const created = await create('Owner', 'a', { ownerUuid: crypto.randomUUID() })
  assert.equal(created.data.ownerUuid, seedId('user/admin'))
  const path = `${categories}/${created.data.extId}`
  const body = { key: 'Owner', value: 'a' }
  const unknown = await app.call('PUT', path, {
    body: { ...body, ownerUuid: crypto.randomUUID() },
    ifMatch: created.etag,
  })
  assert.equal(unknown.status, 404)
  const known = await app.call('PUT', path, {
    body: { ...body, ownerUuid: seedId('user/admin') },
    ifMatch: created.etag,
  })
  assert.equal(known.status, 200)
})

test('a second category with the same key and value is refused, with case-sensitive comparison', async () => {
  assert.equal((await create('Pair', 'x')).status, 201)
  const again = await create('Pair', 'x')
  assert.equal(again.status, 409)
  assert.equal(again.errors[0]?.code, 'CAT-10001')
  assert.equal((await create('pair', 'x')).status, 201)
})

test('of 20 concurrent creations of one category one succeeds', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => create('Race', 'x')))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, ...Array.from({ length: 19 }, () => 409)])
})

test('keys and values are texts without separators; $ may stand anywhere but first', async () => {
  for (const key of ['a/b', '$a', 'k'.repeat(65), '', 'a:b', 'a\\b', 'a"b'])
    assert.equal((await create(key, 'v')).status, 400, key)
  assert.equal((await create('a$', 'v')).status, 201)
  assert.equal((await create('Längst möglich'.padEnd(64, 'x'), 'v')).status, 201)
})

test('key and type cannot change', async () => {
  const { data, etag } = await create('Fixed', 'a')
  const path = `${categories}/${data.extId}`
  const otherKey = await app.call('PUT', path, { body: { key: 'Other', value: 'a' }, ifMatch: etag })
  assert.equal(otherKey.status, 400)
  assert.equal(otherKey.errors[0]?.code, 'PLAT-10012')
  const otherType = await app.call('PUT', path, { body: { key: 'Fixed', value: 'a', type: 'SYSTEM' }, ifMatch: etag })
  assert.equal(otherType.status, 400)
})

test('an update needs the ETag, a delete does not', async () => {
  const { data } = await create('Tag', 'a')
  const body = { key: 'Tag', value: 'b' }
  assert.equal((await app.call('PUT', `${categories}/${data.extId}`, { body })).status, 428)
  assert.equal((await app.call('PUT', `${categories}/${data.extId}`, { body, ifMatch: '"stale"' })).status, 412)
  assert.equal((await app.call('DELETE', `${categories}/${data.extId}`)).status, 204)
})

test('clients can neither create, nor change, nor delete system categories', async () => {
  for (const type of ['SYSTEM', 'INTERNAL']) {
    const refused = await create('System', 'x', { type })
    assert.equal(refused.status, 403)
    assert.equal(refused.errors[0]?.code, 'CAT-10003')
  }
  const path = `${categories}/${seedId('category/OSType/Linux')}`
  const { etag, data } = await app.call('GET', path)
  assert.equal(data.type, 'SYSTEM')
  const put = await app.call('PUT', path, { body: { key: 'OSType', value: 'Linux2' }, ifMatch: etag })
  assert.equal(put.status, 403)
  assert.equal((await app.call('DELETE', path)).status, 403)
})

test('internal categories are visible only to the Super Admin', async () => {
  const extId = crypto.randomUUID()
  await app.store.transaction((store) =>
    store.insert(Category, { extId, key: 'Internal', value: 'a', type: 'INTERNAL' }),
  )
  const filter = encodeURIComponent("key eq 'Internal'")
  const as = await aUser(app, ['Category Admin'])
  assert.equal((await app.call('GET', `${categories}?$filter=${filter}`)).total, 1)
  assert.equal((await app.call('GET', `${categories}/${extId}`)).status, 200)
  assert.equal((await app.call('GET', `${categories}?$filter=${filter}`, { as })).total, 0)
  assert.equal((await app.call('GET', `${categories}/${extId}`, { as })).status, 404)
})

test('associations count the entities that the identity may see', async () => {
  const { data } = await create('Seen', 'a')
  await carry(data.extId)
  const as = await aUser(app, ['Category Admin'])
  const path = `${categories}/${data.extId}?$expand=associations`
  assert.deepEqual((await app.call('GET', path, { as })).data.associations, [])
  assert.equal((await app.call('GET', path)).data.associations[0].count, 1)
})

test('associations are counted per type; details name each carrier', async () => {
  const { data } = await create('Carried', 'a')
  const image = await carry(data.extId)
  await app.store.transaction((store) =>
    store.insert(VolumeGroup, {
      extId: crypto.randomUUID(),
      name: 'carrier',
      metadata: { categoryIds: [data.extId] },
    } as never),
  )
  const filter = encodeURIComponent(`extId eq '${data.extId}'`)
  const plain = await app.call('GET', `${categories}?$filter=${filter}`)
  assert.equal(plain.data[0].associations, undefined)
  assert.equal(plain.data[0].detailedAssociations, undefined)
  const counted = await app.call('GET', `${categories}?$filter=${filter}&$expand=associations`)
  assert.deepEqual(
    counted.data[0].associations.find((each: any) => each.resourceType === 'IMAGE'),
    { categoryId: data.extId, resourceType: 'IMAGE', resourceGroup: 'ENTITY', count: 1 },
  )
  const unexpanded = (await app.call('GET', `${categories}/${data.extId}`)).data
  assert.deepEqual([unexpanded.associations, unexpanded.detailedAssociations], [undefined, undefined])
  const both = await app.call('GET', `${categories}/${data.extId}?$expand=associations,detailedAssociations`)
  assert.equal(both.data.associations.length, 1)
  const single = await app.call('GET', `${categories}/${data.extId}?$expand=detailedAssociations`)
  assert.equal(single.data.associations, undefined)
  const detail = single.data.detailedAssociations.find((each: any) => each.resourceType === 'IMAGE')
  assert.equal(detail.resourceId, image)
  assert.equal(detail.categoryId, data.extId)
})

test('expanded associations stand beside selected fields', async () => {
  const { data } = await create('Selected', 'a')
  await carry(data.extId)
  const filter = encodeURIComponent(`extId eq '${data.extId}'`)
  const { data: found } = await app.call('GET', `${categories}?$filter=${filter}&$select=key&$expand=associations`)
  assert.deepEqual(Object.keys(found[0]).sort(), ['associations', 'extId', 'key'])
})

test('an entity whose creation is pending is not counted, but keeps the category', async () => {
  const { data } = await create('Pending', 'a')
  const extId = crypto.randomUUID()
  const image = { extId, name: `pending ${extId}`, type: 'DISK_IMAGE', categoryExtIds: [data.extId] } as never
  await app.store.transaction((store) => store.insert(Image, image, { pending: true }))
  assert.deepEqual((await app.call('GET', `${categories}/${data.extId}?$expand=associations`)).data.associations, [])
  assert.equal((await app.call('DELETE', `${categories}/${data.extId}`)).status, 409)
})

test('more than 100 carriers are cut, and the answer says so', async () => {
  const { data } = await create('Many', 'a')
  await app.store.transaction(async (store) => {
    for (let index = 0; index < 101; index++) {
      await store.insert(Image, {
        extId: crypto.randomUUID(),
        name: `many ${index}`,
        type: 'DISK_IMAGE',
        categoryExtIds: [data.extId],
      } as never)
    }
  })
  const outcome = await app.dispatch(
    requestOf(`${categories}/${data.extId}`, '$expand=associations,detailedAssociations'),
  )
  assert.equal((outcome.reply.data as any).detailedAssociations.length, 100)
  assert.equal((outcome.reply.data as any).associations[0].count, 101)
  assert.equal(outcome.reply.truncated, true)
})

test('a category in use cannot be deleted until no entity has it', async () => {
  const { data } = await create('Kept', 'a')
  const image = await carry(data.extId)
  const refused = await app.call('DELETE', `${categories}/${data.extId}`)
  assert.equal(refused.status, 409)
  assert.equal(refused.errors[0]?.code, 'CAT-10002')
  assert.equal(refused.errors[0]?.argumentsMap?.['IMAGE'], '1')
  await app.store.transaction((store) => store.remove(Image, image))
  assert.equal((await app.call('DELETE', `${categories}/${data.extId}`)).status, 204)
})

test('of a delete and an association at the same time one is refused, 100 times', async () => {
  for (let round = 0; round < 100; round++) {
    const { data } = await create('Duel', `v${round}`)
    const [, removed] = await Promise.all([
      app.store.transaction(async (store) => {
        if ((await store.get(Category, data.extId)) === undefined) return
        const extId = crypto.randomUUID()
        await store.insert(Image, {
          extId,
          name: `duel ${extId}`,
          type: 'DISK_IMAGE',
          categoryExtIds: [data.extId],
        } as never)
      }),
      app.call('DELETE', `${categories}/${data.extId}`),
    ])
    const isGone = (await app.store.get(Category, data.extId)) === undefined
    const users = await app.store.referrers('Category', data.extId)
    assert.equal(isGone, removed.status === 204)
    assert.equal(isGone && users.length > 0, false, 'an association to a missing category')
  }
})

test('a key holds 1,000 values at most', async () => {
  await app.store.transaction(async (store) => {
    for (let index = 0; index < 1000; index++) {
      await store.insert(Category, { extId: crypto.randomUUID(), key: 'Full', value: `v${index}`, type: 'USER' })
    }
  })
  const refused = await create('Full', 'one more')
  assert.equal(refused.status, 422)
  assert.equal(refused.errors[0]?.code, 'PLAT-10014')
})

test('the demo lists its categories in the documented order', async () => {
  const { data } = await app.call('GET', `${categories}?$limit=12`)
  const names = data.map((each: any) => `${each.key}:${each.value}`)
  assert.deepEqual(names.slice(0, 3), ['CostCenter:Research', 'Environment:Dev', 'Environment:Test'])
  assert.deepEqual(names.slice(10), ['OSType:Linux', 'OSType:Windows'])
  assert.ok(data[0].description)
})

const requestOf = (path: string, query: string) => ({
  method: 'GET',
  path,
  query,
  headers: { authorization: `Basic ${Buffer.from('admin:Admin.Passw0rd!').toString('base64')}` },
  address: '192.0.2.1',
  profile: 'spec' as const,
  unknown: 'refuse' as const,
  readBody: async () => new Uint8Array(),
})
