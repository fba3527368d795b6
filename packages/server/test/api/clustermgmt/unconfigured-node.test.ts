/** Questions about nodes of no cluster, and their results. Source: behaviour clustermgmt.md 1.3, 4, 5 (9, 36). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { nodeFacts } from '../../../src/drivers/simulated/nodes.ts'
import { advance, clustermgmt, ids, setFault } from '../../support/clustermgmt.ts'
import { http } from '../../support/http.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { ip } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const actions = `${clustermgmt}/clusters/${ids.native}/$actions`
const ask = (action: string, body: object = {}, at = actions): Promise<CallResult> =>
  app.call('POST', `${at}/${action}`, { body, requestId: randomUUID() })
const asked = async (action: string, body: object = {}): Promise<any> => app.task(await ask(action, body))
const fetched = (task: string, type: string): Promise<CallResult> =>
  app.call('GET', `${clustermgmt}/task-response/${task}?taskResponseType=${type}`)
const uuidOf = ({ extId }: { extId: string }): string => extId.split(':').at(-1) as string
const refusal = ({ status, errors }: CallResult): string => `${status} ${errors?.[0]?.errorGroup}`

async function resultOf(action: string, type: string, body: object = {}): Promise<any> {
  const task = await asked(action, body)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const { status, data } = await fetched(uuidOf(task), type)
  assert.equal(status, 200)
  return data
}

const nodes = (app: TestApp) =>
  [...nodeFacts(app.world).all().values()].filter((node) => node.clusterExtId === undefined)
const nodeAt = (address: string) => nodes(app).find(({ addresses }) => addresses.cvm === address)!
const discover = async (body: object = {}): Promise<string[]> =>
  (await resultOf('discover-unconfigured-nodes', 'UNCONFIGURED_NODES', body)).response.nodeList.map(
    ({ cvmIp }: any) => cvmIp.ipv4.value,
  )

test('9. an administrator discovers three nodes, and one by its address', async () => {
  const data = await resultOf('discover-unconfigured-nodes', 'UNCONFIGURED_NODES')
  assert.equal(data.taskResponseType, 'UNCONFIGURED_NODES')
  assert.equal(data.response.nodeList.length, 3)
  const [first, , last] = data.response.nodeList
  assert.deepEqual(
    [first.cvmIp.ipv4.value, first.hypervisorIp.ipv4.value, first.ipmiIp.ipv4.value],
    ['10.44.1.61', '10.44.1.64', '10.44.1.67'],
  )
  assert.deepEqual([first.hypervisorVersion, last.hypervisorVersion], ['10.3', '10.0'])
  assert.deepEqual([first.hostType, first.nosVersion, first.nodePosition], ['HYPER_CONVERGED', '7.3', 'A'])
  assert.deepEqual(await discover({ ipFilterList: [ip('10.44.1.62')] }), ['10.44.1.62'])

  const task = uuidOf(await asked('discover-unconfigured-nodes'))
  assert.equal(refusal(await fetched(task, 'NETWORKING_DETAILS')), '400 INVALID_ARGUMENT')
  assert.equal((await fetched(`ZXJnb24=:${task}`, 'UNCONFIGURED_NODES')).status, 200)
})

test('public clients fetch a result by the UUID of its task, with or without the prefix', async () => {
  const task = uuidOf(await asked('discover-unconfigured-nodes'))
  const { url } = await app.listen()
  for (const id of [task, `ZXJnb24=:${task}`]) {
    const path = `/api${clustermgmt}/task-response/${id}?taskResponseType=UNCONFIGURED_NODES`
    const { status, json } = await http(url, path, { headers: { 'NTNX-Request-Id': randomUUID() } })
    assert.deepEqual([status, json.data.response.nodeList?.length], [200, 3], id)
  }
})

test('filters of a discovery are joined between lists, and alternatives within one', async () => {
  const [a, b] = [nodeAt('10.44.1.61'), nodeAt('10.44.1.62')]
  assert.deepEqual(await discover({ uuidFilterList: [a.nodeUuid, b.nodeUuid] }), ['10.44.1.61', '10.44.1.62'])
  assert.deepEqual(await discover({ uuidFilterList: [a.nodeUuid], ipFilterList: [ip('10.44.1.62')] }), [])
  assert.deepEqual(await discover({ interfaceFilterList: ['eth7'] }), [])
  assert.deepEqual(await discover({ interfaceFilterList: ['eth0'], ipFilterList: [ip(b.addresses.bmc as string)] }), [
    '10.44.1.62',
  ])
  assert.deepEqual(await discover({ addressType: 'IPV6', ipFilterList: [{ ipv6: { value: a.ipv6 } }] }), ['10.44.1.61'])
})

test('a node that is off is not discovered, and its networking cannot be fetched', async () => {
  const { nodeUuid } = nodeAt('10.44.1.61')
  await setFault(app, nodeUuid, { isDown: true })
  assert.deepEqual(await discover(), ['10.44.1.62', '10.44.1.63'])
  const failed = await asked('fetch-node-networking-details', { nodeList: [{ cvmIp: ip('10.44.1.61') }] })
  assert.equal(failed.status, 'FAILED')
  assert.match(failed.errorMessages[0].message, /do not answer: 10\.44\.1\.61/)
  const { status, errors } = await fetched(uuidOf(failed), 'NETWORKING_DETAILS')
  assert.equal(status, 409)
  assert.equal(errors?.[0]?.errorGroup, 'TASK_NOT_COMPLETE')
  assert.match(errors?.[0]?.message ?? '', /10\.44\.1\.61/)
  await setFault(app, nodeUuid)
})

test('a discovery that ends sooner than nodes answer finds none of them', async () => {
  assert.ok((await discover({ timeout: 60 })).length > (await discover({ timeout: 1 })).length)
})

test('requests that no discovery can serve are refused with their faults', async () => {
  for (const body of [
    { timeout: 0 },
    { timeout: 601 },
    { addressType: 'IPV6', isManualDiscovery: true },
    { ipFilterList: [{}] },
  ])
    assert.equal((await ask('discover-unconfigured-nodes', body)).status, 400, JSON.stringify(body))
  const xen = await ask('check-hypervisor-requirements', {
    nodeList: [{ nodeUuid: randomUUID(), hypervisorType: 'XEN' }],
  })
  assert.equal(xen.status, 400)
  assert.match(xen.errors?.[0]?.message ?? '', /not supported for XEN/)
  const manager = `${clustermgmt}/clusters/${ids.manager}/$actions`
  assert.equal(refusal(await ask('discover-unconfigured-nodes', {}, manager)), '400 NOT_SUPPORTED_ON_MANAGER')
  await setFault(app, ids.native, { isDown: true })
  assert.equal(refusal(await ask('discover-unconfigured-nodes')), '503 CLUSTER_UNREACHABLE')
  await setFault(app, ids.native)
})

test('networking details show the switches of the cluster and the NICs of the node', async () => {
  const { nodeUuid } = nodeAt('10.44.1.61')
  await setFault(app, nodeUuid, { lostUplinks: ['eth3'] })
  const { response } = await resultOf('fetch-node-networking-details', 'NETWORKING_DETAILS', {
    nodeList: [{ cvmIp: ip('10.44.1.61') }],
  })
  const [vs0] = response.networkInfo.hci
  assert.deepEqual([vs0.name, vs0.vswitchName, vs0.bondingMode], ['br0', 'vs0', 'ACTIVE_BACKUP'])
  assert.ok(vs0.networks.includes('vlan-100-app'))
  const [{ cvmIp, uplinkList }] = response.uplinks
  assert.equal(cvmIp.ipv4.value, '10.44.1.61')
  assert.equal(uplinkList.length, 6)
  assert.deepEqual([uplinkList[0].status, uplinkList[3].status], ['UP', 'DOWN'])
  assert.match(uplinkList[0].lldpConfig.switchPortName, /^Ethernet1/)
  assert.ok(response.warnings.some((warning: string) => /eth3 is down/.test(warning)))
  await setFault(app, nodeUuid)
})

test('a validation names every fault of the uplinks at once', async () => {
  const { nodeUuid } = nodeAt('10.44.1.61')
  const good = { cvmIp: ip('10.44.1.61'), networks: [{ name: 'br0', uplinks: { active: [{ name: 'eth0' }] } }] }
  assert.equal((await asked('validate-node', { spec: [good] })).status, 'SUCCEEDED')
  await setFault(app, nodeUuid, { lostUplinks: ['eth2'] })
  const bad = [
    { name: 'br0', networks: ['no-such-vlan'], uplinks: { active: [{ name: 'eth0' }, { mac: '02:00:00:00:00:01' }] } },
    { name: 'br1', uplinks: { active: [{ name: 'eth2' }], standby: [{ name: 'eth0' }] } },
    { name: 'br9', uplinks: { active: [{ name: 'eth4' }] } },
  ]
  const failed = await asked('validate-node', { spec: [{ cvmIp: ip('10.44.1.61'), networks: bad }] })
  assert.equal(failed.status, 'FAILED')
  const messages = failed.errorMessages.map(({ message }: any) => message).join('\n')
  for (const expected of [/no-such-vlan/, /02:00:00:00:00:01/, /eth2 has no link/, /eth0 is an uplink twice/, /br9/])
    assert.match(messages, expected)
  await setFault(app, nodeUuid)
  assert.equal(refusal(await fetched(uuidOf(failed), 'VALIDATE_BUNDLE_INFO')), '409 TASK_NOT_COMPLETE')
})

test('the bundle of the cluster has a checksum, and another bundle is refused', async () => {
  const nodeList = [{ nodeUuid: nodeAt('10.44.1.61').nodeUuid }]
  const spec = { bundleInfo: { name: 'hypervisor-AHV-10.3' }, nodeList }
  const { response } = await resultOf('validate-node', 'VALIDATE_BUNDLE_INFO', { spec })
  assert.match(response.md5Sum, /^[0-9a-f]{32}$/)
  const failed = await asked('validate-node', { spec: { ...spec, bundleInfo: { name: 'other' } } })
  assert.match(failed.errorMessages[0].message, /expected hypervisor-AHV-10\.3/)
})

test('only a node with another hypervisor version has to be imaged', async () => {
  const nodeList = nodes(app).map(({ nodeUuid }) => ({ nodeUuid }))
  const { response } = await resultOf('check-hypervisor-requirements', 'HYPERVISOR_UPLOAD_INFO', { nodeList })
  const mandatory = response.uploadInfoNodeList.filter(({ isImagingMandatory }: any) => isImagingMandatory)
  assert.deepEqual(
    mandatory.map(({ nodeUuid, isHypervisorUploadRequired }: any) => [nodeUuid, isHypervisorUploadRequired]),
    [[nodeAt('10.44.1.63').nodeUuid, false]],
  )
  const wrong = await asked('check-hypervisor-requirements', {
    nodeList: [{ ...nodeList[0], model: 'other', nosVersion: '6.0' }, { nodeUuid: randomUUID() }],
  })
  assert.equal(wrong.errorMessages.length, 3)
})

test('a result is kept for a day, and a task without one has none', async () => {
  const task = uuidOf(await asked('discover-unconfigured-nodes'))
  await advance(app, 23 * 60)
  assert.equal((await fetched(task, 'UNCONFIGURED_NODES')).status, 200)
  await advance(app, 2 * 60)
  assert.equal((await fetched(task, 'UNCONFIGURED_NODES')).status, 404)
  assert.equal((await fetched(randomUUID(), 'UNCONFIGURED_NODES')).status, 404)
  const { status } = await app.call('GET', `${clustermgmt}/task-response/${task}`)
  assert.equal(status, 400)
})

test('36. a dry run of apply lists exactly the sections that differ', async () => {
  const name = `p-${randomUUID().slice(0, 8)}`
  const body = {
    name,
    nameServerIpList: [ip('10.8.8.8')],
    ntpServerIpList: [ip('10.44.1.5'), { fqdn: { value: 'ntp.example.com' } }],
  }
  const created = await app.task(
    await app.call('POST', `${clustermgmt}/cluster-profiles`, { body, requestId: randomUUID() }),
  )
  const profile = created.entitiesAffected[0].extId
  const dryRun = await app.call('POST', `${clustermgmt}/cluster-profiles/${profile}/$actions/apply?$dryrun=true`, {
    body: { clusters: [{ uuid: ids.native }] },
    requestId: randomUUID(),
  })
  const task = await app.task(dryRun)
  assert.equal(task.status, 'SUCCEEDED')
  const { data } = await fetched(uuidOf(task), 'NON_COMPATIBLE_CLUSTERS')
  assert.deepEqual(data.response, [
    {
      clusterExtId: ids.native,
      configDrifts: ['NAME_SERVER_CONFIG'],
    },
  ])
  const cluster = (await app.call('GET', `${clustermgmt}/clusters/${ids.native}`)).data
  assert.equal(cluster.clusterProfileExtId, undefined)
})

test('a caller sees results of the tasks that it sees only', async () => {
  const task = uuidOf(await asked('discover-unconfigured-nodes'))
  const path = `${clustermgmt}/task-response/${task}?taskResponseType=UNCONFIGURED_NODES`
  const manager = await aUser(app, ['Project Manager'])
  assert.equal((await app.call('GET', path, { as: manager })).status, 404)
  const viewer = await aUser(app, ['Platform Viewer'])
  assert.equal((await app.call('GET', path, { as: viewer })).status, 200)
})
