/** Hosts and clusters that fail, slow down, are cut off and come back, as clients see it. Source: behaviour clustermgmt.md 1.2, 1.4, 1.13, 3; vmm.md 1.1, 3.8; networking.md 3.4. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { advance, clustermgmt, hostId, ids, putFresh, requestId } from '../../support/clustermgmt.ts'
import { faultsOf, happen, postEvent, startQuietDemo } from '../../support/events.ts'
import {
  aNativeCluster,
  aVm,
  bootDisk,
  changed,
  emptyDisk,
  postVm,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const native = { extId: ids.native } as never
const readHost = async (extId: string, of = app, cluster: string = ids.native): Promise<any> =>
  (await of.call('GET', `${clustermgmt}/clusters/${cluster}/hosts/${extId}`)).data
const readCluster = async (extId: string = ids.native, of = app): Promise<any> =>
  (await of.call('GET', `${clustermgmt}/clusters/${extId}?$expand=storageSummary`)).data
const tolerance = async (of = app): Promise<number> =>
  (await readCluster(ids.native, of)).config.faultToleranceState.currentMaxFaultTolerance
const hour = 60

/** A running VM on a host of the demo, with its guest booted. */
async function aRunningVm(of = app): Promise<any> {
  const image = (await of.call('GET', `/vmm/v4.2/content/images?$filter=name eq 'ubuntu-24.04.qcow2'`)).data[0]
  const vm = await aVm(of, native, { disks: [bootDisk({ imageExtId: image.extId } as never)] })
  await changed(of, vm.extId, 'power-on')
  await advance(of, 1)
  return readVm(of, vm.extId)
}
const journal = async (extId: string): Promise<string[]> =>
  (await powerHistory(app.store, extId)).map((event) => event.change)

test('a host failure makes its VMs unreachable and lowers the fault tolerance; when the host returns, it and its guests have booted', async () => {
  const vm = await aRunningVm()
  const host = vm.host.extId
  const before = await readHost(host)
  const { clusterFaultTolerantCapacityInBytes: capacity } = (await readCluster()).storageSummaryProjection
  await happen(app, { type: 'HOST_FAILS', host })
  await advance(app, 1)
  const lost = await readVm(app, vm.extId)
  assert.deepEqual([lost.powerState, lost.host], ['UNDETERMINED', vm.host])
  const silent = await readHost(host)
  assert.deepEqual([silent.hypervisor.acropolisConnectionState, silent.hypervisor.numberOfVms], ['DISCONNECTED', 0])
  assert.equal(silent.bootTimeUsecs, before.bootTimeUsecs)
  assert.equal(await tolerance(), 0)
  const cluster = await readCluster()
  assert.equal(cluster.config.isAvailable, true)
  assert.ok(cluster.storageSummaryProjection.clusterFaultTolerantCapacityInBytes < capacity)

  await happen(app, { type: 'HOST_RETURNS', host: before.hostName })
  const returned = app.clock.now()
  await advance(app, 1)
  const back = await readVm(app, vm.extId)
  assert.deepEqual([back.powerState, back.host], ['ON', vm.host])
  assert.deepEqual(await journal(vm.extId), ['ON', 'PAUSED', 'RESET'])
  const after = await readHost(host)
  assert.deepEqual([after.hypervisor.acropolisConnectionState, after.bootTimeUsecs], ['CONNECTED', returned * 1000])
  assert.equal(await tolerance(), 1)
})

test('no VM is placed on a host that failed', async () => {
  for (const name of ['hp-n01-a', 'hp-n01-b', 'hp-n01-c']) await happen(app, { type: 'HOST_FAILS', host: name })
  const vm = await aVm(app, native)
  await changed(app, vm.extId, 'power-on')
  assert.equal((await readVm(app, vm.extId)).host.extId, hostId('hp-n01-d'))
  for (const name of ['hp-n01-a', 'hp-n01-b', 'hp-n01-c']) await happen(app, { type: 'HOST_RETURNS', host: name })
  await changed(app, vm.extId, 'delete')
  await advance(app, 1)
})

test('the fault tolerance recovers when the other hosts hold copies of the lost data', async () => {
  await happen(app, { type: 'HOST_FAILS', host: 'hp-n01-d' }, { duration: 'P1D' })
  assert.equal(await tolerance(), 0)
  await advance(app, 12 * hour)
  assert.equal(await tolerance(), 1)
  await happen(app, { type: 'HOST_FAILS', host: 'hp-n01-c' })
  assert.equal(await tolerance(), 0)
  await happen(app, { type: 'HOST_RETURNS', host: 'hp-n01-c' })
  await advance(app, 13 * hour)
  assert.equal(await tolerance(), 1)
})

