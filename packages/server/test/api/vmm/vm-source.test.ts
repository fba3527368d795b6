/** createVm with `source` and `guestTools`, and disks of recovery points. Source: behaviour vmm.md 1.1, 1.2, 1.3. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  aVmWithTools,
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
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aRole, aUser, policies, policyBody } from '../iam/people.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
/** No step of a task begins before this is resolved. */
let gate: Promise<void> | undefined
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep: () => gate })
  cluster = await aNativeCluster(app)
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.60'])
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'
const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
type SourceType = 'VM' | 'VM_RECOVERY_POINT'
const create = (
  entityType: SourceType,
  extId: string,
  body: object = {},
  options: CallOptions = {},
): Promise<CallResult> =>
  app.call('POST', vms, {
    requestId: randomUUID(),
    body: { name: 'made', source: { entityType, extId }, ...body },
    ...options,
  })
async function made(entityType: SourceType, extId: string, body: object = {}): Promise<any> {
  const task = await app.task(await create(entityType, extId, body))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return readVm(app, task.entitiesAffected[0].extId)
}
async function aPoint(vmExtId: string): Promise<any> {
  const task = await app.task(await app.call('POST', points, { requestId: randomUUID(), body: { vmExtId } }))
  return (await app.call('GET', `${points}/${task.entitiesAffected[0].extId}`)).data
}
const deletePoint = async (extId: string): Promise<CallResult> =>
  app.call('DELETE', `${points}/${extId}`, { requestId: randomUUID() })
async function aCategory(): Promise<object> {
  const body = { key: `key-${randomUUID()}`, value: 'yes' }
  return { extId: (await app.call('POST', '/platform/v4.3/config/categories', { body })).data.extId }
}
/** Creates VMs, sees none and no recovery point. */
async function aCreator(): Promise<string> {
  const user = await aUser(app)
  const role = await aRole(app, ['Create_New_Virtual_Machine'])
  assert.equal((await app.call('POST', policies, { body: policyBody(role, user.extId) })).status, 201)
  return user.as
}
const macOf = (vm: any): string => vm.nics[0].backingInfo.macAddress
const addressOf = (vm: any): string => vm.nics[0].networkInfo.ipv4Config.ipAddress.value

test('a VM made from another VM has its configuration and disks, and every field that the request sets', async () => {
  const source = await aVm(app, cluster, {
    name: 'original',
    description: 'copied',
    memorySizeBytes: 2 * GiB,
    numSockets: 4,
    isAgentVm: false,
    isBrandingEnabled: false,
    disks: [bootDisk(cluster), emptyDisk(3 * GiB)],
    nics: [nicOn(subnet)],
    categories: [await aCategory()],
    customAttributes: ['rank:1'],
  })
  const tag = await tagOf(app, source.extId)
  // 1 is the default of the field: the request sets it all the same.
  const task = await app.task(await create('VM', source.extId, { numSockets: 1 }))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'CreateVm'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel, name]),
    [['vmm:ahv:config:vm', 'made']],
  )
  const vm = await readVm(app, task.entitiesAffected[0].extId)
  assert.deepEqual([vm.name, vm.numSockets, vm.powerState], ['made', 1, 'OFF'])
  for (const field of ['description', 'memorySizeBytes', 'isBrandingEnabled', 'categories', 'customAttributes'])
    assert.deepEqual(vm[field], source[field], field)
  assert.deepEqual([vm.source.entityType, vm.source.extId], ['VM', source.extId])
  assert.deepEqual(
    vm.disks.map(({ backingInfo }: any) => backingInfo.dataSource.reference.diskExtId),
    source.disks.map(({ extId }: any) => extId),
  )
  const facts = diskFacts(app.world)
  for (const { extId } of vm.disks) assert.ok(facts.get(extId)?.parentExtId, extId)
  for (const field of ['extId', 'biosUuid', 'generationUuid']) assert.notEqual(vm[field], source[field], field)
  assert.notEqual(macOf(vm), macOf(source))
  assert.notEqual(addressOf(vm), addressOf(source))
  assert.equal(await tagOf(app, source.extId), tag)
  await checkInvariants(app)
})

