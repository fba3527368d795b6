/** deployTemplate through the API. Source: behaviour vmm.md 1.0 (Tasks), 1.10, 5 (38, 43, 50). */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { AddressTally } from '@hyperplane/contract/networking/address-lease'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Category } from '@hyperplane/contract/platform/category'
import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { unknown } from '../../kinds/kind.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import { sealerFor } from '../../support/sealer.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  addedVersion,
  aTemplate,
  fromVm,
  readTemplate,
  remove,
  succeeded,
  templates,
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

const aSource = (more: object = {}) =>
  aVm(app, cluster, { name: 'source', disks: [bootDisk(cluster), emptyDisk()], nics: [nicOn(subnet)], ...more })
const deploy = (extId: string, body: object = {}) =>
  act(app, extId, 'deploy', { clusterReference: cluster.extId, ...body })
const vmsOf = (task: any): Promise<any[]> =>
  Promise.all(task.entitiesAffected.slice(1).map(({ extId }: any) => readVm(app, extId)))
const pathsOf = (errors: readonly any[]) => errors.map(({ argumentsMap }) => argumentsMap?.attributePath)
const counted = async () => [
  diskFacts(app.world).all().size,
  domainFacts(app.world).all().size,
  await app.store.count(MacLease),
  await app.store.count(Vm),
]

test('a deployment of three VMs has three subtasks, and its task names the template, then the VMs', async () => {
  const template = await aTemplate(app, (await aSource()).extId)
  const task = await succeeded(app, deploy(template.extId, { numberOfVms: 3 }))
  assert.equal(task.operation, 'kVmTemplateDeploy')
  assert.deepEqual([task.numberOfSubtasks, task.subTasks.length], [3, 3])
  assert.deepEqual(
    task.entitiesAffected.map(({ name, rel }: any) => [name, rel]),
    [
      ['golden', 'vmm:content:template'],
      ...['golden-0', 'golden-1', 'golden-2'].map((name) => [name, 'vmm:ahv:config:vm']),
    ],
  )
  const vms = await vmsOf(task)
  const disks = (await readTemplate(app, template.extId)).templateVersionSpec.vmSpec.disks
  for (const vm of vms) {
    assert.equal(vm.powerState, 'OFF')
    assert.equal(diskFacts(app.world).get(vm.disks[0].extId)?.parentExtId, disks[0].extId)
  }
  const addresses = vms.map((vm) => vm.nics[0].networkInfo.ipv4Config.ipAddress.value)
  assert.equal(new Set(addresses).size, 3)
  assert.equal((await changed(app, vms[0].extId, 'power-on')).status, 'SUCCEEDED')
  await checkInvariants(app)
})

test('keys of overrides start at "0"; other keys, and values that do not fit, are refused with their paths', async () => {
  const template = await aTemplate(app, (await aSource()).extId)
  const refused = async (overrideVmConfigMap: object) => {
    const { status, errors } = await deploy(template.extId, { numberOfVms: 3, overrideVmConfigMap })
    return [status, ...pathsOf(errors)]
  }
  assert.deepEqual(await refused({ 3: { name: 'x' } }), [400, 'overrideVmConfigMap/3'])
  assert.deepEqual(await refused({ '01': {} }), [400, 'overrideVmConfigMap/01'])
  assert.deepEqual(await refused({ 1: { memorySizeBytes: 1 } }), [400, 'overrideVmConfigMap/1/memorySizeBytes'])
  assert.deepEqual(await refused({ 1: { numSockets: 1000 } }), [400, 'overrideVmConfigMap/1/numSockets'])
  const unknownSubnet = await deploy(template.extId, { overrideVmConfigMap: { 0: { nics: [nicOn(unknown)] } } })
  assert.equal(unknownSubnet.status, 404)
  const overrideVmConfigMap = { 1: { name: 'named', memorySizeBytes: 2 * GiB, nics: [] } }
  const [first, second] = await vmsOf(
    await succeeded(app, deploy(template.extId, { numberOfVms: 2, overrideVmConfigMap })),
  )
  assert.deepEqual([first.name, first.memorySizeBytes, first.nics.length], ['golden-0', GiB, 1])
  assert.deepEqual([second.name, second.memorySizeBytes, second.nics], ['named', 2 * GiB, undefined])
})

test('a deployment names its version; unknown clusters, versions and counts are refused', async () => {
  const source = await aSource()
  const template = await aTemplate(app, source.extId)
  const small = await aVm(app, cluster, { memorySizeBytes: 3 * GiB })
  await addedVersion(app, template.extId, small.extId)
  const versionId = template.templateVersionSpec.extId
  const [old] = await vmsOf(await succeeded(app, deploy(template.extId, { versionId })))
  const [active] = await vmsOf(await succeeded(app, deploy(template.extId)))
  assert.deepEqual([old.memorySizeBytes, active.memorySizeBytes], [GiB, 3 * GiB])
  assert.equal((await deploy(template.extId, { versionId: unknown })).status, 404)
  assert.equal((await deploy(template.extId, { clusterReference: unknown })).status, 404)
  assert.equal((await deploy(template.extId, { numberOfVms: 251 })).status, 400)
  assert.equal((await deploy(unknown)).status, 404)
})

