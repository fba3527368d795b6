/** The older face of storage containers and datastores. Source: behaviour volumes-storage.md 1.8, 5. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { clusterId, externClusterId, GiB, nameOf, older, refusal, succeeded } from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const path = `${older}/storage-containers`
const newer = '/clustermgmt/v4.2/config/storage-containers'
const externStore = seedId('container/hp-extern-01/extern-store')

async function aContainer(body: object = {}, cluster = clusterId): Promise<string> {
  const started = await app.call('POST', path, { body: { name: nameOf('sc'), ...body }, clusterId: cluster })
  return (await succeeded(app, started)).entitiesAffected[0].extId
}
const read = async (extId: string): Promise<any> => (await app.call('GET', `${path}/${extId}`)).data

test('erasure coding "true" here is ON under clustermgmt, and the other names fit, too', async () => {
  const extId = await aContainer({
    erasureCode: 'true',
    compressionEnabled: true,
    compressionDelayInSecs: 60,
    advertisedCapacity: 100 * GiB,
    onDiskDedup: 'POST_PROCESS',
    fingerPrintOnWrite: 'ON',
  })
  const { data } = await app.call('GET', `${newer}/${extId}`)
  assert.equal(data.erasureCode, 'ON')
  assert.equal(data.isCompressionEnabled, true)
  assert.equal(data.compressionDelaySecs, 60)
  assert.equal(data.logicalAdvertisedCapacityBytes, 100 * GiB)
  assert.equal(data.cacheDeduplication, 'ON')
  const shown = await read(extId)
  assert.deepEqual(
    [shown.erasureCode, shown.onDiskDedup, shown.fingerPrintOnWrite, shown.advertisedCapacity],
    ['true', 'POST_PROCESS', 'true', 100 * GiB],
  )
  assert.equal(shown.storagePoolUuid, data.storagePoolExtId)
})

test('fields without a counterpart are stored and returned without effect', async () => {
  const only = { oplogReplicationFactor: 2, randomIoPreference: ['SSD'], downMigrateTimesInSecs: { HDD: 3600 } }
  const extId = await aContainer(only)
  const shown = await read(extId)
  assert.deepEqual(
    [shown.oplogReplicationFactor, shown.randomIoPreference, shown.downMigrateTimesInSecs],
    [2, ['SSD'], { HDD: 3600 }],
  )
  assert.deepEqual(shown.vstoreNameList, [shown.name])
  // A change under the newer namespace does not lose them.
  const tag = (await app.call('GET', `${newer}/${extId}`)).etag as string
  const put = await app.call('PUT', `${newer}/${extId}`, {
    body: { name: shown.name },
    ifMatch: tag,
    requestId: crypto.randomUUID(),
  })
  await succeeded(app, put)
  assert.equal((await read(extId)).oplogReplicationFactor, 2)
})

test('a PUT needs no ETag, but a stale one is 412, and a DELETE removes the container', async () => {
  const extId = await aContainer({ compressionEnabled: true })
  const { name } = await read(extId)
  const body = { name, advertisedCapacity: 50 * GiB }
  await succeeded(app, await app.call('PUT', `${path}/${extId}`, { body }))
  const shown = await read(extId)
  assert.deepEqual([shown.advertisedCapacity, shown.compressionEnabled], [50 * GiB, false])
  assert.equal((await app.call('PUT', `${path}/${extId}`, { body, ifMatch: '"stale"' })).status, 412)
  await succeeded(app, await app.call('DELETE', `${path}/${extId}?ignoreSmallFiles=true`))
  assert.equal((await app.call('GET', `${newer}/${extId}`)).status, 404)
})

test('the list of containers filters, orders, selects and clamps page numbers', async () => {
  const found = await app.call('GET', `${path}?$filter=clusterExtId eq '${externClusterId}' and name eq 'extern-store'`)
  assert.equal(found.total, 1)
  const named = await app.call('GET', `${path}?$select=name&$orderby=name&$limit=2&$page=999`)
  assert.ok(
    named.data.length > 0 && named.data.every((one: any) => one.name !== undefined && one.erasureCode === undefined),
  )
  assert.equal((await app.call('GET', `${path}?$filter=erasureCode eq 'true'`)).status, 400)
  assert.equal((await app.call('GET', `${path}/datastores?$page=0`)).status, 400)
})

test('datastores of all clusters are listed with their older field names', async () => {
  const { data } = await app.call('GET', `${path}/datastores?$filter=containerExtId eq '${externStore}'`)
  assert.equal(data.length, 3)
  for (const store of data) {
    assert.equal(store.datastoreName, 'extern-store')
    assert.ok(store.capacity >= store.freeSpace && store.freeSpace > 0)
    assert.match(store.hostId, new RegExp(`^${externClusterId}::\\d+$`))
    assert.match(store.containerId, new RegExp(`^${externClusterId}::\\d+$`))
  }
})

test('a mount accepts numbers and ids of hosts together, and an unmount without hosts covers all', async () => {
  const name = nameOf('ds')
  const extId = await aContainer({ name }, externClusterId)
  const [first, second] = (await app.call('GET', `${path}/datastores`)).data
  const number = first.hostId.split('::')[1]
  const body = { containerName: name, nodeIds: [number, first.hostId], nodeExtIds: [second.hostExtId] }
  await succeeded(app, await app.call('POST', `${path}/${extId}/$actions/mount`, { body }))
  const mounted = async () =>
    (await app.call('GET', `${path}/datastores?$filter=containerExtId eq '${extId}'`)).data.map(
      (one: any) => one.hostExtId,
    )
  assert.deepEqual((await mounted()).sort(), [first.hostExtId, second.hostExtId].sort())
  const unknown = { datastoreName: name, nodeIds: ['999999'] }
  assert.equal((await app.call('POST', `${path}/${extId}/$actions/unmount`, { body: unknown })).status, 404)
  await succeeded(app, await app.call('POST', `${path}/${extId}/$actions/unmount`, { body: { datastoreName: name } }))
  assert.deepEqual(await mounted(), [])
})

test('a mount needs the cluster header, and a native cluster refuses it', async () => {
  const without = await app.call('POST', path, { body: { name: nameOf('sc') } })
  assert.equal(without.status, 400)
  const extId = await aContainer()
  const { name } = await read(extId)
  const mount = await app.call('POST', `${path}/${extId}/$actions/mount`, { body: { containerName: name } })
  assert.equal(refusal(mount).group, 'NOT_AN_ESX_CLUSTER')
})
