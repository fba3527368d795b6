import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { ClusterFact } from '../../../src/drivers/simulated/hardware.ts'
import { clustermgmt, hostId, ids, putFresh, requestId, setFault } from '../../support/clustermgmt.ts'
import { aVm, changed, type NativeCluster, postVm, readVm } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { ipConfigOf } from '../../support/subnets.ts'

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

test('$expand returns the profile and the fault tolerant capacity of a cluster', async () => {
  const cluster = await get(`${clusters}/${ids.extern}?$expand=clusterProfile,storageSummary`)
  assert.equal(cluster.clusterProfileProjection.name, 'baseline')
  // Three hosts of 19.84 TB, 95 % of it usable, one may fail, two copies.
  assert.equal(cluster.storageSummaryProjection.clusterFaultTolerantCapacityInBytes, 19_840_000_000_000 * 0.95)
})

test('an update needs the current tag, and an update of the name alone keeps the network', async () => {
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

test('creating and starting a VM changes the counts of cluster and host but not their ETags', async () => {
  const cluster = await app.call('GET', native)
  const running = async (): Promise<number> =>
    (await app.call('GET', `${native}/hosts`)).data.reduce(
      (sum: number, host: any) => sum + host.hypervisor.numberOfVms,
      0,
    )
  const before = await running()
  const vm = await aVm(app, { extId: ids.native } as NativeCluster, { name: 'counted' })
  assert.equal((await get(native)).vmCount, cluster.data.vmCount + 1)
  assert.equal(await running(), before, 'it is off')
  const tags = new Map<string, string | undefined>()
  for (const { extId } of (await app.call('GET', `${native}/hosts`)).data)
    tags.set(extId, (await app.call('GET', `${native}/hosts/${extId}`)).etag)
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  const host = (await readVm(app, vm.extId)).host.extId
  const on = await app.call('GET', `${native}/hosts/${host}`)
  assert.ok(on.data.hypervisor.numberOfVms >= 1)
  assert.equal(await running(), before + 1)
  for (const [extId, etag] of tags) assert.equal((await app.call('GET', `${native}/hosts/${extId}`)).etag, etag)
  assert.equal((await app.call('GET', native)).etag, cluster.etag)
  await changed(app, vm.extId, 'power-off')
  await changed(app, vm.extId, 'delete')
  assert.equal((await get(native)).vmCount, cluster.data.vmCount)
})

test('network settings are sent to the cluster: a list replaces the old one, and an empty list clears it', async () => {
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

test('a mail server without its address is refused', async () => {
  const answer = await putFresh(app, native, { network: { smtpServer: { emailAddress: 'a@example.com' } } })
  assert.equal(answer.status, 400)
  assert.equal(answer.errors[0]?.attributePath, 'network/smtpServer/server')
})

test('all faults of the settings are reported together', async () => {
  const same = { ipv4: { value: '10.1.1.1' } }
  const answer = await putFresh(app, native, {
    config: { authorizedPublicKeyList: [{ name: 'k', key: 'no key' }] },
    network: { nameServerIpList: [same, same], ntpServerIpList: [{}], nfsSubnetWhitelist: ['10.0.0.0/255.0.255.0'] },
  })
  assert.equal(answer.status, 400)
  assert.deepEqual(answer.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath']).sort(), [
    'config/authorizedPublicKeyList[0]/key',
    'network/nameServerIpList[1]',
    'network/nfsSubnetWhitelist[0]',
    'network/ntpServerIpList[0]',
  ])
})

test('two-node mode is for clusters of two nodes', async () => {
  const answer = await putFresh(app, native, { config: { operationMode: 'SWITCH_TO_TWO_NODE' } })
  assert.equal(answer.status, 400)
  assert.deepEqual(
    answer.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath']),
    ['config/operationMode'],
  )
})

test('three copies on four hosts, and a fault tolerance that does not match the copies, are refused', async () => {
  assert.equal((await putFresh(app, native, { config: { redundancyFactor: 3 } })).status, 400)
  const disagreeing = { redundancyFactor: 2, faultToleranceState: { desiredClusterFaultTolerance: 'CFT_2N_OR_2D' } }
  assert.equal((await putFresh(app, native, { config: disagreeing })).status, 400)
  const lower = await putFresh(app, native, { config: { redundancyFactor: 1 } })
  assert.equal(lower.status, 409, 'containers keep two copies')
})

test('one host with two SSDs holds two copies, and not three', async () => {
  const small = await startApp({ config: { seed: 'tiny' } })
  try {
    const path = `${clustermgmt}/clusters/${seedId('cluster/tiny')}`
    const put = (redundancyFactor: number) =>
      putFresh(small, path, { config: { redundancyFactor, faultToleranceState: { domainAwarenessLevel: 'DISK' } } })
    const three = await put(3)
    assert.equal(three.status, 400)
    assert.match(three.errors[0]?.message ?? '', /3 copies need 5 hosts; the cluster has 1/)
    const two = await put(2)
    assert.equal(two.status, 202, JSON.stringify(two.errors))
  } finally {
    await small.close()
  }
})

test('the hardware of a cluster cannot be changed', async () => {
  const other = await putFresh(app, native, { config: { clusterFunction: ['AFS'] } })
  assert.equal(other.status, 400)
  assert.equal(other.errors[0]?.code, 'PLAT-10012')
  const same = await putFresh(app, native, { config: { clusterFunction: ['AOS'] } })
  assert.equal((await app.task(same)).status, 'SUCCEEDED')
  assert.equal((await putFresh(app, native, { containerName: 'late' })).status, 400)
})

test('an address or name of another cluster is refused', async () => {
  const address = await putFresh(app, native, { network: { externalAddress: { ipv4: { value: '10.44.2.21' } } } })
  assert.equal(address.status, 409)
  assert.equal(address.errors[0]?.errorGroup, 'ADDRESS_IN_USE')
  const equal = await putFresh(app, native, { network: { externalAddress: { ipv4: { value: '10.44.1.11' } } } })
  assert.equal(equal.status, 400)
  const name = await putFresh(app, native, { name: 'HP-EXTERN-01' })
  assert.equal(name.status, 409)
  assert.equal(name.errors[0]?.errorGroup, 'CLUSTER_NAME_EXISTS')
})

test("of the manager's own cluster only name and network can be changed", async () => {
  const path = `${clusters}/${ids.manager}`
  const refused = await putFresh(app, path, { config: { operationMode: 'READ_ONLY' } })
  assert.equal(refused.status, 400)
  assert.equal(refused.errors[0]?.errorGroup, 'NOT_SUPPORTED_ON_MANAGER')
  const accepted = await putFresh(app, path, { network: { nameServerIpList: [{ ipv4: { value: '10.44.1.6' } }] } })
  assert.equal((await app.task(accepted)).status, 'SUCCEEDED')
})

test('categories of a cluster are listed in the order of association and counted, and the field is absent without any', async () => {
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

test('a cluster that does not answer refuses mutations with 503 and shows its last known state', async () => {
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

test('while a cluster does not answer, every mutation on it is 503 in every namespace, and reads succeed', async () => {
  const started = async (call: Promise<CallResult>): Promise<string> =>
    (await app.task(await call)).entitiesAffected[0].extId
  const send = (method: string, path: string, body?: object): Promise<CallResult> =>
    app.call(method, path, { ...(body === undefined ? {} : { body }), requestId: requestId(), clusterId: ids.native })
  const subnet = `/networking/v4.3/config/subnets/${await started(
    send('POST', '/networking/v4.3/config/subnets', {
      name: 'dark',
      subnetType: 'VLAN',
      networkId: 9,
      clusterReference: ids.native,
      ipConfig: ipConfigOf({ ipv4: '10.66.0.0/24', pools: [['10.66.0.9', '10.66.0.20']] }),
    }),
  )}`
  const container = `${clustermgmt}/storage-containers/${await started(send('POST', `${clustermgmt}/storage-containers`, { name: 'dark' }))}`
  const groups = '/volumes/v4.2/config/volume-groups'
  const group = `${groups}/${await started(send('POST', groups, { name: 'dark', clusterReference: ids.native }))}`
  const vm = `/vmm/v4.2/ahv/config/vms/${(await aVm(app, { extId: ids.native } as NativeCluster, { name: 'dark' })).extId}`
  const bmc = `${native}/hosts/${hostId('hp-n01-a')}/bmc-info`
  const profile = `${clustermgmt}/cluster-profiles/${ids.baseline}/$actions/apply`
  const category = seedId('category/Environment/Dev')
  const older = '/storage/v4.0.a3/config'
  const withTag = async (method: string, path: string, body?: object, tagOf = path): Promise<CallResult> => {
    const { etag } = await app.call('GET', tagOf)
    return app.call(method, path, {
      ...(body === undefined ? {} : { body }),
      ifMatch: etag as string,
      requestId: requestId(),
    })
  }
  const mutations: Readonly<Record<string, () => Promise<CallResult>>> = {
    updateClusterById: () => putFresh(app, native, { name: 'dark' }),
    associateCategoriesToCluster: () =>
      send('POST', `${native}/$actions/associate-categories`, { categories: [category] }),
    disassociateCategoriesFromCluster: () =>
      send('POST', `${native}/$actions/disassociate-categories`, { categories: [category] }),
    updateBmcInfo: () => putFresh(app, bmc, { ipAddress: { ipv4: { value: '10.44.1.99' } } }),
    createStorageContainer: () => send('POST', `${clustermgmt}/storage-containers`, { name: 'darker' }),
    updateStorageContainerById: () => putFresh(app, container, { name: 'darker' }),
    deleteStorageContainerById: () => send('DELETE', container),
    mountStorageContainer: () => send('POST', `${container}/$actions/mount`, { containerName: 'dark' }),
    unmountStorageContainer: () => send('POST', `${container}/$actions/unmount`, { datastoreName: 'dark' }),
    applyClusterProfile: () => send('POST', profile, { clusters: [{ uuid: ids.native }] }),
    createSubnet: () =>
      send('POST', '/networking/v4.3/config/subnets', { name: 'x', subnetType: 'VLAN', clusterReference: ids.native }),
    updateSubnetById: () => putFresh(app, subnet, { name: 'x', subnetType: 'VLAN' }),
    deleteSubnetById: () => send('DELETE', subnet),
    reserveIpsBySubnetId: () =>
      send('POST', `${subnet}/addresses/$actions/reserve`, { reserveType: 'IP_ADDRESS_COUNT', count: 1 }),
    unreserveIpsBySubnetId: () =>
      send('POST', `${subnet}/addresses/$actions/unreserve`, { unreserveType: 'CONTEXT', clientContext: 'x' }),
    createVolumeGroup: () => send('POST', groups, { name: 'darker', clusterReference: ids.native }),
    createVolumeDisk: () => send('POST', `${group}/disks`, { diskSizeBytes: 1024 ** 3 }),
    deleteVolumeGroupById: () => withTag('DELETE', group),
    createVm: () => postVm(app, { extId: ids.native } as NativeCluster, { name: 'darker' }),
    powerOnVm: () => withTag('POST', `${vm}/$actions/power-on`, undefined, vm),
    deleteVmById: () => withTag('DELETE', vm),
    addStorageContainerForCluster: () => send('POST', `${older}/storage-containers`, { name: 'darker' }),
  }
  await setFault(app, ids.native, { isDown: true })
  try {
    for (const [operation, mutation] of Object.entries(mutations)) {
      const refused = await mutation()
      assert.deepEqual(
        [refused.status, refused.errors[0]?.errorGroup, refused.headers['Retry-After']],
        [503, 'CLUSTER_UNREACHABLE', '5'],
        `${operation}: ${JSON.stringify(refused.errors)}`,
      )
    }
    for (const path of [native, container, subnet, group, vm, bmc])
      assert.equal((await app.call('GET', path)).status, 200)
  } finally {
    await setFault(app, ids.native)
  }
})

test('a read-only cluster takes no new VM, disk or container: 409', async () => {
  const group = seedId('volume-group/vg-unused')
  const mode = async (operationMode: string): Promise<void> => {
    assert.equal((await app.task(await putFresh(app, native, { config: { operationMode } }))).status, 'SUCCEEDED')
  }
  await mode('READ_ONLY')
  try {
    const answers = [
      await postVm(app, { extId: ids.native } as NativeCluster, { name: 'late' }),
      await app.call('POST', `/volumes/v4.2/config/volume-groups/${group}/disks`, {
        body: { diskSizeBytes: 1024 ** 3 },
        requestId: requestId(),
      }),
      await app.call('POST', `${clustermgmt}/storage-containers`, {
        body: { name: 'late' },
        clusterId: ids.native,
        requestId: requestId(),
      }),
    ]
    for (const { status, errors } of answers) {
      assert.equal(status, 409, JSON.stringify(errors))
      assert.match(errors[0]?.message ?? '', /READ_ONLY/)
    }
  } finally {
    await mode('NORMAL')
  }
})

test('when two clusters are given the same name or address at the same time, one update succeeds', async () => {
  const put = (path: string, body: object) => putFresh(app, path, body)
  for (const body of [{ name: 'wanted' }, { network: { externalDataServiceIp: { ipv4: { value: '10.44.1.200' } } } }]) {
    const answers = await Promise.all([put(cloud, body), put(`${clusters}/${ids.extern}`, body)])
    const ends = await Promise.all(
      answers.map(async (answer) => (answer.status === 202 ? (await app.task(answer)).status : answer.status)),
    )
    assert.equal(ends.filter((end) => end === 'SUCCEEDED').length, 1, JSON.stringify(ends))
    assert.ok(ends.includes('FAILED') || ends.includes(409))
  }
})

test('a repeated target in the proxy allowlist is refused', async () => {
  const target = { target: 'example.com', targetType: 'DOMAIN_NAME_SUFFIX' }
  const refused = await putFresh(app, native, { network: { httpProxyWhiteList: [target, target] } })
  assert.equal(refused.errors[0]?.argumentsMap?.['attributePath'], 'network/httpProxyWhiteList[1]')
})

test('read-only fields are ignored in a body', async () => {
  const before = await get(native)
  const body = { upgradeStatus: 'FAILED', vmCount: 99, categories: [requestId()], nodes: { numberOfNodes: 1 } }
  assert.equal((await app.task(await putFresh(app, native, body))).status, 'SUCCEEDED')
  assert.deepEqual(await get(native), before)
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

test('of two clusters that are given one name at the same time one update fails, and its cluster gets the old settings back', async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const slow = await startApp({
    beforeStep: (definition, step) =>
      definition === 'clustermgmt.update-cluster' && step === 'record' ? held : undefined,
  })
  try {
    const settings = (id: string) => slow.world.collection<ClusterFact>('hardware.clusters').get(id)?.settings
    const both = [ids.extern, ids.cloud]
    const before = await Promise.all(
      both.map(async (id) => ({
        id,
        told: settings(id),
        name: (await slow.call('GET', `${clusters}/${id}`)).data.name,
      })),
    )
    const started: CallResult[] = []
    for (const id of both) started.push(await putFresh(slow, `${clusters}/${id}`, { name: 'wanted-by-both' }))
    letGo()
    const tasks = [await slow.task(started[0]!), await slow.task(started[1]!)]
    assert.deepEqual(tasks.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED'])
    const loser = before[tasks.findIndex(({ status }) => status === 'FAILED')]!
    assert.equal((await slow.call('GET', `${clusters}/${loser.id}`)).data.name, loser.name)
    assert.deepEqual(settings(loser.id), loser.told)
  } finally {
    letGo()
    await slow.close()
  }
})

test('a host that is down or in maintenance lowers the fault tolerance by one', async () => {
  const tolerance = async () => (await get(native)).config.faultToleranceState.currentMaxFaultTolerance
  assert.equal(await tolerance(), 1)
  await setFault(app, hostId('hp-n01-b'), { isDown: true })
  assert.equal(await tolerance(), 0)
  await setFault(app, hostId('hp-n01-b'))
  assert.equal(await tolerance(), 1)
})
