/** Disks of VMs through the API: those that a creation makes. Source: behaviour vmm.md 1.2, 5. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import {
  aNativeCluster,
  aVm,
  bootDisk,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  postVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aGroup } from '../../support/volumes.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'
const at = (busType: string, index?: number) => ({
  diskAddress: { busType, ...(index === undefined ? {} : { index }) },
})

test('a disk without an address gets the lowest free SCSI index, and GET keeps the order of the body', async () => {
  const sizes = [3, 1, 2].map((n) => n * GiB)
  const vm = await aVm(app, cluster, {
    disks: [{ ...emptyDisk(sizes[0]), ...at('SCSI', 1) }, emptyDisk(sizes[1]), emptyDisk(sizes[2])],
  })
  const { data, total } = await app.call('GET', `${vms}/${vm.extId}/disks`)
  assert.equal(total, 3)
  assert.deepEqual(
    data.map((disk: any) => [disk.backingInfo.diskSizeBytes, disk.diskAddress.busType, disk.diskAddress.index]),
    [
      [sizes[0], 'SCSI', 1],
      [sizes[1], 'SCSI', 0],
      [sizes[2], 'SCSI', 2],
    ],
  )
  for (const disk of data) assert.equal(disk.extId, disk.backingInfo.diskExtId)
})

test('an index that another disk has is 409, an index that the bus does not have is 400', async () => {
  const taken = await postVm(app, cluster, {
    disks: [
      { ...emptyDisk(), ...at('SCSI', 0) },
      { ...emptyDisk(), ...at('SCSI', 0) },
    ],
  })
  assert.deepEqual([taken.status, taken.errors[0]?.code], [409, 'VMM-30106'])
  assert.equal((await postVm(app, cluster, { disks: [{ ...emptyDisk(), ...at('IDE', 4) }] })).status, 400)
})

test('each bus assigns its lowest free index, gaps first, and refuses an index in use and a disk beyond its capacity', async () => {
  for (const [bus, places] of [
    ['SCSI', 256],
    ['SATA', 6],
    ['IDE', 4],
    ['PCI', 6],
  ] as const) {
    const disks = [at(bus, 1), at(bus), at(bus), { diskAddress: { index: 3 } }].map((place) => ({
      ...emptyDisk(),
      ...place,
    }))
    const vm = await aVm(app, cluster, { disks })
    const { data } = await app.call('GET', `${vms}/${vm.extId}/disks`)
    assert.deepEqual(
      data.map(({ diskAddress }: any) => `${diskAddress.busType} ${diskAddress.index}`),
      // An index without a bus says nothing: that disk is on SCSI, at the lowest free place.
      [`${bus} 1`, `${bus} 0`, `${bus} 2`, bus === 'SCSI' ? 'SCSI 3' : 'SCSI 0'],
    )
    const twice = [at(bus, 2), at(bus, 2)].map((place) => ({ ...emptyDisk(), ...place }))
    const taken = await postVm(app, cluster, { disks: twice })
    assert.deepEqual([taken.status, taken.errors[0]?.code], [409, 'VMM-30106'], bus)
    const beyond = await postVm(app, cluster, { disks: [{ ...emptyDisk(), ...at(bus, places) }] })
    assert.equal(beyond.status, 400, bus)
    const many = Array.from({ length: places + 1 }, () => ({ ...emptyDisk(), ...at(bus) }))
    assert.equal((await postVm(app, cluster, { disks: many })).status, 409, bus)
  }
})

test('a volume group and a disk of one VM cannot have the same index', async () => {
  const { extId: group } = await aGroup(app, { clusterReference: cluster.extId })
  const $objectType = 'vmm.v4.ahv.config.ADSFVolumeGroupReference'
  const attached = { backingInfo: { $objectType, volumeGroupExtId: group }, ...at('SCSI', 0) }
  const refused = await postVm(app, cluster, { disks: [{ ...emptyDisk(), ...at('SCSI', 0) }, attached] })
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'VMM-30106'])
})

test('cloning a disk of another cluster is refused with 409', async () => {
  const other = await aNativeCluster(app)
  const far = await aVm(app, other, { disks: [emptyDisk()] })
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: far.disks[0].extId }
  assert.equal((await postVm(app, cluster, { disks: [{ backingInfo: { dataSource: { reference } } }] })).status, 409)
})

test('disks and CD-ROM drives share the indexes of a bus', async () => {
  const vm = await aVm(app, cluster, { disks: [{ ...emptyDisk(), ...at('IDE') }], cdRoms: [{}] })
  assert.deepEqual([vm.disks[0].diskAddress.index, vm.cdRoms[0].diskAddress.index].sort(), [0, 1])
})

test('a disk of an image is at least as large as it, and lies in the default container', async () => {
  const larger = { backingInfo: { ...bootDisk(cluster).backingInfo, diskSizeBytes: 5 * GiB } }
  const smaller = { backingInfo: { ...bootDisk(cluster).backingInfo, diskSizeBytes: GiB } }
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster), larger, smaller] })
  assert.deepEqual(
    vm.disks.map((disk: any) => disk.backingInfo.diskSizeBytes),
    [2 * GiB, 5 * GiB, 2 * GiB],
  )
  assert.equal(vm.disks[0].backingInfo.storageContainer.extId, cluster.containerExtId)
})

/** Ids of the layers below a disk. */
function below(diskExtId: string): string[] {
  const parent = diskFacts(app.world).get(diskExtId)?.parentExtId
  return parent === undefined ? [] : [parent, ...below(parent)]
}