test('deployed VMs keep their disks when their template is deleted, and the last of them frees the disks', async () => {
  const before = await counted()
  const source = await aSource()
  const template = await aTemplate(app, source.extId)
  const [vm] = await vmsOf(await succeeded(app, deploy(template.extId)))
  await succeeded(app, remove(app, `${templates}/${template.extId}`))
  await changed(app, source.extId, 'delete')
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  await checkInvariants(app)
  assert.equal((await changed(app, vm.extId, 'delete')).status, 'SUCCEEDED')
  assert.deepEqual(await counted(), before)
})

test('a deployment on another cluster copies the disks there once', async () => {
  const other = await aNativeCluster(app)
  const template = await aTemplate(app, (await aSource({ nics: [] })).extId)
  const [vm] = await vmsOf(await succeeded(app, deploy(template.extId, { clusterReference: other.extId })))
  assert.equal(vm.cluster.extId, other.extId)
  const version = (await app.store.get(TemplateVersion, template.templateVersionSpec.extId))!
  assert.deepEqual(version.clusterLocationExtIds, [cluster.extId, other.extId])
  const copied = version.copies!.filter(({ clusterExtId }) => clusterExtId === other.extId)
  for (const { diskExtId, containerExtId } of copied) {
    const fact = diskFacts(app.world).get(diskExtId)
    assert.deepEqual([fact?.parentExtId, containerExtId], [undefined, other.containerExtId])
  }
  const disks = diskFacts(app.world).all().size
  await succeeded(app, deploy(template.extId, { clusterReference: other.extId }))
  assert.equal(diskFacts(app.world).all().size, disks + 2)
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  await succeeded(app, remove(app, `${templates}/${template.extId}`))
  await checkInvariants(app)
})

test('when the pool is too small for a deployment, the created VMs stay and the task names both', async () => {
  const narrow = await aSubnet(app, cluster, ['10.0.0.20', '10.0.0.22'])
  const source = await aSource({ nics: [nicOn(narrow)] })
  const template = await aTemplate(app, source.extId)
  const before = await app.store.count(Vm)
  const task = await app.task(await deploy(template.extId, { numberOfVms: 5 }))
  assert.equal(task.status, 'FAILED')
  const { message } = task.errorMessages[0]
  assert.match(message, /3 of 5 VMs could not be deployed: .*These were made and stay: "golden-\d", "golden-\d"/)
  assert.ok(task.errorMessages.some(({ code }: any) => code === 'VMM-40003'))
  assert.equal(task.entitiesAffected.length, 3)
  assert.equal(await app.store.count(Vm), before + 2)
  await checkInvariants(app)
})

test('a deployment that the hypervisor refuses leaves no VM, disk or MAC address', async () => {
  const template = await aTemplate(app, (await aSource()).extId)
  const before = await counted()
  const final = { error: 'CONFLICT', arguments: { fault: 'The machine type is not known.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'defineVm' } }, final, { always: true })
  const task = await app.task(await deploy(template.extId, { numberOfVms: 6 }))
  await removeFault(app, fault)
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /None was made/)
  assert.deepEqual(await counted(), before)
})

test('a deployment leaves out a category that was deleted, and fails if a subnet was deleted', async () => {
  const own = await aSubnet(app, cluster, ['10.0.0.20', '10.0.0.25'])
  const extId = crypto.randomUUID()
  await app.store.transaction((store) =>
    store.insert(Category, { extId, key: 'gone', value: 'soon', type: 'USER' } as never),
  )
  const source = await aSource({ nics: [nicOn(own)], categories: [{ extId }] })
  const template = await aTemplate(app, source.extId)
  await changed(app, source.extId, 'delete')
  await app.store.transaction((store) => store.remove(Category, extId))
  const [vm] = await vmsOf(await succeeded(app, deploy(template.extId)))
  assert.equal(vm.categories, undefined)
  await changed(app, vm.extId, 'delete')
  await app.store.transaction(async (store) => {
    await store.remove(Subnet, own)
    await store.remove(AddressTally, own)
  })
  const failed = await app.task(await deploy(template.extId))
  assert.equal(failed.status, 'FAILED')
  assert.ok(
    failed.errorMessages.some(({ code }: any) => code === 'VMM-20005'),
    JSON.stringify(failed.errorMessages),
  )
  assert.equal(
    (await succeeded(app, deploy(template.extId, { overrideVmConfigMap: { 0: { nics: [] } } }))).status,
    'SUCCEEDED',
  )
})

const secret = 'instance-secret-4711'
const customization = (text = secret) => ({
  config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from(text).toString('base64') },
})

