/** VMs of hosts that are lost run elsewhere, or say why not. Source: behaviour vmm.md 1.1 (states), 3.2 (HA). */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { DriverError } from '../../../src/core/tasks/define-task.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { advance, clustermgmt, setFault } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
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
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

/** What is to happen just before a step of a task runs, of a restart unless told otherwise; once. */
let atStep: { readonly of?: string; readonly step: string; readonly work: () => Promise<unknown> } | undefined
const beforeStep = async (definition: string, step: string, phase: string): Promise<void> => {
  const { of = 'vmm.restart-vm-elsewhere' } = atStep ?? {}
  if (definition !== of || phase !== 'run' || atStep?.step !== step) return
  const { work } = atStep
  atStep = undefined
  await work()
}

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep })
})
after(() => app.close())
afterEach(async () => {
  assert.equal(atStep, undefined, 'the step came')
  for (const [hostExtId] of app.world.collection('hardware.faults').all()) await setFault(app, hostExtId)
  await advance(app, 1)
  await checkInvariants(app)
})

const fail = (host: string) => happen(app, { type: 'HOST_FAILS', host })
const back = (host: string) => happen(app, { type: 'HOST_RETURNS', host })
const lost = 1.5
const silent = 0.75
const stateOf = async (extId: string): Promise<string> => (await readVm(app, extId)).powerState
const journal = async (extId: string): Promise<string[]> =>
  (await powerHistory(app.store, extId)).map((event) => event.change)
const hostsHolding = async (vmExtId: string): Promise<string[]> =>
  (await app.store.findWhere(HostAllocation, { vmExtId })).map(({ hostExtId }) => hostExtId)
/** Newest first. */
const restarts = async (vmExtId: string): Promise<any[]> => {
  const filter = `operation eq 'VmHaRestart' and entitiesAffected/any(e: e/extId eq '${vmExtId}')`
  const { data, status, errors } = await app.call('GET', `/platform/v4.3/config/tasks?$filter=${filter}`)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
async function aRunningVm(cluster: NativeCluster, body: object = {}): Promise<any> {
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], ...body })
  const task = await changed(app, vm.extId, 'power-on')
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return readVm(app, vm.extId)
}
const numberOfVms = async (cluster: NativeCluster, host: string): Promise<number> =>
  (await app.call('GET', `${clustermgmt}/clusters/${cluster.extId}/hosts/${host}`)).data.hypervisor.numberOfVms

test('a VM of a failed host is restarted on another host with the same addresses 30 s after it became UNDETERMINED, and its old host returns without it', async () => {
  const cluster = await aNativeCluster(app)
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const vm = await aRunningVm(cluster, { nics: [nicOn(subnet)] })
  await advance(app, 1)
  const { nics } = await readVm(app, vm.extId)
  await fail(vm.host.extId)
  await advance(app, silent)
  const unseen = await readVm(app, vm.extId)
  assert.deepEqual([unseen.powerState, unseen.host], ['UNDETERMINED', vm.host])
  await checkInvariants(app)
  await advance(app, silent)

  const restarted = await readVm(app, vm.extId)
  const other = cluster.hostExtIds.find((extId) => extId !== vm.host.extId) as string
  assert.deepEqual([restarted.powerState, restarted.host], ['ON', { extId: other }])
  assert.deepEqual(await hostsHolding(vm.extId), [other])
  await checkInvariants(app)
  assert.deepEqual([await numberOfVms(cluster, vm.host.extId), await numberOfVms(cluster, other)], [0, 1])
  await advance(app, 1)
  assert.deepEqual((await readVm(app, vm.extId)).nics, nics)
  assert.deepEqual(await journal(vm.extId), ['ON', 'PAUSED', 'ON'])
  const [task, ...more] = await restarts(vm.extId)
  assert.deepEqual(more, [])
  assert.deepEqual(
    [task.status, task.operationDescription, task.ownedBy.name, task.isBackgroundTask, task.clusterExtIds],
    ['SUCCEEDED', 'VM HA Restart', 'system', true, [cluster.extId]],
  )
  assert.deepEqual(
    task.entitiesAffected.map(({ extId, name, rel }: any) => [extId, name, rel]),
    [[vm.extId, vm.name, 'vmm:ahv:config:vm']],
  )
  assert.deepEqual(
    task.subSteps.map(({ name }: any) => name),
    ['fence', 'start', 'confirm'],
  )
  assert.equal(task.warnings, undefined)

  const effects = (await back(vm.host.extId)).effects.join()
  assert.match(effects, /0 guests of it restarted/)
  await advance(app, 1)
  assert.deepEqual((await readVm(app, vm.extId)).host, { extId: other })
  assert.deepEqual(await journal(vm.extId), ['ON', 'PAUSED', 'ON'])
})

