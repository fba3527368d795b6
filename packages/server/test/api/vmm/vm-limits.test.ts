/** How many there may be: with lower limits than those that hold. Source: behaviour vmm.md 3.9; platform.md 1 (limits). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { limits } from '../../../src/domains/collected.ts'
import {
  aNativeCluster,
  aVm,
  changed,
  emptyDisk,
  type NativeCluster,
  postVm,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { act, aGroup, postGroup } from '../../support/volumes.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  const limits = {
    associationsOfCategory: 3,
    imageRateLimitPolicies: 2,
    images: 2,
    vmAntiAffinityPolicies: 2,
    vmsOfCluster: 2,
    volumeGroupsOfCluster: 2,
  }
  app = await startApp({ config: { seed: 'empty' }, limits })
})
after(() => app.close())

const images = '/vmm/v4.2/content/images'
const aCategory = async (): Promise<string> =>
  (await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'limited', value: randomUUID() } })).data
    .extId
const associations = async (extId: string): Promise<number> => {
  const { data } = await app.call('GET', `/platform/v4.3/config/categories/${extId}?$expand=associations`)
  return (data.associations ?? []).reduce((sum: number, { count }: any) => sum + count, 0)
}
const makeImage = (more: object = {}) =>
  app.call('POST', images, {
    requestId: randomUUID(),
    body: {
      name: 'one',
      type: 'ISO_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url: 'https://images.example.com/one.iso' },
      clusterLocationExtIds: [cluster.extId],
      ...more,
    },
  })

test('the enforced limits are the documented ones', () => {
  const { associationsOfCategory, images: ofImages, vmsOfCluster, volumeGroupsOfCluster } = limits
  assert.deepEqual([associationsOfCategory, ofImages, vmsOfCluster, volumeGroupsOfCluster], [100_000, 2000, 5000, 6000])
})

test('a VM beyond the limit of its cluster is 422, counting VMs in creation, and another cluster accepts it', async () => {
  cluster = await aNativeCluster(app)
  const started = await Promise.all([1, 2, 3].map(() => postVm(app, cluster)))
  assert.deepEqual(started.map(({ status }) => status).sort(), [202, 202, 422])
  const refused = started.find(({ status }) => status === 422)
  assert.deepEqual([refused?.errors[0]?.code, refused?.errors[0]?.errorGroup], ['VMM-40004', 'LIMIT_EXCEEDED'])
  assert.match(refused?.errors[0]?.message ?? '', /at most 2, found 3/)
  const tasks = await Promise.all(started.filter(({ status }) => status === 202).map((one) => app.task(one)))
  await changed(app, tasks[0].entitiesAffected[0].extId, 'delete')
  assert.equal((await postVm(app, cluster)).status, 202)
  assert.equal((await postVm(app, await aNativeCluster(app))).status, 202)
})

test('a volume group beyond the limit of its cluster is 422', async () => {
  const own = await aNativeCluster(app)
  const post = () => postGroup(app, { clusterReference: own.extId })
  const started = await Promise.all([post(), post(), post()])
  assert.deepEqual(started.map(({ status }) => status).sort(), [202, 202, 422])
  assert.equal(started.find(({ status }) => status === 422)?.errors[0]?.errorGroup, 'LIMIT_EXCEEDED')
})

test('an image beyond the limit is 422', async () => {
  const count = (await app.call('GET', images)).total as number
  assert.ok(count >= 2)
  const refused = await makeImage()
  assert.deepEqual([refused.status, refused.errors[0]?.code], [422, 'VMM-40004'])
})

test('of policies that are created at once, those beyond the limit fail and leave nothing', async () => {
  const [category, ofHosts] = [await aCategory(), await aCategory()]
  const rated = { rateLimitKbps: 1, clusterEntityFilter: { type: 'CATEGORIES_MATCH_ANY', categoryExtIds: [ofHosts] } }
  for (const [path, body] of [
    ['/vmm/v4.2/ahv/policies/vm-anti-affinity-policies', { categories: [{ extId: category }] }],
    ['/vmm/v4.2/images/config/rate-limit-policies', rated],
  ] as const) {
    const create = (name: string) => app.call('POST', path, { requestId: randomUUID(), body: { ...body, name } })
    const started = await Promise.all(['one', 'two', 'three', 'four'].map(create))
    const ends = await Promise.all(started.map(async (each) => (each.status === 202 ? app.task(each) : each)))
    assert.deepEqual(ends.filter(({ status }) => status === 'SUCCEEDED').length, 2)
    assert.equal((await app.call('GET', path)).total, 2)
    for (const end of ends) if (end.status === 'FAILED') assert.equal(end.errorMessages[0].errorGroup, 'LIMIT_EXCEEDED')
  }
})

test('an association beyond the limit of a category is 422 for every kind, and nothing is stored', async () => {
  const category = await aCategory()
  const own = await aNativeCluster(app)
  const vm = await aVm(app, own, { categories: [{ extId: category }] })
  const group = await aGroup(app, { clusterReference: own.extId })
  const associate = () => act(app, group.extId, 'associate-category', { categories: [{ extId: category }] })
  assert.equal((await app.task(await associate())).status, 'SUCCEEDED')
  await app.store.transaction((store) =>
    store.insert(ExternVm, { extId: randomUUID(), name: 'outside', categories: [{ extId: category }] } as never),
  )
  assert.equal(await associations(category), 3)

  const refused = await postVm(app, own, { categories: [{ extId: category }] })
  assert.deepEqual([refused.status, refused.errors[0]?.code], [422, 'VMM-40004'])
  assert.match(refused.errors[0]?.message ?? '', new RegExp(`${category}: at most 3, found 4`))
  const other = await aGroup(app, { clusterReference: own.extId })
  const late = await app.task(await act(app, other.extId, 'associate-category', { categories: [{ extId: category }] }))
  assert.deepEqual([late.status, late.errorMessages[0].errorGroup], ['FAILED', 'LIMIT_EXCEEDED'])
  assert.equal(await associations(category), 3)

  // Who carries it already goes on as ever, and a place that is given back can be taken.
  assert.equal((await changed(app, vm.extId, { put: { ...vm, description: 'still' } })).status, 'SUCCEEDED')
  assert.equal((await app.task(await associate())).status, 'SUCCEEDED')
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await changed(app, vm.extId, 'delete')).status, 'SUCCEEDED')
  const next = await aVm(app, own, { categories: [{ extId: category }] })
  assert.equal((await readVm(app, next.extId)).categories.length, 1)
  assert.equal(await associations(category), 3)
})

test('a creation that is undone removes its category association', async () => {
  const category = await aCategory()
  const own = await aNativeCluster(app)
  for (let time = 0; time < 4; time++) {
    const failed = await app.task(
      await postVm(app, own, { categories: [{ extId: category }], disks: [emptyDisk(60_000 * 1024 ** 3)] }),
    )
    assert.equal(failed.status, 'FAILED')
  }
  assert.equal(await associations(category), 0)
})
