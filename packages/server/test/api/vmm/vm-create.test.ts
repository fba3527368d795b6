/** createVm through the API. Source: behaviour vmm.md 1.0, 1.1, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { happen } from '../../support/events.ts'
import {
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
  postVm,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'
const refused = async (body: object): Promise<{ status: number; code?: string | undefined; paths: string[] }> => {
  const result = await postVm(app, cluster, body)
  const paths = result.errors.map((error) => error.attributePath ?? error.argumentsMap?.['attributePath'] ?? '')
  return { status: result.status, code: result.errors[0]?.code, paths }
}

test('a body with name, cluster and memory creates a VM that is OFF, without host, with all defaults, in a task with one affected entity', async () => {
  const started = await postVm(app, cluster, { name: 'first' })
  const task = await app.task(started)
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'CreateVm')
  assert.deepEqual(task.clusterExtIds, [cluster.extId])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel, name]),
    [['vmm:ahv:config:vm', 'first']],
  )
  const vm = await readVm(app, task.entitiesAffected[0].extId)
  const expected = {
    name: 'first',
    powerState: 'OFF',
    numSockets: 1,
    numCoresPerSocket: 1,
    numThreadsPerCore: 1,
    numNumaNodes: 0,
    machineType: 'PC',
    hardwareClockTimezone: 'UTC',
    protectionType: 'UNPROTECTED',
    isAgentVm: false,
    isGpuConsoleEnabled: false,
    isMemoryOvercommitEnabled: false,
    isVcpuHardPinningEnabled: false,
    isCpuPassthroughEnabled: false,
    isCrossClusterMigrationInProgress: false,
    isVgaConsoleEnabled: true,
    isBrandingEnabled: true,
    isCpuHotplugEnabled: true,
    isScsiControllerEnabled: true,
    biosUuid: vm.extId,
    host: undefined,
    isLiveMigrateCapable: undefined,
  }
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, vm[name]])), expected)
  assert.deepEqual(vm.bootConfig.bootOrder, ['CDROM', 'DISK', 'NETWORK'])
  assert.equal(vm.apcConfig.isApcEnabled, false)
  assert.equal(vm.vtpmConfig.isVtpmEnabled, false)
})

test('the caller owns the new VM, which is OFF even when the body says powerState ON', async () => {
  const vm = await aVm(app, cluster, { powerState: 'ON' })
  const [admin] = (await app.call('GET', "/iam/v4.1.b2/authn/users?$filter=username eq 'admin'")).data
  assert.equal(vm.ownershipInfo.owner.extId, admin.extId)
  assert.equal(vm.powerState, 'OFF')
})

test('secure boot or a virtual TPM makes the VM Q35 with SATA CD-ROM drives, and each is stored in a file', async () => {
  const bootConfig = { $objectType: 'vmm.v4.ahv.config.UefiBoot', isSecureBootEnabled: true }
  const vm = await aVm(app, cluster, { bootConfig, vtpmConfig: { isVtpmEnabled: true }, cdRoms: [{}] })
  assert.equal(vm.machineType, 'Q35')
  assert.deepEqual(vm.cdRoms[0].diskAddress, { busType: 'SATA', index: 0 })
  assert.equal(vm.vtpmConfig.version, '2.0')
  assert.ok(vm.vtpmConfig.vtpmDevice.diskExtId)
  assert.ok(vm.bootConfig.nvramDevice.backingStorageInfo.diskExtId)
})

test('all faults of a body are reported together', async () => {
  const { status, code, paths } = await refused({
    memorySizeBytes: 7,
    numSockets: 500,
    hardwareClockTimezone: 'nowhere',
  })
  assert.deepEqual([status, code], [400, 'VMM-10000'])
  assert.deepEqual(paths.sort(), ['hardwareClockTimezone', 'memorySizeBytes', 'numSockets'])
})

test('unknown ids in the body are 404, and nothing is created', async () => {
  const unknown = randomUUID()
  const image = {
    backingInfo: {
      dataSource: { reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: unknown } },
    },
  }
  assert.deepEqual(await refused({ disks: [image] }), {
    status: 404,
    code: 'VMM-20005',
    paths: ['disks[0]/backingInfo/dataSource/reference'],
  })
  assert.equal((await refused({ nics: [nicOn(unknown)] })).status, 404)
  assert.equal((await refused({ categories: [{ extId: unknown }] })).status, 404)
  assert.equal((await refused({ isAgentVm: true, host: { extId: unknown } })).status, 404)
})

test('a VM without a cluster is created on the cluster that has all referenced entities and the most free memory', async () => {
  const big = await aNativeCluster(app, { hosts: 3, usableGiB: 900 })
  const free = await app.task(await postVm(app, cluster, { name: 'anywhere', cluster: undefined }))
  assert.deepEqual(free.clusterExtIds, [big.extId])
  const bound = await app.task(
    await postVm(app, cluster, { name: 'bound', cluster: undefined, disks: [bootDisk(cluster)] }),
  )
  assert.deepEqual(bound.clusterExtIds, [cluster.extId])
  const clash = { cluster: undefined, disks: [bootDisk(cluster), bootDisk(big)] }
  assert.equal((await refused(clash)).status, 400)
  const other = { dataSource: undefined, diskSizeBytes: GiB, storageContainer: { extId: big.containerExtId } }
  assert.equal((await refused({ disks: [{ backingInfo: other }] })).status, 409)
})

test('an image that is missing on the cluster of the VM is copied there first', async () => {
  const other = await aNativeCluster(app)
  const file = { imageExtId: other.imageExtId, clusterExtId: other.extId }
  const files = app.world.collection<object>('content.files')
  await files.put(`${file.imageExtId}/${file.clusterExtId}`, { content: { seed: 'x', sizeBytes: 2 * GiB } })
  const vm = await aVm(app, cluster, { disks: [bootDisk(other)] })
  assert.equal(vm.cluster.extId, cluster.extId)
  const { clusterLocationExtIds } = (await app.call('GET', `/vmm/v4.2/content/images/${other.imageExtId}`)).data
  assert.deepEqual(clusterLocationExtIds, [other.extId, cluster.extId])
})

test('a second VM of a cluster with the same BIOS UUID is refused', async () => {
  const biosUuid = randomUUID()
  await aVm(app, cluster, { biosUuid })
  assert.equal((await refused({ biosUuid })).status, 409)
})

test('names need not be unique, and are stored as sent', async () => {
  const [a, b] = [await aVm(app, cluster, { name: ' twin ' }), await aVm(app, cluster, { name: ' twin ' })]
  assert.notEqual(a.extId, b.extId)
  assert.equal(a.name, ' twin ')
})

test('without memory in the body a VM gets 1 GiB, and an update without it sets that again', async () => {
  const task = await app.task(
    await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
      requestId: randomUUID(),
      body: { name: 'small', cluster: { extId: cluster.extId } },
    }),
  )
  const { extId } = task.entitiesAffected[0]
  assert.equal((await readVm(app, extId)).memorySizeBytes, GiB)
  await changed(app, extId, { put: { name: 'small', memorySizeBytes: 2 * GiB } })
  await changed(app, extId, { put: { name: 'small' } })
  assert.equal((await readVm(app, extId)).memorySizeBytes, GiB)
})

test('a category of a VM counts 1 in its associations, and 0 once the VM is deleted', async () => {
  const category = (
    await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'vm-test', value: randomUUID() } })
  ).data
  const vm = await aVm(app, cluster, { categories: [{ extId: category.extId }] })
  const count = async (): Promise<number> => {
    const { associations } = (
      await app.call('GET', `/platform/v4.3/config/categories/${category.extId}?$expand=associations`)
    ).data
    return associations?.find(({ resourceType }: any) => resourceType === 'VM')?.count ?? 0
  }
  assert.equal(await count(), 1)
  await changed(app, vm.extId, 'delete')
  assert.equal(await count(), 0)
  assert.equal((await refused({ categories: [{ extId: category.extId }, { extId: category.extId }] })).status, 400)
})

test('a category that is sent twice is one association, and a creation that fails adds none', async () => {
  const { extId } = (
    await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'vm-again', value: randomUUID() } })
  ).data
  const count = async (): Promise<number> => {
    const { data } = await app.call(
      'GET',
      `/platform/v4.3/config/categories?$expand=associations&$filter=key eq 'vm-again'`,
    )
    return data[0].associations?.find(({ resourceType }: any) => resourceType === 'VM')?.count ?? 0
  }
  const categories = [{ extId }]
  const vm = await aVm(app, cluster, { categories })
  assert.equal(await count(), 1)
  assert.equal((await changed(app, vm.extId, { put: { ...vm, categories } })).status, 'SUCCEEDED')
  assert.equal(await count(), 1)
  const failed = await app.task(await postVm(app, cluster, { categories, disks: [emptyDisk(60_000 * GiB)] }))
  assert.equal(failed.status, 'FAILED')
  assert.equal(await count(), 1)
  const second = await aVm(app, cluster, { categories })
  assert.equal(await count(), 2)
  for (const one of [vm, second]) await changed(app, one.extId, 'delete')
  assert.equal(await count(), 0)
})

test('an internal category in a body is refused for every caller', async () => {
  const extId = randomUUID()
  await app.store.transaction((store) =>
    store.insert(Category, { extId, key: 'Hidden', value: 'x', type: 'INTERNAL' } as never),
  )
  assert.deepEqual(await refused({ categories: [{ extId }] }), {
    status: 404,
    code: 'VMM-20005',
    paths: ['categories[0]/extId'],
  })
})

test('a cancelled creation leaves no VM, disk, address, MAC or category count', async () => {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const hung = await startApp({
    config: { seed: 'empty' },
    beforeStep: (definition, step) =>
      definition === 'vmm.create-vm' && step === 'reserve addresses' ? gate : undefined,
  })
  const own = await aNativeCluster(hung)
  const subnet = await aSubnet(hung, own, ['10.0.0.10', '10.0.0.20'])
  const { extId } = (await hung.call('POST', '/platform/v4.3/config/categories', { body: { key: 'k', value: 'v' } }))
    .data
  const parts = { disks: [bootDisk(own)], nics: [nicOn(subnet)], categories: [{ extId }] }
  const started = await postVm(hung, own, parts)
  const path = `/platform/v4.3/config/tasks/${started.data.extId}`
  while ((await hung.call('GET', path)).data.progressPercentage < 50) await new Promise(setImmediate)
  assert.equal((await hung.call('GET', path)).data.isCancelable, true)
  assert.equal((await hung.call('POST', `${path}/$actions/cancel`)).status, 200)
  open()
  assert.equal((await hung.task(started)).status, 'CANCELED')
  assert.equal(diskFacts(hung.world).all().size, 0)
  assert.equal(await hung.store.count(MacLease), 0)
  const { ipUsage } = (await hung.call('GET', `/networking/v4.3/config/subnets/${subnet}`)).data
  assert.equal(ipUsage.numAssignedIPs, 0)
  assert.equal((await hung.call('DELETE', `/platform/v4.3/config/categories/${extId}`)).status, 204)
  await hung.close()
})

test('a host in the body of a VM that is no agent is ignored', async () => {
  const vm = await aVm(app, cluster, { host: { extId: cluster.hostExtIds[1] } })
  assert.equal(vm.host, undefined)
  const pinned = (await app.store.get(Vm, vm.extId))?.pinnedHostExtId
  assert.equal(pinned, undefined)
})

test('an unknown VM and an unknown reference get errors of one form, with type, id and path', async () => {
  const extId = randomUUID()
  const missing = await app.call('GET', `${vms}/${extId}`)
  assert.match(missing.errors[0]?.message ?? '', /could not find the entity/)
  assert.deepEqual(missing.errors[0]?.argumentsMap, { entityType: 'VM', extId, attributePath: 'extId' })
  for (const [body, path] of [
    [{ categories: [{ extId }] }, 'categories[0]/extId'],
    [{ nics: [nicOn(extId)] }, 'nics[0]/networkInfo/subnet/extId'],
    [{ ownershipInfo: { owner: { extId } } }, 'ownershipInfo/owner/extId'],
    [{ cluster: { extId } }, 'cluster/extId'],
  ] as const) {
    const result = await postVm(app, cluster, body)
    assert.deepEqual([result.status, result.errors[0]?.code], [404, 'VMM-20005'], path)
    assert.match(result.errors[0]?.message ?? '', /could not find the entity/)
    const { extId: named, attributePath } = result.errors[0]?.argumentsMap ?? {}
    assert.deepEqual([named, attributePath], [extId, path])
  }
})

test('UEFI without a boot order uses the order of legacy boot: CD-ROM, disk, network', async () => {
  const vm = await aVm(app, cluster, { bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' } })
  assert.deepEqual(vm.bootConfig.bootOrder, ['CDROM', 'DISK', 'NETWORK'])
  assert.deepEqual([vm.bootConfig.isSecureBootEnabled, vm.machineType], [false, 'PC'])
})

test('a creation that fails leaves no VM, disk, address, MAC or category count', async () => {
  const alone = await aNativeCluster(app)
  const subnet = await aSubnet(app, alone, ['10.0.0.10', '10.0.0.10'])
  await aVm(app, alone, { nics: [nicOn(subnet)] })
  const before = {
    disks: diskFacts(app.world).all().size,
    domains: domainFacts(app.world).all().size,
    macs: await app.store.count(MacLease),
  }
  const task = await app.task(
    await postVm(app, alone, { disks: [bootDisk(alone), emptyDisk()], nics: [nicOn(subnet)] }),
  )
  assert.equal(task.status, 'FAILED')
  assert.equal(task.errorMessages[0].code, 'VMM-40003')
  assert.match(task.errorMessages[0].message, /pool/)
  const made = task.entitiesAffected[0].extId
  assert.equal((await app.call('GET', `${vms}/${made}`)).status, 404)
  const now = {
    disks: diskFacts(app.world).all().size,
    domains: domainFacts(app.world).all().size,
    macs: await app.store.count(MacLease),
  }
  assert.deepEqual(now, before)
})

test('a disk larger than the container can ever hold fails in the task with VMM-40002', async () => {
  const task = await app.task(await postVm(app, cluster, { disks: [emptyDisk(60_000 * GiB)] }))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-40002'])
})

test('the list of VMs filters by fields of disks and NICs, in either pair of fields', async () => {
  const subnet = await aSubnet(app, cluster)
  const vm = await aVm(app, cluster, { nics: [nicOn(subnet)] })
  for (const pair of ['networkInfo', 'nicNetworkInfo']) {
    const { data } = await app.call('GET', `${vms}?$filter=nics/any(n:n/${pair}/subnet/extId eq '${subnet}')`)
    assert.deepEqual(
      data?.map(({ extId }: any) => extId),
      [vm.extId],
      pair,
    )
  }
})

test('a staged customisation is shown as PENDING, and its script is never shown', async () => {
  const secret = Buffer.from('password: hunter2-hunter2').toString('base64')
  const cloudInit = {
    $objectType: 'vmm.v4.ahv.config.CloudInit',
    cloudInitScript: { $objectType: 'vmm.v4.ahv.config.Userdata', value: secret },
  }
  const started = await postVm(app, cluster, { name: 'secret', guestCustomization: { config: cloudInit } })
  const task = await app.task(started)
  const { extId } = task.entitiesAffected[0]
  const answers = [task, await readVm(app, extId), (await app.call('GET', `${vms}?$filter=name eq 'secret'`)).data]
  assert.equal(answers[1].vmGuestCustomizationStatus, 'PENDING')
  assert.doesNotMatch(JSON.stringify([answers, started]), new RegExp(secret))
  for (const file of ['world.sqlite', 'world.sqlite-wal'])
    assert.equal(readFileSync(join(app.folder, file)).includes(secret), false, file)
})

test('hostile bodies are refused with the path of the field, and nothing is stored', async () => {
  const before = (await app.call('GET', `${vms}?$limit=1`)).total
  const hostile: object[] = [
    { name: 'x'.repeat(1_000_000) },
    { name: 'a\u0000b' },
    { name: '   ' },
    { name: '../../etc/passwd' },
    { disks: [{ ...emptyDisk(), diskAddress: { busType: 'SCSI', index: 0.5 } }] },
    { disks: Array.from({ length: 100_000 }, () => ({})) },
    { disks: [{ ...emptyDisk(), diskAddress: { busType: 'SCSI', index: -1 } }] },
    { memorySizeBytes: 'NaN' },
    { memorySizeBytes: 1e300 },
    { machineType: 'C64' },
    { disks: { length: 3 } },
    { nics: [{ networkInfo: { subnet: { extId: '../../etc' } } }] },
  ]
  for (const body of hostile) {
    const result = await postVm(app, cluster, body)
    assert.equal(result.status, 400, JSON.stringify(body).slice(0, 80))
    const [error] = result.errors
    assert.ok(error?.attributePath ?? error?.argumentsMap?.['attributePath'], JSON.stringify(body).slice(0, 80))
  }
  const filter = encodeURIComponent(`${'('.repeat(500)}name eq 'x'${')'.repeat(500)}`)
  assert.equal((await app.call('GET', `${vms}?$filter=${filter}`)).status, 400)
  assert.equal((await app.call('GET', `${vms}?$limit=1`)).total, before)
})

test('repeating a creation with the same request id creates one VM', async () => {
  const requestId = randomUUID()
  const name = `once-${requestId}`
  const [first, second] = [
    await postVm(app, cluster, { name }, { requestId }),
    await postVm(app, cluster, { name }, { requestId }),
  ]
  assert.equal(second.replayed, true)
  assert.equal(first.data.extId, second.data.extId)
  await app.task(first)
  assert.equal((await app.call('GET', `${vms}?$filter=name eq '${name}'`)).total, 1)
})

test('creating a VM on an unreachable cluster is 503', async () => {
  const dark = await aNativeCluster(app)
  const vm = await aVm(app, dark)
  await happen(app, { type: 'CLUSTER_CUT_OFF', cluster: dark.extId })
  assert.equal((await postVm(app, dark)).status, 503)
  assert.equal((await change(app, vm.extId, 'power-on')).status, 503)
})
