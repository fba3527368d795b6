/** cloneVm through the API. Source: behaviour vmm.md 1.1 (Clone), 5 (16). */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  act,
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  change,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
/** No step of a task begins before this is resolved. */
let gate: Promise<void> | undefined
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep: () => gate })
  cluster = await aNativeCluster(app)
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.40'])
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'
async function cloned(source: string, body: object = {}): Promise<any> {
  const task = await app.task(await act(app, source, 'clone', body))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return readVm(app, task.entitiesAffected[1].extId)
}
const addressOf = (vm: any): string => vm.nics[0].networkInfo.ipv4Config.ipAddress.value
const macOf = (vm: any): string => vm.nics[0].backingInfo.macAddress

async function aCategory(): Promise<string> {
  const extId = seedId(`clone-category-${Math.random()}`)
  await app.store.transaction((store) =>
    store.insert(Category, { extId, key: extId, value: 'yes', type: 'USER' } as never),
  )
  return extId
}

test('a clone has its own ids, MAC address and address, is OFF, and the task names the source first', async () => {
  const category = await aCategory()
  const source = await aVm(app, cluster, {
    name: 'original',
    description: 'copied',
    memorySizeBytes: 2 * GiB,
    disks: [bootDisk(cluster), emptyDisk(3 * GiB)],
    nics: [nicOn(subnet)],
    serialPorts: [{ index: 2 }],
    categories: [{ extId: category }],
    customAttributes: ['rank:1'],
    bootConfig: {
      $objectType: 'vmm.v4.ahv.config.LegacyBoot',
      bootOrder: ['DISK', 'CDROM', 'NETWORK'],
    },
  })
  assert.equal((await changed(app, source.extId, 'power-on')).status, 'SUCCEEDED')
  const task = await app.task(await act(app, source.extId, 'clone', { name: 'copy' }))
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'CloneVm')
  assert.deepEqual(
    task.entitiesAffected.map(({ name, rel }: any) => [name, rel]),
    [
      ['original', 'vmm:ahv:config:vm'],
      ['copy', 'vmm:ahv:config:vm'],
    ],
  )
  assert.equal(task.entitiesAffected[0].extId, source.extId)
  const clone = await readVm(app, task.entitiesAffected[1].extId)
  assert.equal(clone.powerState, 'OFF')
  assert.equal(clone.host, undefined)
  assert.deepEqual(clone.source, { ...clone.source, entityType: 'VM', extId: source.extId })
  for (const field of ['description', 'memorySizeBytes', 'categories', 'customAttributes', 'bootConfig', 'cluster'])
    assert.deepEqual(clone[field], source[field], field)
  for (const field of ['extId', 'biosUuid', 'generationUuid']) assert.notEqual(clone[field], source[field], field)
  assert.equal(clone.serialPorts[0].index, 2)
  assert.notEqual(clone.serialPorts[0].extId, source.serialPorts[0].extId)
  assert.notEqual(macOf(clone), macOf(source))
  assert.notEqual(addressOf(clone), addressOf(source))
  assert.equal((await readVm(app, source.extId)).powerState, 'ON')
  const group = await app.call('GET', `/platform/v4.3/config/categories/${category}?$expand=associations`)
  assert.equal(group.data.associations.find(({ resourceType }: any) => resourceType === 'VM').count, 2)
})

test('disks of a clone are layers with the sizes of their sources; the clone outlives the source', async () => {
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster), emptyDisk(3 * GiB)] })
  const clone = await cloned(source.extId)
  const sizesOf = (vm: any) => vm.disks.map(({ backingInfo }: any) => backingInfo.diskSizeBytes)
  assert.deepEqual(sizesOf(clone), sizesOf(source))
  assert.deepEqual(
    clone.disks.map(({ backingInfo }: any) => backingInfo.dataSource.reference.diskExtId),
    source.disks.map(({ extId }: any) => extId),
  )
  const facts = diskFacts(app.world)
  for (const { extId } of clone.disks) assert.ok(facts.get(extId)?.parentExtId, extId)
  assert.equal((await changed(app, source.extId, 'delete')).status, 'SUCCEEDED')
  assert.equal((await changed(app, clone.extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal(facts.get(clone.disks[0].extId)?.os, 'linux')
})

test('overrides win: name, memory, CPUs and NICs; an empty list of NICs makes a clone without a network', async () => {
  const source = await aVm(app, cluster, { nics: [nicOn(subnet)] })
  const other = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const body = { name: 'other', memorySizeBytes: 3 * GiB, numSockets: 2, numCoresPerSocket: 2, numThreadsPerCore: 2 }
  const clone = await cloned(source.extId, { ...body, nics: [nicOn(other)] })
  for (const [field, value] of Object.entries(body)) assert.equal(clone[field], value, field)
  assert.equal(clone.nics[0].networkInfo.subnet.extId, other)
  assert.equal((await cloned(source.extId, { nics: [] })).nics, undefined)
})

test('a NIC without an address gets none in the clone', async () => {
  const source = await aVm(app, cluster, { nics: [nicOn(subnet, { ipv4Config: { shouldAssignIp: false } })] })
  assert.equal((await cloned(source.extId)).nics[0].networkInfo.ipv4Config, undefined)
})

test('a boot device that is a NIC becomes the NIC of the clone', async () => {
  const macAddress = '50:6b:8d:aa:00:01'
  const bootDevice = { $objectType: 'vmm.v4.ahv.config.BootDeviceNic', macAddress }
  const source = await aVm(app, cluster, {
    nics: [{ ...nicOn(subnet), backingInfo: { macAddress } }],
    bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootDevice },
  })
  const clone = await cloned(source.extId, { $objectType: 'vmm.v4.ahv.config.CloneOverrideParams' })
  assert.equal(clone.$objectType, source.$objectType)
  assert.deepEqual(clone.bootConfig.bootDevice, { ...bootDevice, macAddress: macOf(clone) })
  assert.notEqual(macOf(clone), macAddress)
  assert.equal((await cloned(source.extId, { nics: [] })).bootConfig.bootDevice, undefined)
})

