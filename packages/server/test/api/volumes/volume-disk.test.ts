/** Disks of volume groups through the API. Source: behaviour volumes-storage.md 1.3, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Task } from '@hyperplane/contract/platform/task'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { blockDiskFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aDisk,
  aGroup,
  aVm,
  clusterId,
  containerId,
  GiB,
  goldId,
  groups,
  onContainer,
  pathsOf,
  postDisk,
  put,
  refusal,
  send,
  succeeded,
  usageOf,
} from '../../support/volumes.ts'

let app: TestApp
let groupId: string
before(async () => {
  app = await startApp()
  groupId = (await aGroup(app)).extId
})
after(() => app.close())

const pathOf = (disk: { extId: string }, group = groupId): string => `${groups}/${group}/disks/${disk.extId}`
const copyOf = (extId: string, entityType = 'VOLUME_DISK') => ({ diskDataSourceReference: { extId, entityType } })

test('a disk on a container gets the lowest free index; a size below the least, or no multiple of 512, is 400, a taken index 409', async () => {
  const { extId } = await aGroup(app)
  const {
    volumeGroupExtId: _,
    tenantId: __,
    extId: ___,
    ...first
  } = await aDisk(app, extId, { diskSizeBytes: GiB, ...onContainer(goldId) })
  assert.deepEqual(first, { index: 0, diskSizeBytes: GiB, storageContainerId: goldId }, 'the source is write-only')
  const listed = await app.call('GET', `${groups}/${extId}/disks?$select=diskDataSourceReference,index`)
  assert.deepEqual([listed.data[0].index, listed.data[0].diskDataSourceReference], [0, undefined])
  await aDisk(app, extId, { diskSizeBytes: GiB, index: 2, ...onContainer() })
  assert.equal((await aDisk(app, extId)).index, 1)
  for (const diskSizeBytes of [524_287, 524_289]) {
    assert.deepEqual(pathsOf(await postDisk(app, extId, { diskSizeBytes })), ['diskSizeBytes'])
  }
  assert.deepEqual(refusal(await postDisk(app, extId, { diskSizeBytes: GiB, index: 2 })), {
    status: 409,
    group: 'INDEX_IN_USE',
  })
})

test('the task of a disk creation names the disk first, then the group, whose ETag changes', async () => {
  const before = (await app.call('GET', `${groups}/${groupId}`)).etag
  const task = await succeeded(app, postDisk(app, groupId, { diskSizeBytes: GiB }))
  assert.equal(task.operation, 'VolumeGroupDiskCreate')
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['volumes:config:volume-group:disk', 'volumes:config:volume-group'],
  )
  assert.notEqual((await app.call('GET', `${groups}/${groupId}`)).etag, before)
})

test('a disk without a source is placed in the default container, and needs a size', async () => {
  assert.equal((await aDisk(app, groupId)).storageContainerId, containerId)
  assert.deepEqual(pathsOf(await postDisk(app, groupId, {})), ['diskSizeBytes'])
})

test('sources: unknown ones are 404, another type 400, a container of another cluster 409, too large a disk 409', async () => {
  const sized = { diskSizeBytes: GiB }
  assert.equal((await postDisk(app, groupId, { ...sized, ...onContainer(randomUUID()) })).status, 404)
  assert.equal((await postDisk(app, groupId, { ...sized, ...copyOf(randomUUID()) })).status, 404)
  assert.equal((await postDisk(app, groupId, { ...sized, ...copyOf(randomUUID(), 'VM_DISK') })).status, 404)
  assert.equal((await postDisk(app, groupId, { ...sized, ...copyOf(randomUUID(), 'DISK_RECOVERY_POINT') })).status, 404)
  assert.deepEqual(pathsOf(await postDisk(app, groupId, { ...sized, ...copyOf(containerId, 'VM') })), [
    'diskDataSourceReference/entityType',
  ])
  const elsewhere = onContainer(seedId('container/hp-extern-01/extern-store'))
  assert.equal((await postDisk(app, groupId, { ...sized, ...elsewhere })).status, 409)
  const tooLarge = await postDisk(app, groupId, { diskSizeBytes: 200 * 1024 * GiB })
  assert.deepEqual(refusal(tooLarge), { status: 409, group: 'INSUFFICIENT_STORAGE' })
})

test('a copied disk has the size of its source, shares its bytes, and remains when the source is deleted', async () => {
  const source = await aDisk(app, groupId, { diskSizeBytes: 4 * GiB })
  const fact = blockDiskFacts(app.world).get(source.extId)
  assert.ok(fact)
  await blockDiskFacts(app.world).put(source.extId, { ...fact, writtenBytes: GiB })
  const before = await usageOf(app)
  const copy = await aDisk(app, groupId, copyOf(source.extId))
  assert.equal(copy.diskSizeBytes, 4 * GiB)
  assert.equal(copy.storageContainerId, containerId)
  const after = await usageOf(app)
  assert.deepEqual([after.logicalBytes - before.logicalBytes, after.physicalBytes - before.physicalBytes], [GiB, 0])
  assert.deepEqual(pathsOf(await postDisk(app, groupId, { ...copyOf(source.extId), diskSizeBytes: GiB })), [
    'diskSizeBytes',
  ])
  await succeeded(app, send(app, 'DELETE', pathOf(source)))
  assert.equal((await app.call('GET', pathOf(copy))).status, 200)
})

test('a disk of a VM can be copied', async () => {
  const vm = await aVm(app, {
    disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: 2 * GiB } }],
  })
  const copy = await aDisk(app, groupId, copyOf(vm.disks[0].extId, 'VM_DISK'))
  assert.equal(copy.diskSizeBytes, 2 * GiB)
})

test('a disk grows, and never shrinks; its index and container stay', async () => {
  const disk = await aDisk(app, groupId, { diskSizeBytes: 20 * GiB })
  const task = await succeeded(app, put(app, pathOf(disk), { diskSizeBytes: 40 * GiB }))
  assert.equal(task.operation, 'VolumeGroupDiskUpdate')
  assert.equal((await app.call('GET', pathOf(disk))).data.diskSizeBytes, 40 * GiB)
  assert.equal(blockDiskFacts(app.world).get(disk.extId)?.sizeBytes, 40 * GiB)
  assert.deepEqual(refusal(await put(app, pathOf(disk), { diskSizeBytes: 20 * GiB })), {
    status: 400,
    group: 'DISK_CANNOT_SHRINK',
  })
  for (const change of [{ index: disk.index + 1 }, { storageContainerId: goldId }]) {
    const result = await put(app, pathOf(disk), { diskSizeBytes: 40 * GiB, ...change })
    assert.deepEqual(refusal(result), { status: 400, group: 'IMMUTABLE_ATTRIBUTE' })
  }
  await succeeded(
    app,
    put(app, pathOf(disk), { index: disk.index, storageContainerId: containerId, description: 'grown' }),
  )
  assert.equal((await app.call('GET', pathOf(disk))).data.description, 'grown')
})

test('an update may repeat the source of a disk, or the container of a disk that began empty, and name no other', async () => {
  const source = (extId: string) => ({
    diskSizeBytes: GiB,
    diskDataSourceReference: { extId, entityType: 'STORAGE_CONTAINER' },
  })
  const made = await aDisk(app, groupId, source(containerId))
  await succeeded(app, put(app, pathOf(made), { ...source(containerId), description: 'repeated' }))
  const changed = await put(app, pathOf(made), source(goldId))
  assert.deepEqual(refusal(changed), { status: 400, group: 'IMMUTABLE_ATTRIBUTE' })
  const without = await aDisk(app, groupId)
  await succeeded(app, put(app, pathOf(without), source(without.storageContainerId)))
  assert.deepEqual(refusal(await put(app, pathOf(without), source(goldId))), {
    status: 400,
    group: 'IMMUTABLE_ATTRIBUTE',
  })
})

test('a cluster that refuses to grow a disk leaves it as it was', async () => {
  const disk = await aDisk(app, groupId)
  const faults = app.world.collection('hardware.faults')
  await faults.put(clusterId, { refuses: ['resizeDisk'] })
  const started = await put(app, pathOf(disk), { diskSizeBytes: 2 * GiB })
  // The undo is tried again until the cluster takes it.
  const isUndoing = async () => ((await app.store.get(Task, started.data.extId)) as any).runner.undoing === true
  while (!(await isUndoing())) await new Promise((resolve) => setImmediate(resolve))
  await faults.remove(clusterId)
  assert.equal((await app.task(started)).status, 'FAILED')
  assert.equal((await app.call('GET', pathOf(disk))).data.diskSizeBytes, GiB)
  assert.equal(blockDiskFacts(app.world).get(disk.extId)?.sizeBytes, GiB)
})

test('a disk of another group is not found under this one', async () => {
  const other = await aGroup(app)
  const disk = await aDisk(app, groupId)
  assert.equal((await app.call('GET', pathOf(disk, other.extId))).status, 404)
  assert.equal((await send(app, 'DELETE', pathOf(disk, other.extId))).status, 404)
  const changed = await send(app, 'PUT', pathOf(disk, other.extId), {
    body: { diskSizeBytes: 2 * GiB },
    ifMatch: (await app.call('GET', pathOf(disk))).etag as string,
  })
  assert.equal(changed.status, 404)
})

test('lists are in the order of the indexes, filter by container, and find nothing for a value that names nothing', async () => {
  const { extId } = await aGroup(app)
  for (const index of [7, 3, 5]) await aDisk(app, extId, { index, diskSizeBytes: (10 - index) * GiB })
  const indexes = async (query: string) =>
    (await app.call('GET', `${groups}/${extId}/disks?${query}`)).data.map((disk: any) => disk.index)
  assert.deepEqual(await indexes(''), [3, 5, 7])
  assert.deepEqual(await indexes('$orderby=diskSizeBytes'), [7, 5, 3])
  assert.deepEqual(await indexes(`$filter=storageContainerId eq '${containerId}'`), [3, 5, 7])
  const none = await app.call('GET', `${groups}/${extId}/disks?$filter=storageContainerId eq 'invalid'`)
  assert.deepEqual([none.status, none.total], [200, 0])
})

test('a disk without its own setting shows the flash mode of its group', async () => {
  const group = await aGroup(app, { storageFeatures: { flashMode: { isEnabled: true } } })
  const own = await aDisk(app, group.extId, {
    diskSizeBytes: GiB,
    diskStorageFeatures: { flashMode: { isEnabled: false } },
  })
  const without = await aDisk(app, group.extId)
  assert.equal(own.diskStorageFeatures.flashMode.isEnabled, false)
  assert.equal(without.diskStorageFeatures.flashMode.isEnabled, true)
})

test('a disk can be deleted while its group is attached', async () => {
  const vm = await aVm(app)
  const { extId } = await aGroup(app)
  const disk = await aDisk(app, extId)
  await succeeded(app, act(app, extId, 'attach-vm', { extId: vm.extId }))
  await succeeded(app, send(app, 'DELETE', pathOf(disk, extId)))
  assert.equal((await app.call('GET', pathOf(disk, extId))).status, 404)
})

test('a container in the body of a new disk is ignored; one that is being removed, or is the source of another cluster, is 409', async () => {
  const disk = await aDisk(app, groupId, { diskSizeBytes: GiB, storageContainerId: goldId })
  assert.equal(disk.storageContainerId, containerId)
  const extId = randomUUID()
  await app.store.transaction((store) =>
    store.insert(StorageContainer, {
      extId,
      containerExtId: extId,
      name: 'leaving',
      clusterExtId: clusterId,
      replicationFactor: 1,
      isMarkedForRemoval: true,
    } as never),
  )
  assert.equal((await postDisk(app, groupId, { diskSizeBytes: GiB, ...onContainer(extId) })).status, 409)
  const elsewhere = await aGroup(app, { clusterReference: seedId('cluster/cloud-1') })
  const far = await aDisk(app, elsewhere.extId)
  assert.equal((await postDisk(app, groupId, copyOf(far.extId))).status, 409)
})

test('a disk that is being copied cannot be deleted, nor its group', async () => {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  let isHolding = false
  const hung = await startApp({
    beforeStep: (definition) => (isHolding && definition === 'volumes.create-volume-disk' ? gate : undefined),
  })
  const [source, target] = [await aGroup(hung), await aGroup(hung)]
  const disk = await aDisk(hung, source.extId)
  isHolding = true
  const copying = await postDisk(hung, target.extId, copyOf(disk.extId))
  const busy = { status: 409, group: 'VOLUME_GROUP_BUSY' }
  assert.deepEqual(refusal(await send(hung, 'DELETE', pathOf(disk, source.extId))), busy)
  assert.deepEqual(refusal(await send(hung, 'DELETE', `${groups}/${source.extId}`)), busy)
  open()
  await succeeded(hung, copying)
  await succeeded(hung, send(hung, 'DELETE', pathOf(disk, source.extId)))
  await hung.close()
})

test('a group has at most 256 disks', async () => {
  const { extId } = await aGroup(app)
  const started = await Promise.all(Array.from({ length: 257 }, () => postDisk(app, extId, { diskSizeBytes: 524_288 })))
  assert.equal(started.filter(({ status }) => status === 202).length, 256)
  assert.deepEqual(refusal(started.find(({ status }) => status !== 202)!), { status: 422, group: 'LIMIT_EXCEEDED' })
  for (const one of started) if (one.status === 202) await succeeded(app, one)
  const listed = await app.call('GET', `${groups}/${extId}/disks?$limit=100&$page=2`)
  assert.deepEqual([listed.total, listed.data.at(-1).index], [256, 255])
})

test('a size beyond the largest, and a description of 1001 characters, are 400', async () => {
  assert.deepEqual(pathsOf(await postDisk(app, groupId, { diskSizeBytes: 219_902_325_555_712 })), ['diskSizeBytes'])
  const description = 'd'.repeat(1001)
  assert.deepEqual(pathsOf(await postDisk(app, groupId, { diskSizeBytes: GiB, description })), ['description'])
  assert.deepEqual(pathsOf(await postDisk(app, groupId, { diskSizeBytes: GiB, index: 16_384 })), ['index'])
})

test('two concurrent disk creations get different indexes', async () => {
  const { extId } = await aGroup(app)
  const started = await Promise.all([1, 2].map((size) => postDisk(app, extId, { diskSizeBytes: size * GiB })))
  for (const one of started) await succeeded(app, one)
  const listed = (await app.call('GET', `${groups}/${extId}/disks`)).data
  assert.deepEqual(
    listed.map((disk: any) => disk.index),
    [0, 1],
  )
})