test('a VM made from a recovery point has the captured disks, and only the categories of the request', async () => {
  const source = await aVm(app, cluster, {
    memorySizeBytes: 2 * GiB,
    disks: [bootDisk(cluster)],
    nics: [nicOn(subnet)],
    categories: [await aCategory()],
  })
  const point = await aPoint(source.extId)
  assert.equal((await changed(app, source.extId, 'delete')).status, 'SUCCEEDED')
  const plain = await made('VM_RECOVERY_POINT', point.extId)
  assert.equal(plain.categories, undefined)
  assert.equal(plain.memorySizeBytes, 2 * GiB)
  assert.deepEqual([plain.source.entityType, plain.source.extId], ['VM_RECOVERY_POINT', point.extId])
  assert.notEqual(macOf(plain), macOf(source))
  const category = await aCategory()
  const { categories, memorySizeBytes } = await made('VM_RECOVERY_POINT', point.extId, {
    categories: [category],
    memorySizeBytes: GiB,
  })
  assert.deepEqual([categories[0].extId, memorySizeBytes], [(category as any).extId, GiB])
  assert.equal((await app.task(await deletePoint(point.extId))).status, 'SUCCEEDED')
  assert.equal((await changed(app, plain.extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal(diskFacts(app.world).get(plain.disks[0].extId)?.os, 'linux')
})

test('lists of the request replace those of the source, and a boot device that is not among them is left out', async () => {
  const bootDevice = {
    $objectType: 'vmm.v4.ahv.config.BootDeviceDisk',
    diskAddress: { busType: 'SCSI', index: 0 },
  }
  const source = await aVm(app, cluster, {
    disks: [bootDisk(cluster)],
    nics: [nicOn(subnet)],
    bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootDevice },
  })
  const kept = await made('VM', source.extId)
  assert.deepEqual(kept.bootConfig.bootDevice.diskAddress, source.bootConfig.bootDevice.diskAddress)
  const bare = await made('VM', source.extId, { disks: [], nics: [] })
  assert.deepEqual([bare.disks, bare.nics, bare.bootConfig.bootDevice], [undefined, undefined, undefined])
  const other = await made('VM', source.extId, { disks: [emptyDisk(5 * GiB)] })
  assert.deepEqual(
    other.disks.map(({ backingInfo }: any) => [backingInfo.diskSizeBytes, backingInfo.dataSource]),
    [[5 * GiB, undefined]],
  )
})

test('a source is refused without type and id, if it does not exist, or if the caller may not see it', async () => {
  const empty = await app.call('POST', vms, { requestId: randomUUID(), body: { name: 'made', source: {} } })
  assert.deepEqual(
    empty.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath']),
    ['source/entityType', 'source/extId'],
  )
  const source = await aVm(app, cluster)
  const point = await aPoint(source.extId)
  const as = await aCreator()
  for (const refused of [
    await create('VM', randomUUID()),
    await create('VM_RECOVERY_POINT', source.extId),
    await create('VM', source.extId, {}, { as }),
    await create('VM_RECOVERY_POINT', point.extId, {}, { as }),
  ]) {
    assert.deepEqual([refused.status, refused.errors[0]?.code], [404, 'VMM-20005'])
    assert.equal(refused.errors[0]?.argumentsMap?.['attributePath'], 'source/extId')
  }
  const broken = await create('VM', source.extId, { memorySizeBytes: 1 })
  assert.deepEqual([broken.status, broken.errors[0]?.argumentsMap?.['attributePath']], [400, 'memorySizeBytes'])
})

test('a copy that the hypervisor refuses leaves no disk, MAC address or row', async () => {
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  const { extId: point } = await aPoint(source.extId)
  const counted = async () => [
    diskFacts(app.world).all().size,
    domainFacts(app.world).all().size,
    await app.store.count(MacLease),
    await app.store.count(Vm),
  ]
  const before = await counted()
  const final = { error: 'CONFLICT', arguments: { fault: 'The machine type is not known.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'defineVm' } }, final)
  const tasks = [
    await app.task(await create('VM', source.extId)),
    await app.task(await create('VM_RECOVERY_POINT', point)),
  ]
  await removeFault(app, fault)
  assert.deepEqual(
    tasks.map(({ status }) => status),
    ['FAILED', 'FAILED'],
  )
  assert.deepEqual(await counted(), before)
})

/** Begins both while no step runs; the second waits for the first. */
async function oneAfterTheOther(first: () => Promise<CallResult>, second: () => Promise<CallResult>): Promise<any> {
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  const started = [await first(), await second()] as const
  gate = undefined
  open()
  assert.equal((await app.task(started[0])).status, 'SUCCEEDED')
  return app.task(started[1])
}

test('a copy that is queued behind the deletion of its source fails with 404', async () => {
  const source = await aVm(app, cluster, { disks: [emptyDisk()] })
  const point = await aPoint(source.extId)
  for (const task of [
    await oneAfterTheOther(
      () => change(app, source.extId, 'delete'),
      () => create('VM', source.extId),
    ),
    await oneAfterTheOther(
      () => deletePoint(point.extId),
      () => create('VM_RECOVERY_POINT', point.extId),
    ),
  ])
    assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-20005'])
})

test('a recovery point whose subnet was deleted needs NICs in the request', async () => {
  const short = await aSubnet(app, cluster)
  const source = await aVm(app, cluster, { nics: [nicOn(short)] })
  const point = await aPoint(source.extId)
  await changed(app, source.extId, 'delete')
  await app.store.transaction((store) => store.remove(Subnet, short))
  const failed = await app.task(await create('VM_RECOVERY_POINT', point.extId))
  assert.deepEqual([failed.status, failed.errorMessages[0].code], ['FAILED', 'VMM-20005'])
  assert.equal((await made('VM_RECOVERY_POINT', point.extId, { nics: [nicOn(subnet)] })).nics.length, 1)
})

test('guest tools of the request are stored; copied disks keep the tools that are installed on them', async () => {
  const capabilities = ['VSS_SNAPSHOT']
  const { guestTools } = await aVm(app, cluster, { guestTools: { capabilities } })
  assert.deepEqual(
    [guestTools.isEnabled, guestTools.isInstalled, guestTools.capabilities, guestTools.isVssSnapshotCapable],
    [true, false, capabilities, false],
  )
  const source = await aVmWithTools(app, cluster)
  const copy = await made('VM', source.extId, { guestTools: { isEnabled: false } })
  assert.deepEqual([copy.guestTools.isEnabled, copy.guestTools.isInstalled], [false, true])
  assert.equal((await made('VM', source.extId, { disks: [emptyDisk()] })).guestTools, undefined)
})

const diskOf = (vmRecoveryPointExtId: string | undefined, diskRecoveryPointExtId: string, more: object = {}) => ({
  backingInfo: {
    ...more,
    dataSource: {
      reference: {
        $objectType: 'vmm.v4.ahv.config.VmDiskRecoveryPointReference',
        vmRecoveryPointExtId,
        diskRecoveryPointExtId,
      },
    },
  },
})
const tagged = async (vm: string) => ({ requestId: randomUUID(), ifMatch: await tagOf(app, vm) })

test('disks and CD-ROMs are made from disks of a recovery point, and outlive it', async () => {
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const point = await aPoint(source.extId)
  const layer = point.diskRecoveryPoints[0].diskRecoveryPointExtId
  const vm = await aVm(app, cluster, { disks: [diskOf(point.extId, layer)], cdRoms: [diskOf(undefined, layer)] })
  assert.equal(vm.disks[0].backingInfo.diskSizeBytes, 2 * GiB)
  assert.equal(vm.disks[0].backingInfo.dataSource.reference.diskRecoveryPointExtId, layer)
  const added = await app.call('POST', `${vms}/${vm.extId}/disks`, {
    ...(await tagged(vm.extId)),
    body: diskOf(point.extId, layer, { diskSizeBytes: 4 * GiB }),
  })
  assert.equal((await app.task(added)).status, 'SUCCEEDED')
  const empty = await aVm(app, cluster, { cdRoms: [{}] })
  const inserted = await app.call('POST', `${vms}/${empty.extId}/cd-roms/${empty.cdRoms[0].extId}/$actions/insert`, {
    ...(await tagged(empty.extId)),
    body: diskOf(point.extId, layer),
  })
  assert.equal((await app.task(inserted)).status, 'SUCCEEDED')
  assert.equal((await app.task(await deletePoint(point.extId))).status, 'SUCCEEDED')
  const now = await readVm(app, vm.extId)
  assert.equal(now.disks[1].backingInfo.diskSizeBytes, 4 * GiB)
  const facts = diskFacts(app.world)
  assert.deepEqual([facts.get(now.disks[0].extId)?.os, facts.get(now.disks[1].extId)?.os], ['linux', 'linux'])
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  await checkInvariants(app)
})

test('a disk of a recovery point is 404 unless both ids belong together and the caller sees it', async () => {
  const source = await aVm(app, cluster, { disks: [emptyDisk()] })
  const [point, other] = [await aPoint(source.extId), await aPoint(source.extId)]
  const layer = point.diskRecoveryPoints[0].diskRecoveryPointExtId
  const vm = await aVm(app, cluster)
  for (const body of [diskOf(other.extId, layer), diskOf(undefined, randomUUID())]) {
    const refused = await app.call('POST', `${vms}/${vm.extId}/disks`, { ...(await tagged(vm.extId)), body })
    assert.deepEqual([refused.status, refused.errors[0]?.code], [404, 'VMM-20005'])
  }
  const as = await aCreator()
  const unseen = await app.call('POST', vms, {
    requestId: randomUUID(),
    body: { name: 'made', disks: [diskOf(point.extId, layer)] },
    as,
  })
  assert.deepEqual([unseen.status, unseen.errors[0]?.argumentsMap?.['entityType']], [404, 'recovery point of a disk'])
  const elsewhere = await aVm(app, await aNativeCluster(app))
  const sent = { ...(await tagged(elsewhere.extId)), body: diskOf(point.extId, layer) }
  assert.equal((await app.call('POST', `${vms}/${elsewhere.extId}/disks`, sent)).status, 409)
})

test('a recovery point cannot be deleted while a disk is created from it, and a disk creation queued behind its deletion fails', async () => {
  const source = await aVm(app, cluster, { disks: [emptyDisk()] })
  const vm = await aVm(app, cluster)
  const point = await aPoint(source.extId)
  const layer = point.diskRecoveryPoints[0].diskRecoveryPointExtId
  const addDisk = async () =>
    app.call('POST', `${vms}/${vm.extId}/disks`, { ...(await tagged(vm.extId)), body: diskOf(undefined, layer) })
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  const adding = await addDisk()
  assert.equal((await deletePoint(point.extId)).status, 409)
  gate = undefined
  open()
  assert.equal((await app.task(adding)).status, 'SUCCEEDED')
  const task = await oneAfterTheOther(() => deletePoint(point.extId), addDisk)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-20005'])
  assert.equal((await readVm(app, vm.extId)).disks.length, 1)
  assert.equal(await app.store.get(VmRecoveryPoint, point.extId), undefined)
})
