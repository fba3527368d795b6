/** Maintenance of hosts. Source: behaviour clustermgmt.md 1.4, 5 (14-21); vmm.md 3.2. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import type { PassthroughGpu } from '../../../src/drivers/hardware.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { bodyOf, install } from '../../kinds/vmm/gpu.ts'
import { setFault } from '../../support/clustermgmt.ts'
import { driven } from '../../support/driven.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm, changed, GiB, type NativeCluster, readVm } from '../../support/native-cluster.ts'
import { aRunningVm } from '../../support/policies.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let slow: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  slow = await startApp({ config: { seed: 'empty', durations: 'natural' } })
})
afterEach(async () => {
  await noFaults(app)
  for (const each of [app, slow]) {
    // The check would wait for the task, and hide why the test failed before its end.
    assert.equal(each.runner.size(), 0, 'a task still runs')
    await checkInvariants(each)
  }
})
after(async () => {
  for (const each of [app, slow]) await each.close()
})

const ask = (
  what: 'enter' | 'exit',
  cluster: NativeCluster,
  host: string,
  body: object = {},
  options: CallOptions = {},
  at: TestApp = app,
): Promise<CallResult> =>
  at.call(
    'POST',
    `/clustermgmt/v4.2/operations/clusters/${cluster.extId}/hosts/${host}/$actions/${what}-host-maintenance`,
    { body, requestId: randomUUID(), ...options },
  )
const done = async (...given: Parameters<typeof ask>): Promise<any> => app.task(await ask(...given))
const refusal = async (...given: Parameters<typeof ask>): Promise<string> => {
  const { status, errors } = await ask(...given)
  return `${status} ${errors?.[0]?.errorGroup}`
}
const hostOf = async (cluster: NativeCluster, host: string, at: TestApp = app): Promise<any> =>
  (await at.call('GET', `/clustermgmt/v4.2/config/clusters/${cluster.extId}/hosts/${host}`)).data
const toleranceOf = async (cluster: NativeCluster): Promise<any> =>
  (await app.call('GET', `/clustermgmt/v4.2/config/clusters/${cluster.extId}`)).data.config.faultToleranceState
    .currentMaxFaultTolerance

const running = (cluster: NativeCluster, host: string, body: object = {}): Promise<any> =>
  aRunningVm(app, cluster, { ...body, host })

test('14, 15, 21. an administrator empties a host, and its VMs come back afterwards', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [host = '', second = ''] = cluster.hostExtIds
  const vms = [await running(cluster, host), await running(cluster, host, { memorySizeBytes: 2 * GiB })]
  assert.equal(await toleranceOf(cluster), 1)

  const entered = await done('enter', cluster, host)
  assert.equal(entered.status, 'SUCCEEDED', JSON.stringify(entered.errorMessages))
  assert.deepEqual(
    entered.entitiesAffected.map(({ rel }: any) => rel),
    ['clustermgmt:config:host', 'vmm:ahv:config:vm', 'vmm:ahv:config:vm'],
  )
  const details = new Map(entered.completionDetails.map(({ name, value }: any) => [name, value]))
  assert.deepEqual(new Set(details.get('vmExtIds') as string[]), new Set(vms.map(({ extId }) => extId)))
  assert.deepEqual(details.get('shutdownVmExtIds'), [])
  for (const { extId } of vms) {
    const { host: now, powerState } = await readVm(app, extId)
    assert.equal(powerState, 'ON')
    assert.notEqual(now.extId, host)
    assert.equal(domainFacts(app.world).get(extId)?.hostExtId, now.extId)
  }
  const { maintenanceState, hypervisor } = await hostOf(cluster, host)
  assert.deepEqual([maintenanceState, hypervisor.numberOfVms], ['in_maintenance', 0])
  assert.equal(await toleranceOf(cluster), 0)
  assert.equal(await refusal('enter', cluster, host), '409 HOST_ALREADY_IN_MAINTENANCE')
  assert.equal(await refusal('enter', cluster, second), '409 CLUSTER_CANNOT_TOLERATE')
  const { extId: late } = await aVm(app, cluster)
  assert.equal((await changed(app, late, 'power-on')).status, 'SUCCEEDED')
  assert.notEqual((await readVm(app, late)).host.extId, host)

  const exited = await done('exit', cluster, host)
  assert.equal(exited.status, 'SUCCEEDED')
  assert.equal(exited.warnings, undefined)
  for (const { extId } of vms) assert.equal((await readVm(app, extId)).host.extId, host)
  assert.equal((await hostOf(cluster, host)).maintenanceState, 'normal')
  assert.equal(await toleranceOf(cluster), 1)
  assert.equal(await refusal('exit', cluster, host), '409 HOST_NOT_IN_MAINTENANCE')
})

const immovable = {
  'pinned to CPUs': { more: { isVcpuHardPinningEnabled: true }, reason: 'it is bound to the CPUs of the host' },
  'with a passed-through GPU': { gpus: ['Compute GPU'], reason: 'it has a GPU or PCIe device of the host' },
}
for (const [what, { reason, ...given }] of Object.entries(immovable))
  test(`16, 17. a VM ${what} is a reason to refuse, or is shut down and started again`, async () => {
    const cluster = await aNativeCluster(app, { hosts: 2 })
    const [host = ''] = cluster.hostExtIds
    const gpus = 'gpus' in given ? await install(app, cluster.extId, host, given.gpus) : []
    const more = 'more' in given ? given.more : { gpus: gpus.map((gpu) => bodyOf(gpu as PassthroughGpu)) }
    const bound = await running(cluster, host, { name: 'bound', ...more })
    const free = await running(cluster, host, { name: 'free' })
    const placeOf = async ({ extId }: any): Promise<unknown[]> => {
      const { powerState, host: at } = await readVm(app, extId)
      return [powerState, at?.extId]
    }
    const refused = await done('enter', cluster, host)
    assert.equal(refused.status, 'FAILED')
    assert.ok(refused.errorMessages[0].message.includes(`"bound" (${reason})`), refused.errorMessages[0].message)
    for (const vm of [bound, free]) assert.deepEqual(await placeOf(vm), ['ON', host])
    assert.equal((await hostOf(cluster, host)).maintenanceState, 'normal')

    const entered = await done('enter', cluster, host, { shouldShutdownNonMigratableUvms: true })
    assert.equal(entered.status, 'SUCCEEDED', JSON.stringify(entered.errorMessages))
    assert.deepEqual(await placeOf(bound), ['OFF', undefined])
    assert.deepEqual(await placeOf(free), ['ON', cluster.hostExtIds[1]])
    assert.equal((await done('exit', cluster, host)).status, 'SUCCEEDED')
    assert.equal((await placeOf(bound))[0], 'ON')
    assert.deepEqual(await placeOf(free), ['ON', host])
  })

test('a VM that does not fit any more stays where it is, which is a warning', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, usableGiB: 10 })
  const [host = ''] = cluster.hostExtIds
  const grown = await running(cluster, host, { memorySizeBytes: 4 * GiB })
  const left = await running(cluster, host, { name: 'left', memorySizeBytes: 5 * GiB })
  assert.equal((await done('enter', cluster, host)).status, 'SUCCEEDED')
  assert.equal((await changed(app, grown.extId, 'power-off')).status, 'SUCCEEDED')
  await app.store.transaction((store) => store.update(Vm, grown.extId, { memorySizeBytes: 8 * GiB }))
  assert.equal((await changed(app, grown.extId, 'power-on')).status, 'SUCCEEDED')
  const exited = await done('exit', cluster, host)
  assert.equal(exited.status, 'SUCCEEDED')
  assert.match(
    JSON.stringify(exited.warnings),
    /The VM \\"left\\" stays on its present host: .*no host has room|The VM \\"left\\" stays on its present host: .*memory/,
  )
  assert.equal((await readVm(app, grown.extId)).host.extId, host)
  assert.notEqual((await readVm(app, left.extId)).host.extId, host)
})

test('agent VMs are powered off last, whatever the request says, and start on their host again', async () => {
  const cluster = await aNativeCluster(app, { hosts: 2 })
  const [host = ''] = cluster.hostExtIds
  const agent = await aVm(app, cluster, { isAgentVm: true, host: { extId: host } })
  assert.equal((await changed(app, agent.extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await done('enter', cluster, host)).status, 'SUCCEEDED')
  assert.equal((await readVm(app, agent.extId)).powerState, 'OFF')
  const start = await changed(app, agent.extId, 'power-on')
  assert.equal(start.errorMessages[0].code, 'VMM-40001')
  assert.match(start.errorMessages[0].message, /maintenance: the host is in_maintenance/)
  assert.equal((await done('exit', cluster, host)).status, 'SUCCEEDED')
  assert.equal((await readVm(app, agent.extId)).host.extId, host)
})

test('18. a host stays in operation when no other one has room for its VMs', async () => {
  const cluster = await aNativeCluster(app, { hosts: 2, usableGiB: 10 })
  const [host = '', other = ''] = cluster.hostExtIds
  const vm = await running(cluster, host, { memorySizeBytes: 6 * GiB })
  await running(cluster, other, { memorySizeBytes: 6 * GiB })
  const task = await done('enter', cluster, host)
  assert.equal(task.errorMessages[0].code, 'VMM-40001')
  assert.match(task.errorMessages[0].message, /no host has room: .*memory: /)
  assert.equal((await hostOf(cluster, host)).maintenanceState, 'normal')
  assert.equal((await readVm(app, vm.extId)).host.extId, host)
})

test('18. no host gives its VMs more memory than it has, in any second of an attempt without room and of one with room', async () => {
  const cluster = await aNativeCluster(slow, { hosts: 3, usableGiB: 10 })
  const [host = '', second = '', third = ''] = cluster.hostExtIds
  const start = (at: string, GiBs: number): Promise<any> =>
    driven(slow, aRunningVm(slow, cluster, { host: at, memorySizeBytes: GiBs * GiB }))
  const vms = [await start(host, 3), await start(host, 3), await start(host, 3)]
  await start(second, 4)
  const inTheWay = await start(third, 8)
  let allotments = 0
  const watched = async (): Promise<any> => {
    const started = await ask('enter', cluster, host, {}, {}, slow)
    const task = slow.task(started)
    let isOver = false
    void task.finally(() => (isOver = true))
    while (!isOver) {
      const held = await slow.store.findWhere(HostAllocation, { clusterExtId: cluster.extId })
      allotments = Math.max(allotments, held.length)
      for (const extId of cluster.hostExtIds) {
        const given = held.filter(({ hostExtId }) => hostExtId === extId)
        const sum = given.reduce((bytes, { memoryBytes }) => bytes + memoryBytes, 0)
        assert.ok(sum <= 10 * GiB, `${sum / GiB} GiB on ${extId}`)
      }
      await slow.clock.advance(1000)
    }
    return task
  }
  const refused = await watched()
  assert.match(refused.errorMessages[0].message, /no host has room/)
  assert.equal((await hostOf(cluster, host, slow)).maintenanceState, 'normal')
  await driven(slow, changed(slow, inTheWay.extId, 'power-off'))
  allotments = 0
  assert.equal((await watched()).status, 'SUCCEEDED')
  assert.ok(allotments > vms.length + 1, 'a VM that moves has memory on both hosts')
})

test('VMs that moved already return when another one fails to move', async () => {
  const cluster = await aNativeCluster(app, { hosts: 2 })
  const [host = ''] = cluster.hostExtIds
  const small = await running(cluster, host)
  const large = await running(cluster, host, { name: 'large', memorySizeBytes: 2 * GiB })
  const final = { error: 'CONFLICT', arguments: { fault: 'The memory did not converge.' } }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'migrateVm' } }, final, { nth: 2 })
  const task = await done('enter', cluster, host)
  assert.equal(task.status, 'FAILED')
  for (const { extId } of [small, large]) assert.equal((await readVm(app, extId)).host.extId, host)
  assert.equal((await hostOf(cluster, host)).maintenanceState, 'normal')
})

test('when a second attempt fails with a rollback, the VMs that the first one moved come back as well', async () => {
  const cluster = await aNativeCluster(app, { hosts: 2, usableGiB: 10 })
  const [host = '', other = ''] = cluster.hostExtIds
  const small = await running(cluster, host)
  const large = await running(cluster, host, { memorySizeBytes: 4 * GiB })
  const final = { error: 'CONFLICT', arguments: { fault: 'The memory did not converge.' } }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'migrateVm' } }, final, { nth: 2 })
  assert.equal((await done('enter', cluster, host, { shouldRollbackOnFailure: false })).status, 'FAILED')
  await noFaults(app)
  assert.equal((await readVm(app, small.extId)).host.extId, other)
  await running(cluster, other, { memorySizeBytes: 8 * GiB })
  const task = await done('enter', cluster, host)
  assert.equal(task.errorMessages[0].code, 'VMM-40001')
  for (const { extId } of [small, large]) assert.equal((await readVm(app, extId)).host.extId, host)
  assert.equal((await hostOf(cluster, host)).maintenanceState, 'normal')
})

test('bad requests name their faults', async () => {
  const cluster = await aNativeCluster(app, { hosts: 2 })
  const [host = ''] = cluster.hostExtIds
  assert.equal((await ask('enter', cluster, host, { timeoutSeconds: 0 })).status, 400)
  assert.equal((await ask('enter', cluster, randomUUID())).status, 404)
  const single = await aNativeCluster(app, { hosts: 1 })
  assert.equal(await refusal('enter', single, single.hostExtIds[0] as string), '409 CLUSTER_CANNOT_TOLERATE')
  const [one, two] = await Promise.all([ask('enter', cluster, host), ask('enter', cluster, host)])
  assert.deepEqual([one.status, two.status].sort(), [202, 409])
  for (const each of [one, two]) if (each.status === 202) await app.task(each)
  assert.equal((await done('exit', cluster, host)).status, 'SUCCEEDED')
})

/** In a world whose migrations take time, to the moment when the first of two VMs has moved. */
async function halfEmptied(
  body: object,
): Promise<{ cluster: NativeCluster; host: string; vms: any[]; task: CallResult }> {
  const cluster = await aNativeCluster(slow, { hosts: 2 })
  const [host = ''] = cluster.hostExtIds
  const vms = []
  for (const GiBs of [1, 8])
    vms.push(await driven(slow, aRunningVm(slow, cluster, { memorySizeBytes: GiBs * GiB, host })))
  const task = await ask('enter', cluster, host, body, {}, slow)
  assert.equal(task.status, 202, JSON.stringify(task.errors))
  while ((await readVm(slow, vms[0].extId)).host.extId === host) await slow.clock.advance(500)
  return { cluster, host, vms, task }
}