test('statistics have a gap while the VM is UNDETERMINED, and continue after its restart', async () => {
  const vm = await aRunningVm(await aNativeCluster(app))
  await advance(app, 10)
  await fail(vm.host.extId)
  const failed = app.clock.now()
  await advance(app, 10)
  const [from, to] = [failed - 300_000, app.clock.now()].map((time) => new Date(time).toISOString())
  const stats = `/vmm/v4.2/ahv/stats/vms/${vm.extId}?$startTime=${from}&$endTime=${to}&$select=*`
  const points: any[] = (await app.call('GET', stats)).data.stats
  const running = points
    .filter(({ hypervisorVmRunningTimeUsecs }) => hypervisorVmRunningTimeUsecs !== undefined)
    .map((point) => ({ ...point, second: (Date.parse(point.timestamp) - failed) / 1000 }))
  const gap = running.findIndex(({ second }, index) => index > 0 && second - running[index - 1].second > 30)
  const [before, behind] = [running[gap - 1], running[gap]]
  assert.ok(before.second >= 20 && behind.second > 60 && behind.second <= 120, `${before.second} ${behind.second}`)
  assert.ok(behind.hypervisorVmRunningTimeUsecs < before.hypervisorVmRunningTimeUsecs)
  assert.ok(running.length - gap > 10)
  assert.ok(new Set(running.slice(gap).map(({ hypervisorCpuUsagePpm }) => hypervisorCpuUsagePpm)).size > 5)
})

test('larger VMs are restarted first; a VM that fits on no host stays OFF, and the warning of its task names the reason and a remedy', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [crowded, small, large] = [
    await aRunningVm(cluster, { name: 'crowded', memorySizeBytes: 90 * GiB }),
    await aRunningVm(cluster, { name: 'small', memorySizeBytes: 30 * GiB }),
    await aRunningVm(cluster, { name: 'large', memorySizeBytes: 80 * GiB }),
  ]
  assert.equal(new Set([crowded, small, large].map(({ host }) => host.extId)).size, 3)
  // One host of three is left, with room for the larger or for the smaller.
  await fail(small.host.extId)
  await fail(large.host.extId)
  await changed(app, crowded.extId, 'power-off')
  await advance(app, lost)
  const placed = await readVm(app, large.extId)
  assert.deepEqual([placed.powerState, placed.host], ['ON', crowded.host])
  const off = await readVm(app, small.extId)
  assert.deepEqual([off.powerState, off.host, off.isLiveMigrateCapable], ['OFF', undefined, undefined])
  assert.deepEqual(await hostsHolding(small.extId), [])
  const [task] = await restarts(small.extId)
  const hosts = (await app.call('GET', `${clustermgmt}/clusters/${cluster.extId}/hosts`)).data
  const nameOf = (extId: string): string => hosts.find((host: any) => host.extId === extId).hostName
  assert.deepEqual([task.status, task.warnings.length, task.warnings[0].severity], ['SUCCEEDED', 1, 'WARNING'])
  const { message } = task.warnings[0]
  assert.ok(message.startsWith(`The VM "small" is OFF: its host ${nameOf(small.host.extId)} does not answer`), message)
  assert.ok(
    message.includes(`${nameOf(crowded.host.extId)}: memory: ${30 * GiB} bytes needed, ${20 * GiB} free`),
    message,
  )
  for (const { host } of [small, large]) assert.ok(message.includes(`${nameOf(host.extId)}: unreachable`), message)
  assert.match(message, /Make room .* power the VM on\.$/)

  await back(small.host.extId)
  await advance(app, 1)
  assert.equal(await stateOf(small.extId), 'OFF', 'it is for its owner to start it')
  assert.equal((await changed(app, small.extId, 'power-on')).status, 'SUCCEEDED')
})

