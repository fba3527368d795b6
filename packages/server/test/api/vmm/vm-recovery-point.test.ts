/** VM recovery points, restore and revert. Source: behaviour vmm.md 1.6, 3.4, 5 (31 to 33). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { poolUsage } from '../../../src/domains/storage-space/capacity.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { type DiskFact, diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  act,
  aNativeCluster,
  aSubnet,
  aVm,
  aVmWithTools,
  bootDisk,
  booted,
  change,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
/** A step that waits until the promise resolves. */
let held: { readonly step: string; readonly until: Promise<void> } | undefined
before(async () => {
  app = await startApp({
    config: { seed: 'empty' },
    beforeStep: (_, step) => (held?.step === step ? held.until : undefined),
  })
  cluster = await aNativeCluster(app)
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.60'])
})
after(() => app.close())

const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
const days = (count: number) => app.clock.advance(count * 24 * 3600 * 1000)
const post = (body: object): Promise<CallResult> => app.call('POST', points, { requestId: randomUUID(), body })
async function aPoint(vmExtId: string, more: object = {}): Promise<any> {
  const task = await app.task(await post({ vmExtId, ...more }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return read(task.entitiesAffected[0].extId)
}
const read = async (extId: string): Promise<any> => (await app.call('GET', `${points}/${extId}`)).data
const remove = async (extId: string): Promise<any> =>
  app.task(await app.call('DELETE', `${points}/${extId}`, { requestId: randomUUID() }))
const restore = async (extId: string, body: object = {}): Promise<any> =>
  app.task(await app.call('POST', `${points}/${extId}/$actions/restore`, { requestId: randomUUID(), body }))
const revert = async (vm: string, point: string, overrideSpec: object = {}): Promise<any> =>
  app.task(await act(app, vm, 'revert', { vmRecoveryPointExtId: point, overrideSpec }))
async function restored(extId: string, spec?: object): Promise<any> {
  const task = await restore(extId, spec === undefined ? {} : { vmConfigOverrideSpec: spec })
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return readVm(app, task.entitiesAffected[1].extId)
}
const addressOf = (vm: any): string => vm.nics[0].networkInfo.ipv4Config.ipAddress.value
const macOf = (vm: any): string => vm.nics[0].backingInfo.macAddress
const usedBytes = async (): Promise<number> => {
  const { containers } = await poolUsage(app, cluster.extId)
  return containers.get(cluster.containerExtId)?.physicalBytes ?? 0
}

test('a recovery point has the configuration, the disks and the categories of its VM, and is named after it', async () => {
  const { data } = await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'Kept', value: 'yes' } })
  const vm = await aVm(app, cluster, {
    name: 'shot',
    disks: [bootDisk(cluster), emptyDisk()],
    nics: [nicOn(subnet)],
    categories: [{ extId: data.extId }],
  })
  const task = await app.task(await post({ vmExtId: vm.extId }))
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, extId }: any) => [rel, extId === vm.extId]),
    [
      ['dataprotection:config:vm-recovery-point', false],
      ['vmm:ahv:config:vm', true],
    ],
  )
  const [{ extId }] = task.entitiesAffected
  assert.deepEqual(task.completionDetails, [{ name: 'recoveryPointExtId', value: extId }])
  const point = await read(extId)
  assert.match(point.name, /^shot-\d{4}-\d\d-\d\dT/)
  assert.deepEqual(
    [point.status, point.recoveryPointType, point.vmExtId, point.vmCategories, point.vm.name],
    ['COMPLETE', 'CRASH_CONSISTENT', vm.extId, ['Kept/yes'], 'shot'],
  )
  assert.deepEqual(
    point.diskRecoveryPoints.map(({ diskExtId }: any) => diskExtId),
    vm.disks.map(({ extId: disk }: any) => disk),
  )
  assert.deepEqual(point.vm.nics, vm.nics)
  const filter = encodeURIComponent(`vmExtId eq '${vm.extId}'`)
  assert.equal((await app.call('GET', `${points}?$filter=${filter}`)).data.length, 1)
  await checkInvariants(app)
})

