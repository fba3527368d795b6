/** crossClusterMigrateVm. Source: behaviour vmm.md 1.1 (migrate), 1.16, 3.5; conventions 7. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { DriverError } from '../../../src/core/tasks/define-task.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { LeftCopy, removeLeftCopies } from '../../../src/domains/vmm/vm/cross-cluster/left-copies.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { joinGroup } from '../../../src/drivers/simulated/hypervisor/groups.ts'
import { setFault } from '../../support/clustermgmt.ts'
import { driven, reached } from '../../support/driven.ts'
import { aFault, noFaults } from '../../support/faults.ts'
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
  postVm,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { ofVm, postOva } from '../../support/ovas.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aRole, aUser, grant } from '../iam/people.ts'

let app: TestApp
let natural: TestApp
let from: NativeCluster
let to: NativeCluster
let slowFrom: NativeCluster
let slowTo: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  from = await aNativeCluster(app)
  to = await aNativeCluster(app)
  natural = await startApp({ config: { seed: 'empty', durations: 'natural' } })
  slowFrom = await aNativeCluster(natural)
  slowTo = await aNativeCluster(natural)
})
after(async () => {
  await app.close()
  await natural.close()
})

const zone = seedId('availability-zone/local')
const bodyTo = (cluster: NativeCluster | undefined, isLiveMigration: boolean, more: object = {}) => ({
  isLiveMigration,
  targetAvailabilityZone: { extId: zone },
  ...(cluster === undefined ? {} : { targetCluster: { extId: cluster.extId } }),
  ...more,
})
const migrate = (vm: string, body: object, options: CallOptions = {}, at = app): Promise<CallResult> =>
  act(at, vm, 'migrate', body, options)
const dryRun = (vm: string, body: object, at = app): Promise<CallResult> =>
  tagOf(at, vm).then((ifMatch) =>
    at.call('POST', `/vmm/v4.2/ahv/config/vms/${vm}/$actions/migrate?$dryrun=true`, {
      requestId: randomUUID(),
      ifMatch,
      body,
    }),
  )
const messages = (task: any): string[] => (task.errorMessages ?? []).map(({ message }: any) => message)
async function succeeded(started: CallResult, at = app): Promise<any> {
  const task = await at.task(started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}
const hostsHolding = async (vm: string, at = app): Promise<string[]> =>
  (await at.store.findWhere(HostAllocation, { vmExtId: vm })).map(({ hostExtId }) => hostExtId)
/** Number of disks, and the layers below them. */
const diskCount = (at = app): number => diskFacts(at.world).all().size

async function namedSubnet(cluster: NativeCluster, name: string, pool?: readonly [string, string]): Promise<string> {
  const extId = await aSubnet(app, cluster, pool)
  await app.store.transaction((store) => store.update(Subnet, extId, { name }))
  return extId
}
async function aContainer(cluster: NativeCluster): Promise<string> {
  const extId = randomUUID()
  const row = { extId, containerExtId: extId, name: `c-${extId}`, clusterExtId: cluster.extId, replicationFactor: 1 }
  await app.store.transaction((store) => store.insert(StorageContainer, row as never))
  return extId
}
/** With a boot disk, an empty disk, firmware files, and a NIC on a subnet that both clusters have. */
async function aFullVm(body: object = {}): Promise<{ vm: any; subnets: readonly [string, string] }> {
  const name = `shared-${randomUUID().slice(0, 8)}`
  const subnets = [
    await namedSubnet(from, name, ['10.0.0.10', '10.0.0.20']),
    await namedSubnet(to, name, ['10.0.0.30', '10.0.0.40']),
  ] as const
  const vm = await aVm(app, from, {
    name,
    machineType: 'Q35',
    bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' },
    vtpmConfig: { isVtpmEnabled: true },
    disks: [bootDisk(from), emptyDisk(4 * GiB)],
    nics: [nicOn(subnets[0])],
    ...body,
  })
  return { vm, subnets }
}
async function running(body: object = {}): Promise<{ vm: any; subnets: readonly [string, string] }> {
  const made = await aFullVm(body)
  assert.equal((await changed(app, made.vm.extId, 'power-on')).status, 'SUCCEEDED')
  return { ...made, vm: await readVm(app, made.vm.extId) }
}
const containersOf = (vm: any): string[] => [
  ...vm.disks.map(({ backingInfo }: any) => backingInfo.storageContainer.extId),
  vm.bootConfig.nvramDevice.backingStorageInfo.storageContainer.extId,
  vm.vtpmConfig.vtpmDevice.backingFirmwareDiskStorageInfo.storageContainer.extId,
]

