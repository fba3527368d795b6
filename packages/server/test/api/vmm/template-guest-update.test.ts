/** Guest updates of templates through the API. Source: behaviour vmm.md 1.10, 5 (39). */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  change,
  changed,
  type NativeCluster,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aTemplate,
  readTemplate,
  remove,
  succeeded,
  templates,
  vanish,
  versionsOf,
} from '../../support/templates.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.200'])
})
after(() => app.close())

const patched = { versionName: 'patched', versionDescription: 'with updates' }
async function aGolden(more: object = {}): Promise<string> {
  const source = await aVm(app, cluster, { name: 'source', disks: [bootDisk(cluster)], nics: [nicOn(subnet)], ...more })
  return (await aTemplate(app, source.extId)).extId
}
const initiate = (extId: string, body: object = {}) => act(app, extId, 'initiate-guest-update', body)
const complete = (extId: string, body: object = patched) => act(app, extId, 'complete-guest-update', body)
const cancel = (extId: string) => act(app, extId, 'cancel-guest-update')
/** Opens a guest update. @returns the id of its VM */
const opened = async (extId: string): Promise<string> =>
  (await succeeded(app, initiate(extId))).entitiesAffected[1].extId
const counted = async () => [
  diskFacts(app.world).all().size,
  domainFacts(app.world).all().size,
  await app.store.count(MacLease),
  await app.store.count(Vm),
  await app.store.count(TemplateVersion),
]

test('a guest update makes a temporary VM that is OFF; a second one, and a deletion of template or VM, are refused', async () => {
  const extId = await aGolden()
  const task = await succeeded(app, initiate(extId))
  assert.equal(task.operation, 'kVmTemplateInitiateGuestChanges')
  const [first, { extId: vmExtId, name, rel }] = task.entitiesAffected
  assert.deepEqual([first.extId, rel], [extId, 'vmm:ahv:config:vm'])
  assert.equal(name, 'Template-update-os_golden_Initial Version')
  assert.equal((await readVm(app, vmExtId)).powerState, 'OFF')
  assert.deepEqual((await readTemplate(app, extId)).guestUpdateStatus.deployedVmReference, vmExtId)
  assert.equal((await initiate(extId)).status, 409)
  assert.equal((await remove(app, `${templates}/${extId}`)).errors[0]?.code, 'VMM-30104')
  assert.equal((await change(app, vmExtId, 'delete')).errors[0]?.code, 'VMM-30104')
  await succeeded(app, cancel(extId))
  await succeeded(app, remove(app, `${templates}/${extId}`))
})

test('of two concurrent guest updates one is accepted', async () => {
  const extId = await aGolden()
  const answers = [await initiate(extId), await initiate(extId)]
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
})

test('completing makes a version of the disks of the VM, active, and deletes the VM', async () => {
  const extId = await aGolden()
  const [before] = await versionsOf(app, extId)
  const vmExtId = await opened(extId)
  const disk = (await readVm(app, vmExtId)).disks[0].extId
  const task = await succeeded(app, complete(extId))
  assert.equal(task.operation, 'kVmTemplateCompleteGuestChanges')
  const { guestUpdateStatus, templateVersionSpec } = await readTemplate(app, extId)
  assert.deepEqual(
    task.entitiesAffected.map((each: any) => each.extId),
    [extId, templateVersionSpec.extId],
  )
  assert.equal(guestUpdateStatus, undefined)
  assert.notEqual(templateVersionSpec.extId, before.extId)
  assert.deepEqual([templateVersionSpec.versionName, templateVersionSpec.versionDescription], Object.values(patched))
  const layer = diskFacts(app.world).get(templateVersionSpec.vmSpec.disks[0].extId)
  assert.ok(layer?.frozenBytes !== undefined && diskFacts(app.world).get(disk) === undefined)
  assert.equal(await app.store.get(Vm, vmExtId), undefined)
  assert.equal((await complete(extId)).status, 409)
  await succeeded(app, act(app, extId, 'deploy', { clusterReference: cluster.extId }))
  await checkInvariants(app)
})

test('a completion may leave the former version active', async () => {
  const extId = await aGolden()
  const { extId: active } = (await readTemplate(app, extId)).templateVersionSpec
  await opened(extId)
  await succeeded(app, complete(extId, { ...patched, isActiveVersion: false }))
  assert.equal((await readTemplate(app, extId)).templateVersionSpec.extId, active)
  assert.equal((await versionsOf(app, extId)).length, 2)
})

test('a VM that runs is shut down before the completion; if its guest does not respond, the update stays open', async () => {
  const extId = await aGolden()
  const vmExtId = await opened(extId)
  assert.equal((await changed(app, vmExtId, 'power-on')).status, 'SUCCEEDED')
  // The guest has not booted, so it ignores the power button.
  const failed = await app.task(await complete(extId))
  assert.equal(failed.status, 'FAILED')
  assert.equal((await readVm(app, vmExtId)).powerState, 'ON')
  assert.equal((await readTemplate(app, extId)).guestUpdateStatus.deployedVmReference, vmExtId)
  assert.equal((await versionsOf(app, extId)).length, 1)
  await app.clock.advance(60_000)
  await succeeded(app, complete(extId))
  assert.equal((await versionsOf(app, extId)).length, 2)
  await checkInvariants(app)
})

test('cancelling removes the VM and all that it held; without an open update it is refused', async () => {
  const extId = await aGolden()
  const before = await counted()
  const vmExtId = await opened(extId)
  await changed(app, vmExtId, 'power-on')
  const task = await succeeded(app, cancel(extId))
  assert.deepEqual(
    task.entitiesAffected.map((each: any) => each.extId),
    [extId],
  )
  assert.deepEqual(await counted(), before)
  assert.equal((await readTemplate(app, extId)).guestUpdateStatus, undefined)
  assert.equal((await cancel(extId)).status, 409)
  assert.equal((await complete(extId)).status, 409)
  await checkInvariants(app)
})

test('a guest update that the hypervisor refuses is not left open, and leaves nothing', async () => {
  const extId = await aGolden()
  const before = await counted()
  const final = { error: 'CONFLICT', arguments: { fault: 'The machine type is not known.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'defineVm' } }, final)
  const task = await app.task(await initiate(extId))
  await removeFault(app, fault)
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(await counted(), before)
  await opened(extId)
})

test('a failed completion leaves the update open and its VM unchanged', async () => {
  const extId = await aGolden()
  const vmExtId = await opened(extId)
  const before = await counted()
  const final = { error: 'CONFLICT', arguments: { fault: 'No more layers.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'createDisk' } }, final)
  const task = await app.task(await complete(extId))
  await removeFault(app, fault)
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(await counted(), before)
  assert.equal((await readVm(app, vmExtId)).powerState, 'OFF')
  await succeeded(app, complete(extId))
})

test('if the VM is gone, the update still shows it and can only be cancelled', async () => {
  const extId = await aGolden({ nics: [] })
  const vmExtId = await opened(extId)
  await vanish(app, vmExtId)
  assert.equal((await readTemplate(app, extId)).guestUpdateStatus.deployedVmReference, vmExtId)
  const { status, errors } = await complete(extId)
  assert.deepEqual([status, /Cancel the guest update/.test(errors[0]?.message ?? '')], [409, true])
  await succeeded(app, cancel(extId))
  assert.equal((await readTemplate(app, extId)).guestUpdateStatus, undefined)
})