test('a body is refused for an unknown VM, a time in the past, and properties without their type', async () => {
  const vm = await aVm(app, cluster)
  const refused = async (body: object) => {
    const { status, errors } = await post(body)
    return [status, errors[0]?.code]
  }
  assert.deepEqual(await refused({ vmExtId: randomUUID() }), [404, 'VMM-20005'])
  assert.deepEqual(await refused({ vmExtId: vm.extId, expirationTime: '2001-01-01T00:00:00Z' }), [400, 'VMM-10000'])
  const applicationConsistentProperties = {
    $objectType: 'dataprotection.v4.common.VssProperties',
    backupType: 'FULL_BACKUP',
  }
  assert.deepEqual(await refused({ vmExtId: vm.extId, applicationConsistentProperties }), [400, 'VMM-10000'])
})

test('an application-consistent point needs reachable tools with VSS_SNAPSHOT while the VM is ON', async () => {
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const recoveryPointType = 'APPLICATION_CONSISTENT'
  assert.equal((await aPoint(vm.extId, { recoveryPointType })).recoveryPointType, recoveryPointType)
  await changed(app, vm.extId, 'power-on')
  const { status, errors } = await post({ vmExtId: vm.extId, recoveryPointType })
  assert.deepEqual([status, errors[0]?.code], [409, 'VMM-30103'])
  await changed(app, vm.extId, 'power-off')
  await app.store.transaction((store) =>
    store.update(Vm, vm.extId, {
      guestTools: { isInstalled: true, isEnabled: true, capabilities: ['VSS_SNAPSHOT'] },
    } as never),
  )
  await changed(app, vm.extId, 'power-on')
  await app.clock.advance(60_000)
  assert.equal((await aPoint(vm.extId, { recoveryPointType })).recoveryPointType, recoveryPointType)
  const final = { error: 'CONFLICT', arguments: { fault: 'The guest did not freeze.' } }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'freezeGuest' } }, final, { next: 1 })
  const before = diskFacts(app.world).all().size
  assert.equal((await app.task(await post({ vmExtId: vm.extId, recoveryPointType }))).status, 'FAILED')
  await noFaults(app)
  assert.equal(diskFacts(app.world).all().size, before)
})

test('deleting the first of two points moves its bytes to the second; usage never falls below what is used', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk(100 * GiB)] })
  await days(5)
  const first = await aPoint(vm.extId)
  await days(5)
  const second = await aPoint(vm.extId)
  const exclusive = [await read(first.extId), await read(second.extId)].map((each) => each.totalExclusiveUsageBytes)
  assert.ok(
    exclusive.every((bytes) => bytes > GiB),
    String(exclusive),
  )
  const used = await usedBytes()
  assert.equal((await remove(first.extId)).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', `${points}/${first.extId}`)).status, 404)
  const joined = (await read(second.extId)).totalExclusiveUsageBytes
  assert.ok(joined > (exclusive[1] as number) && joined < (exclusive[0] as number) + (exclusive[1] as number))
  assert.ok((await usedBytes()) < used && (await usedBytes()) > joined, `${used}`)
  assert.equal((await remove(second.extId)).status, 'SUCCEEDED')
  assert.equal(diskFacts(app.world).get(vm.disks[0].extId)?.parentExtId, undefined)
  await checkInvariants(app)
})

test('points outlive their VM and restore it; an expired one is deleted within a minute', async () => {
  const vm = await aVm(app, cluster, { name: 'mortal', disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  const kept = await aPoint(vm.extId)
  const soon = new Date(app.clock.now() + 60_000).toISOString()
  const expiring = await aPoint(vm.extId, { expirationTime: soon })
  await changed(app, vm.extId, 'delete')
  await app.clock.advance(125_000)
  assert.equal((await app.call('GET', `${points}/${expiring.extId}`)).status, 404)
  const again = await restored(kept.extId)
  assert.equal(again.name, 'mortal_restored_1')
  assert.equal((await changed(app, again.extId, 'power-on')).status, 'SUCCEEDED')
})

test('a restored VM has new ids, a new MAC address and a new address, and only the categories of the override', async () => {
  const { data } = await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'Again', value: 'yes' } })
  const categories = [{ extId: data.extId }]
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)], categories })
  const point = await aPoint(vm.extId)
  const task = await restore(point.extId)
  assert.deepEqual(
    [task.entitiesAffected[0].extId, task.completionDetails],
    [point.extId, [{ name: 'vmExtIds', value: [task.entitiesAffected[1].extId] }]],
  )
  const copy = await readVm(app, task.entitiesAffected[1].extId)
  assert.deepEqual(
    [copy.powerState, copy.source.entityType, copy.source.extId],
    ['OFF', 'VM_RECOVERY_POINT', point.extId],
  )
  for (const field of ['extId', 'biosUuid', 'generationUuid']) assert.notEqual(copy[field], vm[field])
  assert.notEqual(macOf(copy), macOf(vm))
  assert.notEqual(addressOf(copy), addressOf(vm))
  assert.equal(copy.categories, undefined)
  const named = await restored(point.extId, { name: 'named', description: 'other', categories })
  assert.deepEqual([named.name, named.description, named.categories.length], ['named', 'other', 1])
  await checkInvariants(app)
})

