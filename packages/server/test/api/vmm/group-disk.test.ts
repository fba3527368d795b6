/** Disks of VMs that are volume groups. Source: behaviour vmm.md 1.2; volumes-storage.md 1.1, 1.4. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { aFault, noFaults, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm, changed, emptyDisk, type NativeCluster, tagOf } from '../../support/native-cluster.ts'
import { type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'
import { failed, Gate, pathsOf, refusal, send, succeeded, vms } from '../../support/vm-parts.ts'
import { aGroup, groups } from '../../support/volumes.ts'

let app: TestApp
let cluster: NativeCluster
const gate = new Gate()
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep: gate.wait })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const ofGroup = (volumeGroupExtId: string, index?: number) => ({
  backingInfo: { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId },
  ...(index === undefined ? {} : { diskAddress: { busType: 'SCSI', index } }),
})
const ownGroup = async (more: object = {}): Promise<string> =>
  (await aGroup(app, { clusterReference: cluster.extId, ...more })).extId
const post = (vm: string, body: object, options: CallOptions = {}) => send(app, 'POST', `${vm}/disks`, body, options)
const remove = (vm: string, disk: string, options: CallOptions = {}) =>
  send(app, 'DELETE', `${vm}/disks/${disk}`, undefined, options)
const disksOf = async (vm: string): Promise<any[]> => (await app.call('GET', `${vms}/${vm}/disks`)).data ?? []
const attachmentsOf = async (group: string): Promise<any[]> =>
  (await app.call('GET', `${groups}/${group}/vm-attachments`)).data ?? []
const plugsOf = (group: string) => targetFacts(app.world).get(group)?.plugs ?? {}

test('a disk that is a volume group is an attachment of the group; its deletion detaches the group', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const group = await ownGroup()
  const created = await succeeded(app, post(vm, ofGroup(group)))
  assert.deepEqual(
    [created.operation, created.subSteps.map(({ name }: any) => name)],
    ['CreateDisk', ['reserve', 'plug']],
  )
  const disk = created.entitiesAffected[0].extId
  const expected = { extId: disk, ...ofGroup(group, 1) }
  assert.deepEqual((await disksOf(vm))[1], expected)
  assert.deepEqual((await app.call('GET', `${vms}/${vm}/disks/${disk}`)).data, expected)
  assert.deepEqual(await attachmentsOf(group), [{ extId: vm, index: 1 }])
  assert.deepEqual(plugsOf(group), { [vm]: 1 })
  const removed = await succeeded(app, remove(vm, disk))
  assert.deepEqual([removed.operation, removed.entitiesAffected[0].extId], ['DeleteDisk', disk])
  assert.deepEqual([(await disksOf(vm)).length, await attachmentsOf(group), plugsOf(group)], [1, [], {}])
  assert.equal((await app.call('GET', `${groups}/${group}`)).status, 200)
})

test('a running VM attaches and detaches volume groups', async () => {
  const { extId: vm } = await aVm(app, cluster)
  await changed(app, vm, 'power-on')
  const group = await ownGroup()
  const { entitiesAffected } = await succeeded(app, post(vm, ofGroup(group, 9)))
  assert.deepEqual(plugsOf(group), { [vm]: 9 })
  await succeeded(app, remove(vm, entitiesAffected[0].extId))
  assert.deepEqual(plugsOf(group), {})
})

test('disks that are volume groups follow the rules of attachments, and share the SCSI bus with file disks', async () => {
  const [first, second] = [await aVm(app, cluster, { disks: [emptyDisk()] }), await aVm(app, cluster)]
  const group = await ownGroup()
  assert.deepEqual(refusal(await post(first.extId, ofGroup(group, 0))), [409, 'VMM-30106'])
  await succeeded(app, post(first.extId, ofGroup(group)))
  assert.equal((await post(first.extId, ofGroup(group))).status, 409)
  assert.equal((await post(second.extId, ofGroup(group))).status, 409)
  const taken = await post(first.extId, { ...emptyDisk(), diskAddress: { busType: 'SCSI', index: 1 } })
  assert.deepEqual(refusal(taken), [409, 'VMM-30106'])
  await succeeded(app, post(first.extId, emptyDisk()))
  assert.equal((await disksOf(first.extId))[1].diskAddress.index, 2)
  const elsewhere = await aVm(app, await aNativeCluster(app))
  assert.equal((await post(elsewhere.extId, ofGroup(await ownGroup()))).status, 409)
  assert.equal((await post(first.extId, ofGroup(randomUUID()))).status, 404)
})

test('a disk that is a volume group refuses other buses, attributes, and changes', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const group = await ownGroup()
  for (const [more, path] of [
    [{ diskAddress: { busType: 'PCI' } }, 'diskAddress/busType'],
    [{ customAttributes: ['a:1'] }, 'customAttributes'],
  ] as const)
    assert.deepEqual(pathsOf(await post(vm, { ...ofGroup(group), ...more })), [path])
  const disk = (await succeeded(app, post(vm, ofGroup(group)))).entitiesAffected[0].extId
  const put = await send(app, 'PUT', `${vm}/disks/${disk}`, ofGroup(group))
  assert.deepEqual([...refusal(put), ...pathsOf(put)], [400, 'VMM-10000', 'backingInfo'])
  const attributes = { customAttributes: ['a:1'] }
  assert.equal((await send(app, 'POST', `${vm}/disks/${disk}/$actions/add-custom-attributes`, attributes)).status, 409)
})

test('the volume group that the VM boots from cannot be detached through its disk', async () => {
  const group = await ownGroup()
  const bootDevice = { $objectType: 'vmm.v4.ahv.config.BootDeviceDisk', diskAddress: { busType: 'SCSI', index: 3 } }
  const bootConfig = { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootDevice }
  const { extId: vm } = await aVm(app, cluster, { disks: [ofGroup(group, 3)], bootConfig })
  const [disk] = await disksOf(vm)
  assert.deepEqual(refusal(await remove(vm, disk.extId)), [409, 'VMM-30104'])
})

test('a caller who may change the VM but not the volume group is refused with 403', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const group = await ownGroup()
  const as = await aUser(app, ['Management Connector'])
  assert.ok([403, 404].includes((await post(vm, ofGroup(group), { as })).status))
  const disk = (await succeeded(app, post(vm, ofGroup(group)))).entitiesAffected[0].extId
  assert.equal((await remove(vm, disk, { as })).status, 403)
  assert.deepEqual(plugsOf(group), { [vm]: 0 })
})

test('a failed attachment or detachment changes nothing but the ETag', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const [attached, free] = [await ownGroup(), await ownGroup()]
  const disk = (await succeeded(app, post(vm, ofGroup(attached)))).entitiesAffected[0].extId
  const disks = await disksOf(vm)
  for (const [match, request] of [
    [{ driverCall: { driver: 'blockStorage', method: 'plug' } }, () => post(vm, ofGroup(free))],
    [{ driverCall: { driver: 'blockStorage', method: 'unplug' } }, () => remove(vm, disk)],
    [{ taskStep: { task: 'vmm.detach-group-disk', step: 'free' } }, () => remove(vm, disk)],
  ] as const) {
    await aFault(app, match, unavailable, { next: 1 })
    const tag = await tagOf(app, vm)
    await failed(app, request())
    await noFaults(app)
    assert.deepEqual([await disksOf(vm), plugsOf(attached), plugsOf(free)], [disks, { [vm]: 0 }, {}])
    assert.notEqual(await tagOf(app, vm), tag)
  }
  await succeeded(app, post(vm, ofGroup(free)))
  await checkInvariants(app)
})

test('a queued creation of a file disk fails when a volume group is attached at its address first', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const group = await ownGroup()
  const at = { diskAddress: { busType: 'SCSI', index: 5 } }
  const [file, attach] = await gate.whileClosed(async () => [
    await post(vm, { ...emptyDisk(), ...at }),
    await app.call('POST', `${groups}/${group}/$actions/attach-vm`, {
      requestId: randomUUID(),
      ifMatch: (await app.call('GET', `${groups}/${group}`)).etag as string,
      body: { extId: vm, index: 5 },
    }),
  ])
  assert.equal(attach?.status, 202, JSON.stringify(attach?.errors))
  const { errorMessages } = await failed(app, file as any)
  assert.equal(errorMessages[0].code, 'VMM-30106')
  await succeeded(app, attach as any)
  assert.deepEqual(
    (await disksOf(vm)).map(({ diskAddress }) => diskAddress.index),
    [5],
  )
})