test('a clone of a disk, named by id or by VM and address, shares its layers, in its container', async () => {
  const container = randomUUID()
  const described = {
    extId: container,
    containerExtId: container,
    name: `gold-${container.slice(0, 8)}`,
    clusterExtId: cluster.extId,
    replicationFactor: 1,
  }
  await app.store.transaction((store) => store.insert(StorageContainer, described as never))
  const file = { ...bootDisk(cluster).backingInfo, storageContainer: { extId: container } }
  const source = await aVm(app, cluster, { disks: [{ backingInfo: file }] })
  const $objectType = 'vmm.v4.ahv.config.VmDiskReference'
  const byId = { $objectType, diskExtId: source.disks[0].extId }
  const byAddress = { $objectType, vmReference: { extId: source.extId }, diskAddress: { busType: 'SCSI', index: 0 } }
  const clone = await aVm(app, cluster, {
    disks: [byId, byAddress].map((reference) => ({ backingInfo: { dataSource: { reference } } })),
  })
  for (const disk of clone.disks) {
    assert.equal(disk.backingInfo.storageContainer.extId, container)
    assert.ok(below(source.disks[0].extId).includes(diskFacts(app.world).get(disk.extId)?.parentExtId as string))
    assert.notEqual(disk.extId, source.disks[0].extId)
  }
})

test('a disk can be made from a disk of a volume group', async () => {
  const [volumeGroupExtId, diskExtId] = [randomUUID(), randomUUID()]
  await app.store.transaction(async (store) => {
    await store.insert(VolumeGroup, {
      extId: volumeGroupExtId,
      name: `vg-${volumeGroupExtId}`,
      clusterReference: cluster.extId,
    } as never)
    await store.insert(VolumeDisk, {
      extId: diskExtId,
      volumeGroupExtId,
      index: 0,
      diskSizeBytes: 3 * GiB,
      storageContainerId: cluster.containerExtId,
    } as never)
  })
  const reference = { $objectType: 'vmm.v4.ahv.config.VolumeDiskReference', volumeGroupExtId, diskExtId }
  const vm = await aVm(app, cluster, { disks: [{ backingInfo: { dataSource: { reference } } }] })
  assert.equal(vm.disks[0].backingInfo.diskSizeBytes, 3 * GiB)
})

test('GET returns the source of a disk as it was sent, and an unknown source is 404', async () => {
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  assert.equal(vm.disks[0].backingInfo.dataSource.reference.imageExtId, cluster.imageExtId)
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: randomUUID() }
  const refused = await postVm(app, cluster, {
    disks: [{ backingInfo: { dataSource: { reference } } }, { backingInfo: { dataSource: { reference } } }],
  })
  assert.deepEqual([refused.status, refused.errors.length], [404, 2])
  assert.match(refused.errors[0]?.message ?? '', /could not find the entity/)
  assert.deepEqual(refused.errors[0]?.argumentsMap, {
    entityType: 'disk',
    extId: reference.diskExtId,
    attributePath: 'disks[0]/backingInfo/dataSource/reference',
  })
})