test('VMs that are restored from one point are numbered, also when the captured name is as long as a name can be', async () => {
  const vm = await aVm(app, cluster, { name: 'n'.repeat(80) })
  const { extId } = await aPoint(vm.extId)
  const names: string[] = []
  for (let number = 1; number <= 11; number++) names.push((await restored(extId)).name)
  assert.deepEqual(
    names,
    names.map((_, index) => `${'n'.repeat(index < 9 ? 69 : 68)}_restored_${index + 1}`),
  )
})

test('NICs of a restored VM can be changed and removed by their captured ids; other ids are refused', async () => {
  const other = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const vm = await aVm(app, cluster, { nics: [nicOn(subnet), nicOn(subnet)] })
  const point = await aPoint(vm.extId)
  const [first, second] = vm.nics.map(({ extId }: any) => extId)
  const nicNetworkInfo = {
    $objectType: 'vmm.v4.ahv.config.VmRestoreVirtualEthernetNicNetworkInfoOverrideSpec',
    subnet: { extId: other },
    ipv4Config: { ipAddress: { value: '10.0.0.15' } },
  }
  const nicBackingInfo = {
    $objectType: 'vmm.v4.ahv.config.VmRestoreVirtualEthernetNicOverrideSpec',
    macAddress: '50:6b:8d:0a:0a:0a',
  }
  const nicSpec = { nicOverrideList: [{ nicExtId: first, nicNetworkInfo, nicBackingInfo }], nicRemoveList: [second] }
  const copy = await restored(point.extId, { nicSpec })
  assert.equal(copy.nics.length, 1)
  assert.deepEqual([addressOf(copy), macOf(copy)], ['10.0.0.15', '50:6b:8d:0a:0a:0a'])
  const wrong = { vmConfigOverrideSpec: { nicSpec: { nicRemoveList: [randomUUID()] } } }
  const refused = await app.call('POST', `${points}/${point.extId}/$actions/restore`, { body: wrong })
  assert.equal(refused.status, 400)
})

test('faults in the NICs of a restore name the override; a NIC that is named twice is refused', async () => {
  const vm = await aVm(app, cluster, { nics: [nicOn(subnet), nicOn(subnet)] })
  const point = await aPoint(vm.extId)
  const [first, second] = vm.nics.map(({ extId }: any) => extId)
  const nicBackingInfo = {
    $objectType: 'vmm.v4.ahv.config.VmRestoreVirtualEthernetNicOverrideSpec',
    macAddress: '51:6b:8d:0a:0a:0a',
  }
  const refusal = async (nicSpec: object): Promise<unknown[]> => {
    const body = { vmConfigOverrideSpec: { nicSpec } }
    const { status, errors } = await app.call('POST', `${points}/${point.extId}/$actions/restore`, { body })
    return [status, ...errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])]
  }
  const at = 'vmConfigOverrideSpec/nicSpec'
  assert.deepEqual(await refusal({ nicOverrideList: [{ nicExtId: second, nicBackingInfo }] }), [
    400,
    `${at}/nicOverrideList[0]/nicBackingInfo/macAddress`,
  ])
  const twice = { nicOverrideList: [{ nicExtId: first }, { nicExtId: first }], nicRemoveList: [second, second, first] }
  assert.deepEqual(await refusal(twice), [
    400,
    `${at}/nicOverrideList[1]/nicExtId`,
    `${at}/nicRemoveList[1]`,
    `${at}/nicRemoveList[2]`,
  ])
})