test('an agent VM and a VM with a passthrough device are not restarted elsewhere but wait for their host', async () => {
  const cluster = await aNativeCluster(app)
  const [hostExtId] = cluster.hostExtIds
  const agent = await aRunningVm(cluster, { isAgentVm: true, host: { extId: hostExtId } })
  const bound = [{ gpus: [{ mode: 'PASSTHROUGH_COMPUTE' }] }, { pcieDevices: [{ assignedDeviceInfo: {} }] }]
  const others: any[] = []
  for (const device of [...bound, { gpus: [{ mode: 'VIRTUAL' }] }]) {
    const vm = await aRunningVm(cluster, { memorySizeBytes: GiB })
    await app.store.transaction((store) => store.update(Vm, vm.extId, device as never))
    others.push(vm)
  }
  for (const host of cluster.hostExtIds) {
    await fail(host)
    await advance(app, lost)
    const here = [agent, ...others.slice(0, 2)].filter((vm) => vm.host.extId === host)
    for (const vm of here) assert.equal(await stateOf(vm.extId), 'UNDETERMINED')
    await back(host)
    await advance(app, 1)
    for (const vm of here) assert.deepEqual([await stateOf(vm.extId), await restarts(vm.extId)], ['ON', []])
  }
  assert.equal((await restarts(others[2].extId)).length, 1, 'a virtual GPU is no device of the host')
  for (const vm of others)
    await app.store.transaction((store) =>
      store.update(Vm, vm.extId, { gpus: undefined, pcieDevices: undefined } as never),
    )
})

test('while no host of the cluster answers, its VMs wait; the first host that returns runs the VMs of the others', async () => {
  const cluster = await aNativeCluster(app)
  const vms = [await aRunningVm(cluster), await aRunningVm(cluster)]
  for (const host of cluster.hostExtIds) await fail(host)
  await advance(app, 10)
  for (const vm of vms) assert.deepEqual([await stateOf(vm.extId), await restarts(vm.extId)], ['UNDETERMINED', []])
  const first = vms[0].host.extId
  await back(first)
  await advance(app, 1)
  for (const vm of vms) {
    const { powerState, host } = await readVm(app, vm.extId)
    assert.deepEqual([powerState, host], ['ON', { extId: first }])
  }
  assert.deepEqual(await journal(vms[0].extId), ['ON', 'PAUSED', 'RESET'])
  assert.deepEqual(await journal(vms[1].extId), ['ON', 'PAUSED', 'ON'])
})

test('VMs of an unreachable cluster are restarted only after the cluster is reachable again', async () => {
  const cluster = await aNativeCluster(app)
  const vm = await aRunningVm(cluster)
  await happen(app, { type: 'CLUSTER_CUT_OFF', cluster: cluster.extId })
  await fail(vm.host.extId)
  await advance(app, 10)
  assert.deepEqual([await stateOf(vm.extId), await restarts(vm.extId)], ['ON', []])
  await happen(app, { type: 'CLUSTER_RETURNS', cluster: cluster.extId })
  await advance(app, lost)
  assert.equal((await restarts(vm.extId)).length, 1)
  assert.notDeepEqual((await readVm(app, vm.extId)).host, vm.host)
})

test('the VMs of an isolated host are restarted on another host, and none runs twice', async () => {
  const cluster = await aNativeCluster(app)
  const vm = await aRunningVm(cluster)
  const startedAt = domainFacts(app.world).get(vm.extId)?.startedAt
  await setFault(app, vm.host.extId, { isDown: true, isCutOff: true })
  await advance(app, lost)
  const fact = domainFacts(app.world).get(vm.extId)
  assert.notEqual(fact?.hostExtId, vm.host.extId)
  assert.ok((fact?.startedAt ?? 0) > (startedAt ?? 0))
  await setFault(app, vm.host.extId)
  await advance(app, 1)
  assert.deepEqual((await readVm(app, vm.extId)).host, { extId: fact?.hostExtId })
})

