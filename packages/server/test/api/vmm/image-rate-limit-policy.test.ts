import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { ids } from '../../support/clustermgmt.ts'
import {
  allOf,
  anyOf,
  changeOf,
  effectiveRateLimits,
  imageBody,
  images,
  made,
  post,
  rateLimitBody,
  rateLimitPolicies,
  succeeds,
} from '../../support/content-policies.ts'
import { aUser } from '../../support/identities.ts'
import { ofUrl, ovas } from '../../support/ovas.ts'
import { aCategory } from '../../support/policies.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const associate = (cluster: string, ...categories: string[]): Promise<any> =>
  post(app, `/clustermgmt/v4.2/config/clusters/${cluster}/$actions/associate-categories`, { categories }).then(
    (started) => succeeds(app, started),
  )
const remove = async (path: string): Promise<any> => succeeds(app, await app.call('DELETE', path))
const read = async (extId: string): Promise<any> => (await app.call('GET', `${rateLimitPolicies}/${extId}`)).data
const effective = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    ((await app.call('GET', effectiveRateLimits)).data ?? []).map((row: any) => [row.clusterExtId, row.rateLimitExtId]),
  )
const taskOf = async (started: CallResult): Promise<any> =>
  (await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)).data

/** World seconds until the task has ended; the clock moves by steps of one second. */
async function secondsOf(started: CallResult, most = 3000): Promise<number> {
  for (let seconds = 0; seconds <= most; seconds++) {
    const { status } = await taskOf(started)
    if (status === 'SUCCEEDED') return seconds
    assert.ok(status === 'RUNNING' || status === 'QUEUED', status)
    await app.clock.advance(1000)
  }
  throw new Error(`the task did not end within ${most} s`)
}

/** A limit on a cluster, and the category that leads to it. */
async function aLimit(cluster: string, rateLimitKbps: number): Promise<{ path: string; category: string }> {
  const category = await aCategory(app)
  await associate(cluster, category)
  const extId = await made(app, rateLimitPolicies, { ...rateLimitBody(category), rateLimitKbps })
  return { path: `${rateLimitPolicies}/${extId}`, category }
}

describe('policies', () => {
  test('a policy shows its owner, its times and the clusters that it matches now', async () => {
    const [one, two] = [await aCategory(app), await aCategory(app)]
    await associate(ids.native, one, two)
    await associate(ids.cloud, one)
    const started = await post(app, rateLimitPolicies, { ...rateLimitBody(one), name: 'Branch links' })
    const task = await succeeds(app, started)
    assert.equal(task.operation, 'CreateRateLimitPolicy')
    assert.deepEqual(
      task.entitiesAffected.map(({ rel }: any) => rel),
      ['vmm:images:config:rate-limit-policy'],
    )
    const { extId } = task.entitiesAffected[0]
    const policy = await read(extId)
    assert.deepEqual([policy.ownerName, policy.rateLimitKbps], ['admin', 10_000])
    assert.equal(policy.createTime, policy.lastUpdateTime)
    assert.deepEqual(policy.matchingClusterExtIds.toSorted(), [ids.native, ids.cloud].toSorted())
    await app.clock.advance(1000)
    const path = `${rateLimitPolicies}/${extId}`
    await succeeds(app, await changeOf(app, path, { rateLimitKbps: 20_000, clusterEntityFilter: allOf(one, two) }))
    const changed = await read(extId)
    assert.deepEqual(changed.matchingClusterExtIds, [ids.native])
    assert.ok(changed.lastUpdateTime > changed.createTime)
    await remove(path)
    assert.equal((await app.call('GET', path)).status, 404)
  })

  test('a name in use, an unknown category, a limit of 0 and a stale tag are refused, and store nothing', async () => {
    const category = await aCategory(app)
    const body = rateLimitBody(category)
    const path = `${rateLimitPolicies}/${await made(app, rateLimitPolicies, body)}`
    const { total } = await app.call('GET', rateLimitPolicies)
    const refused = async (more: object): Promise<unknown[]> => {
      const { status, errors } = await post(app, rateLimitPolicies, { ...rateLimitBody(category), ...more })
      return [status, errors[0]?.code]
    }
    assert.deepEqual(await refused({ name: body.name.toUpperCase() }), [409, 'VMM-30105'])
    assert.deepEqual(await refused({ clusterEntityFilter: anyOf(seedId('nothing')) }), [404, 'VMM-20005'])
    for (const more of [
      { rateLimitKbps: 0 },
      { rateLimitKbps: 4_294_967_297 },
      { name: 'x'.repeat(257) },
      { name: '../limits' },
      { clusterEntityFilter: anyOf() },
      { clusterEntityFilter: { type: 'CATEGORIES_MATCH_NONE', categoryExtIds: [category] } },
      { clusterEntityFilter: anyOf(category, category) },
    ])
      assert.equal((await refused(more))[0], 400, JSON.stringify(more).slice(0, 60))
    const { data, etag } = await app.call('GET', path)
    await succeeds(app, await changeOf(app, path, { description: 'first' }))
    const stale = await app.call('PUT', path, { body: data, ifMatch: etag as string, requestId: randomUUID() })
    assert.equal(stale.status, 412)
    assert.equal((await app.call('PUT', path, { body: data, requestId: randomUUID() })).status, 428)
    assert.equal((await app.call('GET', rateLimitPolicies)).total, total)
    await remove(path)
  })

  test('a category of a policy counts it, and is not deleted while the policy names it', async () => {
    const category = await aCategory(app)
    const path = `${rateLimitPolicies}/${await made(app, rateLimitPolicies, rateLimitBody(category))}`
    const categoryPath = `/platform/v4.3/config/categories/${category}`
    const { associations } = (await app.call('GET', `${categoryPath}?$expand=associations`)).data
    assert.deepEqual(
      associations.map(({ resourceType, count }: any) => [resourceType, count]),
      [['IMAGE_RATE_LIMIT', 1]],
    )
    const refused = await app.call('DELETE', categoryPath)
    assert.equal(refused.status, 409)
    await remove(path)
    assert.equal((await app.call('DELETE', categoryPath)).status, 204)
  })

  test('the demo has one policy, which limits no cluster', async () => {
    const { data } = await app.call('GET', `${rateLimitPolicies}?$filter=name eq 'branch-offices'`)
    assert.deepEqual([data[0].rateLimitKbps, data[0].matchingClusterExtIds ?? []], [100_000, []])
    assert.ok(!Object.values(await effective()).includes(data[0].extId))
  })
})

