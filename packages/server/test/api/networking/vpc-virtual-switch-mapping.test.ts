/** Which switch carries the traffic of VPCs. Source: behaviour networking.md 1.20, 1.22. */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { bridgeFacts, bridgeKey } from '../../../src/drivers/simulated/bridges.ts'
import { fabricFacts } from '../../../src/drivers/simulated/network-fabric.ts'
import { overlayFacts } from '../../../src/drivers/simulated/overlay-transport.ts'
import { hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, bootDisk, changed, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { ipConfigOf, subnets } from '../../support/subnets.ts'
import { demoHosts, demoSwitch, switchBody, switches } from '../../support/virtual-switches.ts'
import { made, put, removed } from '../../support/vpcs.ts'

const path = '/networking/v4.3/config/vpc-virtual-switch-mappings'
const native = ids.native
const switchId = (name: string): string => seedId(`virtual-switch/${name}`)
const cluster = { extId: native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
let app: TestApp
const steps = new Steps()
let release = (): void => undefined
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
afterEach(async () => {
  steps.failing = undefined
  release()
  await checkInvariants(app)
})
after(() => app.close())

const post = (...body: object[]): Promise<CallResult> => app.call('POST', path, { body })
const to = (name: string, more: object = {}): object => ({ virtualSwitchUuid: switchId(name), ...more })
const listed = async (query = ''): Promise<any[]> => (await app.call('GET', path + query)).data
const carrying = () => overlayFacts(app.world).get(native)
const hostsOf = (subnet: string): readonly string[] =>
  fabricFacts(app.world).subnets.get(seedId(`subnet/${subnet}`))!.hostExtIds
const pathOf = ({ status, errors }: CallResult): unknown[] => [
  status,
  errors[0]?.argumentsMap?.['attributePath'] ?? errors[0]?.attributePath,
]

/** The second switch is on two hosts only. */
async function narrowSecondSwitch(): Promise<void> {
  await app.store.transaction(async (store) => {
    const { clusters } = (await store.get(VirtualSwitch, switchId('vs1')))!
    await store.update(VirtualSwitch, switchId('vs1'), {
      clusters: clusters.map((one) => ({ ...one, hosts: one.hosts.slice(0, 2) })) as never,
    })
  })
  for (const host of ['hp-n01-c', 'hp-n01-d'])
    await bridgeFacts(app.world).remove(bridgeKey({ hostExtId: hostId(host), name: 'br1' }))
}

test('the first mapping of a cluster makes a row, and the next one replaces it', async () => {
  assert.deepEqual(await listed(), [])
  const task = await app.task(await post(to('vs1', { isAllTrafficPermitted: true })))
  assert.deepEqual([task.operation, task.status], ['kVpcVirtualSwitchMappingUpdate', 'SUCCEEDED'])
  const [{ extId, rel }] = task.entitiesAffected
  assert.equal(rel, 'networking:config:vpc-virtual-switch-mapping')
  const [row] = await listed()
  assert.deepEqual(
    [row.extId, row.virtualSwitchUuid, row.clusterUuids, row.isAllTrafficPermitted, row.metadata.ownerUserName],
    [extId, switchId('vs1'), [native], true, 'admin'],
  )
  assert.deepEqual([carrying()?.virtualSwitchExtId, carrying()?.isAllTrafficPermitted], [switchId('vs1'), true])
  const back = await app.task(await post(to('vs0', { clusterUuids: [native] })))
  assert.deepEqual([back.status, back.entitiesAffected[0].extId], ['SUCCEEDED', extId])
  assert.deepEqual(
    (await listed()).map((one) => [one.extId, one.virtualSwitchUuid, one.isAllTrafficPermitted]),
    [[extId, switchId('vs0'), false]],
  )
  assert.equal(carrying()?.virtualSwitchExtId, switchId('vs0'))
})

test('a switch with VLANs is not reserved for VPCs, and a reserved one takes no VLANs', async () => {
  const vlan = (name: string, more: object = {}): object => ({
    ...{ name, subnetType: 'VLAN', networkId: 611, virtualSwitchReference: switchId('vs1'), ...more },
  })
  const subnet = await made(app, subnets, vlan('plain'))
  const refused = await post(to('vs1'))
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'CONFLICT'])
  assert.match(refused.errors[0]!.message, /subnet plain use it. Send isAllTrafficPermitted true/)
  assert.equal((await app.task(await post(to('vs1', { isAllTrafficPermitted: true })))).status, 'SUCCEEDED')
  await removed(app, subnet)

  release = steps.hold('networking.map-vpc-switches re-route tunnels')
  const reserving = await post(to('vs1'))
  assert.equal((await app.call('POST', subnets, { body: vlan('meanwhile') })).status, 409)
  release()
  assert.equal((await app.task(reserving)).status, 'SUCCEEDED')
  const late = await app.call('POST', subnets, { body: vlan('late') })
  assert.equal(late.status, 409)
  assert.match(late.errors[0]!.message, /vs1 carries traffic of VPCs only/)
  const elsewhere = await made(app, subnets, vlan('elsewhere', { virtualSwitchReference: switchId('vs0') }))
  const moved = await put(app, elsewhere, { virtualSwitchReference: switchId('vs1') })
  assert.match(moved.errors[0]!.message, /vs1 carries traffic of VPCs only/)
  const outside = await made(
    app,
    subnets,
    vlan('outside', { isExternal: true, ipConfig: ipConfigOf({ ipv4: '10.77.0.0/24' }) }),
  )
  for (const path of [elsewhere, outside]) await removed(app, path)
  assert.equal((await app.task(await post(to('vs0')))).status, 'SUCCEEDED')
})