test('a host that returns before its VM is restarted elsewhere keeps it, and the reservation on the other host is released', async () => {
  const cluster = await aNativeCluster(app)
  const vm = await aRunningVm(cluster)
  await fail(vm.host.extId)
  atStep = { step: 'fence', work: () => back(vm.host.extId) }
  await advance(app, 2)
  const kept = await readVm(app, vm.extId)
  assert.deepEqual([kept.powerState, kept.host], ['ON', vm.host])
  assert.deepEqual(await hostsHolding(vm.extId), [vm.host.extId])
  const [task] = await restarts(vm.extId)
  assert.deepEqual([task.status, task.warnings], ['SUCCEEDED', undefined])
  assert.deepEqual(await journal(vm.extId), ['ON', 'PAUSED', 'RESET'])
})

test('a host that returns after the restart of its VM began does not get the VM back', async () => {
  const cluster = await aNativeCluster(app)
  const vm = await aRunningVm(cluster)
  await fail(vm.host.extId)
  let again: object | undefined
  atStep = {
    step: 'start',
    work: async () => {
      await back(vm.host.extId)
      // As a service asks that was killed before it wrote the first answer down.
      again = await app.drivers.hypervisor.fenceVm(vm.extId, vm.host.extId)
    },
  }
  await advance(app, 2)
  assert.deepEqual(again, { isCustomizationDone: true })
  const moved = await readVm(app, vm.extId)
  assert.equal(moved.powerState, 'ON')
  assert.notDeepEqual(moved.host, vm.host)
})

test('when the host chosen for the restart fails too, the next host runs the VM', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const vm = await aRunningVm(cluster)
  await fail(vm.host.extId)
  let chosen: string | undefined
  atStep = {
    step: 'start',
    work: async () => {
      chosen = (await hostsHolding(vm.extId)).find((extId) => extId !== vm.host.extId)
      await fail(chosen as string)
    },
  }
  await advance(app, lost)
  const { powerState, host } = await readVm(app, vm.extId)
  assert.equal(powerState, 'ON')
  assert.ok(![vm.host.extId, chosen].includes(host.extId))
  assert.deepEqual(await hostsHolding(vm.extId), [host.extId])
})

test('when every host refuses to start the VM, it stays OFF and its task names the refusal of each host', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const vm = await aRunningVm(cluster)
  const faults = '/control/v1/worlds/default/faults'
  const rule = await app.call('POST', faults, {
    body: {
      match: { driverCall: { driver: 'hypervisor', method: 'startVm' } },
      effect: { error: 'BACKEND_TIMEOUT', arguments: { fault: 'The switch was off.' } },
    },
  })
  assert.equal(rule.status, 201, JSON.stringify(rule.errors))
  await fail(vm.host.extId)
  await advance(app, lost)
  assert.equal(await stateOf(vm.extId), 'OFF')
  assert.deepEqual(await hostsHolding(vm.extId), [])
  const [task] = await restarts(vm.extId)
  assert.equal(task.warnings[0].message.match(/: start: /g).length, 2, task.warnings[0].message)
  assert.equal((await app.call('DELETE', `${faults}/${rule.data.extId}`)).status, 204)
})