test('a VM that is deleted before its turn does not keep the others on the host', async () => {
  const cluster = await aNativeCluster(slow, { hosts: 2 })
  const [host = ''] = cluster.hostExtIds
  const vms = []
  for (const GiBs of [1, 2, 3, 4, 5])
    vms.push(await driven(slow, aRunningVm(slow, cluster, { memorySizeBytes: GiBs * GiB, host })))
  const [, , deleted, ...last] = vms
  const task = await ask('enter', cluster, host, {}, {}, slow)
  assert.equal((await driven(slow, changed(slow, deleted.extId, 'delete'))).status, 'SUCCEEDED')
  const { status, errorMessages } = await driven(slow, slow.task(task))
  assert.equal(status, 'SUCCEEDED', JSON.stringify(errorMessages))
  for (const { extId } of last) assert.notEqual((await readVm(slow, extId)).host.extId, host)
})

test('19. a cancellation brings the VMs back that have moved already', async () => {
  const { cluster, host, vms, task } = await halfEmptied({})
  const path = `/platform/v4.3/config/tasks/${task.data.extId}/$actions/cancel`
  assert.equal((await slow.call('POST', path)).status, 200)
  assert.equal((await driven(slow, slow.task(task))).status, 'CANCELED')
  for (const { extId } of vms) assert.equal((await readVm(slow, extId)).host.extId, host)
  assert.equal((await hostOf(cluster, host, slow)).maintenanceState, 'normal')
})