test('a running VM moves live to the named cluster with its disks, firmware, MAC address, address and guest', async () => {
  const { vm, subnets } = await running()
  const { startedAt } = domainFacts(app.world).get(vm.extId)!
  const disksBefore = diskCount()
  const task = await succeeded(await migrate(vm.extId, bodyTo(to, true)))
  assert.deepEqual([task.operation, task.progressPercentage], ['CrossClusterMigrateVm', 100])
  assert.deepEqual(task.clusterExtIds, [from.extId, to.extId])
  const moved = await readVm(app, vm.extId)
  assert.deepEqual(
    [moved.cluster.extId, moved.powerState, moved.isCrossClusterMigrationInProgress],
    [to.extId, 'ON', false],
  )
  assert.ok(to.hostExtIds.includes(moved.host.extId))
  assert.deepEqual(await hostsHolding(vm.extId), [moved.host.extId])
  assert.deepEqual(new Set(containersOf(moved)), new Set([to.containerExtId]))
  const [nic] = moved.nics
  assert.equal(nic.networkInfo.subnet.extId, subnets[1])
  assert.equal(nic.backingInfo.macAddress, vm.nics[0].backingInfo.macAddress)
  assert.deepEqual(nic.networkInfo.ipv4Config.ipAddress, vm.nics[0].networkInfo.ipv4Config.ipAddress)
  assert.deepEqual(nic.nicNetworkInfo.subnet, nic.networkInfo.subnet)
  assert.deepEqual([moved.categories, moved.ownershipInfo], [vm.categories, vm.ownershipInfo])
  const fact = domainFacts(app.world).get(vm.extId)
  assert.deepEqual(
    [fact?.domain.clusterExtId, fact?.hostExtId, fact?.startedAt],
    [to.extId, moved.host.extId, startedAt],
  )
  for (const { extId } of moved.disks)
    assert.equal(diskFacts(app.world).get(extId)?.containerExtId, to.containerExtId, 'the file is on the target')
  assert.equal(diskCount(), disksBefore, 'the files of the source are gone')
  assert.equal((await app.store.get(Vm, vm.extId))?.filesUnderWay, undefined)
  await checkInvariants(app)
})

test('a VM that is OFF stays OFF, and starts on the other cluster', async () => {
  const { vm } = await aFullVm()
  await succeeded(await migrate(vm.extId, bodyTo(to, false)))
  const moved = await readVm(app, vm.extId)
  assert.deepEqual([moved.cluster.extId, moved.powerState, moved.host], [to.extId, 'OFF', undefined])
  assert.deepEqual(await hostsHolding(vm.extId), [])
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  assert.ok(to.hostExtIds.includes((await readVm(app, vm.extId)).host.extId))
  await checkInvariants(app)
})

test('a live migration needs a VM that is ON, any other one that is OFF', async () => {
  const { vm } = await aFullVm()
  assert.equal((await migrate(vm.extId, bodyTo(to, true))).errors[0]?.code, 'VMM-30100')
  await changed(app, vm.extId, 'power-on')
  assert.equal((await migrate(vm.extId, bodyTo(to, false))).errors[0]?.code, 'VMM-30100')
})

test('a dry run reports what would change, changes nothing, and the same request without it then succeeds', async () => {
  const { vm, subnets } = await running()
  const tag = await tagOf(app, vm.extId)
  const task = await succeeded(await dryRun(vm.extId, bodyTo(to, true)))
  assert.equal(task.operation, 'CrossClusterMigrateVm-dryrun')
  const [isDryRun, changes] = task.completionDetails
  assert.deepEqual([isDryRun.name, isDryRun.value], ['dryRun', true])
  const rows = changes.value.map(({ map }: any) => map)
  assert.deepEqual(rows[0], { attribute: 'cluster/extId', from: from.extId, to: to.extId })
  const nicRow = rows.find(({ attribute }: any) => attribute === 'nics[0]/networkInfo/subnet/extId')
  assert.deepEqual([nicRow.from, nicRow.to], subnets)
  assert.equal(await tagOf(app, vm.extId), tag)
  assert.deepEqual(await readVm(app, vm.extId), vm)
  assert.deepEqual(await hostsHolding(vm.extId), [vm.host.extId])
  await succeeded(await migrate(vm.extId, bodyTo(to, true), { ifMatch: tag }))
})

