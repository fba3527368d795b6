import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm'
import type { ClusterFact } from '../../../src/drivers/simulated/hardware.ts'
import { clustermgmt, hostId, ids, putFresh, requestId, setFault } from '../../support/clustermgmt.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const clusters = `${clustermgmt}/clusters`
const native = `${clusters}/${ids.native}`
const cloud = `${clusters}/${ids.cloud}`
const get = async (path: string): Promise<any> => (await app.call('GET', path)).data

test('every cluster has a function, the native one is first and the manager itself last', async () => {
  const { data } = await app.call('GET', clusters)
  for (const cluster of data) assert.ok(cluster.config.clusterFunction.length > 0)
  const real = data.filter((cluster: any) => !cluster.config.clusterFunction.includes('PRISM_CENTRAL'))
  assert.equal(real[0].name, 'hp-native-01')
  assert.equal(data.at(-1).extId, ids.manager)
})

test('a filter by function finds the clusters, and one by name the manager', async () => {
  const filter = encodeURIComponent(`config/clusterFunction/any(t:t eq Clustermgmt.Config.ClusterFunctionRef'AOS')`)
  const found = await app.call('GET', `${clusters}?$filter=${filter}`)
  assert.deepEqual(
    found.data.map(({ extId }: any) => extId),
    [ids.native, ids.extern, ids.cloud],
  )
  const manager = await app.call('GET', `${clusters}?$filter=${encodeURIComponent(`startswith(name,'PC_')`)}`)
  assert.deepEqual(
    manager.data.map(({ extId }: any) => extId),
    [ids.manager],
  )
})

test('hosts of the clusters add up to all hosts, and each cluster knows how many it has', async () => {
  let sum = 0
  for (const cluster of (await app.call('GET', clusters)).data) {
    const { total } = await app.call('GET', `${clusters}/${cluster.extId}/hosts`)
    if (cluster.extId !== ids.manager) assert.equal(cluster.nodes.numberOfNodes, total)
    sum += total as number
  }
  assert.equal((await app.call('GET', `${clustermgmt}/hosts`)).total, sum)
})

test('derived values can be filtered and ordered by, and selected', async () => {
  const ordered = await app.call(
    'GET',
    `${clusters}?$orderby=${encodeURIComponent('nodes/numberOfNodes desc')}&$limit=1`,
  )
  assert.equal(ordered.data[0].name, 'hp-native-01')
  const none = await app.call('GET', `${clusters}?$filter=${encodeURIComponent('config/isAvailable eq false')}`)
  assert.equal(none.total, 0)
  const groups = await app.call('GET', `${clusters}?$apply=${encodeURIComponent('groupby((config/isAvailable))')}`)
  assert.equal(groups.total, 1)
  const selected = await app.call('GET', `${clusters}?$select=name&$limit=1`)
  assert.deepEqual(Object.keys(selected.data[0]).sort(), ['extId', 'name'])
})

test('expansion shows the profile and the fault tolerant capacity', async () => {
  const cluster = await get(`${clusters}/${ids.extern}?$expand=clusterProfile,storageSummary`)
  assert.equal(cluster.clusterProfileProjection.name, 'baseline')
  // Three hosts of 19.84 TB, 95 % of it usable, one may fail, two copies.
  assert.equal(cluster.storageSummaryProjection.clusterFaultTolerantCapacityInBytes, 19_840_000_000_000 * 0.95)
})

test('an update needs the current tag, and one that names only the name keeps the network', async () => {
  const path = cloud
  const first = await app.call('GET', path)
  assert.equal((await app.call('PUT', path, { body: { name: 'x' } })).status, 428)
  const stale = await app.call('PUT', path, { body: { name: 'x' }, ifMatch: '"stale"' })
  assert.equal(stale.status, 412)
  assert.deepEqual((await app.call('GET', path)).data, first.data)

  const task = await app.task(
    await app.call('PUT', path, { body: { name: 'cloud-one' }, ifMatch: first.etag as string }),
  )
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'Update Cluster')
  assert.deepEqual(task.clusterExtIds, [ids.cloud])
  const renamed = await app.call('GET', path)
  assert.equal(renamed.data.name, 'cloud-one')
  assert.deepEqual(renamed.data.network, first.data.network)
  assert.notEqual(renamed.etag, first.etag)
  // Rows that repeat the name follow it.
  assert.equal((await get(`${path}/hosts`))[0].cluster.name, 'cloud-one')
  const containers = await get(
    `${clustermgmt}/storage-containers?$filter=${encodeURIComponent(`clusterName eq 'cloud-one'`)}`,
  )
  assert.equal(containers.length, 1)
})