test('without its subnet, a strict restore fails and leaves nothing; another one leaves the NIC out with a warning', async () => {
  const gone = await aSubnet(app, cluster)
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(gone), nicOn(subnet)] })
  const point = await aPoint(vm.extId)
  await changed(app, vm.extId, 'delete')
  await app.store.transaction((store) => store.remove(Subnet, gone))
  const counted = async () => [
    diskFacts(app.world).all().size,
    await app.store.count(Vm),
    await app.store.count(MacLease),
    await app.store.count(AddressLease),
  ]
  const before = await counted()
  const strict = await restore(point.extId)
  assert.deepEqual([strict.status, strict.errorMessages[0].code], ['FAILED', 'VMM-20005'])
  assert.deepEqual(await counted(), before)
  const task = await restore(point.extId, { isStrictMode: false })
  assert.equal(task.status, 'SUCCEEDED')
  assert.match(task.warnings[0].message, new RegExp(gone))
  assert.equal((await readVm(app, task.entitiesAffected[1].extId)).nics.length, 1)
})

test('a revert brings configuration, disks and NICs back; the VM is OFF, and keeps its ids and categories', async () => {
  const { data } = await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'Later', value: 'yes' } })
  const vm = await aVm(app, cluster, { name: 'before', disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  const point = await aPoint(vm.extId)
  const { name: _, ...rest } = vm
  await changed(app, vm.extId, { put: { ...rest, name: 'after', memorySizeBytes: 2 * GiB } })
  await app.task(await act(app, vm.extId, 'associate-categories', { categories: [{ extId: data.extId }] }))
  await changed(app, vm.extId, 'power-on')
  const task = await revert(vm.extId, point.extId)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.deepEqual(
    [task.operation, task.entitiesAffected.map(({ extId }: any) => extId), task.completionDetails],
    ['RevertVm', [vm.extId, point.extId], [{ name: 'VM Recovery Point UUID', value: point.extId }]],
  )
  const now = await readVm(app, vm.extId)
  assert.deepEqual(
    [now.powerState, now.name, now.memorySizeBytes, now.biosUuid, now.categories.length],
    ['OFF', 'before', GiB, vm.biosUuid, 1],
  )
  assert.notEqual(now.generationUuid, vm.generationUuid)
  assert.deepEqual(now.nics, vm.nics)
  assert.equal(now.disks[0].backingInfo.diskSizeBytes, vm.disks[0].backingInfo.diskSizeBytes)
  assert.equal(
    diskFacts(app.world).get(now.disks[0].extId)?.parentExtId,
    point.diskRecoveryPoints[0].diskRecoveryPointExtId,
  )
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  await checkInvariants(app)
  await revert(vm.extId, point.extId, { shouldRevertVmCategories: true })
  assert.equal((await readVm(app, vm.extId)).categories, undefined)
})

test('points before and after a revert form a tree: each can be reverted to, and deleted', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk(10 * GiB)] })
  const first = await aPoint(vm.extId)
  const second = await aPoint(vm.extId)
  assert.equal((await revert(vm.extId, first.extId)).status, 'SUCCEEDED')
  const third = await aPoint(vm.extId)
  const parentOf = (point: any) =>
    diskFacts(app.world).get(point.diskRecoveryPoints[0].diskRecoveryPointExtId)?.parentExtId
  const root = first.diskRecoveryPoints[0].diskRecoveryPointExtId
  assert.deepEqual([parentOf(second), parentOf(third)], [root, root])
  assert.equal((await revert(vm.extId, second.extId)).status, 'SUCCEEDED')
  for (const point of [first, third, second]) assert.equal((await remove(point.extId)).status, 'SUCCEEDED')
  await changed(app, vm.extId, 'delete')
  await checkInvariants(app)
})

test('a deletion that a crash interrupted between two layers continues with the layer below when it is repeated', async () => {
  const facts = diskFacts(app.world)
  const { hypervisor } = app.drivers
  const size = { containerExtId: cluster.containerExtId, sizeBytes: GiB }
  const [lower, middle, disk, kept] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  await hypervisor.createDisk({ extId: disk, ...size })
  await hypervisor.snapshotDisks([{ diskExtId: disk, layerExtId: lower }])
  await hypervisor.snapshotDisks([{ diskExtId: disk, layerExtId: middle }])
  await hypervisor.createDisk({ extId: kept, ...size, source: { kind: 'disk', extId: lower } })
  await hypervisor.deleteDisk(lower)
  assert.equal(facts.get(lower)?.isHidden, true, 'two layers are over it')
  await facts.put(middle, { ...(facts.get(middle) as DiskFact), isHidden: true })
  await facts.remove(disk)
  await hypervisor.deleteDisk(disk)
  assert.deepEqual([facts.get(middle), facts.get(lower)], [undefined, undefined])
  assert.equal(facts.get(kept)?.parentExtId, undefined)
  await hypervisor.deleteDisk(kept)
  assert.equal(facts.get(kept), undefined)
})

