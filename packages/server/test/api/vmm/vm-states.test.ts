/** What the world does to VMs unasked, and what operations make of it. Source: behaviour vmm.md 1.1 (states, transitions by the world). */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { domainFacts, haltGuest, stallFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { advance, setFault } from '../../support/clustermgmt.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import {
  aNativeCluster,
  aVm,
  bootDisk,
  change,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())

const minute = 1
const stateOf = async (extId: string): Promise<string> => (await readVm(app, extId)).powerState
const refusals = (extId: string): Promise<(string | undefined)[]> =>
  Promise.all(
    (['power-on', 'power-off', 'shutdown', 'reset', 'delete'] as const).map(
      async (action) => (await change(app, extId, action)).errors[0]?.code,
    ),
  )
async function aRunningVm(cluster: NativeCluster): Promise<any> {
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  await changed(app, vm.extId, 'power-on')
  await advance(app, minute)
  return readVm(app, vm.extId)
}
const stall = (cluster: NativeCluster) => stallFacts(app.world).put(cluster.containerExtId, { since: app.clock.now() })
const unstall = (cluster: NativeCluster) => stallFacts(app.world).remove(cluster.containerExtId)

test('a guest that shuts itself down leaves its VM OFF, without a host and with a new ETag', async () => {
  const vm = await aRunningVm(await aNativeCluster(app))
  const tag = await tagOf(app, vm.extId)
  await haltGuest(app.world, vm.extId)
  await advance(app, minute)
  const off = await readVm(app, vm.extId)
  assert.deepEqual([off.powerState, off.host, off.isLiveMigrateCapable], ['OFF', undefined, undefined])
  assert.deepEqual(await app.store.findWhere(HostAllocation, { vmExtId: vm.extId }), [])
  assert.notEqual(await tagOf(app, vm.extId), tag)
  assert.equal(domainFacts(app.world).get(vm.extId)?.haltedAt, undefined)
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  await advance(app, minute)
  assert.equal(await stateOf(vm.extId), 'ON')
})

test('storage that stalls for more than 30 s pauses the VM on its host, and the VM resumes when storage works again', async () => {
  const cluster = await aNativeCluster(app)
  const vm = await aRunningVm(cluster)
  const startedAt = domainFacts(app.world).get(vm.extId)?.startedAt
  await stall(cluster)
  await app.clock.advance(30_000)
  assert.equal(await stateOf(vm.extId), 'ON')
  await advance(app, minute)
  const paused = await readVm(app, vm.extId)
  assert.deepEqual([paused.powerState, paused.host], ['PAUSED', vm.host])
  assert.equal((await app.store.findWhere(HostAllocation, { vmExtId: vm.extId }))[0]?.memoryBytes, GiB)
  await unstall(cluster)
  await advance(app, minute)
  assert.equal(await stateOf(vm.extId), 'ON')
  assert.equal(domainFacts(app.world).get(vm.extId)?.startedAt, startedAt)
  assert.deepEqual(
    (await powerHistory(app.store, vm.extId)).map((event) => event.change),
    ['ON', 'PAUSED', 'RESUMED'],
  )
})