test('a task whose host fails while it runs is FAILED with BACKEND_TIMEOUT, and releases everything', async () => {
  let isArmed = true
  const own: TestApp = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (!isArmed || definition !== 'vmm.power-on-vm' || step !== 'start' || phase !== 'run') return
      isArmed = false
      const [held] = await own.store.find(HostAllocation, { newestFirst: true, limit: 1 })
      await happen(own, { type: 'HOST_FAILS', host: held?.hostExtId as string })
    },
  })
  const vm = await aVm(own, native)
  const task = await changed(own, vm.extId, 'power-on')
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'BACKEND_TIMEOUT'])
  assert.equal((await readVm(own, vm.extId)).powerState, 'OFF')
  assert.deepEqual(await own.store.findWhere(HostAllocation, { vmExtId: vm.extId }), [])
  assert.equal((await changed(own, vm.extId, 'power-on')).status, 'SUCCEEDED')
  await own.close()
})

test('a bond survives the loss of one uplink; without uplinks the host is unreachable, and its guests keep running', async () => {
  const vm = await aRunningVm()
  const host = vm.host.extId
  const { hostName, bootTimeUsecs } = await readHost(host)
  const tag = await tagOf(app, vm.extId)
  const first = await happen(app, { type: 'UPLINK_LOST', host, uplink: 'eth0' })
  assert.deepEqual(first.effects, [`The host ${hostName} lost eth0.`])
  await advance(app, 2)
  assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
  const last = await happen(app, { type: 'UPLINK_LOST', host, uplink: 'eth1' }, { duration: 'PT50S' })
  assert.deepEqual(last.effects, [`The host ${hostName} lost eth1.`, `The host ${hostName} is silent.`])
  await advance(app, 0.75)
  assert.equal((await readVm(app, vm.extId)).powerState, 'UNDETERMINED')
  await advance(app, 0.75)
  assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
  assert.notEqual(await tagOf(app, vm.extId), tag)
  assert.deepEqual(await journal(vm.extId), ['ON', 'PAUSED', 'RESUMED'])
  assert.equal((await readHost(host)).bootTimeUsecs, bootTimeUsecs)
  const rest = await happen(app, { type: 'UPLINK_RETURNS', host })
  assert.deepEqual(rest.effects, [`The host ${hostName} has again eth0.`])
})

test('an unknown NIC is 400 with the NICs of the host; a host without a virtual switch has none: 409', async () => {
  const unknown = await postEvent(app, { type: 'UPLINK_LOST', host: 'hp-n01-a', uplink: 'eth9' })
  assert.equal(unknown.status, 400)
  assert.match(faultsOf(unknown).join(), /event\/uplink: .*"eth9".*eth0, .*eth5/)
  const bare = await aNativeCluster(app, { hosts: 1 })
  const none = await postEvent(app, { type: 'UPLINK_LOST', host: bare.hostExtIds[0] })
  assert.deepEqual([none.status, none.errors[0]?.errorGroup], [409, 'WORLD_EVENT_IMPOSSIBLE'])
})

test('a slow host is degraded, and its VMs wait for their disks', async () => {
  const vm = await aRunningVm()
  const { hostName } = await readHost(vm.host.extId)
  const stats = `/vmm/v4.2/ahv/stats/vms/${vm.extId}/disks/${vm.disks[0].extId}`
  const latency = async (minutes: number): Promise<number> => {
    const [from, to] = [app.clock.now() - minutes * 60_000, app.clock.now()].map((time) => new Date(time).toISOString())
    const { data } = await app.call('GET', `${stats}?$startTime=${from}&$endTime=${to}&$select=*`)
    return Math.max(...data.stats.map((point: any) => point.controllerAvgReadIoLatencyMicros ?? 0))
  }
  await advance(app, 10)
  assert.ok((await latency(9)) <= 3000)
  await happen(app, { type: 'HOST_SLOWS', host: hostName, factor: 100 }, { duration: 'PT10M' })
  await advance(app, 9)
  assert.equal((await readHost(vm.host.extId)).isDegraded, true)
  assert.ok((await latency(8)) >= 30_000)
  await advance(app, 20)
  assert.equal((await readHost(vm.host.extId)).isDegraded, false)
  assert.ok((await latency(15)) <= 3000)
  assert.ok((await latency(28)) >= 30_000, 'what was measured stays')
})