describe('effective limits', () => {
  test('the lowest limit of a cluster applies, and of equal ones the oldest; the row disappears with the last policy', async () => {
    const first = await aLimit(ids.cloud, 30_000)
    const second = await aLimit(ids.cloud, 20_000)
    const third = await aLimit(ids.cloud, 20_000)
    const idOf = ({ path }: { path: string }): string => path.split('/').at(-1) as string
    const rows = (await app.call('GET', `${effectiveRateLimits}?$filter=clusterExtId eq '${ids.cloud}'`)).data
    assert.deepEqual(
      rows.map(({ extId, clusterExtId, rateLimitExtId }: any) => [extId, clusterExtId, rateLimitExtId]),
      [[ids.cloud, ids.cloud, idOf(second)]],
    )
    await remove(second.path)
    assert.equal((await effective())[ids.cloud], idOf(third))
    await remove(third.path)
    assert.equal((await effective())[ids.cloud], idOf(first))
    await remove(first.path)
    assert.equal((await effective())[ids.cloud], undefined)
  })
})

describe('transfers', () => {
  test('an image is created no faster than the limit of its cluster allows', async () => {
    const limit = await aLimit(ids.native, 10_000)
    const started = await post(app, images, { ...imageBody('limited'), clusterLocationExtIds: [ids.native] })
    const seconds = await secondsOf(started)
    const image = (await taskOf(started)).entitiesAffected[0].extId
    const { sizeBytes } = (await app.call('GET', `${images}/${image}`)).data
    assert.equal(seconds, Math.ceil(sizeBytes / 10_000_000))
    await remove(limit.path)
    const unlimited = await post(app, images, { ...imageBody('unlimited'), clusterLocationExtIds: [ids.native] })
    assert.equal(await secondsOf(unlimited), 0)
  })

  test('a copy to a limited cluster takes its size divided by the limit, and a copy to another cluster does not', async () => {
    const image = await made(app, images, { ...imageBody('copied'), clusterLocationExtIds: [ids.native] })
    const { sizeBytes } = (await app.call('GET', `${images}/${image}`)).data
    const limit = await aLimit(ids.cloud, 10_000)
    const path = `${images}/${image}`
    const copying = await changeOf(app, path, { clusterLocationExtIds: [ids.native, ids.cloud] })
    assert.equal(await secondsOf(copying), Math.ceil(sizeBytes / 10_000_000))
    const leaving = await changeOf(app, path, { clusterLocationExtIds: [ids.cloud] })
    assert.equal(await secondsOf(leaving), 0)
    const returning = await changeOf(app, path, { clusterLocationExtIds: [ids.native, ids.cloud] })
    assert.equal(await secondsOf(returning), 0)
    await remove(limit.path)
  })

  test('an import from a limited cluster takes the size of its images divided by the limit', async () => {
    const limit = await aLimit(ids.native, 100_000)
    const started = await post(app, `${images}/$actions/import`, {
      clusterExtId: ids.native,
      imagesExtIds: [seedId('image/rescue.iso')],
    })
    assert.equal(await secondsOf(started), Math.ceil(1024 ** 3 / 100_000_000))
    await remove(limit.path)
  })

  test('the upload of an OVA respects the limits of all its clusters', async () => {
    const limits = [await aLimit(ids.native, 10), await aLimit(ids.cloud, 20)]
    const { source } = ofUrl('https://images.example.com/limited.ova', ids.native)
    const started = await post(app, ovas, { name: 'limited', source, clusterLocationExtIds: [ids.native, ids.cloud] })
    const seconds = await secondsOf(started)
    const { sizeBytes } = (await app.call('GET', `${ovas}/${(await taskOf(started)).entitiesAffected[0].extId}`)).data
    const expected = sizeBytes / 10_000 + sizeBytes / 20_000
    assert.ok(seconds >= expected && seconds <= expected + 2, `${seconds} of ${expected}`)
    for (const { path } of limits) await remove(path)
  })

  test('a running transfer follows a new limit, and the end of the limit, within 5 s', async () => {
    const limit = await aLimit(ids.native, 1)
    const started = await post(app, images, { ...imageBody('followed'), clusterLocationExtIds: [ids.native] })
    await app.clock.advance(60_000)
    assert.equal((await taskOf(started)).status, 'RUNNING')
    await succeeds(app, await changeOf(app, limit.path, { rateLimitKbps: 10_000_000 }))
    assert.ok((await secondsOf(started)) <= 6)
    await succeeds(app, await changeOf(app, limit.path, { rateLimitKbps: 1000 }))
    const slow = await post(app, images, { ...imageBody('freed'), clusterLocationExtIds: [ids.native] })
    await succeeds(app, await changeOf(app, limit.path, { rateLimitKbps: 1 }))
    // At 1000 KBps the largest image would be complete after 2148 s.
    await app.clock.advance(3_000_000)
    assert.equal((await taskOf(slow)).status, 'RUNNING')
    await remove(limit.path)
    assert.ok((await secondsOf(slow)) <= 5)
  })

  test('a slow transfer can be cancelled, and leaves no image and no bytes', async () => {
    const limit = await aLimit(ids.native, 1)
    const files = app.world.collection('content.files').all().size
    const started = await post(app, images, { ...imageBody('cancelled'), clusterLocationExtIds: [ids.native] })
    await app.clock.advance(20_000)
    const { data } = started
    assert.equal((await app.call('POST', `/platform/v4.3/config/tasks/${data.extId}/$actions/cancel`)).status, 200)
    await app.clock.advance(5000)
    assert.equal((await taskOf(started)).status, 'CANCELED')
    assert.equal(app.world.collection('content.files').all().size, files)
    assert.equal((await app.call('GET', `${images}?$filter=name eq 'cancelled'`)).total, 0)
    await remove(limit.path)
  })
})