test('a PAUSED VM can be resumed, reset, powered off and deleted, but its paused guest takes no guest shutdown or reboot', async () => {
  for (const [action, to] of [
    ['power-on', 'ON'],
    ['reset', 'ON'],
    ['power-off', 'OFF'],
    ['delete', undefined],
  ] as const) {
    const cluster = await aNativeCluster(app)
    const vm = await aRunningVm(cluster)
    const startedAt = domainFacts(app.world).get(vm.extId)?.startedAt
    await stall(cluster)
    await advance(app, 2 * minute)
    assert.equal(await stateOf(vm.extId), 'PAUSED')
    assert.equal((await change(app, vm.extId, 'shutdown')).errors[0]?.code, 'VMM-30100')
    await unstall(cluster)
    assert.equal((await changed(app, vm.extId, action)).status, 'SUCCEEDED', action)
    if (to === undefined) {
      assert.equal((await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vm.extId}`)).status, 404)
      continue
    }
    const after = await readVm(app, vm.extId)
    assert.deepEqual([after.powerState, after.host], [to, to === 'ON' ? vm.host : undefined], action)
    // Only a reset restarts the guest.
    const fact = domainFacts(app.world).get(vm.extId)
    assert.equal(fact?.state === 'ON' && fact.startedAt === startedAt, action === 'power-on', action)
  }
})

test('a failed power-on of a PAUSED VM leaves it paused on its host, with its memory reserved and its guest in place', async () => {
  const cluster = await aNativeCluster(app)
  const vm = await aRunningVm(cluster)
  const startedAt = domainFacts(app.world).get(vm.extId)?.startedAt
  await stall(cluster)
  await advance(app, 2 * minute)
  const heldBefore = await app.store.findWhere(HostAllocation, { vmExtId: vm.extId })
  const noAnswer = { error: 'BACKEND_TIMEOUT', arguments: { fault: 'The host gave no answer.' } }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'startVm' } }, noAnswer)
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'FAILED')
  await noFaults(app)
  const after = await readVm(app, vm.extId)
  assert.deepEqual([after.powerState, after.host], ['PAUSED', vm.host])
  assert.deepEqual(await app.store.findWhere(HostAllocation, { vmExtId: vm.extId }), heldBefore)
  await unstall(cluster)
  await advance(app, minute)
  assert.equal(await stateOf(vm.extId), 'ON')
  assert.equal(domainFacts(app.world).get(vm.extId)?.startedAt, startedAt)
})

test('a VM without disks on the stalled storage is not paused', async () => {
  const [stalled, other] = [await aNativeCluster(app), await aNativeCluster(app)]
  const vm = await aRunningVm(other)
  await stall(stalled)
  await advance(app, 2 * minute)
  assert.equal(await stateOf(vm.extId), 'ON')
  await unstall(stalled)
})

test('the VMs of a host that is silent for more than 30 s are UNDETERMINED, still name that host, and refuse operations until it returns', async () => {
  const cluster = await aNativeCluster(app, { hosts: 1 })
  const off = await aVm(app, cluster, { disks: [emptyDisk()] })
  const vm = await aRunningVm(cluster)
  await setFault(app, vm.host.extId, { isDown: true })
  await app.clock.advance(20_000)
  assert.equal(await stateOf(vm.extId), 'ON')
  await advance(app, minute)
  const lost = await readVm(app, vm.extId)
  assert.deepEqual([lost.powerState, lost.host], ['UNDETERMINED', vm.host])
  assert.equal(await stateOf(off.extId), 'OFF')
  assert.deepEqual(new Set(await refusals(vm.extId)), new Set(['VMM-30100']))
  await setFault(app, vm.host.extId)
  await advance(app, minute)
  assert.equal(await stateOf(vm.extId), 'ON')
  assert.equal((await changed(app, vm.extId, 'power-off')).status, 'SUCCEEDED')
})

test('a host that is silent for less than 30 s changes nothing, and the time is not added to the next silence', async () => {
  const cluster = await aNativeCluster(app, { hosts: 1 })
  const vm = await aRunningVm(cluster)
  const tag = await tagOf(app, vm.extId)
  for (let time = 0; time < 3; time++) {
    await setFault(app, vm.host.extId, { isDown: true })
    await app.clock.advance(20_000)
    await setFault(app, vm.host.extId)
    await app.clock.advance(20_000)
    await app.store.transaction(async () => undefined)
  }
  assert.equal(await stateOf(vm.extId), 'ON')
  assert.equal(await tagOf(app, vm.extId), tag)
})

test('changes to guests and hosts during a stop of the service are detected after its start', async () => {
  const unchecked = 'the guest halts and the service does not see it before its end'
  const first = await startApp({ config: { seed: 'empty' }, unchecked })
  const cluster = await aNativeCluster(first)
  const vm = await aVm(first, cluster)
  await changed(first, vm.extId, 'power-on')
  await haltGuest(first.world, vm.extId)
  const { folder, config } = first
  await first.runner.idle()
  const copy = `${folder}-later`
  const { cpSync, rmSync } = await import('node:fs')
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith('lock') })
  await first.close()
  const second = await startApp({ config: { ...config, data: copy }, folder: copy })
  await advance(second, minute)
  assert.equal((await readVm(second, vm.extId)).powerState, 'OFF')
  await second.close()
  rmSync(copy, { recursive: true })
})