test('of two updates with the same tag one is accepted', async () => {
  const { etag } = await app.call('GET', native)
  const put = () =>
    app.call('PUT', native, { body: { network: { fqdn: 'native.example.com' } }, ifMatch: etag as string })
  const answers = await Promise.all([put(), put()])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 412])
  for (const answer of answers) if (answer.status === 202) await app.task(answer)
})

test('a VM that starts moves counts and leaves the tags of cluster and host alone', async () => {
  const host = `${native}/hosts/${hostId('hp-n01-a')}`
  const [cluster, machine] = [await app.call('GET', native), await app.call('GET', host)]
  await app.store.transaction(async (transaction) => {
    await transaction.insert(Vm, {
      extId: requestId(),
      name: 'counted',
      powerState: 'ON',
      cluster: { extId: ids.native },
      host: { extId: hostId('hp-n01-a') },
    } as never)
  })
  const [clusterAfter, machineAfter] = [await app.call('GET', native), await app.call('GET', host)]
  assert.equal(clusterAfter.data.vmCount, cluster.data.vmCount + 1)
  assert.equal(clusterAfter.etag, cluster.etag)
  assert.equal(machineAfter.data.hypervisor.numberOfVms, machine.data.hypervisor.numberOfVms + 1)
  assert.equal(machineAfter.etag, machine.etag)
})

test('settings of the network are told to the cluster; a list is replaced, an empty one clears', async () => {
  const servers = [{ fqdn: { value: 'one.example.com' } }, { ipv4: { value: '10.9.9.9' } }]
  const put = await putFresh(app, native, { network: { ntpServerIpList: servers, nfsSubnetWhitelist: [] } })
  assert.equal((await app.task(put)).status, 'SUCCEEDED')
  const { network } = await get(native)
  assert.deepEqual(network.ntpServerIpList, [servers[0], { ipv4: { value: '10.9.9.9', prefixLength: 32 } }])
  assert.deepEqual(network.nfsSubnetWhitelist, [])
  assert.equal(network.nameServerIpList.length, 2)
  const fact = app.world.collection<ClusterFact>('hardware.clusters').get(ids.native) as ClusterFact
  assert.deepEqual(fact.settings.NTP_SERVER_CONFIG?.ntpServerIpList, network.ntpServerIpList)
  assert.equal(fact.settings.NFS_SUBNET_WHITELIST_CONFIG, undefined)
})

test('the port of a mail server follows its type', async () => {
  const smtpServer = {
    emailAddress: 'a@example.com',
    type: 'SSL',
    server: { ipAddress: { fqdn: { value: 'mail.example.com' } } },
  }
  await app.task(await putFresh(app, native, { network: { smtpServer } }))
  assert.equal((await get(native)).network.smtpServer.server.port, 465)
})

test('what is given is whole: a mail server without its address is refused', async () => {
  const answer = await putFresh(app, native, { network: { smtpServer: { emailAddress: 'a@example.com' } } })
  assert.equal(answer.status, 400)
  assert.equal(answer.errors[0]?.attributePath, 'network/smtpServer/server')
})

test('all faults of the settings are reported together', async () => {
  const same = { ipv4: { value: '10.1.1.1' } }
  const answer = await putFresh(app, native, {
    config: { authorizedPublicKeyList: [{ name: 'k', key: 'no key' }], operationMode: 'SWITCH_TO_TWO_NODE' },
    network: { nameServerIpList: [same, same], ntpServerIpList: [{}], nfsSubnetWhitelist: ['10.0.0.0/255.0.255.0'] },
  })
  assert.equal(answer.status, 400)
  assert.deepEqual(answer.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath']).sort(), [
    'config/authorizedPublicKeyList[0]/key',
    'config/operationMode',
    'network/nameServerIpList[1]',
    'network/nfsSubnetWhitelist[0]',
    'network/ntpServerIpList[0]',
  ])
})

test('copies need hosts: three copies do not fit four hosts, and the tolerance agrees with the copies', async () => {
  assert.equal((await putFresh(app, native, { config: { redundancyFactor: 3 } })).status, 400)
  const disagreeing = { redundancyFactor: 2, faultToleranceState: { desiredClusterFaultTolerance: 'CFT_2N_OR_2D' } }
  assert.equal((await putFresh(app, native, { config: disagreeing })).status, 400)
  const lower = await putFresh(app, native, { config: { redundancyFactor: 1 } })
  assert.equal(lower.status, 409, 'containers keep two copies')
})

test('what a cluster is made of does not change', async () => {
  const other = await putFresh(app, native, { config: { clusterFunction: ['AFS'] } })
  assert.equal(other.status, 400)
  assert.equal(other.errors[0]?.code, 'PLAT-10012')
  const same = await putFresh(app, native, { config: { clusterFunction: ['AOS'] } })
  assert.equal((await app.task(same)).status, 'SUCCEEDED')
  assert.equal((await putFresh(app, native, { containerName: 'late' })).status, 400)
})