test('operations sent during the restart of a VM run after it and have their normal effect', async () => {
  for (const [action, to] of [
    ['power-off', 'OFF'],
    ['reset', 'ON'],
    ['delete', undefined],
  ] as const) {
    const vm = await aRunningVm(await aNativeCluster(app))
    await fail(vm.host.extId)
    await advance(app, silent)
    assert.equal((await change(app, vm.extId, action)).errors[0]?.code, 'VMM-30100', action)
    const sent: Promise<any>[] = []
    atStep = { step: 'start', work: async () => void sent.push(changed(app, vm.extId, action)) }
    await advance(app, silent)
    assert.equal((await sent[0]).status, 'SUCCEEDED', action)
    if (to !== undefined) assert.equal(await stateOf(vm.extId), to)
    else assert.equal((await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vm.extId}`)).status, 404)
    assert.equal((await hostsHolding(vm.extId)).length, to === 'ON' ? 1 : 0, action)
  }
})

test('an update of an UNDETERMINED VM is 409, and an update that timed out at a failed host does not block the restart', async () => {
  const vm = await aRunningVm(await aNativeCluster(app))
  const grow = async () => ({ put: { ...(await readVm(app, vm.extId)), memorySizeBytes: 2 * GiB } })
  await fail(vm.host.extId)
  const task = await changed(app, vm.extId, await grow())
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'BACKEND_TIMEOUT'])
  await advance(app, silent)
  assert.equal((await change(app, vm.extId, await grow())).errors[0]?.code, 'VMM-30100')
  await advance(app, silent)
  assert.equal(await stateOf(vm.extId), 'ON')
  assert.equal((await changed(app, vm.extId, await grow())).status, 'SUCCEEDED')
})

test('an update that fails after migrating the VM leaves it on the new host when either host is silent, and the VM is not left busy', async () => {
  for (const failing of ['to', 'from'] as const) {
    const cluster = await aNativeCluster(app, { hosts: 3 })
    const vm = await aRunningVm(cluster, { memorySizeBytes: 20 * GiB })
    // Its host has no room for it to grow.
    const filler = await aVm(app, cluster, { memorySizeBytes: 75 * GiB, isAgentVm: true, host: vm.host })
    assert.equal((await changed(app, filler.extId, 'power-on')).status, 'SUCCEEDED')
    let to = ''
    atStep = {
      of: 'vmm.update-vm',
      step: 'apply',
      work: async () => {
        to = (await hostsHolding(vm.extId)).find((extId) => extId !== vm.host.extId) as string
        await fail(failing === 'to' ? to : vm.host.extId)
        if (failing === 'from') throw DriverError.final('the change cannot be made')
      },
    }
    const task = await changed(app, vm.extId, { put: { ...(await readVm(app, vm.extId)), memorySizeBytes: 40 * GiB } })
    assert.equal(task.status, 'FAILED')
    const stays = await readVm(app, vm.extId)
    assert.deepEqual([stays.powerState, stays.host, stays.memorySizeBytes], ['ON', { extId: to }, 20 * GiB])
    assert.deepEqual(await hostsHolding(vm.extId), [to])
    await checkInvariants(app)
    await advance(app, lost)
    assert.equal(await stateOf(vm.extId), 'ON')
    assert.equal((await restarts(vm.extId)).length, failing === 'to' ? 1 : 0)
    await checkInvariants(app)
  }
})

test('a VM can be deleted while its host does not answer', async () => {
  const vm = await aRunningVm(await aNativeCluster(app))
  await fail(vm.host.extId)
  assert.equal((await changed(app, vm.extId, 'delete')).status, 'SUCCEEDED')
  assert.equal(domainFacts(app.world).get(vm.extId), undefined)
})

test('after a restart by high availability, a completed customisation is not repeated and a pending one runs on the new host', async () => {
  const guestCustomization = {
    config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from('instance-id: x').toString('base64') },
  }
  for (const hasRun of [true, false]) {
    const cluster = await aNativeCluster(app)
    const vm = await aRunningVm(cluster, { guestCustomization })
    assert.equal(vm.cdRoms.length, 1)
    if (hasRun) await app.clock.advance(2000)
    await fail(vm.host.extId)
    await app.clock.advance(lost * 60_000)
    const restarted = await readVm(app, vm.extId)
    assert.equal(restarted.powerState, 'ON')
    assert.equal(restarted.vmGuestCustomizationStatus, undefined)
    const { domain } = domainFacts(app.world).get(vm.extId)!
    assert.deepEqual([domain.hasPendingCustomization, domain.isoExtIds.length], hasRun ? [false, 0] : [true, 1])
    await advance(app, 2)
    assert.equal((await readVm(app, vm.extId)).cdRoms, undefined)
  }
})
