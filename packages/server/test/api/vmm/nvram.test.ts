/** `nvramDevice` of UEFI VMs. Source: behaviour vmm.md 1.1 (Firmware). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import {
  act,
  aNativeCluster,
  aVm,
  change,
  changed,
  emptyDisk,
  type NativeCluster,
  postVm,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
let other: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
  other = await aNativeCluster(app)
})
after(() => app.close())

async function aContainer(): Promise<string> {
  const extId = randomUUID()
  const row = { extId, containerExtId: extId, name: `c-${extId}`, clusterExtId: cluster.extId, replicationFactor: 1 }
  await app.store.transaction((store) => store.insert(StorageContainer, row as never))
  return extId
}
const uefi = (backingStorageInfo?: object) => ({
  bootConfig: {
    $objectType: 'vmm.v4.ahv.config.UefiBoot',
    ...(backingStorageInfo === undefined ? {} : { nvramDevice: { backingStorageInfo } }),
  },
})
const nvramOf = (vm: any): any => vm.bootConfig.nvramDevice.backingStorageInfo
const image = () => ({
  dataSource: { reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: cluster.imageExtId } },
})
const isThere = (extId: string): boolean => diskFacts(app.world).get(extId) !== undefined

test('a new VM gets the NVRAM file with the size and in the container that the body names', async () => {
  const container = await aContainer()
  const wanted = { diskSizeBytes: 1_048_576, storageContainer: { extId: container } }
  const { diskExtId, diskSizeBytes, storageContainer } = nvramOf(await aVm(app, cluster, uefi(wanted)))
  assert.deepEqual({ diskSizeBytes, storageContainer }, wanted)
  const fact = diskFacts(app.world).get(diskExtId)
  assert.deepEqual([fact?.containerExtId, fact?.sizeBytes], [container, 1_048_576])
  const usual = nvramOf(await aVm(app, cluster, uefi()))
  assert.deepEqual([usual.diskSizeBytes, usual.storageContainer.extId], [540_672, cluster.containerExtId])
})

test('an NVRAM file has the content of its data source', async () => {
  const source = await aVm(app, cluster, { disks: [emptyDisk(1_048_576)] })
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: source.disks[0].extId }
  const nvram = nvramOf(await aVm(app, cluster, uefi({ dataSource: { reference } })))
  assert.equal(nvram.dataSource.reference.diskExtId, source.disks[0].extId)
  assert.equal(nvram.diskSizeBytes, 1_048_576)
  assert.ok(diskFacts(app.world).get(nvram.diskExtId)?.parentExtId, 'the file is a layer over the source')
})

test('an unknown data source is 404, a container of another cluster 409, a file above 64 MiB 400', async () => {
  const gone = { dataSource: { reference: { ...image().dataSource.reference, imageExtId: randomUUID() } } }
  const refused = await postVm(app, cluster, uefi(gone))
  assert.equal(refused.status, 404)
  const away = { storageContainer: { extId: other.containerExtId } }
  assert.equal((await postVm(app, cluster, uefi(away))).status, 409)
  const large = await postVm(app, cluster, uefi({ diskSizeBytes: 65 * 1024 ** 2 }))
  assert.deepEqual(
    [large.status, large.errors[0]?.argumentsMap?.['attributePath']],
    [400, 'bootConfig/nvramDevice/backingStorageInfo/diskSizeBytes'],
  )
})

test('an update that sends the NVRAM file as it was read keeps the file, and another size or container makes a new one', async () => {
  const vm = await aVm(app, cluster, uefi())
  const first = nvramOf(vm)
  assert.equal((await changed(app, vm.extId, { put: { ...vm, description: 'changed' } })).status, 'SUCCEEDED')
  assert.equal(nvramOf(await readVm(app, vm.extId)).diskExtId, first.diskExtId)
  const container = await aContainer()
  const put = { ...vm, ...uefi({ diskSizeBytes: 2_097_152, storageContainer: { extId: container } }) }
  assert.equal((await changed(app, vm.extId, { put })).status, 'SUCCEEDED')
  const second = nvramOf(await readVm(app, vm.extId))
  assert.deepEqual([second.diskSizeBytes, second.storageContainer.extId], [2_097_152, container])
  assert.deepEqual([isThere(first.diskExtId), isThere(second.diskExtId)], [false, true])
  await changed(app, vm.extId, 'power-on')
  const refused = await change(app, vm.extId, { put: { ...put, ...uefi({ diskSizeBytes: 3_145_728 }) } })
  assert.equal(refused.errors[0]?.code, 'VMM-30101')
  const away = { ...put, ...uefi({ storageContainer: { extId: other.containerExtId } }) }
  assert.equal((await change(app, vm.extId, { put: away })).status, 409)
})

test('a clone gets an NVRAM file of its own: of the size of the source, or as its body says', async () => {
  const source = await aVm(app, cluster, uefi({ diskSizeBytes: 1_048_576 }))
  const container = await aContainer()
  const clone = async (body: object): Promise<any> => {
    const task = await app.task(await act(app, source.extId, 'clone', body))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    return nvramOf(await readVm(app, task.entitiesAffected[1].extId))
  }
  const plain = await clone({})
  assert.notEqual(plain.diskExtId, nvramOf(source).diskExtId)
  assert.equal(plain.diskSizeBytes, 1_048_576)
  const wanted = await clone(uefi({ diskSizeBytes: 2_097_152, storageContainer: { extId: container } }))
  assert.deepEqual([wanted.diskSizeBytes, wanted.storageContainer.extId], [2_097_152, container])
  assert.ok(isThere(wanted.diskExtId))
})

test('a creation that fails leaves no NVRAM file, and its container can be deleted', async () => {
  const container = await aContainer()
  const body = { ...uefi({ storageContainer: { extId: container } }), pcieDevices: [], memorySizeBytes: 1024 ** 3 }
  const files = diskFacts(app.world).all().size
  const huge = { backingInfo: { diskSizeBytes: 60 * 1024 ** 4 } }
  const task = await app.task(await postVm(app, cluster, { ...body, disks: [huge] }))
  assert.equal(task.status, 'FAILED')
  assert.equal(diskFacts(app.world).all().size, files)
  assert.equal(
    (await app.store.find(Vm)).filter(({ bootConfig }) => JSON.stringify(bootConfig).includes(container)).length,
    0,
  )
})