test('the customisation of a version is staged on its VMs and never shown; a version may forbid another one', async () => {
  const source = await aSource()
  const sealed = fromVm(source.extId, { guestCustomization: customization() })
  const template = await aTemplate(app, source.extId, { ...sealed, isGcOverrideEnabled: false })
  const task = await succeeded(app, deploy(template.extId))
  const [vm] = await vmsOf(task)
  assert.deepEqual([vm.vmGuestCustomizationStatus, vm.guestCustomization], ['PENDING', undefined])
  const stored = (await app.store.get(Vm, vm.extId)) as any
  const opened = sealerFor(app).open(stored.guestCustomization.$sealed, `Vm/${vm.extId}/guestCustomization`)
  assert.deepEqual(JSON.parse(opened), customization())
  const other = { 0: { guestCustomization: customization('other') } }
  const refused = await deploy(template.extId, { overrideVmConfigMap: other })
  assert.deepEqual([refused.status, pathsOf(refused.errors)], [400, ['overrideVmConfigMap/0/guestCustomization']])
  const shown = JSON.stringify([await readTemplate(app, template.extId), task, refused])
  assert.ok(!shown.includes(customization().config.metadata))
})

test('a deployment whose copy to another cluster fails leaves no copy, and a later one works', async () => {
  const other = await aNativeCluster(app)
  const template = await aTemplate(app, (await aSource({ nics: [] })).extId)
  const before = await counted()
  const final = { error: 'CONFLICT', arguments: { fault: 'No more files.' } }
  const second = { $objectType: 'control.v1.UntilRemovedTrigger', untilRemoved: true, afterCalls: 1 }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'createDisk' } }, final, second)
  const task = await app.task(await deploy(template.extId, { clusterReference: other.extId }))
  await removeFault(app, fault)
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(await counted(), before)
  assert.deepEqual((await readTemplate(app, template.extId)).templateVersionSpec.clusterLocationExtIds, [cluster.extId])
  await succeeded(app, deploy(template.extId, { clusterReference: other.extId }))
})

test('making, deploying and deleting a template ten times leaves nothing behind', async () => {
  const source = await aSource()
  const before = await counted()
  for (let round = 0; round < 10; round++) {
    const template = await aTemplate(app, source.extId)
    const vms = await vmsOf(await succeeded(app, deploy(template.extId, { numberOfVms: 2 })))
    await succeeded(app, remove(app, `${templates}/${template.extId}`))
    for (const { extId } of vms) assert.equal((await changed(app, extId, 'delete')).status, 'SUCCEEDED')
  }
  assert.deepEqual(await counted(), before)
})

test('a cancelled deployment finishes the VMs in progress, and starts no other', async () => {
  const own = await startApp({ config: { seed: 'empty', durations: 'natural', clock: 4 } })
  try {
    const place = await aNativeCluster(own)
    const own1 = await aVm(own, place, { disks: [emptyDisk()] })
    const template = await aTemplate(own, own1.extId)
    const before = await own.store.count(Vm)
    const started = await act(own, template.extId, 'deploy', { clusterReference: place.extId, numberOfVms: 40 })
    while ((await own.store.count(Vm)) === before) await new Promise((resolve) => setTimeout(resolve, 20))
    const cancel = `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`
    assert.ok((await own.call('POST', cancel)).status < 300)
    const task = await own.task(started)
    assert.equal(task.status, 'CANCELED', JSON.stringify(task.errorMessages))
    const made = (await own.store.count(Vm)) - before
    assert.ok(made > 0 && made < 40, String(made))
    assert.equal(task.entitiesAffected.length, made + 1)
  } finally {
    await own.close()
  }
})

test('a deployment that a stop of the service interrupts resumes at the next start, and creates each VM once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-deployment-'))
  const config = { seed: 'empty', durations: 'natural', clock: 10 } as const
  try {
    const first = await startApp({ folder, config })
    const place = await aNativeCluster(first)
    const vm = await aVm(first, place, { disks: [emptyDisk()] })
    const template = await aTemplate(first, vm.extId)
    const before = await first.store.count(Vm)
    const started = await act(first, template.extId, 'deploy', { clusterReference: place.extId, numberOfVms: 10 })
    while ((await first.store.count(Vm)) === before) await new Promise((resolve) => setTimeout(resolve, 20))
    await first.close()

    const next = await startApp({ folder, config: { ...config, durations: 'instant' } })
    try {
      const task = await next.task(started)
      assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
      assert.deepEqual([task.numberOfSubtasks, task.entitiesAffected.length], [10, 11])
      assert.equal(await next.store.count(Vm), before + 10)
      await checkInvariants(next)
    } finally {
      await next.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