test('after the time of the request the host is in operation again', async () => {
  const { cluster, host, vms, task } = await halfEmptied({ timeoutSeconds: 3 })
  const { status, errorMessages } = await driven(slow, slow.task(task))
  assert.equal(status, 'FAILED')
  assert.match(errorMessages[0].message, /was not empty after 3 s/)
  for (const { extId } of vms) assert.equal((await readVm(slow, extId)).host.extId, host)
  assert.equal((await hostOf(cluster, host, slow)).maintenanceState, 'normal')
})

test('without a rollback the host stays closed, until it enters again or leaves', async () => {
  const { cluster, host, vms, task } = await halfEmptied({ timeoutSeconds: 3, shouldRollbackOnFailure: false })
  assert.equal((await ask('exit', cluster, host, {}, {}, slow)).errors?.[0]?.errorGroup, 'CLUSTER_BUSY')
  assert.equal((await driven(slow, slow.task(task))).status, 'FAILED')
  const { maintenanceState, hypervisor } = await hostOf(cluster, host, slow)
  assert.deepEqual([maintenanceState, hypervisor.state], ['entering_maintenance', undefined])
  assert.notEqual((await readVm(slow, vms[0].extId)).host.extId, host)
  const again = await driven(
    slow,
    ask('enter', cluster, host, {}, {}, slow).then((started) => slow.task(started)),
  )
  assert.equal(again.status, 'SUCCEEDED', JSON.stringify(again.errorMessages))
  const left = await driven(
    slow,
    ask('exit', cluster, host, {}, {}, slow).then((started) => slow.task(started)),
  )
  assert.equal(left.status, 'SUCCEEDED')
  for (const { extId } of vms) assert.equal((await readVm(slow, extId)).host.extId, host)
})

