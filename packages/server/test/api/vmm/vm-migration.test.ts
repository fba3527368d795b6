/** migrateVmToHost: admission, phases, cancellation, failures. Source: behaviour vmm.md 1.1, 3.5, 5 (24, 27). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
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
  GiB,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let natural: TestApp
let cluster: NativeCluster
let slowCluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app, { hosts: 3 })
  natural = await startApp({ config: { seed: 'empty', durations: 'natural' } })
  slowCluster = await aNativeCluster(natural, { hosts: 4 })
})
after(async () => {
  await app.close()
  await natural.close()
})

async function running(body: object = {}): Promise<any> {
  const { extId } = await aVm(app, cluster, { disks: [bootDisk(cluster)], ...body })
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  return readVm(app, extId)
}
const to = (vm: string, host: string | undefined, at: TestApp = app): Promise<CallResult> =>
  act(at, vm, 'migrate-to-host', { host: { extId: host } })
const otherThan = (vm: any, of: NativeCluster = cluster): string =>
  of.hostExtIds.find((extId) => extId !== vm.host.extId) as string
const hostsHolding = async (vm: string, at: TestApp = app): Promise<string[]> =>
  (await at.store.findWhere(HostAllocation, { vmExtId: vm })).map(({ hostExtId }) => hostExtId)

async function runningSlowly(body: object = {}): Promise<any> {
  const { extId } = await driven(natural, aVm(natural, slowCluster, { disks: [bootDisk(slowCluster)], ...body }))
  const task = await driven(
    natural,
    change(natural, extId, 'power-on').then((started) => natural.task(started)),
  )
  assert.equal(task.status, 'SUCCEEDED')
  return readVm(natural, extId)
}

test('a running VM moves to the named host; its id, addresses, boot time and guest stay', async () => {
  const vm = await running({ nics: [nicOn(await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20']))] })
  const { startedAt } = domainFacts(app.world).get(vm.extId)!
  const target = otherThan(vm)
  const task = await app.task(await to(vm.extId, target))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'MigrateVmToHost'])
  assert.deepEqual(
    task.entitiesAffected.map(({ extId }: any) => extId),
    [vm.extId],
  )
  const moved = await readVm(app, vm.extId)
  assert.deepEqual([moved.host.extId, moved.powerState], [target, 'ON'])
  assert.deepEqual(moved.nics, vm.nics)
  assert.equal(domainFacts(app.world).get(vm.extId)?.startedAt, startedAt)
  assert.deepEqual(await hostsHolding(vm.extId), [target])
  await checkInvariants(app)
})

test('a VM that is OFF, bound to its host, or on the target already is refused, and so are hosts that it cannot enter', async () => {
  const off = await aVm(app, cluster)
  assert.equal((await to(off.extId, cluster.hostExtIds[0])).errors[0]?.code, 'VMM-30100')
  const vm = await running()
  assert.equal((await to(vm.extId, vm.host.extId)).status, 409)
  assert.equal((await to(vm.extId, randomUUID())).status, 404)
  assert.equal((await to(vm.extId, undefined)).status, 400)
  const other = await aNativeCluster(app, { hosts: 1 })
  assert.equal((await to(vm.extId, other.hostExtIds[0])).status, 409)
  const pinned = await running({ isVcpuHardPinningEnabled: true })
  assert.match((await to(pinned.extId, otherThan(pinned))).errors[0]?.message ?? '', /isLiveMigrateCapable/)
  const target = otherThan(vm)
  await app.store.transaction((store) => store.update(Host, target, { maintenanceState: 'entering_maintenance_mode' }))
  assert.match((await to(vm.extId, target)).errors[0]?.message ?? '', /maintenance/)
  await app.store.transaction((store) => store.update(Host, target, { maintenanceState: 'normal' }))
})

test('a host without room fails the task with VMM-40001, and nothing changes', async () => {
  const small = await aNativeCluster(app, { hosts: 2, usableGiB: 10 })
  const [first, second] = [
    await aVm(app, small, { memorySizeBytes: 8 * GiB }),
    await aVm(app, small, { memorySizeBytes: 8 * GiB }),
  ]
  for (const { extId } of [first, second]) await changed(app, extId, 'power-on')
  const [vm, other] = [await readVm(app, first.extId), await readVm(app, second.extId)]
  const task = await app.task(await to(vm.extId, other.host.extId))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-40001'])
  assert.deepEqual(await hostsHolding(vm.extId), [vm.host.extId])
  assert.equal(
    (await app.task(await act(app, vm.extId, 'assign-owner', { owner: vm.ownershipInfo.owner }))).status,
    'SUCCEEDED',
  )
})

test('a migration that fails leaves the VM on its host with one reservation, and open to other operations', async () => {
  const vm = await running()
  const tag = await tagOf(app, vm.extId)
  const final = { error: 'CONFLICT', arguments: { fault: 'The memory did not converge.' } }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'migrateVm' } }, final, { next: 1 })
  const task = await app.task(await to(vm.extId, otherThan(vm)))
  await noFaults(app)
  assert.equal(task.status, 'FAILED')
  assert.equal((await readVm(app, vm.extId)).host.extId, vm.host.extId)
  assert.deepEqual(await hostsHolding(vm.extId), [vm.host.extId])
  assert.notEqual(await tagOf(app, vm.extId), tag)
  assert.equal((await app.task(await to(vm.extId, otherThan(vm)))).status, 'SUCCEEDED')
  await checkInvariants(app)
})

test('a migration that is cancelled halfway leaves the VM on its host, and releases the memory on the target', async () => {
  const vm = await runningSlowly({ memorySizeBytes: 24 * GiB })
  const started = await to(vm.extId, otherThan(vm, slowCluster), natural)
  await reached(natural, started, 50)
  assert.equal((await hostsHolding(vm.extId, natural)).length, 2)
  await natural.call('POST', `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`)
  assert.equal((await driven(natural, natural.task(started))).status, 'CANCELED')
  const now = await readVm(natural, vm.extId)
  assert.deepEqual([now.host.extId, now.powerState], [vm.host.extId, 'ON'])
  assert.deepEqual(await hostsHolding(vm.extId, natural), [vm.host.extId])
})

test('during a migration other operations are refused as busy; a power-off cancels it', async () => {
  const vm = await runningSlowly({ memorySizeBytes: 16 * GiB })
  const started = await to(vm.extId, otherThan(vm, slowCluster), natural)
  await reached(natural, started, 30)
  assert.equal((await change(natural, vm.extId, 'reset')).errors[0]?.code, 'VMM-30102')
  const off = await change(natural, vm.extId, 'power-off')
  assert.equal((await driven(natural, natural.task(started))).status, 'CANCELED')
  assert.equal((await driven(natural, natural.task(off))).status, 'SUCCEEDED')
  assert.equal((await readVm(natural, vm.extId)).powerState, 'OFF')
  assert.deepEqual(await hostsHolding(vm.extId, natural), [])
})

test('a third migration into a host waits for one of the first two', async () => {
  const vms: any[] = []
  for (let index = 0; index < 3; index++) vms.push(await runningSlowly({ memorySizeBytes: 12 * GiB }))
  const target = slowCluster.hostExtIds.find((extId) => vms.every((vm) => vm.host.extId !== extId)) as string
  assert.ok(target, 'the test needs a host without any of the VMs')
  const started = []
  for (const vm of vms) started.push(await to(vm.extId, target, natural))
  const ends = await driven(natural, Promise.all(started.map((each) => natural.task(each))))
  assert.deepEqual(
    ends.map(({ status }: any) => status),
    ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'],
  )
  const [first, second, third] = ends.map(({ completedTime }: any) => Date.parse(completedTime)) as [
    number,
    number,
    number,
  ]
  const alone = (12 * GiB) / 1.2e9
  assert.ok((third - Math.min(first, second)) / 1000 >= alone * 0.9, `${first} ${second} ${third}`)
})
