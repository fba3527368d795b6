/** Volume groups on VMs through the API. Source: behaviour volumes-storage.md 1.1, 1.4, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { happen } from '../../support/events.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aDisk,
  aGroup,
  aVm,
  changeVm,
  entriesOf,
  GiB,
  groups,
  nameOf,
  pathsOf,
  put,
  read,
  readVm,
  refusal,
  send,
  succeeded,
} from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const attach = (groupId: string, extId: string, index?: number) =>
  act(app, groupId, 'attach-vm', { extId, ...(index === undefined ? {} : { index }) })
const detach = (groupId: string, extId: string) => act(app, groupId, 'detach-vm', { extId })
const shared = { sharingStatus: 'SHARED' }

test('a VM gets a group at the requested SCSI index, or else at the lowest free one', async () => {
  const [first, second] = [await aVm(app), await aVm(app)]
  const { extId } = await aGroup(app, shared)
  const task = await succeeded(app, attach(extId, first.extId, 1))
  assert.deepEqual(
    [task.operation, task.operationDescription],
    ['VolumeGroupAttachExternal', 'Volume group attach to VM'],
  )
  assert.deepEqual(
    task.entitiesAffected.map((entity: any) => [entity.rel, entity.extId]),
    [
      ['volumes:config:vms', first.extId],
      ['volumes:config:volume-group', extId],
    ],
  )
  await succeeded(app, attach(extId, second.extId))
  const [entry] = await entriesOf(app, first.extId, extId)
  assert.deepEqual(entry.diskAddress, { busType: 'SCSI', index: 1 })
  assert.equal(entry.backingInfo.$objectType, 'vmm.v4.ahv.config.ADSFVolumeGroupReference')
  assert.deepEqual((await entriesOf(app, second.extId, extId))[0].diskAddress, { busType: 'SCSI', index: 0 })
  const group = await read(app, extId)
  assert.equal(group.attachmentType, 'DIRECT')
  assert.deepEqual(
    group.attachments.map(({ attachment }: any) => [attachment.extId, attachment.index]),
    [
      [first.extId, 1],
      [second.extId, 0],
    ],
  )
  const listed = await app.call('GET', `${groups}/${extId}/vm-attachments?$filter=extId eq '${second.extId}'`)
  assert.deepEqual(listed.data, [{ extId: second.extId, index: 0 }])
  assert.deepEqual(targetFacts(app.world).get(extId)?.plugs, { [first.extId]: 1, [second.extId]: 0 })
})

test('an attached group is listed among the disks of the VM, and the ETags of both change', async () => {
  const vm = await aVm(app)
  const { extId } = await aGroup(app)
  const tags = async () => [(await readVm(app, vm.extId)).etag, (await app.call('GET', `${groups}/${extId}`)).etag]
  const before = await tags()
  await succeeded(app, attach(extId, vm.extId))
  const after = await tags()
  assert.ok(after.every((tag, index) => tag !== before[index]))
  const [entry] = await entriesOf(app, vm.extId, extId)
  const disks = `/vmm/v4.2/ahv/config/vms/${vm.extId}/disks`
  assert.equal((await app.call('GET', `${disks}/${entry.extId}`)).data.backingInfo.volumeGroupExtId, extId)
  assert.equal((await app.call('GET', disks)).total, 1)
})

test('of two concurrent attaches of VMs to a group that is not shared exactly one succeeds', async () => {
  const vms = [await aVm(app), await aVm(app)]
  for (const sharing of [{}, { sharingStatus: 'NOT_SHARED' }]) {
    const { extId } = await aGroup(app, sharing)
    const both = await Promise.all(vms.map((vm) => attach(extId, vm.extId)))
    assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409])
    assert.equal(both.find(({ status }) => status === 409)?.errors[0]?.errorGroup, 'VOLUME_GROUP_NOT_SHARED')
    await succeeded(app, both.find(({ status }) => status === 202)!)
    assert.equal((await read(app, extId)).attachments.length, 1)
  }
})

test('a group is attached to and detached from a running VM without a power-off', async () => {
  const vm = await aVm(app)
  await changeVm(app, vm.extId, 'power-on')
  const { extId } = await aGroup(app)
  await succeeded(app, attach(extId, vm.extId))
  assert.equal((await entriesOf(app, vm.extId, extId)).length, 1)
  const task = await succeeded(app, detach(extId, vm.extId))
  assert.equal(task.operation, 'VolumeGroupDetachExternal')
  assert.equal((await entriesOf(app, vm.extId, extId)).length, 0)
  assert.equal((await readVm(app, vm.extId)).data.powerState, 'ON')
  const group = await read(app, extId)
  assert.deepEqual([group.attachmentType, group.attachments], ['NONE', undefined])
})

test('the attachment type of the creation applies until the first attachment', async () => {
  const vm = await aVm(app)
  const { extId, attachmentType, protocol } = await aGroup(app, { attachmentType: 'EXTERNAL', protocol: 'ISCSI' })
  assert.deepEqual([attachmentType, protocol], ['EXTERNAL', 'ISCSI'])
  await succeeded(app, attach(extId, vm.extId))
  assert.equal((await read(app, extId)).attachmentType, 'DIRECT')
  const tag = async () => (await app.call('GET', `${groups}/${extId}`)).etag
  const before = await tag()
  await succeeded(app, detach(extId, vm.extId))
  assert.notEqual(await tag(), before)
  const group = await read(app, extId)
  assert.deepEqual([group.attachmentType, group.protocol], ['NONE', 'NOT_ASSIGNED'])
})

test('a guest that does not release the disks is detached by force, and the task warns', async () => {
  const vm = await aVm(app)
  const { extId } = await aGroup(app)
  await succeeded(app, attach(extId, vm.extId))
  await changeVm(app, vm.extId, 'power-on')
  await happen(app, { type: 'GUEST_HANGS', vm: vm.extId })
  const task = await succeeded(app, detach(extId, vm.extId))
  assert.match(task.warnings[0].message, /60 s/)
  assert.deepEqual(await entriesOf(app, vm.extId, extId), [])
})

test('deleting a VM leaves the group and its disks, without the attachment', async () => {
  const vm = await aVm(app)
  const { extId } = await aGroup(app)
  const disk = await aDisk(app, extId)
  await succeeded(app, attach(extId, vm.extId))
  await changeVm(app, vm.extId, 'delete')
  assert.equal((await read(app, extId)).attachments, undefined)
  assert.equal((await app.call('GET', `${groups}/${extId}/disks/${disk.extId}`)).status, 200)
  assert.deepEqual(targetFacts(app.world).get(extId)?.plugs, {})
})

test('creating a VM with a group as a disk makes a normal attachment', async () => {
  const { extId } = await aGroup(app)
  const vm = await aVm(app, {
    disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId: extId } }],
  })
  assert.equal((await entriesOf(app, vm.extId, extId)).length, 1)
  assert.equal((await read(app, extId)).attachments[0].attachment.extId, vm.extId)
  assert.deepEqual(targetFacts(app.world).get(extId)?.plugs, { [vm.extId]: 0 })
  assert.equal(refusal(await attach(extId, vm.extId)).group, 'ALREADY_ATTACHED')
})

test('attaching an unknown VM is 404, one of another cluster, one attached already or an index in use 409, an index beyond the bus 400, and detaching one that is not attached 409', async () => {
  const vm = await aVm(app)
  const group = await aGroup(app, shared)
  assert.equal((await attach(group.extId, randomUUID())).status, 404)
  const elsewhere = await aGroup(app, { clusterReference: seedId('cluster/cloud-1') })
  assert.deepEqual(refusal(await attach(elsewhere.extId, vm.extId)), { status: 409, group: 'VM_ON_ANOTHER_CLUSTER' })
  assert.deepEqual(pathsOf(await attach(group.extId, vm.extId, 256)), ['index'])
  await succeeded(app, attach(group.extId, vm.extId, 3))
  assert.deepEqual(refusal(await attach(group.extId, vm.extId)), { status: 409, group: 'ALREADY_ATTACHED' })
  const other = await aGroup(app)
  assert.deepEqual(refusal(await attach(other.extId, vm.extId, 3)), { status: 409, group: 'INDEX_IN_USE' })
  assert.deepEqual(refusal(await detach(other.extId, vm.extId)), { status: 409, group: 'NOT_ATTACHED' })
})

test('a group cannot take the index of a disk of the VM', async () => {
  const vm = await aVm(app, {
    disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: GiB } }],
  })
  const { extId } = await aGroup(app)
  assert.equal((await attach(extId, vm.extId, 0)).status, 409)
  await succeeded(app, attach(extId, vm.extId))
  assert.equal((await entriesOf(app, vm.extId, extId))[0].diskAddress.index, 1)
})

test('a group with two attachments stays SHARED', async () => {
  const { extId } = await aGroup(app, shared)
  for (const vm of [await aVm(app), await aVm(app)]) await succeeded(app, attach(extId, vm.extId))
  const refused = await put(app, `${groups}/${extId}`, { sharingStatus: 'NOT_SHARED' })
  assert.deepEqual(refusal(refused), { status: 409, group: 'VOLUME_GROUP_HAS_SEVERAL_ATTACHMENTS' })
})

test('repeating an attach with its request id returns the same task and makes one attachment', async () => {
  const vm = await aVm(app)
  const { extId } = await aGroup(app)
  const requestId = randomUUID()
  const body = { extId: vm.extId }
  const [first, second] = [
    await act(app, extId, 'attach-vm', body, { requestId }),
    await act(app, extId, 'attach-vm', body, { requestId }),
  ]
  assert.equal(first.data.extId, second.data.extId)
  assert.equal(second.replayed, true)
  await succeeded(app, first)
  assert.equal((await read(app, extId)).attachments.length, 1)
})

test('an attach that the cluster refuses leaves no attachment', async () => {
  const vm = await aVm(app)
  const { extId, clusterReference } = await aGroup(app)
  const faults = app.world.collection('hardware.faults')
  await faults.put(clusterReference, { refuses: ['plug'] })
  const task = await app.task(await attach(extId, vm.extId))
  await faults.remove(clusterReference)
  assert.equal(task.status, 'FAILED')
  await succeeded(app, attach(extId, vm.extId))
  await succeeded(app, detach(extId, vm.extId))
  await succeeded(app, send(app, 'DELETE', `${groups}/${extId}`))
})

test('more than 16 VMs of one group, and more than 10 balanced groups of one VM, are 422', async () => {
  const { extId } = await aGroup(app, shared)
  const vms = []
  for (let count = 0; count < 17; count++) vms.push(await aVm(app, { name: nameOf('many') }))
  for (const vm of vms.slice(0, 16)) await succeeded(app, attach(extId, vm.extId))
  assert.deepEqual(refusal(await attach(extId, vms[16].extId)), { status: 422, group: 'LIMIT_EXCEEDED' })
  for (let count = 0; count < 11; count++) {
    const balanced = await aGroup(app, { shouldLoadBalanceVmAttachments: true })
    assert.equal((await attach(balanced.extId, vms[16].extId)).status, count < 10 ? 202 : 422)
  }
})