describe('roles', () => {
  test('a Consumer reads policies and effective limits, and every change is 403 without a task', async () => {
    const path = `${rateLimitPolicies}/${await made(app, rateLimitPolicies, rateLimitBody(await aCategory(app)))}`
    for (const role of ['Consumer', 'Platform Viewer', 'Virtual Machine Admin'] as const) {
      const as = await aUser(app, [role])
      for (const readable of [rateLimitPolicies, path, effectiveRateLimits])
        assert.equal((await app.call('GET', readable, { as })).status, 200, `${role} ${readable}`)
      const tasks = (await app.call('GET', '/platform/v4.3/config/tasks')).total
      assert.equal((await post(app, rateLimitPolicies, rateLimitBody(await aCategory(app)), { as })).status, 403, role)
      assert.equal((await changeOf(app, path, { description: 'changed' }, { as })).status, 403, role)
      assert.equal((await app.call('DELETE', path, { as })).status, 403, role)
      assert.equal((await app.call('GET', '/platform/v4.3/config/tasks')).total, tasks)
    }
    const as = await aUser(app, ['Virtual Machine Viewer'])
    assert.equal((await app.call('GET', rateLimitPolicies, { as })).status, 403)
    assert.equal((await app.call('GET', effectiveRateLimits, { as })).status, 403)
    await remove(path)
  })
})
