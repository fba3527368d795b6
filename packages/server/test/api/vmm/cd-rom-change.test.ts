/** CD-ROM drives of existing VMs. Source: behaviour vmm.md 1.0, 1.3, 1.16. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { aFault, noFaults, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aVm,
  bootDisk,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'
import { failed, pathsOf, refusal, send, succeeded, vms } from '../../support/vm-parts.ts'

let app: TestApp
let cluster: NativeCluster
let iso: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
  iso = await anIso()
})
after(() => app.close())

async function anIso(clusterExtId = cluster.extId): Promise<string> {
  const extId = randomUUID()
  const row = { extId, name: 'setup.iso', type: 'ISO_IMAGE', sizeBytes: GiB, clusterLocationExtIds: [clusterExtId] }
  await app.store.transaction((store) => store.insert(Image, row as never))
  return extId
}
const content = (imageExtId = iso) => bootDisk({ ...cluster, imageExtId })
const post = (vm: string, body: object = {}, options: CallOptions = {}) =>
  send(app, 'POST', `${vm}/cd-roms`, body, options)
const remove = (vm: string, drive: string, options: CallOptions = {}) =>
  send(app, 'DELETE', `${vm}/cd-roms/${drive}`, undefined, options)
const insert = (vm: string, drive: string, body: object = content(), options: CallOptions = {}) =>
  send(app, 'POST', `${vm}/cd-roms/${drive}/$actions/insert`, body, options)
const eject = (vm: string, drive: string, options: CallOptions = {}) =>
  send(app, 'POST', `${vm}/cd-roms/${drive}/$actions/eject`, undefined, options)
const drivesOf = async (vm: string): Promise<any[]> => (await app.call('GET', `${vms}/${vm}/cd-roms`)).data ?? []
const aDrive = async (vm: string, body: object = {}): Promise<string> =>
  (await succeeded(app, post(vm, body))).entitiesAffected[0].extId
const isosOf = (vm: string) => domainFacts(app.world).get(vm)?.domain.isoExtIds
const slotsOf = async (vm: string) =>
  (await drivesOf(vm)).map(({ diskAddress }) => `${diskAddress.busType} ${diskAddress.index}`)

test('a drive takes the lowest free address on IDE, or on SATA for Q35; a drive with content has a file of its own', async () => {
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}] })
  const drive = await aDrive(vm, content())
  assert.deepEqual(await slotsOf(vm), ['IDE 0', 'IDE 1'])
  const [empty, full] = await drivesOf(vm)
  assert.deepEqual([empty.isoType, empty.backingInfo, full.isoType, full.extId], ['OTHER', undefined, 'OTHER', drive])
  assert.equal(full.backingInfo.dataSource.reference.imageExtId, iso)
  assert.notEqual(full.backingInfo.diskExtId, drive)
  assert.deepEqual(isosOf(vm), [full.backingInfo.diskExtId])
  assert.equal(diskFacts(app.world).get(full.backingInfo.diskExtId)?.sizeBytes, GiB)
  const q35 = await aVm(app, cluster, { machineType: 'Q35' })
  await aDrive(q35.extId)
  assert.deepEqual(await slotsOf(q35.extId), ['SATA 0'])
  const ide = await post(q35.extId, { diskAddress: { busType: 'IDE' } })
  assert.deepEqual([...refusal(ide), ...pathsOf(ide)], [400, 'VMM-10000', 'diskAddress/busType'])
})

test('each task names the drive first and then its VM', async () => {
  const { extId: vm, name } = await aVm(app, cluster)
  const created = await succeeded(app, post(vm))
  const drive = created.entitiesAffected[0].extId
  const tasks = [created]
  for (const request of [() => insert(vm, drive), () => eject(vm, drive), () => remove(vm, drive)])
    tasks.push(await succeeded(app, request()))
  for (const [index, task] of tasks.entries()) {
    assert.equal(task.operation, `${['Create', 'Insert', 'Eject', 'Delete'][index]}CdRom`)
    assert.deepEqual(
      task.entitiesAffected.map(({ extId, rel, name }: any) => [extId, rel, name]),
      [
        [drive, 'vmm:ahv:config:vm:cdrom', undefined],
        [vm, 'vmm:ahv:config:vm', name],
      ],
    )
  }
  assert.deepEqual([await drivesOf(vm), (await readVm(app, vm)).cdRoms], [[], undefined])
})

test('taken addresses are 409, those that the bus does not have 400, an eleventh drive 422', async () => {
  const { extId: vm } = await aVm(app, cluster, {
    disks: [{ ...emptyDisk(), diskAddress: { busType: 'IDE', index: 0 } }],
  })
  const at = (busType: string, index: number) => ({ diskAddress: { busType, index } })
  assert.deepEqual(refusal(await post(vm, at('IDE', 0))), [409, 'VMM-30106'])
  const beyond = await post(vm, at('SATA', 6))
  assert.deepEqual([...refusal(beyond), ...pathsOf(beyond)], [400, 'VMM-10000', 'diskAddress/index'])
  const buses = ['IDE', 'SATA', 'IDE', 'SATA', 'IDE', 'SATA', 'SATA', 'SATA', 'SATA']
  for (const busType of buses) await aDrive(vm, { diskAddress: { busType } })
  assert.deepEqual(refusal(await post(vm)), [409, 'VMM-30106'])
  const { extId: full } = await aVm(app, cluster, {
    cdRoms: ['IDE', 'IDE', 'IDE', 'IDE', 'SATA', 'SATA', 'SATA', 'SATA', 'SATA'].map((busType) => ({
      diskAddress: { busType },
    })),
  })
  await aDrive(full, at('SATA', 5))
  assert.deepEqual(refusal(await post(full, { diskAddress: { busType: 'SATA' } })), [409, 'VMM-30106'])
})

test('content is inserted only into an empty drive, and ejected only from a full one, also while the VM runs', async () => {
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}] })
  await changed(app, vm, 'power-on')
  const [{ extId: drive }] = (await drivesOf(vm)) as [any]
  const files = diskFacts(app.world).all().size
  assert.equal((await eject(vm, drive)).status, 409)
  for (let count = 0; count < 2; count++) {
    await succeeded(app, insert(vm, drive))
    const [{ backingInfo }] = (await drivesOf(vm)) as [any]
    assert.deepEqual(isosOf(vm), [backingInfo.diskExtId])
    assert.equal((await insert(vm, drive)).status, 409)
    await succeeded(app, eject(vm, drive))
    const empty = { extId: drive, diskAddress: { busType: 'IDE', index: 0 }, isoType: 'OTHER' }
    assert.deepEqual([await drivesOf(vm), isosOf(vm)], [[empty], []])
  }
  assert.equal(diskFacts(app.world).all().size, files)
})

test('content without a data source is 400, of an unknown image 404; a disk image is inserted with a warning', async () => {
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}] })
  const [{ extId: drive }] = (await drivesOf(vm)) as [any]
  for (const body of [{}, { backingInfo: {} }, { backingInfo: { diskSizeBytes: GiB } }]) {
    const sent = await insert(vm, drive, body)
    assert.deepEqual([...refusal(sent), ...pathsOf(sent)], [400, 'VMM-10000', 'backingInfo/dataSource'])
  }
  assert.deepEqual(refusal(await insert(vm, drive, content(randomUUID()))), [404, 'VMM-20005'])
  const task = await succeeded(app, insert(vm, drive, content(cluster.imageExtId)))
  assert.match(task.warnings[0].message, /disk image/)
})

test('an image of another cluster is copied first, and its deletion does not eject it', async () => {
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}] })
  const [{ extId: drive }] = (await drivesOf(vm)) as [any]
  const elsewhere = await aNativeCluster(app)
  const url = 'https://images.example/one.iso'
  const sent = await app.call('POST', '/vmm/v4.2/content/images', {
    requestId: randomUUID(),
    body: {
      name: 'one.iso',
      type: 'ISO_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url },
      clusterLocationExtIds: [elsewhere.extId],
    },
  })
  const image = (await succeeded(app, sent)).entitiesAffected[0].extId
  await succeeded(app, insert(vm, drive, content(image)))
  const { data } = await app.call('GET', `/vmm/v4.2/content/images/${image}`)
  assert.deepEqual(data.clusterLocationExtIds, [elsewhere.extId, cluster.extId])
  await succeeded(app, app.call('DELETE', `/vmm/v4.2/content/images/${image}`, { requestId: randomUUID() }))
  assert.equal((await drivesOf(vm))[0].backingInfo.dataSource.reference.imageExtId, image)
})

test('a running VM refuses to remove drives, and adds only empty drives on SATA', async () => {
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}] })
  const [{ extId: drive }] = (await drivesOf(vm)) as [any]
  await changed(app, vm, 'power-on')
  const sata = { diskAddress: { busType: 'SATA' } }
  for (const sent of [await post(vm), await post(vm, { ...sata, ...content() }), await remove(vm, drive)])
    assert.deepEqual(refusal(sent), [409, 'VMM-30101'])
  const added = await aDrive(vm, sata)
  assert.deepEqual(refusal(await remove(vm, added)), [409, 'VMM-30101'])
  assert.deepEqual(await slotsOf(vm), ['IDE 0', 'SATA 0'])
})

test('the drive that bootDevice names cannot be deleted, and the drive of a staged customisation cannot be ejected', async () => {
  const bootDevice = { $objectType: 'vmm.v4.ahv.config.BootDeviceDisk', diskAddress: { busType: 'IDE', index: 0 } }
  const bootConfig = { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootDevice }
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}], bootConfig })
  const [{ extId: drive }] = (await drivesOf(vm)) as [any]
  assert.deepEqual(refusal(await remove(vm, drive)), [409, 'VMM-30104'])
  const backingInfo = { diskExtId: randomUUID(), diskSizeBytes: 1, storageContainer: { extId: cluster.containerExtId } }
  const cdRoms = (await drivesOf(vm)).map((one) => ({ ...one, backingInfo, isoType: 'GUEST_CUSTOMIZATION' as const }))
  await app.store.transaction((store) => store.observe(Vm, vm, { cdRoms }))
  const sent = await eject(vm, drive)
  assert.equal(sent.status, 409)
  assert.match(sent.errors[0]?.message ?? '', /customisation/)
  await app.store.transaction((store) => store.observe(Vm, vm, { cdRoms: [] }))
})

test('a task that fails leaves drives, files and hypervisor unchanged, with a new ETag', async () => {
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}, content()] })
  const [empty, full] = (await drivesOf(vm)) as [any, any]
  const drives = await drivesOf(vm)
  const isos = isosOf(vm)
  const files = new Map(diskFacts(app.world).all())
  for (const [request, methods] of [
    [() => post(vm, content()), ['createDisk', 'defineVm']],
    [() => insert(vm, empty.extId), ['createDisk', 'defineVm']],
    [() => eject(vm, full.extId), ['defineVm', 'deleteDisk']],
    [() => remove(vm, full.extId), ['defineVm', 'deleteDisk']],
  ] as const) {
    for (const method of methods) {
      await aFault(app, { driverCall: { driver: 'hypervisor', method } }, unavailable, { next: 1 })
      const tag = await tagOf(app, vm)
      await failed(app, request())
      await noFaults(app)
      assert.deepEqual([await drivesOf(vm), isosOf(vm)], [drives, isos], method)
      assert.deepEqual(new Map(diskFacts(app.world).all()), files, method)
      assert.equal((await app.store.get(Vm, vm))?.filesUnderWay, undefined)
      assert.notEqual(await tagOf(app, vm), tag)
    }
  }
  for (const request of [() => eject(vm, full.extId), () => remove(vm, full.extId)]) await succeeded(app, request())
  await checkInvariants(app)
})

test('operators may insert and eject, but not create or delete drives; viewers may change nothing', async () => {
  const { extId: vm } = await aVm(app, cluster, { cdRoms: [{}] })
  const [{ extId: drive }] = (await drivesOf(vm)) as [any]
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  for (const sent of [await insert(vm, drive, content(), { as: viewer }), await eject(vm, drive, { as: viewer })])
    assert.equal(sent.status, 403)
  const as = await aUser(app, ['Virtual Machine Operator'])
  for (const sent of [await post(vm, {}, { as }), await remove(vm, drive, { as })]) assert.equal(sent.status, 403)
  await succeeded(app, eject(vm, await aDrive(vm, content()), { as }))
})