test('mappings are found by their switch and by their cluster', async () => {
  const byCluster = (extId: string) => listed(`?$filter=${encodeURIComponent(`clusterUuids/any(c:c eq '${extId}')`)}`)
  assert.equal((await byCluster(native)).length, 1)
  assert.equal((await byCluster(ids.extern)).length, 0)
  assert.equal((await listed(`?$filter=virtualSwitchUuid eq '${switchId('vs0')}'`)).length, 1)
  assert.equal((await listed(`?$filter=virtualSwitchUuid eq '${switchId('vs1')}'`)).length, 0)
})

test('a cluster that is named twice, a cluster without the switch and an unknown switch are refused', async () => {
  assert.deepEqual(pathOf(await post(to('vs0'), to('vs1', { clusterUuids: [native] }))), [400, '[1]/clusterUuids[0]'])
  assert.deepEqual(pathOf(await post(to('vs1', { clusterUuids: [ids.extern] }))), [400, '[0]/clusterUuids[0]'])
  assert.equal((await post({ virtualSwitchUuid: seedId('nothing') })).status, 404)
  assert.equal((await app.call('POST', path, { body: [] })).status, 400)
  assert.equal((await app.call('POST', path, { body: to('vs1') })).status, 400)
})

test('a host without the mapped switch neither gets overlay subnets nor runs VMs in them', async () => {
  await narrowSecondSwitch()
  assert.equal(hostsOf('web').length, 4)
  assert.equal((await app.task(await post(to('vs1')))).status, 'SUCCEEDED')
  assert.deepEqual(new Set(hostsOf('web')), new Set([hostId('hp-n01-a'), hostId('hp-n01-b')]))
  assert.equal(hostsOf('vlan-100-app').length, 4)
  const vm = await aVm(app, cluster, { name: 'guest', disks: [bootDisk(cluster)], nics: [nicOn(seedId('subnet/web'))] })
  for (const host of ['hp-n01-a', 'hp-n01-b']) await setFault(app, hostId(host), { isDown: true } as never)
  const refused = await changed(app, vm.extId, 'power-on')
  for (const host of ['hp-n01-a', 'hp-n01-b']) await setFault(app, hostId(host))
  assert.equal(refused.status, 'FAILED')
  assert.match(JSON.stringify(refused.errorMessages), /network/)
  assert.equal((await app.task(await post(to('vs0')))).status, 'SUCCEEDED')
  assert.equal(hostsOf('web').length, 4)
})