test('when the host fails on the way, the task ends, and high availability takes care of the VMs that were left', async () => {
  const { cluster, host, vms, task } = await halfEmptied({})
  await setFault(slow, host, { isDown: true, hasLostPower: true, since: slow.clock.now() })
  assert.equal((await driven(slow, slow.task(task))).status, 'FAILED')
  await slow.clock.advance(5 * 60_000)
  for (const { extId } of vms) {
    const { host: now, powerState } = await readVm(slow, extId)
    assert.equal(powerState, 'ON')
    assert.notEqual(now.extId, host)
  }
  await setFault(slow, host)
  assert.equal((await hostOf(cluster, host, slow)).maintenanceState, 'normal')
})

test('a host that fails in maintenance leaves it only after its return', async () => {
  const cluster = await aNativeCluster(app, { hosts: 2 })
  const [host = ''] = cluster.hostExtIds
  const vm = await running(cluster, host)
  assert.equal((await done('enter', cluster, host)).status, 'SUCCEEDED')
  await setFault(app, host, { isDown: true, hasLostPower: true, since: app.clock.now() })
  assert.equal(await refusal('exit', cluster, host), '409 HOST_UNREACHABLE')
  await app.clock.advance(5 * 60_000)
  await setFault(app, host)
  assert.equal((await hostOf(cluster, host)).maintenanceState, 'in_maintenance')
  assert.equal((await done('exit', cluster, host)).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm.extId)).host.extId, host)
})
