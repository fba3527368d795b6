/** Statistics of storage containers. Source: behaviour clustermgmt.md 1.17, 3, acceptance 27, 28, 29, 46 to 48. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { clustermgmt, ids, putFresh } from '../../support/clustermgmt.ts'
import { beginning, startApp, type TestApp } from '../../support/start-app.ts'
import { aDisk, aGroup, GiB, goldId, onContainer } from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const stats = '/clustermgmt/v4.2/stats'
const containerPath = (extId: string): string => `${stats}/storage-containers/${extId}`
const iso = (time: number): string => new Date(time).toISOString()
const during = (secondsAgo: number, now = beginning): string =>
  `$startTime=${iso(now - 1000 * secondsAgo)}&$endTime=${iso(now)}`
async function read(path: string, query: string, of = app): Promise<any> {
  const { status, data, errors } = await of.call('GET', `${path}?${query}`)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const valuesOf = (series: readonly { value: number }[]): number[] => series.map(({ value }) => value)
const containersOf = async (clusterId: string, of = app): Promise<string[]> =>
  (await of.call('GET', `/clustermgmt/v4.2/config/storage-containers?$filter=clusterExtId eq '${clusterId}'`)).data.map(
    ({ extId }: any) => extId,
  )
const day = 24 * 3600

test('46. the last five minutes have ten points in each series, and wrong parameters are 400', async () => {
  const data = await read(containerPath(goldId), during(300))
  assert.deepEqual([data.extId, data.containerExtId], [goldId, goldId])
  const series = Object.entries<any>(data).filter(
    ([, value]) => Array.isArray(value) && value[0]?.timestamp !== undefined,
  )
  assert.ok(series.length >= 45, `${series.length} series`)
  for (const [name, points] of series) {
    assert.equal(points.length, 10, name)
    for (const { value } of points) assert.ok(Number.isInteger(value) && value >= 0, `${name} ${value}`)
  }
  for (const wrong of ['&$samplingInterval=0', '&$samplingInterval=-1', '&$statType=FOO'])
    assert.equal((await app.call('GET', `${containerPath(goldId)}?${during(300)}${wrong}`)).status, 400, wrong)
  for (const end of [beginning, beginning - 1000]) {
    const span = `$startTime=${iso(beginning)}&$endTime=${iso(end)}`
    assert.equal((await app.call('GET', `${containerPath(goldId)}?${span}`)).status, 400, span)
  }
  assert.equal((await app.call('GET', containerPath(goldId))).status, 400)
  const older = await app.call('GET', containerPath(goldId).replace('v4.2', 'v4.0'))
  assert.deepEqual([older.status, older.data.controllerNumIops.length], [200, 120])
})

test('47. operations are reads and writes, and those of all containers are those of the cluster and of all hosts', async () => {
  for (const clusterId of [ids.native, ids.extern]) {
    const cluster = await read(`${stats}/clusters/${clusterId}`, during(600))
    const containers = await Promise.all(
      (await containersOf(clusterId)).map((extId) => read(containerPath(extId), during(600))),
    )
    for (const name of ['controllerNumIops', 'controllerNumReadIops', 'controllerNumWriteIops'])
      assert.deepEqual(
        valuesOf(cluster[name]),
        cluster[name].map((_: unknown, at: number) => containers.reduce((sum, one) => sum + one[name][at].value, 0)),
        name,
      )
    for (const one of containers)
      for (const [at, { value }] of one.controllerNumIops.entries()) {
        assert.equal(value, one.controllerNumReadIops[at].value + one.controllerNumWriteIops[at].value)
        assert.ok(one.controllerReadIoRatioPpm[at].value <= 1e6)
      }
    const logical = containers.reduce((sum, one) => sum + one.dataReductionOverallPostReductionBytes[0].value, 0)
    assert.ok(logical <= cluster.storageUsageBytes[0].value + 10)
  }
})

test('47. the volume disks of a container are part of its operations', async () => {
  const query = during(30)
  const whole = await read(containerPath(goldId), query)
  const group = await read(`/volumes/v4.2/stats/volume-groups/${seedId('volume-group/vg-orders-db')}`, query)
  assert.ok(group.controllerNumIOPS[0].value > 0)
  assert.ok(whole.controllerNumIops[0].value >= group.controllerNumIOPS[0].value)
})

test('28. what compression, deduplication and erasure coding save is what the container saves, also after writes', async () => {
  const fresh = await startApp()
  try {
    const body = {
      name: 'saving',
      isCompressionEnabled: true,
      onDiskDedup: 'POST_PROCESS',
      erasureCode: 'ON',
      erasureCodeDelaySecs: 60,
    }
    const task = await fresh.task(
      await fresh.call('POST', '/clustermgmt/v4.2/config/storage-containers', {
        body,
        clusterId: ids.native,
        requestId: randomUUID(),
      }),
    )
    const container = task.entitiesAffected[0].extId
    const vms = '/vmm/v4.2/ahv/config/vms'
    const backingInfo = { diskSizeBytes: 4096 * GiB, storageContainer: { extId: container } }
    const vm = { name: 'writer', memorySizeBytes: GiB, cluster: { extId: ids.native }, disks: [{ backingInfo }] }
    await fresh.task(await fresh.call('POST', vms, { body: vm, requestId: randomUUID() }))
    await fresh.clock.advance(2 * day * 1000)
    const data = await read(containerPath(container), during(3600, fresh.clock.now()), fresh)
    for (const [at, { value }] of data.dataReductionSavedBytes.entries()) {
      const parts = ['Compression', 'Dedup', 'ErasureCoding'].map(
        (part) => data[`dataReduction${part}SavedBytes`][at].value,
      )
      assert.ok(
        parts.every((saved) => saved > 0),
        `${parts}`,
      )
      assert.equal(
        parts.reduce((sum, saved) => sum + saved, 0),
        value,
      )
      const { value: post } = data.dataReductionOverallPostReductionBytes[at]
      assert.equal(
        data.dataReductionOverallPreReductionBytes[at].value - post,
        data.dataReductionOverallSavedBytes[at].value,
      )
    }
  } finally {
    await fresh.close()
  }
})

test('27. a reservation of 1 TiB takes 2 TiB of the free bytes of the other containers', async () => {
  const fresh = await startApp()
  try {
    const other = containerPath(seedId('container/hp-native-01/default'))
    const query = during(30)
    const [before] = valuesOf((await read(other, query, fresh)).storageFreeBytes)
    const body = { name: 'reserved', logicalExplicitReservedCapacityBytes: 1024 * GiB }
    await fresh.task(
      await fresh.call('POST', '/clustermgmt/v4.2/config/storage-containers', {
        body,
        clusterId: ids.native,
        requestId: randomUUID(),
      }),
    )
    const after = await read(other, query, fresh)
    assert.equal(before! - after.storageFreeBytes[0].value, 2048 * GiB)
    assert.ok(after.storageOtherContainersReservedCapacity[0].value >= 2048 * GiB)
  } finally {
    await fresh.close()
  }
})

test('a copy of a volume disk raises the savings by clones and leaves the physical usage as it was', async () => {
  const query = (): string => during(30, app.clock.now())
  const source = seedId('volume-disk/vg-orders-db/1')
  const group = await aGroup(app)
  await app.clock.advance(60_000)
  const before = await read(containerPath(goldId), query())
  await aDisk(app, group.extId, { diskDataSourceReference: { extId: source, entityType: 'VOLUME_DISK' } })
  await app.clock.advance(60_000)
  const after = await read(containerPath(goldId), query())
  assert.ok(after.dataReductionCloneSavedBytes[0].value > before.dataReductionCloneSavedBytes[0].value + 50 * GiB)
  const grown = after.storageUsageBytes[0].value - before.storageUsageBytes[0].value
  assert.ok(grown >= 0 && grown < GiB, `${grown}`)
})

test('48. 90 days at 30 s have at most 3,000 points in a series, and the answer has a message', async () => {
  const { status, data, warnings } = await app.call(
    'GET',
    `${containerPath(goldId)}?${during(90 * day)}&$samplingInterval=30`,
  )
  assert.equal(status, 200)
  assert.ok(data.controllerNumIops.length <= 3000 && data.controllerNumIops.length > 1000)
  assert.match(warnings.join(), /widened from 30 s/)
})

test('data that is made later does not change earlier points, and the same span is answered twice with the same bytes', async () => {
  const query = during(3600)
  const before = await read(containerPath(goldId), query)
  await aGroup(app, { disks: [{ diskSizeBytes: 10 * GiB, ...onContainer(goldId) }] })
  assert.equal(JSON.stringify(await read(containerPath(goldId), query)), JSON.stringify(before))
})

test('a container has no points before its creation, and an unknown one is 404', async () => {
  const task = await app.task(
    await app.call('POST', '/clustermgmt/v4.2/config/storage-containers', {
      body: { name: 'young' },
      clusterId: ids.native,
      requestId: randomUUID(),
    }),
  )
  const data = await read(containerPath(task.entitiesAffected[0].extId), during(3600))
  assert.equal(data.controllerNumIops, undefined)
  assert.equal((await app.call('GET', `${containerPath(randomUUID())}?${during(60)}`)).status, 404)
})

test('29. erasure coding on four hosts lowers the physical usage two days after its delay, at equal logical usage', async () => {
  const usageAfter = async (changes: object): Promise<{ physical: number; logical: number }> => {
    const fresh = await startApp()
    try {
      const container = `${clustermgmt}/storage-containers/${goldId}`
      const { name } = (await fresh.call('GET', container)).data
      assert.equal((await fresh.task(await putFresh(fresh, container, { name, ...changes }))).status, 'SUCCEEDED')
      await fresh.clock.advance((2 * day + 2 * 3600) * 1000)
      const data = await read(containerPath(goldId), during(60, fresh.clock.now()), fresh)
      const [physical, logical] = [data.storageUsageBytes, data.dataReductionOverallPreReductionBytes].map(
        (points) => points.at(-1).value,
      )
      return { physical, logical }
    } finally {
      await fresh.close()
    }
  }
  const plain = await usageAfter({ erasureCode: 'OFF' })
  const coded = await usageAfter({ erasureCode: 'ON', erasureCodeDelaySecs: 3600 })
  assert.ok(coded.physical < plain.physical, `${coded.physical} of ${plain.physical}`)
  assert.equal(coded.logical, plain.logical)
})