test('a dry run of a migration that cannot work fails with all causes, and so does the migration', async () => {
  const subnet = await namedSubnet(from, 'only-here', ['10.0.0.10', '10.0.0.20'])
  const { extId } = await aVm(app, from, { memorySizeBytes: GiB, disks: [emptyDisk()], nics: [nicOn(subnet)] })
  const mapping = [
    {
      sourceStorageContainer: { extId: from.containerExtId },
      targetStorageContainer: { extId: await aContainer(from) },
    },
  ]
  const body = bodyTo(to, false, { overrides: { storageContainersMapping: mapping } })
  const [tried, done] = [await app.task(await dryRun(extId, body)), await app.task(await migrate(extId, body))]
  for (const task of [tried, done]) {
    assert.equal(task.status, 'FAILED')
    const [container = '', nic = ''] = messages(task)
    const names = [`cluster-${from.extId.slice(0, 8)}`, `cluster-${to.extId.slice(0, 8)}`]
    assert.match(container, /overrides\/storageContainersMapping\[0\]\/targetStorageContainer/)
    assert.match(nic, /no VLAN subnet "only-here"/)
    for (const text of [container, nic]) for (const name of names) assert.ok(text.includes(name), text)
  }
  assert.equal((await readVm(app, extId)).cluster.extId, from.extId)
  assert.equal((await app.store.get(Vm, extId))?.isCrossClusterMigrationInProgress, false)
  await checkInvariants(app)
})

test('overrides choose subnets by position, addresses, and containers', async () => {
  const { vm } = await aFullVm()
  const [subnet, container] = [await aSubnet(app, to, ['10.0.0.50', '10.0.0.60']), await aContainer(to)]
  const overrides = {
    overrideNicList: [
      {
        networkInfo: {
          subnet: { extId: subnet },
          ipv4Config: { shouldAssignIp: true, ipAddress: { value: '10.0.0.55' } },
        },
      },
    ],
    storageContainersMapping: [
      { sourceStorageContainer: { extId: from.containerExtId }, targetStorageContainer: { extId: container } },
    ],
  }
  await succeeded(await migrate(vm.extId, bodyTo(to, false, { overrides })))
  const moved = await readVm(app, vm.extId)
  assert.deepEqual(new Set(containersOf(moved)), new Set([container]))
  const { subnet: shown, ipv4Config } = moved.nics[0].networkInfo
  assert.deepEqual([shown.extId, ipv4Config.ipAddress.value], [subnet, '10.0.0.55'])
  assert.equal(moved.nics[0].backingInfo.macAddress, vm.nics[0].backingInfo.macAddress)
  await checkInvariants(app)
})

test('an address that is not free on the other subnet is replaced, with a warning', async () => {
  const { vm, subnets } = await aFullVm()
  const { value } = vm.nics[0].networkInfo.ipv4Config.ipAddress
  const taken = { ipv4Config: { shouldAssignIp: true, ipAddress: { value } } }
  await aVm(app, to, { nics: [nicOn(subnets[1], taken)] })
  const task = await succeeded(await migrate(vm.extId, bodyTo(to, false)))
  assert.match(task.warnings[0].message, new RegExp(`cannot keep ${value}`))
  assert.equal((await readVm(app, vm.extId)).nics[0].networkInfo.ipv4Config.ipAddress.value, '10.0.0.30')
  await checkInvariants(app)
})

test('malformed overrides are 400, with all paths', async () => {
  const { vm } = await aFullVm()
  const entry = { sourceStorageContainer: { extId: from.containerExtId } }
  const refused = await migrate(vm.extId, {
    isLiveMigration: false,
    targetAvailabilityZone: {},
    overrides: { storageContainersMapping: [entry, entry] },
  })
  assert.equal(refused.status, 400)
  assert.deepEqual(
    refused.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath']),
    [
      'targetAvailabilityZone/extId',
      'overrides/storageContainersMapping[0]/targetStorageContainer/extId',
      'overrides/storageContainersMapping[1]/sourceStorageContainer/extId',
      'overrides/storageContainersMapping[1]/targetStorageContainer/extId',
    ],
  )
  const unknown = { overrides: { overrideNicList: [nicOn(randomUUID())] } }
  assert.equal((await migrate(vm.extId, bodyTo(to, false, unknown))).status, 404)
})

