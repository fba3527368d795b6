/** Storage arrays over the interface. Source: behaviour platform.md 10, 14 (statement 37). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const TiB = 1024 ** 4
const flash = `/platform/v4.3/config/external-storages/${seedId('external-storage/flash-01')}`
const containers = '/clustermgmt/v4.2/config/storage-containers'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('the two arrays of the demo show provider, configuration and size', async () => {
  const { data, etag } = await app.call('GET', flash)
  assert.deepEqual(
    [data.name, data.providerType, data.totalCapacityBytes],
    ['flash-01', 'PURE_STORAGE_FLASHARRAY', 100 * TiB],
  )
  assert.equal(data.freeCapacityBytes, 100 * TiB)
  assert.equal(data.config.pod.name, 'pod-01')
  assert.ok(etag)
  const flex = await app.call('GET', `/platform/v4.3/config/external-storages/${seedId('external-storage/flex-01')}`)
  assert.deepEqual([flex.data.providerType, flex.data.totalCapacityBytes], ['DELL_POWERFLEX', 50 * TiB])
  assert.equal((await app.call('GET', `/platform/v4.3/config/external-storages/${randomUUID()}`)).status, 404)
})

test('free capacity falls when a container on the array reserves space, and rises when it is deleted', async () => {
  const make = (externalStorageExtId: string) =>
    app.call('POST', containers, {
      body: { name: 'on-flash', externalStorageExtId, logicalExplicitReservedCapacityBytes: TiB },
      clusterId: seedId('cluster/hp-native-01'),
      requestId: randomUUID(),
    })
  assert.equal((await make(randomUUID())).status, 404)
  const task = await app.task(await make(seedId('external-storage/flash-01')))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal((await app.call('GET', flash)).data.freeCapacityBytes, 99 * TiB)
  const path = `${containers}/${task.entitiesAffected[0].extId}`
  await app.task(await app.call('DELETE', path, { requestId: randomUUID() }))
  assert.equal((await app.call('GET', flash)).data.freeCapacityBytes, 100 * TiB)
})