test('a clone of a VM with UEFI and a virtual TPM has files of its own for both', async () => {
  const source = await aVm(app, cluster, {
    bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' },
    vtpmConfig: { isVtpmEnabled: true },
  })
  const clone = await cloned(source.extId)
  const filesOf = (vm: any) => [
    vm.bootConfig.nvramDevice.backingStorageInfo.diskExtId,
    vm.vtpmConfig.vtpmDevice.diskExtId,
  ]
  for (const extId of filesOf(clone)) {
    assert.ok(!filesOf(source).includes(extId))
    assert.ok(diskFacts(app.world).get(extId))
  }
})

test('disks that are volume groups are not copied', async () => {
  const group = seedId('volume-group/of-the-source')
  await app.store.transaction((store) =>
    store.insert(VolumeGroup, { extId: group, name: 'shared', clusterReference: cluster.extId } as never),
  )
  await app.drivers.blockStorage.putTarget({
    volumeGroupExtId: group,
    clusterExtId: cluster.extId,
    name: 'shared',
    isSpread: false,
    isFlashPinned: false,
    isBackupTarget: false,
  })
  const backingInfo = { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId: group }
  const source = await aVm(app, cluster, { disks: [emptyDisk(), { backingInfo }] })
  assert.equal(source.disks.length, 2)
  assert.equal((await cloned(source.extId)).disks.length, 1)
})

test('a customisation in the body is staged; one that is staged on the source is not copied', async () => {
  const guestCustomization = {
    config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from('instance-id: x').toString('base64') },
  }
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)], guestCustomization })
  assert.equal(source.vmGuestCustomizationStatus, 'PENDING')
  const plain = await cloned(source.extId)
  assert.equal(plain.vmGuestCustomizationStatus, undefined)
  const staged = await cloned(plain.extId, { guestCustomization })
  assert.equal(staged.vmGuestCustomizationStatus, 'PENDING')
  assert.equal(staged.guestCustomization, undefined)
})

test('the ETag of the source changes when the clone is accepted and when it ends', async () => {
  const source = await aVm(app, cluster)
  const first = await tagOf(app, source.extId)
  const started = await act(app, source.extId, 'clone', {})
  const admitted = started.status
  await app.task(started)
  assert.equal(admitted, 202)
  assert.notEqual(await tagOf(app, source.extId), first)
  assert.equal((await act(app, source.extId, 'clone', {}, { ifMatch: first })).errors[0]?.code, 'VMM-30303')
})

test('overrides that do not fit the configuration of the source are refused with their paths', async () => {
  const source = await aVm(app, cluster, { numSockets: 4, numNumaNodes: 4 })
  const pathsOf = async (body: object) => {
    const { status, errors } = await act(app, source.extId, 'clone', body)
    assert.equal(status, 400)
    return errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])
  }
  assert.deepEqual(await pathsOf({ memorySizeBytes: 1 }), ['memorySizeBytes'])
  assert.deepEqual(await pathsOf({ numSockets: 2 }), ['numNumaNodes'])
  const guestCustomization = { config: { $objectType: 'vmm.v4.ahv.config.CloudInit' } }
  const profile = { profile: { extId: source.extId } }
  assert.deepEqual(await pathsOf({ guestCustomization, guestCustomizationProfileConfig: profile }), [
    'guestCustomizationProfileConfig',
  ])
  assert.equal((await act(app, source.extId, 'clone', { guestCustomizationProfileConfig: profile })).status, 404)
})