test('a second request during the task is refused, and rows show the former switch until it ends', async () => {
  release = steps.hold('networking.map-vpc-switches re-route tunnels')
  const started = await post(to('vs1'))
  const busy = await post(to('vs0'))
  assert.deepEqual([busy.status, busy.errors[0]!.errorGroup], [409, 'ENTITY_BUSY'])
  assert.equal((await listed())[0].virtualSwitchUuid, switchId('vs0'))
  assert.equal((await listed())[0].change, undefined)
  const users = await app.store.transaction((store) => store.referrerCounts('VirtualSwitch', switchId('vs1')))
  assert.ok(users.has('VpcVirtualSwitchMapping'))
  release()
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
  assert.equal((await listed())[0].virtualSwitchUuid, switchId('vs1'))
})

test('a switch that carries VPC traffic cannot be deleted', async () => {
  assert.equal((await listed())[0].virtualSwitchUuid, switchId('vs1'))
  const refused = await app.call('DELETE', `/networking/v4.3/config/virtual-switches/${switchId('vs1')}`)
  assert.deepEqual([refused.status, refused.errors[0]!.errorGroup], [409, 'ENTITY_IN_USE'])
})

test('a task that fails restores the former switch', async () => {
  const before = await listed()
  for (const step of ['re-route tunnels', 'program overlay subnets']) {
    steps.failing = `networking.map-vpc-switches ${step}`
    assert.equal((await app.task(await post(to('vs0')))).status, 'FAILED')
    assert.deepEqual(await listed(), before)
    assert.equal(carrying()?.virtualSwitchExtId, switchId('vs1'))
  }
})

test('overlay subnets and tunnels follow the hosts of the mapped switch, and not those of the default one', async () => {
  const path = demoSwitch('vs1')
  const carried = () => [new Set(hostsOf('web')), new Set(carrying()?.hostExtIds)]
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => hostId(`hp-n01-${letter}`)) as [string, string, string]
  assert.deepEqual(carried(), [new Set([a, b]), new Set([a, b])])
  const { clusters, ...vs1 } = (await app.call('GET', path)).data
  const withHosts = (extIds: readonly string[]) => ({
    ...vs1,
    isQuickMode: true,
    clusters: clusters.map((one: any) => ({ ...one, hosts: extIds.map((extId) => ({ extId })) })),
  })
  assert.equal((await app.task(await putFresh(app, path, withHosts([a, b, c])))).status, 'SUCCEEDED')
  assert.deepEqual(carried(), [new Set([a, b, c]), new Set([a, b, c])])
  steps.failing = 'networking.update-virtual-switch program subnets'
  assert.equal((await app.task(await putFresh(app, path, withHosts(demoHosts)))).status, 'FAILED')
  steps.failing = undefined
  assert.deepEqual(carried(), [new Set([a, b, c]), new Set([a, b, c])])
  const vs0 = (await app.call('GET', demoSwitch('vs0'))).data
  const changed = await putFresh(app, demoSwitch('vs0'), { ...vs0, isQuickMode: true, mtu: 1600 })
  assert.equal((await app.task(changed)).status, 'SUCCEEDED')
  assert.deepEqual(carried(), [new Set([a, b, c]), new Set([a, b, c])])
  // The demo's web-02 runs on c.
  const refused = await putFresh(app, path, withHosts([a, b]))
  assert.deepEqual([refused.status, refused.errors[0]!.errorGroup], [409, 'ENTITY_IN_USE'])
})

test('VPC traffic is not mapped to a switch that is being deleted, and a switch is not changed during its mapping', async () => {
  const path = await made(app, switches, switchBody('leaving', []))
  const mapping = { virtualSwitchUuid: path.slice(-36) }
  release = steps.hold('networking.delete-virtual-switch remove from hosts')
  const deleting = await app.call('DELETE', path)
  const late = await post(mapping)
  assert.deepEqual([late.status, late.errors[0]!.errorGroup], [409, 'ENTITY_BUSY'])
  release()
  assert.equal((await app.task(deleting)).status, 'SUCCEEDED')
  release = steps.hold('networking.map-vpc-switches re-route tunnels')
  const started = await post(to('vs0'))
  const vs0 = (await app.call('GET', demoSwitch('vs0'))).data
  const busy = await putFresh(app, demoSwitch('vs0'), vs0)
  assert.deepEqual([busy.status, busy.errors[0]!.errorGroup], [409, 'ENTITY_BUSY'])
  release()
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
})