test('a NIC keeps its adapter, and more overrides than NICs are refused', async () => {
  const { vm, subnets } = await aFullVm()
  const overrideNicList = [
    {
      backingInfo: { macAddress: '50:6b:8d:00:00:77', model: 'VIRTIO' },
      networkInfo: { subnet: { extId: subnets[1] } },
    },
    { networkInfo: { subnet: { extId: subnets[1] } } },
  ]
  const task = await app.task(await migrate(vm.extId, bodyTo(to, false, { overrides: { overrideNicList } })))
  assert.equal(task.status, 'FAILED')
  assert.match(messages(task)[0] ?? '', /overrideNicList: expected at most 1 NICs/)
  assert.match(messages(task)[1] ?? '', /overrideNicList\[0\]\/nicBackingInfo\/macAddress/)
})

test("another zone, the VM's own cluster, and a cluster without room fail the task", async () => {
  const { vm } = await running({ memorySizeBytes: 8 * GiB })
  const small = await aNativeCluster(app, { usableGiB: 4 })
  const name = (await readVm(app, vm.extId)).name
  await namedSubnet(small, name)
  for (const [body, expected] of [
    [bodyTo(to, true, { targetAvailabilityZone: { extId: randomUUID() } }), /not paired/],
    [bodyTo(from, true), /already/],
    [bodyTo(small, true), /No host can run VM/],
  ] as const) {
    const task = await app.task(await migrate(vm.extId, body))
    assert.equal(task.status, 'FAILED')
    assert.match(messages(task).join(), expected)
  }
  assert.deepEqual(await hostsHolding(vm.extId), [vm.host.extId])
  await checkInvariants(app)
})

test('without a target cluster the service chooses one that can take the VM', async () => {
  const { vm } = await aFullVm()
  await succeeded(await migrate(vm.extId, bodyTo(undefined, false)))
  // Only this cluster has a subnet of the same name.
  assert.equal((await readVm(app, vm.extId)).cluster.extId, to.extId)
  const stuck = await aVm(app, from, { nics: [nicOn(await namedSubnet(from, 'nowhere-else'))] })
  const task = await app.task(await migrate(stuck.extId, bodyTo(undefined, false)))
  assert.match(messages(task)[0] ?? '', /No other cluster of the zone/)
})

test('a subnet of the same name that the caller may not see is not chosen', async () => {
  const { vm } = await aFullVm()
  const user = await aUser(app)
  const migrating = ['Migrate_Virtual_Machine_Across_Clusters', 'View_Existing_Virtual_Machine', 'View_Cluster']
  await grant(app, { id: await aRole(app, migrating) }, user.extId)
  const started = await migrate(vm.extId, bodyTo(to, false), { as: user.as })
  const task = await app.task(started)
  assert.equal(task.status, 'FAILED')
  assert.match(messages(task).join(), /has no VLAN subnet/)
  assert.equal((await readVm(app, vm.extId)).cluster.extId, from.extId)
  await grant(app, { id: await aRole(app, ['View_Subnet']) }, user.extId)
  await succeeded(await migrate(vm.extId, bodyTo(undefined, false), { as: user.as }))
})

test('the creation of a disk fails when its source disk has migrated to another cluster in the meantime', async () => {
  let goOn = (): void => undefined
  const held = new Promise<void>((resolve) => (goOn = resolve))
  const beforeStep = async (definition: string): Promise<void> =>
    definition === 'vmm.create-vm' && isHeld ? held : undefined
  let isHeld = false
  const own = await startApp({ config: { seed: 'empty' }, beforeStep })
  try {
    const [cluster, target] = [await aNativeCluster(own), await aNativeCluster(own)]
    const source = await aVm(own, cluster, { disks: [bootDisk(cluster)] })
    const disks = diskCount(own)
    isHeld = true
    const reference = { $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId: source.disks[0].extId }
    const backingInfo = { $objectType: 'vmm.v4.ahv.config.VmDisk', dataSource: { reference } }
    const creation = await postVm(own, cluster, { disks: [{ backingInfo }] })
    await succeeded(await migrate(source.extId, bodyTo(target, false), {}, own), own)
    goOn()
    const task = await own.task(creation)
    assert.equal(task.status, 'FAILED')
    for (const { extId } of [cluster, target]) assert.ok(messages(task)[0]?.includes(`cluster-${extId.slice(0, 8)}`))
    assert.equal(diskCount(own), disks)
  } finally {
    await own.close()
  }
})

