/** Nodes join a cluster and leave it. Source: behaviour clustermgmt.md 1.1, 1.3, 5 (10-13). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { accountId } from '../../../src/domains/clustermgmt/system-accounts/accounts.ts'
import { factoryPassword } from '../../../src/domains/clustermgmt/system-accounts/system-user-password.ts'
import { controllerVmFacts } from '../../../src/drivers/simulated/controller-vms.ts'
import { drivesIn } from '../../../src/drivers/simulated/drives.ts'
import { type NodeFact, nodeFacts } from '../../../src/drivers/simulated/nodes.ts'
import { accountFacts } from '../../../src/drivers/simulated/system-accounts.ts'
import { demoBmc } from '../../../src/seeds/demo/hosts.ts'
import { nodeId } from '../../kinds/clustermgmt/unconfigured-node.ts'
import { clustermgmt, hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { driven, reached } from '../../support/driven.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { act, changed, readVm } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { ip } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(async () => {
  await noFaults(app)
  await checkInvariants(app)
})
after(() => app.close())

const cluster = `${clustermgmt}/clusters/${ids.native}`
const tasks = '/platform/v4.3/config/tasks'
const ask = (action: string, body: object, at = app, of = cluster): Promise<CallResult> =>
  at.call('POST', `${of}/$actions/${action}`, { body, requestId: randomUUID() })
const nodeList = (...letters: ('a' | 'b' | 'c')[]) => letters.map((letter) => ({ nodeUuid: nodeId(letter) }))
const expand = (list: object[], more: object = {}, at = app): Promise<CallResult> =>
  ask('expand-cluster', { nodeParams: { nodeList: list }, ...more }, at)
const remove = (nodeUuids: string[], more: object = {}, at = app): Promise<CallResult> =>
  ask('remove-node', { nodeUuids, ...more }, at)
const refusal = ({ status, errors }: CallResult): string => `${status} ${errors?.[0]?.errorGroup}`
const messagesOf = ({ errorMessages = [] }: any): string => errorMessages.map(({ message }: any) => message).join('\n')

async function done(started: Promise<CallResult>, at = app): Promise<any> {
  const result = await started
  assert.equal(result.status, 202, JSON.stringify(result.errors))
  return at.task(result)
}
async function succeeded(started: Promise<CallResult>, at = app): Promise<any> {
  const task = await done(started, at)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}
const numberOfNodes = async (at = app): Promise<number> => (await at.call('GET', cluster)).data.nodes.numberOfNodes
const listed = async (path: string, at = app): Promise<any[]> =>
  (await at.call('GET', `${path}${path.includes('?') ? '&' : '?'}$limit=100`)).data ?? []
async function discovered(at = app): Promise<string[]> {
  const task = await succeeded(ask('discover-unconfigured-nodes', {}, at), at)
  const path = `${clustermgmt}/task-response/${task.extId.split(':').at(-1)}?taskResponseType=UNCONFIGURED_NODES`
  return (await at.call('GET', path)).data.response.nodeList.map(({ nodeUuid }: any) => nodeUuid)
}

test('10. a compatible node joins with its disks, and its capacity counts', async () => {
  const before = await app.call('GET', cluster)
  const disks = (await listed(`${clustermgmt}/disks`)).length
  const [container] = await listed(`${clustermgmt}/storage-containers?$filter=clusterExtId eq '${ids.native}'`)
  const task = await succeeded(expand([{ ...nodeList('a')[0], hypervisorHostname: 'hp-n01-e' }]))
  assert.equal(task.operation, 'Expand Cluster')
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, extId }: any) => [rel, extId]),
    [['clustermgmt:config:cluster', ids.native]],
  )
  assert.equal(task.numberOfSubtasks, 1)
  const afterwards = await app.call('GET', cluster)
  assert.equal(afterwards.data.nodes.numberOfNodes, 5)
  assert.deepEqual(afterwards.data.nodes.nodeList.at(-1), {
    nodeUuid: nodeId('a'),
    controllerVmIp: afterwards.data.nodes.nodeList.at(-1).controllerVmIp,
    hostIp: afterwards.data.nodes.nodeList.at(-1).hostIp,
  })
  assert.notEqual(afterwards.etag, before.etag)
  assert.equal((await listed(`${clustermgmt}/disks`)).length, disks + 6)
  const [grown] = await listed(`${clustermgmt}/storage-containers?$filter=clusterExtId eq '${ids.native}'`)
  assert.ok(grown.maxCapacityBytes > container.maxCapacityBytes)
  assert.deepEqual(new Set(await discovered()), new Set([nodeId('b'), nodeId('c')]))

  const host = (await app.call('GET', `${cluster}/hosts/${nodeId('a')}`)).data
  assert.deepEqual([host.hostName, host.nodeStatus, host.disk.length], ['hp-n01-e', 'NORMAL', 6])
  assert.equal(host.ipmi.ip.ipv4.value, '10.44.1.67')
  const nics = await listed(`${cluster}/hosts/${nodeId('a')}/host-nics`)
  assert.equal(nics.length, 6)
  const vs0 = (await listed('/networking/v4.3/config/virtual-switches')).find(({ name }) => name === 'vs0')
  assert.equal(nics.find(({ name }) => name === 'eth0').virtualSwitchExtId, vs0.extId)
  assert.ok(vs0.clusters[0].hosts.some(({ extId }: any) => extId === nodeId('a')))
  assert.ok((await listed(`${cluster}/hosts/${nodeId('a')}/virtual-nics`)).some(({ name }) => name === 'br0'))
})

test('a VM that names the host that joined runs there', async () => {
  const host = nodeId('a')
  const created = await succeeded(
    app.call('POST', '/vmm/v4.2/ahv/config/vms', {
      body: {
        name: 'on-the-new-host',
        cluster: { extId: ids.native },
        host: { extId: host },
        numSockets: 1,
        memorySizeBytes: 2 ** 30,
      },
      requestId: randomUUID(),
    }),
  )
  const vm = created.entitiesAffected[0].extId
  assert.equal((await changed(app, vm, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm)).host.extId, host)
  assert.equal((await changed(app, vm, 'power-off')).status, 'SUCCEEDED')
  const { etag } = await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vm}`)
  await succeeded(
    app.call('DELETE', `/vmm/v4.2/ahv/config/vms/${vm}`, { ifMatch: etag as string, requestId: randomUUID() }),
  )
})

test('13. a removal is checked without being made, and removes the host when it is', async (t) => {
  const checked = await succeeded(remove([nodeId('a')], { shouldSkipRemove: true }))
  assert.deepEqual(
    checked.entitiesAffected.map(({ rel }: any) => rel),
    ['clustermgmt:config:cluster', 'clustermgmt:config:host'],
  )
  assert.equal(await numberOfNodes(), 5)
  // Its next cluster finds a controller VM of the default size.
  await controllerVmFacts(app.world).put(nodeId('a'), { numVcpus: 12, memorySizeBytes: 2 ** 36, isRunning: true })
  const find = t.mock.method(app.store, 'findWhere')
  const task = await succeeded(remove([nodeId('a')]))
  assert.equal(task.operation, 'Remove Node')
  const poolReads = find.mock.calls.filter(({ arguments: [kind] }) => kind === StorageContainer).length
  assert.ok(poolReads > 0 && poolReads <= 4, `${poolReads} reads of the pool for 6 disks`)
  assert.equal(await numberOfNodes(), 4)
  assert.equal((await app.call('GET', `${cluster}/hosts/${nodeId('a')}`)).status, 404)
  assert.equal((await discovered()).length, 3)
  const switches = await listed('/networking/v4.3/config/virtual-switches')
  assert.ok(!JSON.stringify(switches).includes(nodeId('a')))
  assert.ok(!(await listed(`${clustermgmt}/disks`)).some(({ nodeExtId }) => nodeExtId === nodeId('a')))
})

test('13. a removal that leaves too few hosts is refused by the checks, with every reason', async () => {
  await setFault(app, hostId('hp-n01-a'), { isDown: true })
  const task = await done(remove([hostId('hp-n01-b'), hostId('hp-n01-c')]))
  assert.equal(task.status, 'FAILED')
  assert.match(messagesOf(task), /2 copies need 3 hosts; the cluster has 2/)
  assert.match(messagesOf(task), /"hp-n01-a" does not answer/)
  assert.equal(await numberOfNodes(), 4)
  await setFault(app, hostId('hp-n01-a'))
  const unknown = await remove([randomUUID(), hostId('hp-e01-a')])
  assert.equal(unknown.status, 404)
  assert.equal(unknown.errors?.length, 2)
})

test('13. a removal that leaves room for the data but not for the reservations is refused', async () => {
  const fresh = await startApp()
  const containers = `${clustermgmt}/storage-containers`
  const reserve = (bytes: number): Promise<CallResult> => {
    const body = { name: 'reserved', logicalExplicitReservedCapacityBytes: bytes }
    return fresh.call('POST', containers, { body, clusterId: ids.native, requestId: randomUUID() })
  }
  const check = (): Promise<any> => done(remove([hostId('hp-n01-b')], { shouldSkipRemove: true }, fresh), fresh)
  try {
    assert.equal((await check()).status, 'SUCCEEDED')
    const { available } = (await reserve(2 ** 50)).errors?.[0]?.argumentsMap ?? {}
    await succeeded(reserve(Math.floor((Number(available) * 0.95) / 2)), fresh)
    const task = await check()
    assert.equal(task.status, 'FAILED')
    assert.match(messagesOf(task), /have room for \d+ bytes, and the cluster stores or reserves \d+/)
  } finally {
    await fresh.close()
  }
})

test('a node with another hypervisor version is imaged, and keeps the version of the cluster', async () => {
  const refused = await done(expand(nodeList('c'), { configParams: { shouldSkipImaging: true } }))
  assert.match(messagesOf(refused), /has to be imaged/)
  await succeeded(expand(nodeList('c')))
  const host = (await app.call('GET', `${cluster}/hosts/${nodeId('c')}`)).data
  assert.equal(host.hypervisor.fullName, 'Native hypervisor 10.3')
  assert.equal(host.hostName, 'hp-native-01-5')
  await succeeded(remove([nodeId('c')]))
  assert.equal(nodeFacts(app.world).get(nodeId('c'))?.hypervisor.version, '10.3')
})

test('the checks of an expansion name every obstacle at once', async () => {
  await setFault(app, nodeId('b'), { lostUplinks: ['eth0', 'eth1'] })
  const task = await done(
    expand([
      { ...nodeList('a')[0], hypervisorIp: ip('10.44.1.21'), model: 'other', hypervisorHostname: 'hp-n01-a' },
      nodeList('b')[0] as object,
    ]),
  )
  assert.equal(task.status, 'FAILED')
  for (const expected of [
    /model: expected NX-3460-G8.*found other/,
    /10\.44\.1\.21 is in use by the host "hp-n01-a"/,
    /has a host "hp-n01-a" already/,
    /nodeList\[1\]\/networks: the node has no free NIC/,
  ])
    assert.match(messagesOf(task), expected)
  await setFault(app, nodeId('b'))
  const checked = await succeeded(expand(nodeList('b'), { shouldSkipAddNode: true }))
  assert.equal(checked.operation, 'Expand Cluster')
  assert.equal(await numberOfNodes(), 4)
  assert.equal(refusal(await expand([{ nodeUuid: randomUUID() }])), '404 ENTITY_NOT_FOUND')
  assert.equal((await expand([])).status, 400)
  assert.equal((await expand([nodeList('a')[0] as object, nodeList('a')[0] as object])).status, 400)
})

test('a block is in the rack that an expansion names, and its units show the racks', async () => {
  const { block } = nodeFacts(app.world).get(nodeId('c')) as NodeFact
  const inRack = (rackName: string, more: object = {}) =>
    ask('expand-cluster', {
      nodeParams: { nodeList: nodeList('c'), blockList: [{ blockId: block.serialNumber, rackName, ...more }] },
      configParams: { shouldValidateRackAwareness: true },
    })
  assert.equal((await inRack('rack-7', { rackName: undefined })).status, 400)
  const other = await done(inRack('rack-7', { blockId: 'BL0' }))
  assert.match(messagesOf(other), /blockId: expected BL\w+; found BL0/)
  assert.match(messagesOf(other), /expected the rackName of block/)
  await succeeded(inRack('rack-7'))
  const units = async (): Promise<any[]> => (await app.call('GET', `${cluster}/rackable-units`)).data
  const racks = new Map((await units()).map(({ serial, rack }) => [serial, rack]))
  const rack = racks.get(block.serialNumber)
  assert.match(rack.uuid, /^[0-9a-f-]{36}$/)
  const { nodes } = (await units()).find(({ rack }) => rack !== undefined)
  assert.deepEqual(
    nodes.map(({ uuid, position, svmId }: any) => [uuid, position, svmId]),
    [[nodeId('c'), 3, rack.id]],
  )
  assert.deepEqual([...racks.values()].filter(Boolean), [rack])
  await succeeded(remove([nodeId('c')]))
  assert.ok((await units()).every(({ rack }) => rack === undefined))
})

test('12. of two expansions that name the same node at once, one is accepted', async () => {
  const both = await Promise.all([expand(nodeList('a')), expand(nodeList('a'))])
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409])
  const busy = both.find(({ status }) => status === 409)
  assert.equal(busy?.errors?.[0]?.errorGroup, 'CLUSTER_BUSY')
  const task = await app.task(both.find(({ status }) => status === 202) as CallResult)
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(await numberOfNodes(), 5)
  await succeeded(remove([nodeId('a')]))
})

test('the task progresses when the first of two nodes has joined', async () => {
  const slow = await startApp({ config: { durations: 'natural' } })
  try {
    const started = await expand(nodeList('a', 'c'), {}, slow)
    await reached(slow, started, 11)
    const { data } = await slow.call('GET', `${tasks}/${started.data.extId}`)
    const subtasks = await listed(`${tasks}?$filter=parentTask eq '${started.data.extId}'`, slow)
    assert.deepEqual(
      [data.progressPercentage, subtasks.map(({ status }) => status).sort()],
      [42, ['RUNNING', 'SUCCEEDED']],
    )
    assert.equal((await driven(slow, slow.task(started))).status, 'SUCCEEDED')
  } finally {
    await slow.close()
  }
})

test('one node that cannot join keeps all of them out, and all can be discovered again', async () => {
  const match = { driverCall: { driver: 'hardware', method: 'joinNode' } }
  await aFault(app, match, { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'It fails on purpose.' } }, { next: 1 })
  const task = await done(expand(nodeList('a', 'c')))
  assert.equal(task.status, 'FAILED')
  assert.match(messagesOf(task), /could not join/)
  for (const letter of ['a', 'c'] as const)
    assert.deepEqual(app.drivers.networkFabric.bridges(nodeId(letter)), [], `bridges of node ${letter}`)
  assert.equal(await numberOfNodes(), 4)
  assert.equal((await discovered()).length, 3)
  await noFaults(app)
  await succeeded(expand(nodeList('a', 'c')))
  assert.equal(await numberOfNodes(), 6)
  await succeeded(remove([nodeId('a'), nodeId('c')]))
  assert.equal((await discovered()).length, 3)
})

test('a node that joins for computing only brings no disks and no controller VM', async () => {
  const disks = (await listed(`${clustermgmt}/disks`)).length
  await succeeded(ask('expand-cluster', { nodeParams: { computeNodeList: nodeList('b') } }))
  const host = (await app.call('GET', `${cluster}/hosts/${nodeId('b')}`)).data
  assert.deepEqual([host.hostType, host.controllerVm], ['COMPUTE_ONLY', undefined])
  assert.equal((await listed(`${clustermgmt}/disks`)).length, disks)
  await succeeded(remove([nodeId('b')]))
})

test('a node that joins never to be scheduled stores data and gets no VM', async () => {
  const disks = (await listed(`${clustermgmt}/disks`)).length
  const never = { configParams: { isNeverScheduleable: true } }
  await succeeded(expand(nodeList('a'), never))
  const host = (await app.call('GET', `${cluster}/hosts/${nodeId('a')}`)).data
  assert.deepEqual([host.hostType, host.controllerVm.isInMaintenanceMode], ['STORAGE_ONLY', false])
  assert.ok((await listed(`${clustermgmt}/disks`)).length > disks)
  const status = await listed('/networking/v4.3/config/node-schedulable-statuses?$filter=isNeverSchedulable eq true')
  assert.deepEqual(
    status.map(({ extId }) => extId),
    [nodeId('a')],
  )
  const vm = (await vmsOn(app, hostId('hp-n01-b')))[0] as string
  const moved = await act(app, vm, 'migrate-to-host', { host: { extId: nodeId('a') } })
  assert.match(String(moved.errors?.[0]?.message), /runs no VMs/)
  const path = `/clustermgmt/v4.2/operations/clusters/${ids.native}/hosts/${hostId('hp-n01-b')}/$actions`
  const maintain = (action: string): Promise<any> =>
    succeeded(app.call('POST', `${path}/${action}-host-maintenance`, { body: {}, requestId: randomUUID() }))
  await maintain('enter')
  assert.deepEqual(await vmsOn(app, nodeId('a')), [])
  await maintain('exit')
  await succeeded(remove([nodeId('a')]))

  assert.equal((await ask('expand-cluster', { nodeParams: { computeNodeList: nodeList('b') }, ...never })).status, 400)
  assert.equal((await expand(nodeList('a'), { configParams: { shouldSkipDiscovery: true } })).status, 400)
})

test('a host that joined for computing only is no loss of storage in maintenance, and gives the pool no disks', async () => {
  const tolerance = async (): Promise<number> =>
    (await app.call('GET', cluster)).data.config.faultToleranceState.currentMaxFaultTolerance
  const maintain = (host: string, action: 'enter' | 'exit'): Promise<any> => {
    const path = `/clustermgmt/v4.2/operations/clusters/${ids.native}/hosts/${host}/$actions`
    return succeeded(app.call('POST', `${path}/${action}-host-maintenance`, { body: {}, requestId: randomUUID() }))
  }
  await succeeded(ask('expand-cluster', { nodeParams: { computeNodeList: nodeList('b') } }))
  assert.equal(await tolerance(), 1)
  await maintain(nodeId('b'), 'enter')
  assert.equal(await tolerance(), 1)
  await maintain(hostId('hp-n01-a'), 'enter')
  assert.equal(await tolerance(), 0)
  await maintain(hostId('hp-n01-a'), 'exit')
  await maintain(nodeId('b'), 'exit')
  const serialNumber = drivesIn(app.world, nodeId('b'))[0]?.serialNumber
  assert.equal(refusal(await ask('add-disk', { serialNumber })), '404 ENTITY_NOT_FOUND')
  await succeeded(remove([nodeId('b')]))
})

test('an expansion and a removal that are cancelled leave everything as it was', async () => {
  const slow = await startApp({ config: { durations: 'natural' } })
  const cancel = (started: CallResult) =>
    slow.call('POST', `${tasks}/${started.data.extId}/$actions/cancel`, { requestId: randomUUID() })
  try {
    const expanding = await expand(nodeList('a', 'c'), {}, slow)
    await reached(slow, expanding, 10)
    await slow.clock.advance(700_000)
    assert.deepEqual(refusal(await remove([hostId('hp-n01-b')], {}, slow)), '409 CLUSTER_BUSY')
    assert.equal((await cancel(expanding)).status, 200)
    const canceled = await driven(slow, slow.task(expanding))
    assert.equal(canceled.status, 'CANCELED', JSON.stringify(canceled.errorMessages))
    assert.equal(await numberOfNodes(slow), 4)
    assert.equal((await driven(slow, discovered(slow))).length, 3)
    assert.equal(nodeFacts(slow.world).get(nodeId('c'))?.hypervisor.version, '10.0')

    const victim = hostId('hp-n01-b')
    const vmsBefore = await vmsOn(slow, victim)
    assert.ok(vmsBefore.length > 0)
    const removing = await remove([victim], {}, slow)
    await reached(slow, removing, 45)
    const marked = (await slow.call('GET', `${cluster}/hosts/${victim}`)).data
    assert.deepEqual([marked.nodeStatus, marked.hypervisor.numberOfVms], ['TO_BE_REMOVED', 0])
    assert.equal((await cancel(removing)).status, 200)
    assert.equal((await driven(slow, slow.task(removing))).status, 'CANCELED')
    const back = (await slow.call('GET', `${cluster}/hosts/${victim}`)).data
    assert.deepEqual([back.nodeStatus, back.maintenanceState], ['NORMAL', 'normal'])
    assert.deepEqual(await vmsOn(slow, victim), vmsBefore)
    await checkInvariants(slow)
  } finally {
    await slow.close()
  }
})

test('while a host is being removed, requests that would bind something to it are refused, and earlier ones keep the host', async () => {
  const slow = await startApp({ config: { durations: 'natural' } })
  const victim = hostId('hp-n01-b')
  const operations = `/clustermgmt/v4.2/operations/clusters/${ids.native}`
  const ofOneCopy = (name: string, more: object = {}): Promise<CallResult> => {
    const body = { name, replicationFactor: 1, ...more }
    return slow.call('POST', `${clustermgmt}/storage-containers`, {
      body,
      clusterId: ids.native,
      requestId: randomUUID(),
    })
  }
  try {
    const removing = await remove([victim], {}, slow)
    await reached(slow, removing, 45)
    const [drive] = slow.drivers.hardware.drivesOf(victim)
    for (const refused of [
      await ofOneCopy('too-late', { affinityHostExtId: victim }),
      await ask('add-disk', { serialNumber: drive?.serialNumber }, slow),
      await slow.call('POST', `${operations}/hosts/${victim}/$actions/exit-host-maintenance`, {
        body: {},
        requestId: randomUUID(),
      }),
    ]) {
      assert.equal(refusal(refused), '409 CLUSTER_BUSY')
      assert.equal(refused.errors?.[0]?.argumentsMap?.['taskExtId'], removing.data.extId)
    }
    const made: any[] = []
    for (const name of ['one', 'two', 'three', 'four']) {
      const task = await driven(slow, slow.task(await ofOneCopy(name)))
      made.push((await slow.call('GET', `${clustermgmt}/storage-containers/${task.entitiesAffected[0].extId}`)).data)
    }
    assert.ok(made.every(({ affinityHostExtId }) => affinityHostExtId !== undefined && affinityHostExtId !== victim))
    await slow.store.transaction((store) =>
      store.update(StorageContainer, made[0].extId, { affinityHostExtId: victim } as never),
    )
    const kept = await driven(slow, slow.task(removing))
    assert.equal(kept.status, 'FAILED')
    assert.match(messagesOf(kept), /These storage containers have their only copy on "hp-n01-b": "one"/)
    assert.equal((await slow.call('GET', `${cluster}/hosts/${victim}`)).data.nodeStatus, 'NORMAL')
    assert.ok(slow.drivers.hardware.drivesOf(victim).every(({ isInPool, isLeaving }) => isInPool && isLeaving !== true))
    await checkInvariants(slow)
  } finally {
    await slow.close()
  }
})

test('a node that is removed and added again has a BMC at the requested address, and the factory passwords', async () => {
  const bmcPath = `${cluster}/hosts/${nodeId('a')}/bmc-info`
  const bmcStatus = async (): Promise<string> => {
    assert.equal((await done(putFresh(app, bmcPath, { credential: demoBmc }))).status, 'SUCCEEDED')
    return (await app.call('GET', bmcPath)).data.status
  }
  await succeeded(expand([{ ...nodeList('a')[0], ipmiIp: ip('10.44.1.199') }]))
  assert.equal((await app.call('GET', bmcPath)).data.ipAddress.ipv4.value, '10.44.1.199')
  assert.equal(await bmcStatus(), 'VALID')
  const root = accountId('AHV', nodeId('a'), 'root')
  const passwords = `${clustermgmt}/system-user-passwords`
  const rootStatus = async (): Promise<string> => (await listed(passwords)).find(({ extId }) => extId === root)?.status
  const body = { currentPassword: factoryPassword, newPassword: 'N3w.Passw0rd' }
  await succeeded(app.call('POST', `${passwords}/${root}/$actions/change-password`, { body, requestId: randomUUID() }))
  assert.equal(await rootStatus(), 'SECURE')
  assert.ok(accountFacts(app.world).get(root))
  await succeeded(remove([nodeId('a')]))
  assert.equal(accountFacts(app.world).get(root), undefined)

  const match = { driverCall: { driver: 'hardware', method: 'poolDrivesOf' } }
  await aFault(app, match, { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'It fails on purpose.' } }, { next: 1 })
  assert.equal((await done(expand([{ ...nodeList('a')[0], ipmiIp: ip('10.44.1.198') }]))).status, 'FAILED')
  await noFaults(app)
  await succeeded(expand(nodeList('a')))
  assert.equal((await app.call('GET', bmcPath)).data.ipAddress.ipv4.value, '10.44.1.199')
  assert.equal(await bmcStatus(), 'VALID')
  assert.equal(await rootStatus(), 'DEFAULT')
  await succeeded(remove([nodeId('a')]))
})

async function vmsOn(at: TestApp, host: string): Promise<string[]> {
  const vms = await listed(`/vmm/v4.2/ahv/config/vms?$filter=host/extId eq '${host}'`, at)
  return vms
    .filter(({ powerState }) => powerState === 'ON')
    .map(({ extId }) => extId)
    .sort()
}
