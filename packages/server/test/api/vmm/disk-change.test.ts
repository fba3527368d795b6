/** Disks that are added to, changed in and removed from existing VMs. Source: behaviour vmm.md 1.0, 1.2, 1.16, 3.4, 5. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { poolUsage } from '../../../src/domains/storage-space/capacity.ts'
import { diskFacts, domainFacts, fullFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { contentBytes } from '../../../src/drivers/simulated/hypervisor/layers.ts'
import { advance } from '../../support/clustermgmt.ts'
import { aFault, noFaults, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aVm,
  bootDisk,
  change,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { failed, Gate, pathsOf, refusal, send, succeeded, vms } from '../../support/vm-parts.ts'

let app: TestApp
let cluster: NativeCluster
const gate = new Gate()
before(async () => {
  app = await startApp({ config: { seed: 'empty', clock: 'frozen' }, beforeStep: gate.wait })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const post = (vm: string, body: object, options: CallOptions = {}) => send(app, 'POST', `${vm}/disks`, body, options)
const put = (vm: string, disk: string, body: object, options: CallOptions = {}) =>
  send(app, 'PUT', `${vm}/disks/${disk}`, body, options)
const remove = (vm: string, disk: string, options: CallOptions = {}) =>
  send(app, 'DELETE', `${vm}/disks/${disk}`, undefined, options)
const disksOf = async (vm: string): Promise<any[]> => (await app.call('GET', `${vms}/${vm}/disks`)).data ?? []
const readDisk = async (vm: string, disk: string): Promise<any> =>
  (await app.call('GET', `${vms}/${vm}/disks/${disk}`)).data
const aDisk = async (vm: string, body: object = emptyDisk()): Promise<string> =>
  (await succeeded(app, post(vm, body))).entitiesAffected[0].extId
const at = (busType: string, index?: number) => ({
  diskAddress: { busType, ...(index === undefined ? {} : { index }) },
})
const slotOf = ({ diskAddress }: any) => `${diskAddress.busType} ${diskAddress.index}`
const contentOf = (extId: string): number => contentBytes(diskFacts(app.world), fileFact(extId)!, app.clock.now())
const fileFact = (extId: string) => diskFacts(app.world).get(extId)
const ofDomain = (vm: string) => domainFacts(app.world).get(vm)?.domain.diskExtIds
const usedBytes = async ({ extId, containerExtId }: NativeCluster): Promise<number> => {
  const pool = await poolUsage({ store: app.store, clock: app.clock, drivers: app.drivers }, extId)
  return pool.containers.get(containerExtId)?.logicalBytes ?? 0
}
async function aPoint(vmExtId: string): Promise<string> {
  const path = '/vmm/v4.2/ahv/config/vm-recovery-points'
  const task = await succeeded(app, app.call('POST', path, { requestId: randomUUID(), body: { vmExtId } }))
  return task.entitiesAffected[0].extId
}
const writtenIn = (sizeBytes: number, days: number): number => sizeBytes * 0.65 * (1 - Math.exp(-days / 20))
async function aContainer(more: object = {}): Promise<string> {
  const extId = randomUUID()
  const row = { extId, containerExtId: extId, name: `c-${extId}`, clusterExtId: cluster.extId, replicationFactor: 1 }
  await app.store.transaction((store) => store.insert(StorageContainer, { ...row, ...more } as never))
  return extId
}

test('a disk without an address takes the lowest free SCSI index; the order of GET is that of the creations', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [{ ...emptyDisk(), ...at('SCSI', 1) }] })
  for (const body of [emptyDisk(2 * GiB), { ...emptyDisk(3 * GiB), ...at('PCI') }, emptyDisk(4 * GiB)])
    await aDisk(vm, body)
  const disks = await disksOf(vm)
  assert.deepEqual(disks.map(slotOf), ['SCSI 1', 'SCSI 0', 'PCI 0', 'SCSI 2'])
  assert.deepEqual(
    disks.map(({ backingInfo }) => backingInfo.diskSizeBytes / GiB),
    [1, 2, 3, 4],
  )
  for (const { extId, backingInfo } of disks) {
    assert.equal(backingInfo.diskExtId, extId)
    assert.deepEqual(
      [fileFact(extId)?.sizeBytes, fileFact(extId)?.containerExtId],
      [backingInfo.diskSizeBytes, cluster.containerExtId],
    )
  }
  assert.deepEqual((await readVm(app, vm)).disks, disks)
  assert.deepEqual(
    ofDomain(vm),
    disks.map(({ extId }) => extId),
  )
})

test('each task names the disk first and then its VM, and shows the steps of the operation', async () => {
  const { extId: vm, name } = await aVm(app, cluster)
  const created = await succeeded(app, post(vm, emptyDisk()))
  const disk = created.entitiesAffected[0].extId
  const updated = await succeeded(app, put(vm, disk, emptyDisk(2 * GiB)))
  const tasks = [created, updated, await succeeded(app, remove(vm, disk))]
  const steps = [
    ['reserve', 'make', 'plug'],
    ['extend', 'tell guest', 'replace content'],
    ['unplug', 'free'],
  ]
  for (const [index, task] of tasks.entries()) {
    assert.equal(task.operation, `${['Create', 'Update', 'Delete'][index]}Disk`)
    assert.deepEqual(
      task.entitiesAffected.map(({ extId, rel, name }: any) => [extId, rel, name]),
      [
        [disk, 'vmm:ahv:config:vm:disk', undefined],
        [vm, 'vmm:ahv:config:vm', name],
      ],
    )
    assert.deepEqual(
      task.subSteps.map((step: any) => step.name),
      steps[index],
    )
  }
})

test('a taken address is 409, one that the bus does not have 400, also against CD-ROM drives', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()], cdRoms: [{}] })
  for (const address of [at('SCSI', 0), at('IDE', 0)])
    assert.deepEqual(refusal(await post(vm, { ...emptyDisk(), ...address })), [409, 'VMM-30106'])
  for (const address of [at('IDE', 4), at('SCSI', 256)]) {
    const sent = await post(vm, { ...emptyDisk(), ...address })
    assert.deepEqual([...refusal(sent), ...pathsOf(sent)], [400, 'VMM-10000', 'diskAddress/index'])
  }
  await aDisk(vm, { ...emptyDisk(), ...at('IDE') })
  assert.deepEqual((await disksOf(vm)).map(slotOf), ['SCSI 0', 'IDE 1'])
})

test('buses that the machine does not have are 400', async () => {
  const q35 = await aVm(app, cluster, { machineType: 'Q35' })
  const withoutScsi = await aVm(app, cluster, { isScsiControllerEnabled: false })
  for (const [vm, address] of [
    [q35.extId, at('IDE')],
    [q35.extId, at('SPAPR')],
    [withoutScsi.extId, {}],
  ] as const) {
    const sent = await post(vm, { ...emptyDisk(), ...address })
    assert.deepEqual([...refusal(sent), ...pathsOf(sent)], [400, 'VMM-10000', 'diskAddress/busType'])
  }
})

test('a body without size and source, with a size beyond 64 TiB or with bad attributes is 400 with every path', async () => {
  const { extId: vm } = await aVm(app, cluster)
  for (const [body, paths] of [
    [{}, ['backingInfo']],
    [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk' } }, ['backingInfo']],
    [
      { ...emptyDisk(64 * 1024 * GiB + 1), customAttributes: ['none'] },
      ['customAttributes[0]', 'backingInfo/diskSizeBytes'],
    ],
  ] as const) {
    const sent = await post(vm, body)
    assert.deepEqual([sent.status, pathsOf(sent)], [400, paths], JSON.stringify(sent.errors))
  }
})

test('a disk of an image is a layer over it, at least as large, and boots its guest; the image can be deleted later', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const imageExtId = randomUUID()
  await app.store.transaction((store) =>
    store.insert(Image, {
      extId: imageExtId,
      name: 'windows',
      type: 'DISK_IMAGE',
      sizeBytes: 2 * GiB,
      clusterLocationExtIds: [cluster.extId],
    } as never),
  )
  const body = bootDisk({ ...cluster, imageExtId })
  const disk = await aDisk(vm, { backingInfo: { ...body.backingInfo, diskSizeBytes: GiB } })
  assert.equal((await readDisk(vm, disk)).backingInfo.diskSizeBytes, 2 * GiB)
  assert.equal(fileFact(disk)?.os, 'windows')
  await succeeded(app, app.call('DELETE', `/vmm/v4.2/content/images/${imageExtId}`, { requestId: randomUUID() }))
  assert.equal((await readDisk(vm, disk)).backingInfo.dataSource.reference.imageExtId, imageExtId)
  await succeeded(app, change(app, vm, 'power-on'))
})

test('an image that a queued creation reads, and its container, cannot be deleted', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const container = await aContainer()
  const body = { ...bootDisk(cluster).backingInfo, storageContainer: { extId: container } }
  const [started, image, gone] = await gate.whileClosed(async () => [
    await post(vm, { backingInfo: body }),
    await app.call('DELETE', `/vmm/v4.2/content/images/${cluster.imageExtId}`, { requestId: randomUUID() }),
    await app.call('DELETE', `/clustermgmt/v4.2/config/storage-containers/${container}`, {
      requestId: randomUUID(),
      ifMatch: (await app.call('GET', `/clustermgmt/v4.2/config/storage-containers/${container}`)).etag as string,
    }),
  ])
  assert.deepEqual([image?.status, gone?.status], [409, 409], JSON.stringify([image?.errors, gone?.errors]))
  await succeeded(app, started as CallResult)
  assert.equal((await app.store.get(Vm, vm))?.filesUnderWay, undefined)
})

test('a source that does not exist is 404, one of another cluster 409', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const sent = await post(vm, bootDisk({ ...cluster, imageExtId: randomUUID() }))
  assert.deepEqual(
    [...refusal(sent), ...pathsOf(sent)],
    [404, 'VMM-20005', 'backingInfo/dataSource/reference'],
    JSON.stringify(sent.errors),
  )
  const elsewhere = await aNativeCluster(app)
  const other = await aVm(app, elsewhere, { disks: [emptyDisk()] })
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: other.disks[0].extId }
  assert.equal((await post(vm, { backingInfo: { dataSource: { reference } } })).status, 409)
  const storageContainer = { extId: elsewhere.containerExtId }
  assert.equal((await post(vm, { backingInfo: { diskSizeBytes: GiB, storageContainer } })).status, 409)
})

test('a clone of a disk keeps its content after the source is deleted', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const [source] = await disksOf(vm)
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: source.extId }
  const copy = await aDisk(vm, { backingInfo: { dataSource: { reference } } })
  await succeeded(app, remove(vm, source.extId))
  assert.deepEqual([fileFact(copy)?.os, fileFact(source.extId)], ['linux', undefined])
  await succeeded(app, remove(vm, copy))
  assert.deepEqual([fileFact(copy), fileFact(source.extId), await disksOf(vm)], [undefined, undefined, []])
})

test('a running VM adds and removes disks on SCSI and PCI, not on IDE and SATA', async () => {
  const cold = [at('IDE'), at('SATA')].map((address) => ({ ...emptyDisk(), ...address }))
  const { extId: vm } = await aVm(app, cluster, { disks: [bootDisk(cluster), ...cold] })
  const [, ide, sata] = await disksOf(vm)
  await changed(app, vm, 'power-on')
  for (const address of [at('SCSI'), at('PCI')]) {
    const disk = await aDisk(vm, { ...emptyDisk(), ...address })
    assert.ok(ofDomain(vm)?.includes(disk))
    await succeeded(app, remove(vm, disk))
    assert.deepEqual([ofDomain(vm)?.includes(disk), fileFact(disk)], [false, undefined])
  }
  for (const sent of [await post(vm, cold[0] as object), await post(vm, cold[1] as object)])
    assert.deepEqual(refusal(sent), [409, 'VMM-30101'])
  for (const { extId } of [ide, sata]) assert.deepEqual(refusal(await remove(vm, extId)), [409, 'VMM-30101'])
})

test('a guest that runs stays up when its boot disk is removed; after the next start it has none', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  await changed(app, vm, 'power-on')
  await advance(app, 1)
  const phase = async () => (await app.drivers.hypervisor.observeGuests([vm])).get(vm)?.phase
  assert.equal(await phase(), 'running')
  await succeeded(app, remove(vm, (await disksOf(vm))[0].extId))
  assert.equal(await phase(), 'running')
  await changed(app, vm, 'reset')
  await advance(app, 1)
  assert.equal(await phase(), 'loader')
})

test('the disk that bootDevice names cannot be deleted', async () => {
  const bootDevice = { $objectType: 'vmm.v4.ahv.config.BootDeviceDisk', diskAddress: { busType: 'SCSI', index: 0 } }
  const bootConfig = { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootDevice }
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk(), emptyDisk()], bootConfig })
  const [first, second] = await disksOf(vm)
  const sent = await remove(vm, first.extId)
  assert.deepEqual(refusal(sent), [409, 'VMM-30104'])
  assert.match(sent.errors[0]?.message ?? '', /bootDevice/)
  await succeeded(app, remove(vm, second.extId))
})

test('a disk grows while its VM runs, and never shrinks', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk(2 * GiB)] })
  await changed(app, vm, 'power-on')
  const [disk] = await disksOf(vm)
  const shrunk = await put(vm, disk.extId, emptyDisk(GiB))
  assert.deepEqual([...refusal(shrunk), ...pathsOf(shrunk)], [400, 'VMM-10000', 'backingInfo/diskSizeBytes'])
  await succeeded(app, put(vm, disk.extId, { ...disk, backingInfo: { ...disk.backingInfo, diskSizeBytes: 5 * GiB } }))
  const grown = await readDisk(vm, disk.extId)
  assert.deepEqual(grown, { ...disk, backingInfo: { ...disk.backingInfo, diskSizeBytes: 5 * GiB } })
  assert.equal(fileFact(disk.extId)?.sizeBytes, 5 * GiB)
  // The tag and all else that was read may be sent back.
  await succeeded(app, put(vm, disk.extId, grown))
  assert.deepEqual(await readDisk(vm, disk.extId), grown)
})

test('the usage of the container rises with writes alone, and falls with the disk', async () => {
  const own = await aNativeCluster(app)
  const { extId: vm } = await aVm(app, own)
  await changed(app, vm, 'power-on')
  const days = 24 * 60
  await advance(app, 20 * days)
  const images = await usedBytes(own)
  const disk = await aDisk(vm, emptyDisk(100 * GiB))
  assert.equal(await usedBytes(own), images)
  await advance(app, 20 * days)
  const written = (await usedBytes(own)) - images
  assert.ok(written > 40 * GiB && written < 42 * GiB, String(written))
  await succeeded(app, put(vm, disk, emptyDisk(400 * GiB)))
  assert.equal((await usedBytes(own)) - images, written)
  await advance(app, days)
  const later = (await usedBytes(own)) - images - written
  assert.ok(later > 10 * GiB && later < 12 * GiB, String(later))
  await succeeded(app, remove(vm, disk))
  assert.equal(await usedBytes(own), images)
  assert.equal((await app.store.get(Vm, vm))?.diskFills, undefined)
})

test('a disk over the layer of a recovery point keeps its content through a resize and a move', async () => {
  const own = await aNativeCluster(app)
  const { extId: vm } = await aVm(app, own, { disks: [emptyDisk(100 * GiB)] })
  const [{ extId: disk }] = await disksOf(vm)
  const days = 24 * 60
  await advance(app, 20 * days)
  const image = (await usedBytes(own)) - writtenIn(100 * GiB, 20)
  await aPoint(vm)
  await advance(app, 20 * days)
  const used = await usedBytes(own)
  await succeeded(app, put(vm, disk, emptyDisk(400 * GiB)))
  assert.equal(await usedBytes(own), used)

  const content = contentOf(disk)
  const target = await aContainer({ clusterExtId: own.extId })
  const storageContainer = { extId: target }
  const migrateDisks = { $objectType: 'vmm.v4.ahv.config.AllDisksMigrationPlan', storageContainer }
  await succeeded(app, send(app, 'POST', `${vm}/$actions/migrate-vm-disks`, { migrateDisks }))
  assert.equal(contentOf(disk), content)
  assert.equal(await usedBytes({ ...own, containerExtId: target }), content)
  // The layer of the recovery point stays where it was.
  const left = (await usedBytes(own)) - image
  assert.ok(Math.abs(left - writtenIn(100 * GiB, 20)) < GiB / 100, String(left))
  await checkInvariants(app)
})

test('a PUT that returns a disk as it was read keeps its recovery point as the source', async () => {
  const { extId: source } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const path = `/vmm/v4.2/ahv/config/vm-recovery-points/${await aPoint(source)}/$actions/restore`
  const task = await succeeded(app, app.call('POST', path, { requestId: randomUUID(), body: {} }))
  const vm = task.entitiesAffected[1].extId
  const [disk] = await disksOf(vm)
  assert.equal(disk.backingInfo.dataSource.reference.$objectType, 'vmm.v4.ahv.config.VmDiskRecoveryPointReference')
  const grown = { ...disk, backingInfo: { ...disk.backingInfo, diskSizeBytes: 2 * GiB } }
  await succeeded(app, put(vm, disk.extId, grown))
  assert.deepEqual(await readDisk(vm, disk.extId), grown)
})

test('the image of a disk whose creation is queued behind a revert cannot be deleted', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const vmRecoveryPointExtId = await aPoint(vm)
  const started = await gate.whileClosed(async () => [
    await send(app, 'POST', `${vm}/$actions/revert`, { vmRecoveryPointExtId }),
    await post(vm, bootDisk(cluster)),
  ])
  const [reverted, created] = started as [CallResult, CallResult]
  await succeeded(app, reverted)
  const [file] = (await app.store.get(Vm, vm))?.filesUnderWay ?? []
  assert.ok(file === undefined || file.imageExtId === cluster.imageExtId)
  await succeeded(app, created)
  assert.equal((await app.store.get(Vm, vm))?.filesUnderWay, undefined)
})

test('the statistics of a disk follow its size, and begin with the disk', async () => {
  const { extId: vm } = await aVm(app, cluster)
  await advance(app, 60)
  const disk = await aDisk(vm)
  await advance(app, 60)
  await succeeded(app, put(vm, disk, emptyDisk(2 * GiB)))
  const now = app.clock.now()
  const iso = (millis: number): string => new Date(millis).toISOString()
  const [from, to] = [iso(now - 2 * 3600_000), iso(now)].map(encodeURIComponent)
  const pointsAt = async (path: string): Promise<any[]> => {
    const { data, errors } = await app.call('GET', `/vmm/v4.2/ahv/stats/vms/${path}?$startTime=${from}&$endTime=${to}`)
    assert.deepEqual(errors, [])
    return data.stats
  }
  const points = await pointsAt(`${vm}/disks/${disk}`)
  const first = Date.parse(points[0].timestamp)
  assert.ok(points.length > 100 && first > now - 3600_000, `${points.length} points from ${iso(first)}`)
  const capacities = (await pointsAt(vm)).map(({ diskCapacityBytes }) => diskCapacityBytes)
  assert.deepEqual([capacities[0], capacities.at(-1)], [0, 2 * GiB])
})

test('a container that is full fails the task with the code of storage, and nothing is left', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const [disk] = await disksOf(vm)
  const files = diskFacts(app.world).all().size
  await fullFacts(app.world).put(cluster.containerExtId, { since: 0 })
  for (const request of [() => post(vm, emptyDisk()), () => put(vm, disk.extId, emptyDisk(2 * GiB))]) {
    const task = await failed(app, request())
    assert.equal(task.errorMessages[0].code, 'VMM-40002')
  }
  await fullFacts(app.world).remove(cluster.containerExtId)
  const { errorMessages } = await failed(app, post(vm, emptyDisk(60_000 * GiB)))
  assert.equal(errorMessages[0].code, 'VMM-40002')
  assert.deepEqual([await disksOf(vm), diskFacts(app.world).all().size], [[disk], files])
  assert.equal((await app.store.get(Vm, vm))?.filesUnderWay, undefined)
})

test('PUT replaces flash mode and attributes, and cannot change address and container', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const storageConfig = { isFlashModeEnabled: true }
  const disk = await aDisk(vm, { backingInfo: { diskSizeBytes: GiB, storageConfig }, customAttributes: ['a:1'] })
  const backingInfo = { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB }
  await succeeded(app, put(vm, disk, { backingInfo, customAttributes: ['b:2'] }))
  const changedDisk = await readDisk(vm, disk)
  assert.deepEqual([changedDisk.backingInfo.storageConfig, changedDisk.customAttributes], [undefined, ['b:2']])
  const container = await aContainer()
  for (const [body, path] of [
    [{ backingInfo, ...at('SCSI', 7) }, 'diskAddress'],
    [{ backingInfo, ...at('PCI') }, 'diskAddress'],
    [{ backingInfo: { ...backingInfo, storageContainer: { extId: container } } }, 'backingInfo/storageContainer/extId'],
    [{}, 'backingInfo'],
  ] as const) {
    const sent = await put(vm, disk, body)
    assert.deepEqual([...refusal(sent), ...pathsOf(sent)], [400, 'VMM-10000', path])
  }
  assert.deepEqual(await readDisk(vm, disk), changedDisk)
})

test('a new data source replaces the content of a disk while the VM is OFF, and cannot be combined with a new size', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk(3 * GiB)] })
  const [{ extId: disk }] = (await disksOf(vm)) as [any]
  const { dataSource } = bootDisk(cluster).backingInfo
  const both = await put(vm, disk, { backingInfo: { dataSource, diskSizeBytes: 4 * GiB } })
  assert.deepEqual([...refusal(both), ...pathsOf(both)], [400, 'VMM-10000', 'backingInfo/diskSizeBytes'])
  const files = diskFacts(app.world).all().size
  await succeeded(app, put(vm, disk, { backingInfo: { dataSource } }))
  const { backingInfo } = await readDisk(vm, disk)
  assert.deepEqual([backingInfo.diskExtId, backingInfo.diskSizeBytes], [disk, 3 * GiB])
  assert.equal(backingInfo.dataSource.reference.imageExtId, cluster.imageExtId)
  assert.deepEqual([fileFact(disk)?.os, fileFact(disk)?.sizeBytes], ['linux', 3 * GiB])
  assert.equal(diskFacts(app.world).all().size, files)

  await changed(app, vm, 'power-on')
  // The same source is no change.
  await succeeded(app, put(vm, disk, { backingInfo: { dataSource } }))
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: disk }
  const hot = await put(vm, disk, { backingInfo: { dataSource: { reference } } })
  assert.deepEqual(refusal(hot), [409, 'VMM-30101'])
  assert.match(hot.errors[0]?.message ?? '', /dataSource/)
})

test('layers over a disk keep its former content when the disk gets new content', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const [{ extId: disk }] = (await disksOf(vm)) as [any]
  const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: disk }
  const layer = await aDisk(vm, { backingInfo: { dataSource: { reference } } })
  const below = fileFact(layer)?.parentExtId as string
  const second = await aDisk(vm, { backingInfo: { dataSource: { reference: { ...reference, diskExtId: layer } } } })
  await succeeded(app, put(vm, disk, { backingInfo: { dataSource: bootDisk(cluster).backingInfo.dataSource } }))
  assert.deepEqual(
    [fileFact(disk)?.parentExtId, fileFact(disk)?.os, fileFact(layer)?.os],
    [undefined, 'linux', undefined],
  )
  await succeeded(app, remove(vm, layer))
  await succeeded(app, remove(vm, second))
  assert.equal(fileFact(below), undefined)
})

test('a task that fails leaves disks, files and hypervisor unchanged with a new ETag, and can be repeated', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const disks = await disksOf(vm)
  const disk = disks[0].extId
  const { dataSource } = bootDisk(cluster).backingInfo
  const calls = (...methods: string[]) => methods.map((method) => ({ driverCall: { driver: 'hypervisor', method } }))
  const requests = {
    'create-disk': [() => post(vm, bootDisk(cluster)), calls('createDisk', 'defineVm')],
    'update-disk': [() => put(vm, disk, emptyDisk(2 * GiB)), calls('resizeDisk', 'defineVm')],
    'delete-disk': [() => remove(vm, disk), calls('defineVm', 'deleteDisk')],
  } as const
  const sourced = [() => put(vm, disk, { backingInfo: { dataSource } }), calls('createDisk', 'defineVm')] as const
  for (const [request, matches] of [...Object.values(requests), sourced]) {
    const files = new Map(diskFacts(app.world).all())
    for (const match of matches) {
      await aFault(app, match, { ...unavailable }, { next: 1 })
      const tag = await tagOf(app, vm)
      await failed(app, request())
      await noFaults(app)
      assert.deepEqual(await disksOf(vm), disks, JSON.stringify(match))
      assert.deepEqual(new Map(diskFacts(app.world).all()), files, JSON.stringify(match))
      assert.deepEqual([ofDomain(vm), (await app.store.get(Vm, vm))?.filesUnderWay], [[disk], undefined])
      assert.notEqual(await tagOf(app, vm), tag)
    }
  }
  await succeeded(app, put(vm, disk, { backingInfo: { dataSource } }))
  assert.equal(fileFact(disk)?.os, 'linux')
})

test('a queued request that an earlier one made impossible fails in its task with the code of an immediate refusal', async () => {
  const cases: readonly [string, (vm: string, disk: string) => readonly (() => Promise<CallResult>)[], number][] = [
    ['VMM-30106', (vm) => [1, 2].map(() => () => post(vm, { ...emptyDisk(), ...at('PCI', 1) })), 2],
    ['VMM-20005', (vm, disk) => [() => remove(vm, disk), () => put(vm, disk, emptyDisk(2 * GiB))], 0],
    ['VMM-10000', (vm, disk) => [() => put(vm, disk, emptyDisk(3 * GiB)), () => put(vm, disk, emptyDisk(2 * GiB))], 1],
    ['VMM-30101', (vm) => [() => change(app, vm, 'power-on'), () => post(vm, { ...emptyDisk(), ...at('IDE') })], 1],
    ['VMM-20005', (vm) => [() => change(app, vm, 'delete'), () => post(vm, emptyDisk())], 0],
    ['PLAT-10009', (vm, disk) => [() => put(vm, disk, emptyDisk(4 * GiB)), () => put(vm, disk, bootDisk(cluster))], 1],
  ]
  for (const [code, requests, left] of cases) {
    const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
    const [disk] = await disksOf(vm)
    const started = await gate.whileClosed(async () => {
      const sent = []
      for (const request of requests(vm, disk.extId)) sent.push(await request())
      return sent
    })
    const tasks = []
    for (const each of started) tasks.push(await app.task(each))
    assert.deepEqual(
      tasks.map(({ status }) => status),
      ['SUCCEEDED', 'FAILED'],
      code,
    )
    assert.equal(tasks[1].errorMessages[0].code, code)
    assert.equal((await disksOf(vm)).length, left, code)
  }
  await checkInvariants(app)
})

test('the ETag of the VM is required, and of two requests with the same ETag one is accepted', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const [disk] = await disksOf(vm)
  const { etag } = await app.call('GET', `${vms}/${vm}/disks/${disk.extId}`)
  assert.equal(etag, await tagOf(app, vm))
  const ifMatch = etag as string
  for (const options of [{ ifMatch: '' }, { ifMatch: '"other"' }])
    for (const sent of [
      await post(vm, emptyDisk(), options),
      await put(vm, disk.extId, emptyDisk(), options),
      await remove(vm, disk.extId, options),
    ])
      assert.equal(sent.status, options.ifMatch === '' ? 428 : 412)
  const both = await Promise.all([post(vm, emptyDisk(), { ifMatch }), remove(vm, disk.extId, { ifMatch })])
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 412])
  await app.task(both.find(({ status }) => status === 202) as CallResult)
})

test('a disk that does not exist, or belongs to another VM, is 404 before the ETag is compared', async () => {
  const [mine, other] = [await aVm(app, cluster), await aVm(app, cluster, { disks: [emptyDisk()] })]
  for (const [vm, disk] of [
    [mine.extId, other.disks[0].extId],
    [mine.extId, randomUUID()],
    [randomUUID(), other.disks[0].extId],
  ]) {
    const path = `${vms}/${vm}/disks/${disk}`
    for (const [method, at, body] of [
      ['GET', path],
      ['PUT', path, emptyDisk()],
      ['DELETE', path],
      ['POST', `${path}/$actions/add-custom-attributes`, { customAttributes: ['a:1'] }],
    ] as const) {
      const sent = await app.call(method, at, { requestId: randomUUID(), ...(body === undefined ? {} : { body }) })
      assert.deepEqual(refusal(sent), [404, 'VMM-20005'], `${method} ${at}`)
    }
  }
})

test('viewers and operators get 403 for every change; a storage admin may add disks, but not resize them', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const [disk] = await disksOf(vm)
  for (const role of ['Virtual Machine Viewer', 'Virtual Machine Operator'] as const) {
    const as = await aUser(app, [role])
    for (const sent of [
      await post(vm, emptyDisk(), { as }),
      await put(vm, disk.extId, emptyDisk(), { as }),
      await remove(vm, disk.extId, { as }),
    ])
      assert.equal(sent.status, 403, role)
  }
  const as = await aUser(app, ['Storage Admin'])
  assert.equal((await put(vm, disk.extId, emptyDisk(), { as })).status, 403)
  await succeeded(app, post(vm, emptyDisk(), { as }))
})

test('creating and deleting disks in a loop leaves containers, files and hypervisor unchanged', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const before = [await usedBytes(cluster), diskFacts(app.world).all().size]
  for (let count = 0; count < 20; count++) await succeeded(app, remove(vm, await aDisk(vm, bootDisk(cluster))))
  assert.deepEqual([await usedBytes(cluster), diskFacts(app.world).all().size], before)
  await checkInvariants(app)
})