test('a VM that migrates leaves the legacy anti-affinity group of its former cluster', async () => {
  const { extId, name } = await aVm(app, from)
  await joinGroup(app.world, { kind: 'VM', extId, name }, 'apart')
  const policies = async (): Promise<any[]> =>
    (await app.call('GET', '/vmm/v4.2/ahv/policies/legacy-vm-anti-affinity-policies')).data
  assert.deepEqual((await policies())[0].vms, [{ extId }])
  await succeeded(await migrate(extId, bodyTo(to, false)))
  assert.equal((await policies())[0].vms?.length ?? 0, 0)
})

test('a migration that fails at any step leaves the VM unchanged, without files on the target', async () => {
  const { vm } = await running()
  const disks = diskCount()
  const final = { error: 'CONFLICT', arguments: { fault: 'Refused for a test.' } }
  for (const [method, nth] of [
    ['copyDisk', 2],
    ['moveVm', 1],
  ] as const) {
    await aFault(app, { driverCall: { driver: 'hypervisor', method } }, final, { nth })
    const task = await app.task(await migrate(vm.extId, bodyTo(to, true)))
    await noFaults(app)
    assert.equal(task.status, 'FAILED', method)
    assert.deepEqual({ ...(await readVm(app, vm.extId)), updateTime: vm.updateTime }, vm)
    assert.equal(diskCount(), disks)
    assert.deepEqual(await hostsHolding(vm.extId), [vm.host.extId])
    assert.equal((await app.store.get(Vm, vm.extId))?.filesUnderWay, undefined)
    assert.equal(domainFacts(app.world).get(vm.extId)?.domain.clusterExtId, from.extId)
    await checkInvariants(app)
  }
  await succeeded(await migrate(vm.extId, bodyTo(to, true)))
})

test('an unreachable target cluster is refused', async () => {
  const target = await aNativeCluster(app)
  const { vm } = await aFullVm({ nics: [] })
  await setFault(app, target.extId, { isDown: true })
  assert.equal((await migrate(vm.extId, bodyTo(target, false))).status, 503)
  await setFault(app, target.extId)
})

test('a VM keeps its recovery points on the former cluster, and the refusal of a revert names both clusters', async () => {
  const { vm } = await aFullVm()
  const point = await app.task(
    await app.call('POST', '/vmm/v4.2/ahv/config/vm-recovery-points', {
      requestId: randomUUID(),
      body: { vmExtId: vm.extId },
    }),
  )
  const { extId } = point.entitiesAffected[0]
  const task = await succeeded(await migrate(vm.extId, bodyTo(to, false)))
  assert.match(task.warnings[0].message, /1 recovery points stay/)
  const refused = await act(app, vm.extId, 'revert', { vmRecoveryPointExtId: extId })
  assert.equal(refused.status, 409)
  for (const cluster of [from, to])
    assert.match(refused.errors[0]?.message ?? '', new RegExp(cluster.extId.slice(0, 8)))
  const restored = await app.task(
    await app.call('POST', `/vmm/v4.2/ahv/config/vm-recovery-points/${extId}/$actions/restore`, {
      requestId: randomUUID(),
      body: {},
    }),
  )
  assert.equal(restored.status, 'SUCCEEDED', JSON.stringify(restored.errorMessages))
  await succeeded(await migrate(vm.extId, bodyTo(from, false)))
  assert.equal(
    (await app.task(await act(app, vm.extId, 'revert', { vmRecoveryPointExtId: extId }))).status,
    'SUCCEEDED',
  )
  await checkInvariants(app)
})

async function runningSlowly(): Promise<any> {
  const { extId } = await driven(
    natural,
    aVm(natural, slowFrom, { memorySizeBytes: 16 * GiB, disks: [bootDisk(slowFrom)] }),
  )
  await driven(
    natural,
    change(natural, extId, 'power-on').then((started) => natural.task(started)),
  )
  return readVm(natural, extId)
}