test('a revert replaces a MAC address and an address that other VMs have taken, with warnings', async () => {
  const vm = await aVm(app, cluster, { nics: [nicOn(subnet)] })
  const point = await aPoint(vm.extId)
  await changed(app, vm.extId, 'delete')
  // The same VM again, without the NIC: its addresses go to another one.
  const { macAddress } = vm.nics[0].backingInfo
  const thief = await aVm(app, cluster, {
    nics: [{ ...nicOn(subnet, { ipv4Config: { ipAddress: { value: addressOf(vm) } } }), backingInfo: { macAddress } }],
  })
  const own = await aVm(app, cluster)
  await app.store.transaction(async (store) => {
    const row = (await store.get(
      (
        await import('@hyperplane/contract/vmm/vm/recovery-point')
      ).VmRecoveryPoint,
      point.extId,
    ))!
    await store.update(VmRecoveryPoint, point.extId, {
      vmExtId: own.extId,
      vm: { ...row.vm, extId: own.extId },
    } as never)
  })
  const task = await revert(own.extId, point.extId)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.warnings.length, 2)
  const now = await readVm(app, own.extId)
  assert.notEqual(macOf(now), macOf(thief))
  assert.notEqual(addressOf(now), addressOf(thief))
})

test('a point of another VM is refused; a revert that fails leaves the VM as it was, OFF', async () => {
  const [vm, other] = [await aVm(app, cluster, { disks: [emptyDisk()] }), await aVm(app, cluster)]
  const point = await aPoint(vm.extId)
  assert.equal((await act(app, other.extId, 'revert', { vmRecoveryPointExtId: point.extId })).status, 409)
  assert.equal((await act(app, vm.extId, 'revert', { vmRecoveryPointExtId: randomUUID() })).status, 404)
  const before = [...diskFacts(app.world).all().keys()].sort()
  const final = { error: 'CONFLICT', arguments: { fault: 'No space.' } }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'createDisk' } }, final, { next: 1 })
  assert.equal((await revert(vm.extId, point.extId)).status, 'FAILED')
  await noFaults(app)
  assert.deepEqual([...diskFacts(app.world).all().keys()].sort(), before)
  assert.deepEqual((await readVm(app, vm.extId)).disks, vm.disks)
})

test('the tools of a restored guest set the static addresses of the request; without tools there is a warning', async () => {
  const guestNicInfo = {
    guestStaticIpList: ['10.0.0.201', '10.0.0.202'].map((value) => ({ ipv4Address: { value } })),
  }
  const restoring = async (vm: any, spec: object = {}): Promise<CallResult> => {
    const { extId } = await aPoint(vm.extId)
    const nicSpec = { nicOverrideList: [{ nicExtId: vm.nics[0].extId, guestNicInfo, ...spec }] }
    const guestToolsSpec = { shouldClearInGuestVolumeGroupAttachments: true }
    const body = { vmConfigOverrideSpec: { nicSpec, guestToolsSpec } }
    return app.call('POST', `${points}/${extId}/$actions/restore`, { requestId: randomUUID(), body })
  }
  const source = await aVmWithTools(app, cluster, { nics: [nicOn(subnet)] })
  const task = await app.task(await restoring(source))
  assert.deepEqual([task.status, task.warnings ?? []], ['SUCCEEDED', []])
  const { extId } = task.entitiesAffected[1]
  await booted(app, extId)
  const [nic] = (await readVm(app, extId)).nics
  assert.deepEqual(
    nic.networkInfo.ipv4Info.learnedIpAddresses.map(({ value }: any) => value),
    ['10.0.0.201', '10.0.0.202'],
  )
  assert.notEqual(nic.networkInfo.ipv4Config.ipAddress.value, '10.0.0.201')
  const plain = await aVm(app, cluster, { nics: [nicOn(subnet)] })
  assert.match(JSON.stringify((await app.task(await restoring(plain))).warnings), /no guest tools/)
  const refused = await restoring(plain, { guestNicInfo: { guestStaticIpList: [{}] } })
  assert.equal(
    refused.errors[0]?.argumentsMap?.['attributePath'],
    'vmConfigOverrideSpec/nicSpec/nicOverrideList[0]/guestNicInfo/guestStaticIpList[0]/ipv4Address',
  )
})

