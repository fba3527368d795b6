/** Clusters begin and end. Source: behaviour clustermgmt.md 1.1, 1.2 (createCluster, deleteClusterById). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { drivesIn } from '../../../src/drivers/simulated/drives.ts'
import { type NodeFact, nodeFacts } from '../../../src/drivers/simulated/nodes.ts'
import { nodeId } from '../../kinds/clustermgmt/unconfigured-node.ts'
import { clustermgmt, ids, setFault } from '../../support/clustermgmt.ts'
import { driven, reached } from '../../support/driven.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { changed } from '../../support/native-cluster.ts'
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

const clusters = `${clustermgmt}/clusters`
const discover = `${clusters}/${ids.native}/$actions/discover-unconfigured-nodes`
const pair = [{ controllerVmIp: ip('10.44.1.61') }, { controllerVmIp: ip('10.44.1.62') }]
const bodyOf = (name: string, more: any = {}): any => ({
  name,
  nodes: { nodeList: pair },
  ...more,
  config: { clusterFunction: ['TWO_NODE'], ...more.config },
  network: { externalAddress: ip('10.44.1.80'), nameServerIpList: [ip('10.44.1.6')], ...more.network },
})
const create = (body: object, at = app, query = ''): Promise<CallResult> =>
  at.call('POST', `${clusters}${query}`, { body, requestId: randomUUID() })
const destroy = (extId: string, at = app, query = ''): Promise<CallResult> =>
  at.call('DELETE', `${clusters}/${extId}${query}`, { requestId: randomUUID() })
const refusal = ({ status, errors }: CallResult): string => `${status} ${errors?.[0]?.errorGroup}`
const listed = async (path: string, at = app): Promise<any[]> =>
  (await at.call('GET', `${path}${path.includes('?') ? '&' : '?'}$limit=100`)).data ?? []

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
async function discovered(at = app): Promise<string[]> {
  const task = await succeeded(at.call('POST', discover, { body: {}, requestId: randomUUID() }), at)
  const path = `${clustermgmt}/task-response/${task.extId.split(':').at(-1)}?taskResponseType=UNCONFIGURED_NODES`
  return (await at.call('GET', path)).data.response.nodeList.map(({ nodeUuid }: any) => nodeUuid)
}
async function createVm(clusterExtId: string, subnet?: string): Promise<string> {
  const task = await succeeded(
    app.call('POST', '/vmm/v4.2/ahv/config/vms', {
      body: {
        name: 'first-guest',
        cluster: { extId: clusterExtId },
        numSockets: 1,
        memorySizeBytes: 2 ** 30,
        disks: [{ backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: 2 ** 30 } }],
        ...(subnet === undefined ? {} : { nics: [{ networkInfo: { subnet: { extId: subnet } } }] }),
      },
      requestId: randomUUID(),
    }),
  )
  return task.entitiesAffected[0].extId
}
async function removeVm(vm: string): Promise<void> {
  const path = `/vmm/v4.2/ahv/config/vms/${vm}`
  const { etag } = await app.call('GET', path)
  await succeeded(app.call('DELETE', path, { ifMatch: etag as string, requestId: randomUUID() }))
}

let extId: string

test('an administrator creates a cluster of two nodes, with its hosts, disks, containers and registration', async () => {
  const task = await succeeded(create(bodyOf('branch-01', { containerName: 'branch-disks' })))
  assert.equal(task.operation, 'Create Cluster')
  assert.equal(task.numberOfSubtasks, 2)
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['clustermgmt:config:cluster'],
  )
  extId = task.entitiesAffected[0].extId
  const { data } = await app.call('GET', `${clusters}/${extId}`)
  assert.deepEqual(
    [data.name, data.nodes.numberOfNodes, data.config.clusterFunction, data.config.redundancyFactor],
    ['branch-01', 2, ['TWO_NODE'], 2],
  )
  assert.deepEqual(
    [data.network.externalAddress.ipv4.value, data.network.nameServerIpList[0].ipv4.value, data.config.isAvailable],
    ['10.44.1.80', '10.44.1.6', true],
  )
  assert.ok(!('containerName' in data))
  assert.deepEqual(
    (await listed(`${clusters}/${extId}/hosts`)).map(({ hostName }) => hostName),
    ['branch-01-1', 'branch-01-2'],
  )
  const own = `$filter=clusterExtId eq '${extId}'`
  assert.deepEqual(
    (await listed(`${clustermgmt}/storage-containers?${own}`)).map(({ name, isInternal }) => [name, isInternal]),
    [
      ['branch-disks', false],
      ['SelfServiceContainer', false],
      ['ManagementShare', true],
    ],
  )
  const disks = (await listed(`${clustermgmt}/disks`)).filter(({ clusterExtId }) => clusterExtId === extId)
  assert.deepEqual([disks.length, new Set(disks.map(({ status }) => status))], [12, new Set(['NORMAL'])])
  assert.deepEqual(await discovered(), [nodeId('c')])
  const settings: any = await app.world.collection('hardware.clusters').get(extId)
  assert.equal(settings.settings.NAME_SERVER_CONFIG[0].ipv4.value, '10.44.1.6')
  assert.equal(settings.settings.general.name, 'branch-01')
})

test('an update of the new cluster takes its nodes as they were read, and names only what may change', async () => {
  const { data, etag } = await app.call('GET', `${clusters}/${extId}`)
  const body = { nodes: { nodeList: [{ controllerVmIp: ip('10.44.1.99') }] }, network: { fqdn: 'branch.example.com' } }
  await succeeded(app.call('PUT', `${clusters}/${extId}`, { body, ifMatch: etag as string, requestId: randomUUID() }))
  const updated = (await app.call('GET', `${clusters}/${extId}`)).data
  assert.deepEqual([updated.nodes, updated.network.fqdn], [data.nodes, 'branch.example.com'])
  assert.equal((await app.call('GET', `${clusters}/${extId}/snmp`)).data.transports.length, 1)
})

test('a VM runs in the new cluster, which cannot be destroyed while it holds VMs', async () => {
  const vm = await createVm(extId)
  assert.equal((await changed(app, vm, 'power-on')).status, 'SUCCEEDED')
  const refused = await destroy(extId)
  assert.equal(refusal(refused), '409 CLUSTER_NOT_EMPTY')
  assert.equal(refused.errors?.[0]?.argumentsMap?.['Vm'], '1')
  const dry = await done(destroy(extId, app, '?$dryrun=true'))
  assert.deepEqual([dry.status, /1 VMs/.test(dry.errorMessages[0].message)], ['FAILED', true])
  assert.equal((await changed(app, vm, 'power-off')).status, 'SUCCEEDED')
  await removeVm(vm)
})

test('names, addresses and nodes in use keep a cluster from being created, all of them in one answer', async () => {
  const node = { controllerVmIp: ip('10.44.1.63') }
  const single = (name: string, network: object): object => ({
    name,
    nodes: { nodeList: [node] },
    config: { clusterFunction: ['AOS', 'ONE_NODE'] },
    network,
  })
  const taken = await create(single('HP-native-01', { externalAddress: ip('10.44.1.21') }))
  assert.deepEqual(
    taken.errors?.map(({ errorGroup }: any) => errorGroup),
    ['CLUSTER_NAME_EXISTS', 'ADDRESS_IN_USE'],
  )
  assert.equal((await create(bodyOf('branch-02'))).status, 404)
  const dry = await succeeded(create(single('edge', {}), app, '?$dryrun=true'))
  assert.ok(JSON.stringify(dry.completionDetails).includes(nodeId('c')))
  assert.deepEqual(await discovered(), [nodeId('c')])
  assert.ok(!(await listed(clusters)).some(({ name }) => name === 'edge'))
})

test('bodies that nodes cannot fulfil are refused with every fault', async () => {
  const twice = [...pair, pair[0]]
  const pathsOf = async (body: object): Promise<string[]> => {
    const { status, errors = [] } = await create(body)
    assert.equal(status, 400, JSON.stringify(errors))
    return errors.map(({ argumentsMap }: any) => argumentsMap?.attributePath ?? argumentsMap?.attribute)
  }
  assert.equal((await pathsOf({ name: 'none' })).length, 2)
  assert.equal((await pathsOf(bodyOf('many', { nodes: { nodeList: twice } }))).length, 1)
  assert.equal(
    (
      await pathsOf(
        bodyOf('wrong', {
          config: { clusterFunction: ['PRISM_CENTRAL'], operationMode: 'READ_ONLY', authorizedPublicKeyList: [] },
          network: { backplane: { isSegmentationEnabled: true } },
        }),
      )
    ).length,
    6,
  )
})

test('the cluster of the manager and the one that hosts it cannot be destroyed', async () => {
  for (const cluster of [ids.native, ids.manager])
    assert.equal(refusal(await destroy(cluster)), '409 CLUSTER_HOSTS_MANAGER')
})

test('a destroyed cluster leaves nothing, and its nodes form the next one', async () => {
  const dry = await succeeded(destroy(extId, app, '?$dryrun=true'))
  assert.ok(JSON.stringify(dry.completionDetails).includes('StorageContainer'))
  const task = await succeeded(destroy(extId))
  assert.equal(task.operation, 'Destroy Cluster')
  assert.equal((await app.call('GET', `${clusters}/${extId}`)).status, 404)
  for (const path of ['hosts', 'disks', 'storage-containers'])
    assert.ok(!JSON.stringify(await listed(`${clustermgmt}/${path}`)).includes(extId), path)
  assert.ok(!JSON.stringify(await listed('/networking/v4.3/config/virtual-switches')).includes(extId))
  assert.deepEqual(new Set(await discovered()), new Set([nodeId('a'), nodeId('b'), nodeId('c')]))
  const again = await succeeded(create(bodyOf('branch-01')))
  extId = again.entitiesAffected[0].extId
  const vm = await createVm(extId)
  assert.equal((await changed(app, vm, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await changed(app, vm, 'power-off')).status, 'SUCCEEDED')
  await removeVm(vm)
  await succeeded(destroy(extId))
})

const failing = (driver: string, call: string): Promise<unknown> =>
  aFault(
    app,
    { driverCall: { driver, method: call } },
    { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'It fails on purpose.' } },
    { next: 1 },
  )

async function requireNothingLeft(at: TestApp, { entitiesAffected }: any): Promise<void> {
  const cluster = entitiesAffected[0].extId
  assert.equal((await at.call('GET', `${clusters}/${cluster}`)).status, 404)
  for (const facts of ['hardware.clusters', 'remotes.sides'])
    assert.equal(at.world.collection(facts).get(cluster), undefined)
  for (const letter of ['a', 'b'] as const) {
    const { clusterExtId, pending } = nodeFacts(at.world).get(nodeId(letter)) ?? {}
    assert.deepEqual([clusterExtId, pending], [undefined, undefined])
    assert.ok(drivesIn(at.world, nodeId(letter)).every(({ isInPool }) => !isInPool))
    assert.deepEqual(at.drivers.networkFabric.bridges(nodeId(letter)), [], `bridges of node ${letter}`)
  }
}

for (const call of ['joinNode', 'poolDrivesOf', 'formCluster', 'putBridge', 'writeSettings', 'putContainer'])
  test(`a creation that fails at ${call} leaves no cluster, and the nodes unconfigured`, async () => {
    await failing(call === 'putBridge' ? 'networkFabric' : 'hardware', call)
    const task = await done(create(bodyOf('branch-01')))
    assert.equal(task.status, 'FAILED')
    assert.match(task.errorMessages[0].message, /on purpose|could not join/)
    await requireNothingLeft(app, task)
    assert.equal((await discovered()).length, 3)
  })

for (const [progress, seconds, what] of [
  [0, 5, 'is checked'],
  [15, 30, 'configures the networking of its nodes'],
  [15, 200, 'joins its nodes'],
] as const)
  test(`a creation that an administrator cancels while it ${what} leaves no cluster`, async () => {
    const slow = await startApp({ config: { durations: 'natural' } })
    try {
      const creating = await create(bodyOf('branch-01'), slow)
      await reached(slow, creating, progress)
      await slow.clock.advance(seconds * 1000)
      const path = `/platform/v4.3/config/tasks/${creating.data.extId}/$actions/cancel`
      const cancelled = await slow.call('POST', path, { requestId: randomUUID() })
      assert.equal(cancelled.status, 200, JSON.stringify(cancelled.errors))
      const task = await driven(slow, slow.task(creating))
      assert.equal(task.status, 'CANCELED', JSON.stringify(task.errorMessages))
      await requireNothingLeft(slow, task)
      assert.equal((await driven(slow, discovered(slow))).length, 3)
      await driven(slow, succeeded(create(bodyOf('branch-01'), slow), slow))
      await checkInvariants(slow)
    } finally {
      await slow.close()
    }
  })

test('a creation that loses a node after it has joined fails with its name, and leaves no cluster', async () => {
  const slow = await startApp({ config: { durations: 'natural' } })
  try {
    const creating = await create(bodyOf('branch-01'), slow)
    await reached(slow, creating, 70)
    await setFault(slow, nodeId('b'), { isDown: true })
    const task = await driven(slow, slow.task(creating))
    assert.equal(task.status, 'FAILED')
    assert.match(JSON.stringify(task.errorMessages), new RegExp(`${nodeId('b')} does not answer`))
    await requireNothingLeft(slow, task)
    await setFault(slow, nodeId('b'))
    assert.equal((await driven(slow, discovered(slow))).length, 3)
    await checkInvariants(slow)
  } finally {
    await slow.close()
  }
})

const natives: NodeFact[] = []
afterEach(async () => {
  for (const node of natives.splice(0)) await nodeFacts(app.world).put(node.nodeUuid, node)
})

test('nodes with ESXi form a cluster without virtual switches, whose hosts and disks are there', async () => {
  for (const letter of ['a', 'b'] as const) {
    const node = nodeFacts(app.world).get(nodeId(letter)) as NodeFact
    natives.push(node)
    const hypervisor = { type: 'ESX', version: '8.0.3', fullName: 'VMware ESXi 8.0.3', userName: 'root' } as const
    await nodeFacts(app.world).put(node.nodeUuid, { ...node, hypervisor })
  }
  const { entitiesAffected } = await succeeded(create(bodyOf('branch-esx')))
  const cluster = entitiesAffected[0].extId
  const { config } = (await app.call('GET', `${clusters}/${cluster}`)).data
  assert.deepEqual(config.hypervisorTypes, ['ESX'])
  const hosts = await listed(`${clusters}/${cluster}/hosts`)
  assert.deepEqual(
    hosts.map(({ hypervisor }) => hypervisor.type),
    ['ESX', 'ESX'],
  )
  const switches = await listed('/networking/v4.3/config/virtual-switches')
  assert.ok(!JSON.stringify(switches).includes(cluster))
  await succeeded(destroy(cluster))
  assert.equal((await discovered()).length, 3)
})

test('of two creations that name one node, one is refused', async () => {
  const slow = await startApp({ config: { durations: 'natural' } })
  try {
    const answers = await Promise.all([
      create(bodyOf('left'), slow),
      create(bodyOf('right', { network: { externalAddress: ip('10.44.1.81') } }), slow),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  } finally {
    await slow.close()
  }
})

test('a cluster that is created is not visible, and one that is destroyed takes no changes', async () => {
  const slow = await startApp({ config: { durations: 'natural' } })
  try {
    const creating = await create(bodyOf('slow-01'), slow)
    await reached(slow, creating, 45)
    assert.ok(!(await listed(clusters, slow)).some(({ name }) => name === 'slow-01'))
    const task = await driven(slow, slow.task(creating))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    const cluster = task.entitiesAffected[0].extId
    const destroying = await destroy(cluster, slow)
    const { etag } = await slow.call('GET', `${clusters}/${cluster}`)
    const update = { body: { name: 'slow-02' }, ifMatch: etag as string, requestId: randomUUID() }
    assert.equal(refusal(await slow.call('PUT', `${clusters}/${cluster}`, update)), '409 CLUSTER_BUSY')
    await reached(slow, destroying, 30)
    const vm = { name: 'late', cluster: { extId: cluster }, numSockets: 1, memorySizeBytes: 2 ** 30 }
    const late = await slow.call('POST', '/vmm/v4.2/ahv/config/vms', { body: vm, requestId: randomUUID() })
    assert.equal(refusal(late), '409 CLUSTER_BUSY')
    assert.equal((await driven(slow, slow.task(destroying))).status, 'SUCCEEDED')
    await checkInvariants(slow)
  } finally {
    await slow.close()
  }
})

test('a destruction whose services do not stop leaves a cluster that works', async () => {
  const { entitiesAffected } = await succeeded(create(bodyOf('branch-03')))
  extId = entitiesAffected[0].extId
  await failing('hardware', 'stopServices')
  assert.equal((await done(destroy(extId))).status, 'FAILED')
  await removeVm(await createVm(extId))
})

test('a destruction that has begun to wipe the disks goes on until it is done', async () => {
  await failing('hardware', 'unpoolDrivesOf')
  await succeeded(destroy(extId))
  assert.equal((await discovered()).length, 3)
})