test('disk sources that are not supported yet are refused', async () => {
  const $objectType = 'vmm.v4.ahv.config.VolumeDiskRecoveryPointReference'
  const disk = { backingInfo: { dataSource: { reference: { $objectType, diskRecoveryPointExtId: randomUUID() } } } }
  assert.equal((await postVm(app, cluster, { disks: [disk] })).status, 501)
})

test('a disk is read by its id, and an unknown disk or VM is 404', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk()] })
  const got = await app.call('GET', `${vms}/${vm.extId}/disks/${vm.disks[0].extId}`)
  assert.deepEqual([got.status, got.data.extId], [200, vm.disks[0].extId])
  const other = await aVm(app, cluster)
  for (const path of [
    `${vm.extId}/disks/${randomUUID()}`,
    `${other.extId}/disks/${vm.disks[0].extId}`,
    `${randomUUID()}/disks`,
  ]) {
    const missing = await app.call('GET', `${vms}/${path}`)
    assert.deepEqual([missing.status, missing.errors[0]?.code], [404, 'VMM-20005'], path)
  }
})

test('the list of disks supports paging and no other query option', async () => {
  const vm = await aVm(app, cluster, { disks: [1, 2, 3].map((n) => emptyDisk(n * GiB)) })
  const page = await app.call('GET', `${vms}/${vm.extId}/disks?$page=1&$limit=2`)
  assert.deepEqual([page.total, page.data.length], [3, 1])
  assert.equal((await app.call('GET', `${vms}/${vm.extId}/disks?$orderby=extId`)).status, 400)
})

test('custom attributes must have the form key:value with one value for each key', async () => {
  const vm = await aVm(app, cluster, { disks: [{ ...emptyDisk(), customAttributes: ['tier:gold'] }] })
  assert.deepEqual(vm.disks[0].customAttributes, ['tier:gold'])
  assert.equal((await postVm(app, cluster, { disks: [{ ...emptyDisk(), customAttributes: ['gold'] }] })).status, 400)
})

test('a disk backed by a volume group attaches it: both sides show the attachment, and deleting the VM ends it', async () => {
  const { extId: group } = await aGroup(app, { clusterReference: cluster.extId, sharingStatus: 'NOT_SHARED' })
  const disk = { backingInfo: { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId: group } }
  const vm = await aVm(app, cluster, { disks: [emptyDisk(), disk] })
  assert.deepEqual(
    vm.disks.map(({ backingInfo, diskAddress }: any) => [backingInfo.volumeGroupExtId, diskAddress.index]),
    [
      [undefined, 0],
      [group, 1],
    ],
  )
  const [, entry] = (await app.call('GET', `${vms}/${vm.extId}/disks`)).data
  assert.equal(
    (await app.call('GET', `${vms}/${vm.extId}/disks/${entry.extId}`)).data.backingInfo.volumeGroupExtId,
    group,
  )
  const attached = async (): Promise<string[]> => {
    const shown = (await app.call('GET', `/volumes/v4.2/config/volume-groups/${group}/vm-attachments`)).data
    return shown.map(({ extId }: any) => extId)
  }
  assert.deepEqual(await attached(), [vm.extId])
  assert.equal((await postVm(app, cluster, { disks: [disk] })).errors[0]?.errorGroup, 'VOLUME_GROUP_NOT_SHARED')
  assert.equal((await postVm(app, cluster, { disks: [{ ...disk, ...at('SATA') }] })).status, 400)
  assert.equal((await changed(app, vm.extId, 'delete')).status, 'SUCCEEDED')
  assert.deepEqual(await attached(), [])
})

test('a creation that fails detaches its volume groups', async () => {
  const { extId: group } = await aGroup(app, { clusterReference: cluster.extId })
  const disk = { backingInfo: { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId: group } }
  const failed = await app.task(await postVm(app, cluster, { disks: [disk, emptyDisk(60_000 * GiB)] }))
  assert.equal(failed.status, 'FAILED')
  assert.equal((await aVm(app, cluster, { disks: [disk] })).disks.length, 1)
})