test('a task whose cluster is cut off while it runs is FAILED with BACKEND_TIMEOUT; its rollback ends when the cluster is back', async () => {
  let undoings = 0
  const own: TestApp = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'vmm.create-vm') return
      if (step === 'define' && phase === 'run') await happen(own, { type: 'CLUSTER_CUT_OFF', cluster: 'hp-native-01' })
      if (phase === 'undo' && ++undoings === 3) await happen(own, { type: 'CLUSTER_RETURNS', cluster: 'hp-native-01' })
    },
  })
  const disks = own.world.collection('virtualDisks').all().size
  const task = await own.task(await postVm(own, native, { name: 'unlucky', disks: [emptyDisk()] }))
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'BACKEND_TIMEOUT'])
  assert.ok(undoings > 3)
  assert.equal((await own.call('GET', `/vmm/v4.2/ahv/config/vms?$filter=name eq 'unlucky'`)).total, 0)
  assert.equal(own.world.collection('virtualDisks').all().size, disks)
  await own.close()
})

test('changes in a cluster that is cut off are shown when it is back', async () => {
  const vm = await aRunningVm()
  await happen(app, { type: 'CLUSTER_CUT_OFF', cluster: 'hp-native-01' })
  await happen(app, { type: 'GUEST_HALTS', vm: vm.extId })
  await advance(app, 2)
  assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
  await happen(app, { type: 'CLUSTER_RETURNS', cluster: 'hp-native-01' })
  await advance(app, 1)
  assert.equal((await readVm(app, vm.extId)).powerState, 'OFF')
})

test('a cluster that is cut off refuses mutations with 503, and accepts them when it is back', async () => {
  const rename = (name: string) => putFresh(app, `${clustermgmt}/clusters/${ids.cloud}`, { name })
  await happen(app, { type: 'CLUSTER_CUT_OFF', cluster: 'cloud-1' })
  assert.equal((await readCluster(ids.cloud)).config.isAvailable, false)
  const refused = await rename('cloud-2')
  assert.deepEqual(
    [refused.status, refused.errors[0]?.errorGroup, refused.headers['Retry-After']],
    [503, 'CLUSTER_UNREACHABLE', '5'],
  )
  await happen(app, { type: 'CLUSTER_RETURNS', cluster: 'cloud-1' })
  assert.equal((await app.task(await rename('cloud-2'))).status, 'SUCCEEDED')
})

test('a silent BMC is UNAVAILABLE after the next probe, and VALID again when it answers', async () => {
  const bmc = `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`
  const status = async (): Promise<string> => (await app.call('GET', bmc)).data.status
  await happen(app, { type: 'BMC_FALLS_SILENT', host: 'hp-n01-a' })
  await advance(app, 6)
  assert.equal(await status(), 'UNAVAILABLE')
  await happen(app, { type: 'BMC_ANSWERS', host: 'hp-n01-a' })
  await advance(app, 6)
  assert.equal(await status(), 'VALID')
})

test('a subnet is not created while the network agent that it needs is silent', async () => {
  const create = () =>
    app.call('POST', '/networking/v4.3/config/subnets', {
      requestId: requestId(),
      body: { name: 'agentless', subnetType: 'VLAN', networkId: 77, clusterReference: ids.native },
    })
  await happen(app, { type: 'HOST_AGENT_FALLS_SILENT', host: 'hp-n01-b' })
  const task = await app.task(await create())
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'BACKEND_TIMEOUT'])
  assert.equal((await app.call('GET', `/networking/v4.3/config/subnets?$filter=name eq 'agentless'`)).total, 0)
  await happen(app, { type: 'HOST_AGENT_ANSWERS', host: 'hp-n01-b' })
  assert.equal((await app.task(await create())).status, 'SUCCEEDED')
})

test('VMs of an external management that does not answer are UNDETERMINED; a native cluster has no external management', async () => {
  const states = async (): Promise<string[]> =>
    (await app.call('GET', '/vmm/v4.2/extern/config/vms')).data.map(({ powerState }: any) => powerState)
  const before = await states()
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_FAILS', cluster: 'hp-extern-01' })
  await advance(app, 1)
  assert.deepEqual(new Set(await states()), new Set(['UNDETERMINED']))
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_RETURNS', cluster: 'hp-extern-01' })
  await advance(app, 1)
  assert.deepEqual(await states(), before)
  const none = await postEvent(app, { type: 'EXTERNAL_MANAGEMENT_FAILS', cluster: 'hp-native-01' })
  assert.deepEqual([none.status, none.errors[0]?.errorGroup], [409, 'WORLD_EVENT_IMPOSSIBLE'])
})