test('a migration copies disks, then memory; while it runs, other operations are refused, and a power-off cancels it', async () => {
  const vm = await runningSlowly()
  const started = await migrate(vm.extId, bodyTo(slowTo, true), {}, natural)
  await reached(natural, started, 40)
  assert.equal((await readVm(natural, vm.extId)).isCrossClusterMigrationInProgress, true)
  assert.equal((await hostsHolding(vm.extId, natural)).length, 2)
  assert.equal((await change(natural, vm.extId, 'reset')).errors[0]?.code, 'VMM-30102')
  const point = { requestId: randomUUID(), body: { vmExtId: vm.extId } }
  const refused = await natural.call('POST', '/vmm/v4.2/ahv/config/vm-recovery-points', point)
  assert.equal(refused.errors[0]?.code, 'VMM-30102')
  assert.equal((await postOva(natural, ofVm(vm.extId))).errors[0]?.code, 'VMM-30102')
  await reached(natural, started, 82)
  const off = await change(natural, vm.extId, 'power-off')
  assert.equal((await driven(natural, natural.task(started))).status, 'CANCELED')
  assert.equal((await driven(natural, natural.task(off))).status, 'SUCCEEDED')
  const now = await readVm(natural, vm.extId)
  assert.deepEqual(
    [now.cluster.extId, now.powerState, now.isCrossClusterMigrationInProgress],
    [slowFrom.extId, 'OFF', false],
  )
  assert.equal(domainFacts(natural.world).get(vm.extId)?.domain.clusterExtId, slowFrom.extId)
  assert.deepEqual(await hostsHolding(vm.extId, natural), [])
})

test('a cluster that becomes unreachable while disks are copied does not lock the VM; the copies are deleted when it returns', async () => {
  const vm = await runningSlowly()
  const containers = natural.world.collection<{ clusterExtId: string }>('hardware.containers')
  await containers.put(slowTo.containerExtId, { clusterExtId: slowTo.extId })
  const disks = diskCount(natural)
  const started = await migrate(vm.extId, bodyTo(slowTo, true), {}, natural)
  await reached(natural, started, 81)
  assert.ok(diskCount(natural) > disks)
  await setFault(natural, slowTo.extId, { isDown: true })
  assert.equal((await driven(natural, natural.task(started))).status, 'FAILED')
  assert.equal(
    (
      await driven(
        natural,
        change(natural, vm.extId, 'reset').then((sent) => natural.task(sent)),
      )
    ).status,
    'SUCCEEDED',
  )
  assert.ok(diskCount(natural) > disks)
  await setFault(natural, slowTo.extId)
  for (let minute = 0; minute < 10 && diskCount(natural) > disks; minute++) await natural.clock.advance(60_000)
  assert.equal(diskCount(natural), disks)
})

test('copies on other clusters are deleted even when one cluster refuses to delete its copies', async () => {
  const copies = [from, to].map(({ extId: clusterExtId }) => ({ extId: randomUUID(), clusterExtId }))
  await app.store.transaction(async (store) => {
    for (const copy of copies) await store.insert(LeftCopy, copy)
  })
  const [refused] = (await app.store.find(LeftCopy)).map(({ extId }) => extId)
  const deleteDisk = async (extId: string): Promise<void> => {
    if (extId === refused) throw DriverError.retryable('refused for a test')
  }
  const drivers = { ...app.drivers, hypervisor: { ...app.drivers.hypervisor, deleteDisk } }
  assert.equal(await removeLeftCopies.run({ drivers, store: app.store }), 'again')
  assert.deepEqual(
    (await app.store.find(LeftCopy)).map(({ extId }) => extId),
    [refused],
  )
  await removeLeftCopies.run({ drivers: app.drivers, store: app.store })
  assert.equal(await app.store.count(LeftCopy), 0)
})

test('an accepted migration blocks other operations at once, and a former cluster that becomes unreachable does not lock the VM', async () => {
  let isHeld = true
  let goOn = (): void => undefined
  const held = new Promise<void>((resolve) => (goOn = resolve))
  let source = ''
  const own = await startApp({
    config: { seed: 'empty' },
    beforeStep: async (definition: string, step: string, phase: string) => {
      if (definition !== 'vmm.migrate-vm-to-cluster') return
      if (step === 'check' && isHeld) await held
      if (step === 'release source' && phase === 'run') await setFault(own, source, { isDown: true })
    },
  })
  try {
    const [cluster, target] = [await aNativeCluster(own), await aNativeCluster(own)]
    source = cluster.extId
    const { extId } = await aVm(own, cluster, { disks: [emptyDisk()] })
    const disks = diskCount(own)
    const started = await migrate(extId, bodyTo(target, false), {}, own)
    assert.equal((await change(own, extId, 'power-on')).errors[0]?.code, 'VMM-30102')
    isHeld = false
    goOn()
    await succeeded(started, own)
    assert.equal((await readVm(own, extId)).cluster.extId, target.extId)
    assert.equal(diskCount(own), disks + 1)
    assert.equal((await changed(own, extId, 'power-on')).status, 'SUCCEEDED')
    await setFault(own, source)
    await own.clock.advance(60_000)
    assert.equal(diskCount(own), disks)
  } finally {
    await own.close()
  }
})
