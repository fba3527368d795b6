/** Hosts are emptied while their uplinks change. Source: behaviour networking.md 1.18. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { HostMaintenance } from '../../../src/domains/scheduling/host-maintenance.ts'
import { clustermgmt, putFresh } from '../../support/clustermgmt.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, GiB, type NativeCluster, readVm } from '../../support/native-cluster.ts'
import { aRunningVm } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { bridgesOn, switches } from '../../support/virtual-switches.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(async () => {
  await checkInvariants(app)
  await app.close()
})

const bodyFor = ({ extId, hostExtIds }: NativeCluster, more: object = {}): object => ({
  name: 'vs',
  bondMode: 'ACTIVE_BACKUP',
  clusters: [{ extId, hosts: hostExtIds.map((host) => ({ extId: host, hostNics: ['eth0', 'eth1'] })) }],
  ...more,
})
const create = async (cluster: NativeCluster, more: object = {}): Promise<any> =>
  app.task(await app.call('POST', switches, { body: bodyFor(cluster, more) }))
const stateOf = async (cluster: NativeCluster, host: string): Promise<string> =>
  (await app.call('GET', `${clustermgmt}/clusters/${cluster.extId}/hosts/${host}`)).data.maintenanceState
const isIdle = async (cluster: NativeCluster): Promise<void> => {
  for (const host of cluster.hostExtIds) assert.equal(await stateOf(cluster, host), 'normal')
  assert.deepEqual(await app.store.findWhere(HostMaintenance, { clusterExtId: cluster.extId }), [])
}

test('VMs leave each host in turn while its uplinks change, and come back', async () => {
  const cluster = await aNativeCluster(app)
  const [host] = cluster.hostExtIds
  const vm = await aRunningVm(app, cluster, { host })
  const task = await create(cluster)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal((await readVm(app, vm.extId)).host.extId, host)
  assert.equal(task.numberOfSubtasks, 4)
  await isIdle(cluster)
  for (const each of cluster.hostExtIds) assert.deepEqual(bridgesOn(app, each), ['br0'])
})

test('in quick mode no VM moves', async () => {
  const cluster = await aNativeCluster(app)
  await aRunningVm(app, cluster, { host: cluster.hostExtIds[0] })
  const task = await create(cluster, { isQuickMode: true })
  assert.deepEqual([task.status, task.numberOfSubtasks ?? 0], ['SUCCEEDED', 0])
})

test('an update that does not change the uplinks evacuates no host', async () => {
  const cluster = await aNativeCluster(app)
  const { entitiesAffected } = await create(cluster, { isQuickMode: true })
  const own = `${switches}/${entitiesAffected[0].extId}`
  const { data } = await app.call('GET', own)
  const task = await app.task(await putFresh(app, own, { ...data, mtu: 9000, isQuickMode: false }))
  assert.deepEqual([task.status, task.numberOfSubtasks ?? 0], ['SUCCEEDED', 0])
  const mode = await app.task(await putFresh(app, own, { ...data, bondMode: 'BALANCE_SLB', isQuickMode: false }))
  assert.deepEqual([mode.status, mode.numberOfSubtasks], ['SUCCEEDED', 4])
})

test('when the VMs of a host have no room elsewhere, the task fails and restores the hosts that were done', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, usableGiB: 10 })
  const [first, second, third] = cluster.hostExtIds
  const onHost = (host: string | undefined, size: number) =>
    aRunningVm(app, cluster, { host, memorySizeBytes: size * GiB })
  await onHost(first, 2)
  await onHost(third, 5)
  const big = await onHost(second, 9)
  const task = await create(cluster)
  assert.deepEqual([task.status, task.numberOfSubtasks], ['FAILED', 3])
  assert.match(task.errorMessages[0].message, /The VMs of host .* have no room on other hosts/)
  for (const each of cluster.hostExtIds) assert.deepEqual(bridgesOn(app, each), [])
  await isIdle(cluster)
  assert.equal((await readVm(app, big.extId)).host.extId, second)
})

test('VMs return to an evacuated host even when its bridge cannot be created', async () => {
  const cluster = await aNativeCluster(app)
  const [, second] = cluster.hostExtIds
  const vm = await aRunningVm(app, cluster, { host: second })
  await aFault(
    app,
    { driverCall: { driver: 'networkFabric', method: 'putBridge' } },
    { error: 'INTERNAL_ERROR' },
    { nth: 2 },
  )
  assert.equal((await create(cluster)).status, 'FAILED')
  await noFaults(app)
  await isIdle(cluster)
  assert.equal((await readVm(app, vm.extId)).host.extId, second)
  for (const each of cluster.hostExtIds) assert.deepEqual(bridgesOn(app, each), [])
})

test('a host that is already in maintenance is changed without an evacuation, and stays in maintenance', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [host] = cluster.hostExtIds as [string]
  const maintenance = `/clustermgmt/v4.2/operations/clusters/${cluster.extId}/hosts/${host}/$actions/enter-host-maintenance`
  assert.equal(
    (await app.task(await app.call('POST', maintenance, { body: {}, requestId: crypto.randomUUID() }))).status,
    'SUCCEEDED',
  )
  const task = await create(cluster)
  assert.deepEqual([task.status, task.numberOfSubtasks], ['SUCCEEDED', 4])
  assert.equal(await stateOf(cluster, host), 'in_maintenance')
})

test('a host that is entering maintenance fails the task, and keeps its maintenance', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [, second] = cluster.hostExtIds as [string, string]
  const known = { extId: second, clusterExtId: cluster.extId, taskExtId: crypto.randomUUID(), isEvacuating: true }
  await app.store.transaction((store) =>
    store.insert(HostMaintenance, { ...known, movedVmExtIds: [], stoppedVmExtIds: [] }),
  )
  const task = await create(cluster)
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'ENTITY_BUSY'])
  assert.equal((await app.store.get(HostMaintenance, second))?.taskExtId, known.taskExtId)
  for (const each of cluster.hostExtIds) assert.deepEqual(bridgesOn(app, each), [])
  await app.store.transaction((store) => store.remove(HostMaintenance, second))
})

test('the only host of a cluster can change its uplinks while no VM runs on it', async () => {
  const cluster = await aNativeCluster(app, { hosts: 1 })
  assert.equal((await create(cluster)).status, 'SUCCEEDED')
})
