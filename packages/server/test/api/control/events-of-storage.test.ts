/** Disks that fail, containers that fill up or stall, as clients see it. Source: behaviour clustermgmt.md 1.8, 1.9, 3; vmm.md 1.1, 3.4. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { advance, clustermgmt, hostId, ids, requestId } from '../../support/clustermgmt.ts'
import { happen, postEvent, startQuietDemo } from '../../support/events.ts'
import { aNativeCluster, aVm, bootDisk, changed, emptyDisk, GiB, postVm, readVm } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import { aGroup, onContainer, postDisk } from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const containers = `${clustermgmt}/storage-containers`
const stateOf = async (extId: string): Promise<string> => (await readVm(app, extId)).powerState
const capacityOf = async (name: string): Promise<number> =>
  (await app.call('GET', `${containers}?$filter=name eq '${name}'`)).data[0].maxCapacityBytes
const disksOf = async (host: string): Promise<any[]> =>
  (await app.call('GET', `${clustermgmt}/clusters/${ids.native}/hosts/${hostId(host)}`)).data.disk
const healthOf = async (extId: string): Promise<any> =>
  (await app.call('GET', `${clustermgmt}/disks/${extId}`)).data.diskAdvanceConfig
const tolerance = async (): Promise<number> =>
  (await app.call('GET', `${clustermgmt}/clusters/${ids.native}`)).data.config.faultToleranceState
    .currentMaxFaultTolerance
const datastore = async (): Promise<any> =>
  (await app.call('GET', `${clustermgmt}/clusters/${ids.extern}/storage-containers/datastores`)).data[0]

async function aContainer(name: string): Promise<string> {
  const started = await app.call('POST', containers, { body: { name }, clusterId: ids.native, requestId: requestId() })
  return (await app.task(started)).entitiesAffected[0].extId
}
const diskIn = (extId: string, diskSizeBytes = GiB) => ({
  backingInfo: { diskSizeBytes, storageContainer: { extId } },
})
const native = { extId: ids.native } as never

test('a disk that fails leaves the pool and costs a tolerance until its data is copied; a new one waits in its slot', async () => {
  const [, , disk] = await disksOf('hp-n01-a')
  const before = await capacityOf('db-gold')
  const event = await happen(app, { type: 'DISK_FAILS', disk: disk.serialId })
  assert.deepEqual(event.target, { kind: 'disk', extId: disk.uuid, name: disk.serialId })
  const without = before - Math.floor(disk.sizeInBytes * 0.95)
  assert.deepEqual([await capacityOf('db-gold'), await tolerance()], [without, 0])
  await advance(app, 12 * 60)
  assert.equal(await tolerance(), 1)
  assert.equal((await healthOf(disk.uuid)).isOnline, false)
  const replaced = await happen(app, { type: 'DISK_REPLACED', disk: disk.uuid })
  const [, serialNumber] = /^The disk (SN\w+) is in the slot/.exec(replaced.effects[0] as string) ?? []
  assert.notEqual(serialNumber, disk.serialId)
  assert.deepEqual([await capacityOf('db-gold'), await tolerance()], [without, 1])
  await app.task(
    await app.call('POST', `${clustermgmt}/clusters/${ids.native}/$actions/add-disk`, {
      body: { serialNumber, diskPartitionInfo: { driveReplacementOption: 'RMA' } },
    }),
  )
  assert.equal(await capacityOf('db-gold'), before)
})

test('a disk that was offline comes back with its data, and a slow one is suspected', async () => {
  const [, , disk] = await disksOf('hp-n01-b')
  const before = await capacityOf('db-gold')
  await happen(app, { type: 'DISK_GOES_OFFLINE', disk: disk.serialId }, { duration: 'PT1M' })
  await app.clock.advance(20_000)
  const offline = await healthOf(disk.uuid)
  assert.deepEqual([offline.isOnline, offline.isMounted, offline.isUnhealthy], [false, false, false])
  await advance(app, 2)
  assert.deepEqual([(await healthOf(disk.uuid)).isOnline, await capacityOf('db-gold')], [true, before])
  await happen(app, { type: 'DISK_SLOWS', disk: disk.serialId, factor: 20 }, { duration: 'PT1M' })
  await app.clock.advance(20_000)
  assert.equal((await healthOf(disk.uuid)).isSuspectedUnhealthy, true)
  await advance(app, 2)
  assert.equal((await healthOf(disk.uuid)).isSuspectedUnhealthy, false)
})

test('a disk is inserted into a free slot, and pulled out of it', async () => {
  const inserted = await happen(app, { type: 'DISK_INSERTED', host: 'hp-n01-c', tier: 'DAS_SATA', sizeBytes: 8e12 })
  const [, serialNumber = ''] = /^The disk (SN\w+) is in a slot/.exec(inserted.effects[0] as string) ?? []
  assert.equal((await disksOf('hp-n01-c')).length, 6)
  await happen(app, { type: 'DISK_PULLED', disk: serialNumber })
  const gone = await postEvent(app, { type: 'DISK_PULLED', disk: serialNumber })
  assert.equal(gone.status, 404)
  const [, , disk] = await disksOf('hp-n01-c')
  await happen(app, { type: 'DISK_PULLED', disk: disk.serialId })
  assert.equal((await postEvent(app, { type: 'DISK_PULLED', disk: disk.serialId })).status, 409)
  await happen(app, { type: 'DISK_REPLACED', disk: disk.serialId })
  assert.equal((await postEvent(app, { type: 'DISK_REPLACED', disk: disk.serialId })).status, 409)
})

test('an unknown disk is 404', async () => {
  const refused = await postEvent(app, { type: 'DISK_FAILS', disk: 'SN00000000' })
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [404, 'WORLD_EVENT_TARGET_UNKNOWN'])
})

test('writes of others fill a container to the given percentage', async () => {
  const { capacityBytes, freeSpaceBytes } = await datastore()
  assert.ok(freeSpaceBytes > 0.75 * capacityBytes)
  const event = await happen(app, { type: 'CONTAINER_FILLS', container: 'extern-store', percent: 75 })
  assert.match(event.effects[0], /75 % full/)
  assert.ok(Math.abs((await datastore()).freeSpaceBytes - capacityBytes / 4) < 100)
  await happen(app, { type: 'CONTAINER_FREED', container: 'extern-store' })
  assert.equal((await datastore()).freeSpaceBytes, freeSpaceBytes)
})

test('a full container pauses its writers, accepts no new disk and is not deleted; when it is freed, its VMs continue', async () => {
  const container = await aContainer('brim')
  const vm = await aVm(app, native, { disks: [diskIn(container)] })
  const elsewhere = await aVm(app, native, { disks: [emptyDisk()] })
  for (const { extId } of [vm, elsewhere]) await changed(app, extId, 'power-on')
  await happen(app, { type: 'CONTAINER_FILLS', container: 'brim' })
  await advance(app, 1)
  assert.deepEqual([await stateOf(vm.extId), await stateOf(elsewhere.extId)], ['PAUSED', 'ON'])
  const created = await app.task(await postVm(app, native, { disks: [diskIn(container)] }))
  assert.deepEqual([created.status, created.errorMessages[0].code], ['FAILED', 'VMM-40002'])
  const group = await aGroup(app)
  const disk = await postDisk(app, group.extId, { diskSizeBytes: GiB, ...onContainer(container) })
  assert.deepEqual([disk.status, disk.errors[0]?.errorGroup], [409, 'INSUFFICIENT_STORAGE'])

  await happen(app, { type: 'CONTAINER_FREED', container: 'brim' })
  await advance(app, 1)
  assert.equal(await stateOf(vm.extId), 'ON')
  for (const { extId } of [vm, elsewhere]) await changed(app, extId, 'delete')
  await happen(app, { type: 'CONTAINER_FILLS', container: 'brim', percent: 50 })
  const removed = await app.task(await app.call('DELETE', `${containers}/${container}`, { requestId: requestId() }))
  assert.deepEqual([removed.status, removed.errorMessages[0].errorGroup], ['FAILED', 'STORAGE_CONTAINER_NOT_EMPTY'])
})

test('a container stays full although erasure coding reduces the writes of others', async () => {
  const vm = await aVm(app, native, { disks: [diskIn(seedId('container/hp-native-01/archive-ec'))] })
  await changed(app, vm.extId, 'power-on')
  await happen(app, { type: 'CONTAINER_FILLS', container: 'archive-ec' }, { duration: 'PT1H' })
  await advance(app, 5)
  assert.equal(await stateOf(vm.extId), 'PAUSED')
  await advance(app, 60)
  assert.equal(await stateOf(vm.extId), 'ON')
})

test('writers of a full container continue when space is freed', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [large, small] = [
    await aVm(app, cluster, { disks: [emptyDisk(1000 * GiB)] }),
    await aVm(app, cluster, { disks: [bootDisk(cluster)] }),
  ]
  await changed(app, small.extId, 'power-on')
  await advance(app, 10 * 24 * 60)
  await happen(app, { type: 'CONTAINER_FILLS', container: cluster.containerExtId })
  await advance(app, 1)
  assert.equal(await stateOf(small.extId), 'PAUSED')
  await changed(app, large.extId, 'delete')
  await advance(app, 1)
  assert.equal(await stateOf(small.extId), 'ON')
})

test('stalled storage pauses VMs after 30 s; they continue when it resumes', async () => {
  const container = await aContainer('stalling')
  const vm = await aVm(app, native, { disks: [diskIn(container)] })
  await changed(app, vm.extId, 'power-on')
  await happen(app, { type: 'STORAGE_STALLS', container: 'stalling' }, { duration: 'PT5M' })
  await app.clock.advance(20_000)
  assert.equal(await stateOf(vm.extId), 'ON')
  await advance(app, 1)
  assert.equal(await stateOf(vm.extId), 'PAUSED')
  await advance(app, 5)
  assert.equal(await stateOf(vm.extId), 'ON')
})

test('a container fills to between 1 and 100 percent, and must exist', async () => {
  assert.equal((await postEvent(app, { type: 'CONTAINER_FILLS', container: 'extern-store', percent: 101 })).status, 400)
  const unknown = await postEvent(app, { type: 'STORAGE_STALLS', container: 'extern-stor' })
  assert.equal(unknown.status, 404)
  assert.match(unknown.errors[0]?.message ?? '', /extern-store/)
})