test('NICs in the body of a clone follow the rules of new NICs, in either pair of fields', async () => {
  const source = await aVm(app, cluster)
  const on = { subnet: { extId: subnet } }
  const refusals: [nic: object, path: string][] = [
    [{}, 'nicNetworkInfo/subnet'],
    [{ backingInfo: { model: 'E1000' } }, 'nicNetworkInfo/subnet'],
    [
      {
        nicBackingInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNic', macAddress: '51:6b:8d:00:00:01' },
        networkInfo: on,
      },
      'nicBackingInfo/macAddress',
    ],
    [
      {
        nicNetworkInfo: {
          $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo',
          ...on,
          ipv4Config: { shouldAssignIp: false, ipAddress: { value: '10.0.0.39' } },
        },
      },
      'nicNetworkInfo/ipv4Config/shouldAssignIp',
    ],
    [{ networkInfo: { ...on, trunkedVlans: [5] } }, 'nicNetworkInfo/trunkedVlans'],
  ]
  for (const [nic, path] of refusals) {
    const { status, errors } = await act(app, source.extId, 'clone', { nics: [nic] })
    assert.deepEqual([status, errors[0]?.code], [400, 'VMM-10000'], path)
    assert.match(errors[0]?.message ?? '', new RegExp(`nics\\[0\\]/${path}`))
  }
})

test('a clone that the hypervisor refuses leaves no disk, MAC address, address or row', async () => {
  const narrow = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.11'])
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(narrow)] })
  const counted = async () => [
    diskFacts(app.world).all().size,
    domainFacts(app.world).all().size,
    await app.store.count(MacLease),
    await app.store.count(Vm),
  ]
  const before = await counted()
  const final = { error: 'CONFLICT', arguments: { fault: 'The machine type is not known.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'defineVm' } }, final)
  const tag = await tagOf(app, source.extId)
  const task = await app.task(await act(app, source.extId, 'clone', {}))
  await removeFault(app, fault)
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(await counted(), before)
  assert.notEqual(await tagOf(app, source.extId), tag)
  assert.equal(addressOf(await cloned(source.extId)), '10.0.0.11')
})

test('a deletion of the source waits for the clone', async () => {
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const clone = await act(app, source.extId, 'clone', {})
  const removal = await app.call('DELETE', `${vms}/${source.extId}`, {
    requestId: crypto.randomUUID(),
    ifMatch: await tagOf(app, source.extId),
  })
  assert.equal((await app.task(clone)).status, 'SUCCEEDED')
  assert.equal((await app.task(removal)).status, 'SUCCEEDED')
})

test('a clone that is queued behind a revert or an update of its source has the changed configuration', async () => {
  const source = await aVm(app, cluster, { memorySizeBytes: GiB, disks: [emptyDisk(GiB)], nics: [nicOn(subnet)] })
  const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
  const made = await app.task(await app.call('POST', points, { body: { vmExtId: source.extId } }))
  const [{ extId: vmRecoveryPointExtId }] = made.entitiesAffected
  const leases = await app.store.count(MacLease)
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  const revert = await act(app, source.extId, 'revert', { vmRecoveryPointExtId })
  const update = await change(app, source.extId, { put: { ...source, memorySizeBytes: 2 * GiB } })
  const config = {
    $objectType: 'vmm.v4.ahv.config.CloudInit',
    metadata: Buffer.from('instance-id: x').toString('base64'),
  }
  const clone = await act(app, source.extId, 'clone', { name: 'queued', guestCustomization: { config } })
  open()
  gate = undefined
  for (const started of [revert, update]) assert.equal((await app.task(started)).status, 'SUCCEEDED')
  const task = await app.task(clone)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const copy = await readVm(app, task.entitiesAffected[1].extId)
  assert.deepEqual([copy.name, copy.memorySizeBytes, copy.disks.length], ['queued', 2 * GiB, 1])
  assert.equal(copy.vmGuestCustomizationStatus, 'PENDING')
  const [now] = (await readVm(app, source.extId)).disks
  assert.equal(copy.disks[0].backingInfo.dataSource.reference.diskExtId, now.extId)
  assert.ok(diskFacts(app.world).get(copy.disks[0].extId))
  assert.equal(await app.store.count(MacLease), leases + 1)
  await checkInvariants(app)
})

test('a clone that is queued behind the deletion of its source fails with 404 and leaves nothing', async () => {
  const source = await aVm(app, cluster, { disks: [emptyDisk(GiB)], nics: [nicOn(subnet)] })
  const leases = await app.store.count(MacLease)
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  const removal = await change(app, source.extId, 'delete')
  const clone = await act(app, source.extId, 'clone', { name: 'orphan' })
  open()
  gate = undefined
  await app.task(removal)
  const task = await app.task(clone)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-20005'])
  assert.equal(await app.store.findOne(Vm, { name: 'orphan' }), undefined)
  assert.equal(await app.store.count(MacLease), leases - 1)
  await checkInvariants(app)
})