test('addresses and names are used once', async () => {
  const address = await putFresh(app, native, { network: { externalAddress: { ipv4: { value: '10.44.2.21' } } } })
  assert.equal(address.status, 409)
  assert.equal(address.errors[0]?.errorGroup, 'ADDRESS_IN_USE')
  const equal = await putFresh(app, native, { network: { externalAddress: { ipv4: { value: '10.44.1.11' } } } })
  assert.equal(equal.status, 400)
  const name = await putFresh(app, native, { name: 'HP-EXTERN-01' })
  assert.equal(name.status, 409)
  assert.equal(name.errors[0]?.errorGroup, 'CLUSTER_NAME_EXISTS')
})

test('the manager itself takes a name and a network, nothing else', async () => {
  const path = `${clusters}/${ids.manager}`
  const refused = await putFresh(app, path, { config: { operationMode: 'READ_ONLY' } })
  assert.equal(refused.status, 400)
  assert.equal(refused.errors[0]?.errorGroup, 'NOT_SUPPORTED_ON_MANAGER')
  const accepted = await putFresh(app, path, { network: { nameServerIpList: [{ ipv4: { value: '10.44.1.6' } }] } })
  assert.equal((await app.task(accepted)).status, 'SUCCEEDED')
})

test('categories are listed in the order of their association, counted with the category, and gone with the last', async () => {
  const category = async (value: string): Promise<string> =>
    (await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'Tier', value } })).data.extId
  const [gold, silver] = [await category('Gold'), await category('Silver')]
  const act = async (action: string, categories: string[]) =>
    app.task(await app.call('POST', `${native}/$actions/${action}-categories`, { body: { categories } }))

  const task = await act('associate', [silver, gold])
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'UpdateCategoryAssociations_kOperationAttach')
  assert.equal(task.operationDescription, 'Associate Category')
  assert.deepEqual((await get(native)).categories, [silver, gold])
  for (const extId of [gold, silver]) {
    const { associations } = await get(`/platform/v4.3/config/categories/${extId}?$expand=associations`)
    assert.deepEqual(
      associations.map(({ resourceType, count }: any) => [resourceType, count]),
      [['CLUSTER', 1]],
    )
  }
  // Again changes nothing.
  assert.equal((await act('associate', [gold])).status, 'SUCCEEDED')
  await act('disassociate', [silver])
  assert.deepEqual((await get(native)).categories, [gold])
  await act('disassociate', [gold])
  assert.equal('categories' in (await get(native)), false)
  const unknown = await app.call('POST', `${native}/$actions/associate-categories`, {
    body: { categories: [requestId()] },
  })
  assert.equal(unknown.status, 404)
})

test('a cluster that does not answer refuses mutations with 503 and shows what was known', async () => {
  await setFault(app, ids.native, { isDown: true })
  try {
    const put = await putFresh(app, native, { network: { fqdn: 'later.example.com' } })
    assert.equal(put.status, 503)
    assert.equal(put.errors[0]?.errorGroup, 'CLUSTER_UNREACHABLE')
    assert.equal(put.headers['Retry-After'], '5')
    const shown = await get(native)
    assert.equal(shown.config.isAvailable, false)
    assert.equal(shown.name, 'hp-native-01')
  } finally {
    await setFault(app, ids.native)
  }
})

test('an update that the cluster refuses leaves row and cluster as they were', async () => {
  await setFault(app, ids.native, { refuses: ['writeSettings'] })
  const before = (await get(native)).network.nameServerIpList
  const fact = app.world.collection<ClusterFact>('hardware.clusters').get(ids.native)?.settings
  try {
    const task = await app.task(await putFresh(app, native, { network: { nameServerIpList: [] } }))
    assert.equal(task.status, 'FAILED')
    assert.ok(task.errorMessages.length > 0)
  } finally {
    await setFault(app, ids.native)
  }
  assert.deepEqual((await get(native)).network.nameServerIpList, before)
  assert.deepEqual(app.world.collection<ClusterFact>('hardware.clusters').get(ids.native)?.settings, fact)
})

test('a host in maintenance or down takes one from the fault tolerance', async () => {
  const tolerance = async () => (await get(native)).config.faultToleranceState.currentMaxFaultTolerance
  assert.equal(await tolerance(), 1)
  await setFault(app, hostId('hp-n01-b'), { isDown: true })
  assert.equal(await tolerance(), 0)
  await setFault(app, hostId('hp-n01-b'))
  assert.equal(await tolerance(), 1)
})
