/** Virtual switches. Source: behaviour networking.md 1.18, 4. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { EntityOf } from '@hyperplane/contract'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type BridgeFact, bridgeFacts, bridgeKey } from '../../../src/drivers/simulated/bridges.ts'
import { fabricFacts } from '../../../src/drivers/simulated/network-fabric.ts'
import { clustermgmt, hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, changed, nicOn, readVm } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { subnets } from '../../support/subnets.ts'
import { bridgesOn, demoHosts, demoSwitch, onHosts, switchBody, switches } from '../../support/virtual-switches.ts'
import { made } from '../../support/vpcs.ts'

const path = switches
const steps = new Steps()
const update = 'networking.update-virtual-switch configure hosts'
let app: TestApp
before(async () => {
  app = await startApp({ beforeStep: steps.beforeStep })
})
after(async () => {
  await checkInvariants(app)
  await app.close()
})

const read = async (of: string): Promise<any> => (await app.call('GET', of)).data
const post = (body: object, options: object = {}) => app.call('POST', switches, { body, ...options })
const refusal = ({ status, errors }: any) => [status, errors?.[0]?.code]
const removed = async (of: string): Promise<any> => app.task(await app.call('DELETE', of))
const put = async (of: string, changes: object): Promise<any> =>
  app.task(await putFresh(app, of, { ...(await read(of)), ...changes }))
const bridgeOn = (host: string, name: string) =>
  app.drivers.networkFabric.bridges(host).find((bridge) => bridge.name === name)

test('the demo has a default switch and another, each on four hosts', async () => {
  const list = await app.call('GET', `${path}?$orderby=name`)
  assert.deepEqual(
    list.data.map((item: any) => [item.name, item.isDefault, item.bondMode, item.clusters[0].hosts.length]),
    [
      ['vs0', true, 'ACTIVE_BACKUP', 4],
      ['vs1', false, 'BALANCE_TCP', 4],
    ],
  )
  const one = await app.call('GET', `${path}/${seedId('virtual-switch/vs0')}`)
  assert.equal(one.data.clusters[0].hosts[0].internalBridgeName, 'br0')
  assert.ok(one.etag)
})

test('the header X-Cluster-Id limits the list to the switches of that cluster', async () => {
  const totalOn = async (cluster: string): Promise<number | undefined> =>
    (await app.call('GET', path, { clusterId: seedId(`cluster/${cluster}`) })).total
  assert.equal(await totalOn('hp-native-01'), 2)
  assert.equal(await totalOn('cloud-1'), 0)
  assert.equal((await app.call('GET', path, { clusterId: 'vs0' })).status, 400)
})

test('switches are found by the cluster that they are on', async () => {
  const filter = `clusters/any(c:c/extId eq '${seedId('cluster/hp-native-01')}') and isDefault eq true`
  const list = await app.call('GET', `${path}?$filter=${encodeURIComponent(filter)}`)
  assert.deepEqual(
    list.data.map((item: any) => item.name),
    ['vs0'],
  )
})

test('a switch is a bridge with the lowest free name on each of its hosts, and its removal leaves nothing', async () => {
  const body = switchBody('third', ['eth4', 'eth5'], {
    mtu: 9000,
    bondMode: 'BALANCE_SLB',
    clusters: [
      {
        extId: ids.native,
        vlanIdentifier: 40,
        gatewayIpAddress: { value: '10.9.0.1' },
        hosts: demoHosts.slice(0, 2).map((extId, index) => ({
          extId,
          hostNics: ['eth4', 'eth5'],
          ipAddress: { ip: { value: `10.9.0.1${index}` }, prefixLength: 24 },
        })),
      },
    ],
  })
  const task = await app.task(await post(body))
  assert.deepEqual(
    [task.status, task.operation, task.clusterExtIds],
    ['SUCCEEDED', 'kVirtualSwitchCreate', [ids.native]],
  )
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    [
      'networking:config:virtual-switch',
      'clustermgmt:config:cluster',
      ...['', ''].map(() => 'clustermgmt:config:host'),
    ],
  )
  const own = `${switches}/${task.entitiesAffected[0].extId}`
  const shown = await read(own)
  assert.deepEqual(
    [shown.clusters[0].hosts[0].internalBridgeName, shown.isDefault, shown.ownerType, shown.hasDeploymentError],
    ['br3', false, 'PC', false],
  )
  const nics = await read(`${clustermgmt}/clusters/${ids.native}/hosts/${demoHosts[0]}/host-nics`)
  assert.deepEqual(
    nics.slice(4).map((nic: any) => [nic.virtualSwitchExtId, nic.mtuInBytes]),
    [
      [shown.extId, 9000],
      [shown.extId, 9000],
    ],
  )
  const virtual = await read(
    `${clustermgmt}/clusters/${ids.native}/hosts/${demoHosts[1]}/virtual-nics?$filter=name eq 'br3'`,
  )
  assert.deepEqual(
    [virtual[0].vlanId, virtual[0].mtuInBytes, virtual[0].ipv4Addresses[0].ipv4, virtual[0].linkSpeedInKbps],
    [40, 9000, { value: '10.9.0.11', prefixLength: 24 }, 35_000_000],
  )
  assert.deepEqual(bridgesOn(app, demoHosts[2] as string), ['br0', 'br1', 'br2'])
  assert.equal((await removed(own)).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', own)).status, 404)
  for (const host of demoHosts) assert.deepEqual(bridgesOn(app, host), ['br0', 'br1', 'br2'])
})

test('a NIC is named by its name or by its id, and a PUT of the switch as it was read changes nothing', async () => {
  const host = demoHosts[3] as string
  const [, , , , nic] = await read(`${clustermgmt}/clusters/${ids.native}/hosts/${host}/host-nics`)
  const own = await made(app, switches, switchBody('by-id', [], onHosts([host], [nic.extId], { activeUplink: 'eth4' })))
  assert.deepEqual(bridgeOn(host, 'br3')?.uplinks, ['eth4'])
  const before = await read(own)
  assert.deepEqual(before.clusters[0].hosts[0].hostNics, [nic.extId])
  assert.equal((await put(own, {})).status, 'SUCCEEDED')
  assert.deepEqual((await read(own)).clusters, before.clusters)
  await removed(own)
})

test('faults of a body are refused together, each with its path', async () => {
  const host = demoHosts[0]
  const { status, errors } = await post({
    name: 'wrong',
    bondMode: 'NONE',
    isDefault: true,
    igmpSpec: { querierSpec: { isQuerierEnabled: true } },
    clusters: [
      {
        extId: ids.native,
        gatewayIpAddress: { value: '10.8.0.1' },
        hosts: [
          {
            extId: host,
            hostNics: ['eth4', 'eth5', 'eth4'],
            ipAddress: { ip: { value: '10.9.0.1' }, prefixLength: 24 },
          },
          { extId: host, ipAddress: { ip: { value: '10.7.0.1' }, prefixLength: 24 } },
        ],
      },
    ],
  })
  assert.equal(status, 400)
  assert.deepEqual(errors.map(({ argumentsMap }: any) => argumentsMap.attributePath).sort(), [
    'clusters[0]/gatewayIpAddress',
    'clusters[0]/hosts[0]/hostNics',
    'clusters[0]/hosts[0]/hostNics[2]',
    'clusters[0]/hosts[1]/extId',
    'clusters[0]/hosts[1]/ipAddress',
    'igmpSpec/querierSpec/isQuerierEnabled',
    'isDefault',
  ])
})

test('hosts of another cluster, NICs that a host lacks and an active uplink that is no uplink of the host are 400', async () => {
  const pathsOf = async (clusters: object): Promise<string[]> => {
    const { status, errors } = await post(switchBody('wrong', [], clusters))
    assert.equal(status, 400, JSON.stringify(errors))
    return errors.map(({ argumentsMap }: any) => argumentsMap.attributePath)
  }
  assert.deepEqual(await pathsOf(onHosts([hostId('hp-e01-a')])), ['clusters[0]/hosts[0]/extId'])
  assert.deepEqual(await pathsOf(onHosts(demoHosts.slice(0, 1), ['eth4', 'eth9'], { activeUplink: 'eth5' })), [
    'clusters[0]/hosts[0]/hostNics[1]',
    'clusters[0]/hosts[0]/activeUplink',
  ])
  const nic = (await read(`${clustermgmt}/clusters/${ids.native}/hosts/${demoHosts[0]}/host-nics`))[4].extId
  assert.deepEqual(await pathsOf(onHosts(demoHosts.slice(0, 1), ['eth4', nic])), ['clusters[0]/hosts[0]/hostNics[1]'])
  assert.deepEqual(await pathsOf(onHosts(demoHosts.slice(1, 2), [nic])), ['clusters[0]/hosts[0]/hostNics[0]'])
})

test('an unknown cluster is 404, a cluster without the native hypervisor 409, one that does not answer 503', async () => {
  const on = (extId: string, host: string): object =>
    switchBody('elsewhere', [], { clusters: [{ extId, hosts: [{ extId: host }] }] })
  assert.equal((await post(on(randomUUID(), demoHosts[0] as string))).status, 404)
  assert.deepEqual(refusal(await post(on(ids.extern, hostId('hp-e01-a')))), [409, 'NETWORKING-10082'])
  await setFault(app, ids.native, { isDown: true })
  assert.equal((await post(on(ids.native, demoHosts[0] as string))).status, 503)
  await setFault(app, ids.native)
})

test('the header X-Cluster-Id must not contradict the body', async () => {
  assert.equal((await post(switchBody('header'), { clusterId: ids.cloud })).status, 400)
  const task = await app.task(await post(switchBody('header'), { clusterId: ids.native }))
  assert.equal(task.status, 'SUCCEEDED')
  await removed(`${switches}/${task.entitiesAffected[0].extId}`)
})

test('of two switches that claim one NIC at the same time one succeeds, and the other is 409 with its name', async () => {
  const [first, second] = await Promise.all([post(switchBody('one')), post(switchBody('two', ['eth5', 'eth4']))])
  assert.deepEqual([first.status, second.status].sort(), [202, 409])
  const refused = first.status === 409 ? first : second
  assert.equal(refused.errors[0]?.code, 'NETWORKING-10070')
  assert.match(refused.errors[0]?.message ?? '', /eth4 is in use by virtual switch (one|two)/)
  const task = await app.task(first.status === 202 ? first : second)
  await removed(`${switches}/${task.entitiesAffected[0].extId}`)
})

test('an update holds the NICs that it adds and those that it removes until it ends', async () => {
  const own = await made(app, switches, switchBody('moving', ['eth4']))
  const release = steps.hold(update)
  const updating = await putFresh(app, own, { ...(await read(own)), ...onHosts(demoHosts.slice(0, 3), ['eth5']) })
  for (const nic of ['eth4', 'eth5']) assert.equal((await post(switchBody('late', [nic]))).status, 409, nic)
  release()
  await app.task(updating)
  const other = await made(app, switches, switchBody('late', ['eth4']))
  for (const each of [other, own]) await removed(each)
})

test('a NIC of another switch, of a free bridge, or with virtual functions is in use', async () => {
  assert.match(
    (await post(switchBody('taken', ['eth2']))).errors[0]?.message ?? '',
    /eth2 is in use by virtual switch vs1/,
  )
  const nic = { hostExtId: demoHosts[0] as string, name: 'eth5' }
  await app.drivers.networkFabric.enableVirtualFunctions(nic, seedId('profile'))
  assert.match((await post(switchBody('taken', ['eth5']))).errors[0]?.message ?? '', /eth5 is in use by NIC profile/)
  await app.drivers.networkFabric.disableVirtualFunctions(nic)
  const bridge = {
    hostExtId: demoHosts[1] as string,
    name: 'br7',
    uplinks: ['eth5'],
    bondMode: 'NONE',
    mtu: 1500,
    vlan: 0,
  } as const
  await app.drivers.networkFabric.putBridge(bridge, 'quick')
  assert.match((await post(switchBody('taken', ['eth5']))).errors[0]?.message ?? '', /eth5 is in use by bridge br7/)
  await app.drivers.networkFabric.removeBridge(bridge)
})

test('NICs of a switch that an earlier version stored, without its bridges, are in use', async () => {
  const demo = await app.store.transaction((store) => store.get(VirtualSwitch, seedId('virtual-switch/vs1')))
  const facts = bridgeFacts(app.world)
  const keys = demoHosts.map((hostExtId) => bridgeKey({ hostExtId, name: 'br1' }))
  const known = keys.map((key) => [key, facts.get(key) as BridgeFact] as const)
  const { uplinks: _, ...older } = demo as EntityOf<typeof VirtualSwitch>
  await app.store.transaction((store) => store.replace(VirtualSwitch, older))
  for (const key of keys) await facts.remove(key)
  const refused = await post(switchBody('taken', ['eth2']))
  assert.match(refused.errors[0]?.message ?? '', /eth2 is in use by virtual switch vs1/)
  await app.store.transaction((store) => store.replace(VirtualSwitch, demo as EntityOf<typeof VirtualSwitch>))
  for (const [key, fact] of known) await facts.put(key, fact)
})

test('names are unique on a cluster, also against an update that runs', async () => {
  assert.deepEqual(refusal(await post(switchBody('vs1', []))), [409, 'NETWORKING-10071'])
  const own = await made(app, switches, switchBody('old'))
  const release = steps.hold(update)
  const renaming = await putFresh(app, own, { ...(await read(own)), name: 'new' })
  assert.deepEqual(refusal(await post(switchBody('new', []))), [409, 'NETWORKING-10071'])
  release()
  await app.task(renaming)
  assert.equal((await read(own)).name, 'new')
  await removed(own)
})

test('a cluster has 16 switches at most, and a bond ten uplinks', async () => {
  const few = await startApp({ limits: { virtualSwitchesOfCluster: 2, uplinksOfBond: 1 } })
  const answer = await few.call('POST', switches, { body: switchBody('third') })
  assert.deepEqual(refusal(answer), [422, 'NETWORKING-10090'])
  await few.task(await few.call('DELETE', demoSwitch('vs1')))
  assert.equal((await few.call('POST', switches, { body: switchBody('two', ['eth4', 'eth5']) })).status, 422)
  assert.equal((await few.call('POST', switches, { body: switchBody('two') })).status, 202)
  await few.close()
})

test('when the second of three hosts fails, the bridge of the first is removed, and no row is left', async () => {
  const before = demoHosts.map((host) => bridgesOn(app, host))
  await aFault(
    app,
    { driverCall: { driver: 'networkFabric', method: 'putBridge' } },
    { error: 'INTERNAL_ERROR' },
    { nth: 2 },
  )
  const task = await app.task(await post(switchBody('fails')))
  assert.equal(task.status, 'FAILED', JSON.stringify(task))
  assert.ok(task.errorMessages.length > 0)
  await noFaults(app)
  assert.deepEqual(
    demoHosts.map((host) => bridgesOn(app, host)),
    before,
  )
  assert.equal((await app.call('GET', `${switches}/${task.entitiesAffected[0].extId}`)).status, 404)
  assert.equal((await app.call('GET', `${switches}?$filter=name eq 'fails'`)).total, 0)
})

test('a host whose agent is silent fails the creation, and the hosts before it are restored', async () => {
  await happen(app, { type: 'HOST_AGENT_FALLS_SILENT', host: demoHosts[2] })
  const task = await app.task(await post(switchBody('silent')))
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'BACKEND_TIMEOUT'])
  for (const host of demoHosts) assert.deepEqual(bridgesOn(app, host), ['br0', 'br1', 'br2'])
  await happen(app, { type: 'HOST_AGENT_ANSWERS', host: demoHosts[2] })
})

test('an update that fails restores each host, and the switch says that its deployment failed', async () => {
  const own = await made(app, switches, switchBody('changes'))
  const fault = { driverCall: { driver: 'networkFabric', method: 'putBridge' } }
  await aFault(app, fault, { error: 'INTERNAL_ERROR' }, { nth: 3 })
  const { etag } = await app.call('GET', own)
  const changes = { mtu: 2000, ...onHosts([...demoHosts.slice(1, 3), demoHosts[3] as string], ['eth5']) }
  const answer = await app.call('PUT', own, { body: { ...(await read(own)), ...changes }, ifMatch: etag as string })
  assert.equal((await app.task(answer)).status, 'FAILED')
  await noFaults(app)
  for (const host of demoHosts.slice(0, 3))
    assert.deepEqual([bridgeOn(host, 'br3')?.uplinks, bridgeOn(host, 'br3')?.mtu], [['eth4'], 1500])
  assert.equal(bridgeOn(demoHosts[3] as string, 'br3'), undefined)
  const shown = await app.call('GET', own)
  assert.deepEqual([shown.data.hasDeploymentError, shown.data.hasUpdateInProgress, shown.data.mtu], [true, false, 1500])
  assert.equal((await put(own, changes)).status, 'SUCCEEDED')
  assert.equal((await read(own)).hasDeploymentError, false)
  assert.deepEqual(
    demoHosts.map((host) => bridgeOn(host, 'br3')?.uplinks),
    [undefined, ['eth5'], ['eth5'], ['eth5']],
  )
  await removed(own)
})

test('during an update the switch says so and refuses others; a switch that is deleted takes no subnet', async () => {
  const own = await made(app, switches, switchBody('busy'))
  const release = steps.hold(update)
  const updating = await putFresh(app, own, { ...(await read(own)), mtu: 9000 })
  assert.equal((await read(own)).hasUpdateInProgress, true)
  assert.deepEqual(refusal(await putFresh(app, own, { ...(await read(own)), mtu: 1400 })), [409, 'NETWORKING-10072'])
  assert.deepEqual(refusal(await app.call('DELETE', own)), [409, 'NETWORKING-10072'])
  const subnet = { name: 'late', subnetType: 'VLAN', networkId: 7, virtualSwitchReference: own.slice(-36) }
  assert.deepEqual(refusal(await app.call('POST', subnets, { body: subnet })), [409, 'NETWORKING-10072'])
  release()
  await app.task(updating)
  assert.equal((await read(own)).hasUpdateInProgress, false)
  const end = steps.hold('networking.delete-virtual-switch remove from hosts')
  const deleting = await app.call('DELETE', own)
  assert.equal((await read(own)).hasDeleteInProgress, true)
  assert.deepEqual(refusal(await app.call('POST', subnets, { body: subnet })), [409, 'NETWORKING-10072'])
  end()
  await app.task(deleting)
})

test('the default switch cannot be deleted, renamed or left without uplinks; other changes are accepted', async () => {
  const vs0 = demoSwitch('vs0')
  const deletion = await app.call('DELETE', vs0)
  assert.deepEqual([deletion.status, deletion.errors[0]?.errorGroup], [409, 'UNSUPPORTED_REQUEST'])
  assert.match(deletion.errors[0]?.message ?? '', /default virtual switch cannot be deleted/)
  const before = await read(vs0)
  for (const changes of [{ name: 'other' }, onHosts(demoHosts)])
    assert.deepEqual(refusal(await putFresh(app, vs0, { ...before, ...changes })), [409, 'NETWORKING-10085'])
  const { isDefault: _, ...rest } = before
  const task = await app.task(await putFresh(app, vs0, { ...rest, mtu: 9000, isQuickMode: true }))
  assert.equal(task.status, 'SUCCEEDED')
  const after = await read(vs0)
  assert.deepEqual([after.isDefault, after.mtu, bridgeOn(demoHosts[0] as string, 'br0')?.mtu], [true, 9000, 9000])
  assert.equal(
    (await putFresh(app, demoSwitch('vs1'), { ...(await read(demoSwitch('vs1'))), isDefault: true })).status,
    400,
  )
})

test('a switch cannot move to another cluster', async () => {
  const vs1 = await read(demoSwitch('vs1'))
  const clusters = [{ extId: ids.cloud, hosts: [{ extId: hostId('hp-c01-a') }] }]
  assert.deepEqual(refusal(await putFresh(app, demoSwitch('vs1'), { ...vs1, clusters })), [400, 'NETWORKING-10002'])
})

test('a switch with subnets cannot be deleted; its subnets follow it to the hosts that an update adds', async () => {
  const own = await made(app, switches, switchBody('carrier', []))
  const subnet = await made(app, subnets, {
    name: 'carried',
    subnetType: 'VLAN',
    networkId: 17,
    virtualSwitchReference: own.slice(-36),
  })
  assert.equal((await read(subnet)).bridgeName, 'br3')
  const deletion = await app.call('DELETE', own)
  assert.deepEqual(refusal(deletion), [409, 'NETWORKING-10070'])
  assert.match(deletion.errors[0]?.message ?? '', /subnet carried/)
  const hosts = (): readonly string[] | undefined => fabricFacts(app.world).subnets.get(subnet.slice(-36))?.hostExtIds
  assert.deepEqual(hosts(), demoHosts.slice(0, 3))
  assert.equal((await put(own, onHosts(demoHosts.slice(1)))).status, 'SUCCEEDED')
  assert.deepEqual(hosts(), demoHosts.slice(1))
  assert.equal((await removed(subnet)).status, 'SUCCEEDED')
  assert.equal((await removed(own)).status, 'SUCCEEDED')
})

test('a host on which a VM uses the switch cannot leave it until the VM is off', async () => {
  const own = await made(app, switches, switchBody('used', [], onHosts(demoHosts.slice(0, 2))))
  const subnet = await made(app, subnets, {
    name: 'used',
    subnetType: 'VLAN',
    networkId: 18,
    virtualSwitchReference: own.slice(-36),
  })
  const native = { extId: ids.native } as never
  const vm = await aVm(app, native, { name: 'user', nics: [nicOn(subnet.slice(-36))] })
  await changed(app, vm.extId, 'power-on')
  const host = (await readVm(app, vm.extId)).host.extId
  const away = { ...(await read(own)), ...onHosts(demoHosts.slice(0, 2).filter((each) => each !== host)) }
  const refused = await putFresh(app, own, away)
  assert.deepEqual(refusal(refused), [409, 'NETWORKING-10070'])
  assert.match(refused.errors[0]?.message ?? '', /VM user on hp-n01-[ab]/)
  await changed(app, vm.extId, 'power-off')
  assert.equal((await app.task(await putFresh(app, own, away))).status, 'SUCCEEDED')
  await changed(app, vm.extId, 'delete')
  for (const each of [subnet, own]) assert.equal((await removed(each)).status, 'SUCCEEDED')
})

test('an identity that sees virtual switches may not change them unless its role says so', async () => {
  for (const [role, status] of [
    ['Platform Admin', 202],
    ['Network Infra Admin', 403],
    ['Virtual Machine Admin', 403],
  ] as const) {
    const as = await aUser(app, [role])
    assert.equal((await app.call('GET', switches, { as })).status, 200, role)
    const answer = await post(switchBody('by-role', []), { as })
    assert.equal(answer.status, status, role)
    if (status === 202) await removed(`${switches}/${(await app.task(answer)).entitiesAffected[0].extId}`)
  }
})