test('the refusal for an operator, who cannot view recovery points, does not name the point of another VM', async () => {
  const [vm, other] = [await aVm(app, cluster), await aVm(app, cluster)]
  const point = await aPoint(other.extId, { name: 'before the merger' })
  const as = await aUser(app, ['Virtual Machine Operator'])
  const refused = await act(app, vm.extId, 'revert', { vmRecoveryPointExtId: point.extId }, { as })
  assert.equal(refused.status, 409)
  assert.doesNotMatch(JSON.stringify(refused.errors), /merger/)
})

test('a revert fails while a volume group has the address of a captured disk, and nothing changes', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk()] })
  const point = await aPoint(vm.extId)
  const [group, attachment] = [randomUUID(), randomUUID()]
  const { disks } = (await app.store.get(Vm, vm.extId))!
  await app.store.transaction(async (store) => {
    await store.update(Vm, vm.extId, { disks: undefined })
    await store.insert(VolumeGroup, { extId: group, name: group, clusterReference: cluster.extId } as never)
    await store.insert(VolumeGroupAttachment, {
      extId: attachment,
      volumeGroupExtId: group,
      vmExtId: vm.extId,
      scsiIndex: 0,
    } as never)
  })
  const task = await revert(vm.extId, point.extId)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30106'])
  await app.store.transaction(async (store) => {
    await store.remove(VolumeGroupAttachment, attachment)
    await store.remove(VolumeGroup, group)
    await store.update(Vm, vm.extId, { disks } as never)
  })
})

test('a point that a restore reads cannot be deleted; its storage container cannot either', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk()] })
  const point = await aPoint(vm.extId)
  let goOn = (): void => undefined
  held = { step: 'create disks', until: new Promise<void>((resolve) => (goOn = resolve)) }
  const started = await app.call('POST', `${points}/${point.extId}/$actions/restore`, { body: {} })
  const refused = await app.call('DELETE', `${points}/${point.extId}`)
  goOn()
  held = undefined
  const container = `/clustermgmt/v4.2/config/storage-containers/${cluster.containerExtId}`
  const { etag } = await app.call('GET', container)
  assert.equal((await app.call('DELETE', container, { requestId: randomUUID(), ifMatch: etag as string })).status, 409)
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'VMM-30104'])
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
  assert.equal((await remove(point.extId)).status, 'SUCCEEDED')
})

test('a restore and a revert that are queued behind the deletion of their recovery point fail with 404', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk()] })
  for (const begin of [
    (extId: string) => app.call('POST', `${points}/${extId}/$actions/restore`, { body: {} }),
    (extId: string) => act(app, vm.extId, 'revert', { vmRecoveryPointExtId: extId }),
  ]) {
    const { extId } = await aPoint(vm.extId)
    let goOn = (): void => undefined
    held = { step: 'merge layers', until: new Promise<void>((resolve) => (goOn = resolve)) }
    const removal = await app.call('DELETE', `${points}/${extId}`)
    const waiting = await begin(extId)
    goOn()
    held = undefined
    await app.task(removal)
    const task = await app.task(waiting)
    assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-20005'])
  }
})

test('a recovery point behind 20 queued tasks of its VM is refused with 409 VM_BUSY', async () => {
  const { extId: vmExtId } = await aVm(app, cluster)
  let goOn = (): void => undefined
  held = { step: 'capture', until: new Promise<void>((resolve) => (goOn = resolve)) }
  const sent: CallResult[] = []
  for (let index = 0; index < 23; index++) sent.push(await post({ vmExtId }))
  goOn()
  held = undefined
  const refused = sent.filter(({ status }) => status !== 202)
  assert.deepEqual(
    refused.map(({ status, errors }) => [status, errors[0]?.code]),
    [
      [409, 'VMM-30102'],
      [409, 'VMM-30102'],
    ],
  )
  await app.runner.idle()
})

test('a VM has at most 128 recovery points', async () => {
  const { extId } = await aVm(app, cluster)
  for (let index = 0; index < 128; index++) await aPoint(extId)
  const { status, errors } = await post({ vmExtId: extId })
  assert.deepEqual([status, errors[0]?.code], [422, 'VMM-40004'])
  assert.equal((await change(app, extId, 'delete')).status, 202)
})
