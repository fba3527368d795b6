/** Host NICs and virtual NICs. Source: behaviour clustermgmt.md 1.5; networking.md 3.4, 4. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { advance, clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { aNativeCluster, aSubnet, aVm, changed, nicOn } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const nicsOn = (host: string, cluster = ids.native, sort = 'host-nics'): string =>
  `${clustermgmt}/clusters/${cluster}/hosts/${host}/${sort}`
const readNics = async (path: string, of = app): Promise<any[]> => {
  const { status, data, errors } = await of.call('GET', path)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const nicOf = async (host: string, name: string): Promise<any> =>
  (await readNics(nicsOn(host))).find((nic) => nic.name === name)

test('a host of the demo has eth0 to eth5: four in the two virtual switches, two free, one with virtual functions', async () => {
  const nics = await readNics(nicsOn(hostId('hp-n01-a')))
  assert.deepEqual(
    nics.map(({ name, virtualSwitchExtId, pciModelId, supportedCapabilities }) => [
      name,
      virtualSwitchExtId,
      pciModelId,
      supportedCapabilities,
    ]),
    [
      ['eth0', seedId('virtual-switch/vs0'), '8086:1572', []],
      ['eth1', seedId('virtual-switch/vs0'), '8086:1572', []],
      ['eth2', seedId('virtual-switch/vs1'), '8086:1572', []],
      ['eth3', seedId('virtual-switch/vs1'), '8086:1572', []],
      ['eth4', undefined, '8086:1572', []],
      ['eth5', undefined, '15b3:1017', ['SRIOV']],
    ],
  )
  for (const { interfaceStatus, linkSpeedInKbps, linkCapacityInMbps, discoveryProtocol } of nics) {
    assert.deepEqual([interfaceStatus, discoveryProtocol], ['up', 'LLDP'])
    assert.equal(linkSpeedInKbps, linkCapacityInMbps * 1000)
  }
})

test('each cable ends in a port of its own, and the two NICs of a bond in two switches', async () => {
  const nics = await readNics(`${clustermgmt}/host-nics?$limit=100`)
  const ports = nics.flatMap(({ attachedSwitchInterfaceList: [port] = [] as any[] }) => port?.extId ?? [])
  assert.equal(new Set(ports).size, ports.length)
  assert.ok(ports.length >= 24)
  const [first, second] = nics.filter(({ nodeUuid }) => nodeUuid === hostId('hp-n01-a'))
  const [port] = first.attachedSwitchInterfaceList
  assert.notEqual(first.switchDeviceId, second.switchDeviceId)
  assert.deepEqual(
    [port.attachedHostUuid, port.attachedHostNicUuids, port.switchInterfaceName],
    [hostId('hp-n01-a'), [first.extId], first.switchPortId],
  )
})

test('MAC addresses and ids of NICs are unique in the world and stay', async () => {
  const nics = await readNics(`${clustermgmt}/host-nics?$limit=100`)
  assert.equal(new Set(nics.map(({ macAddress }) => macAddress)).size, nics.length)
  assert.equal(new Set(nics.map(({ extId }) => extId)).size, nics.length)
  assert.deepEqual(await readNics(`${clustermgmt}/host-nics?$limit=100`), nics)
})

test('the list of all NICs covers all visible hosts, and can be filtered, ordered and selected', async () => {
  const query = (text: string): string => `${clustermgmt}/host-nics?${text}`
  const total = async (filter: string): Promise<number | undefined> =>
    (await app.call('GET', query(`$filter=${encodeURIComponent(filter)}`))).total
  assert.equal(await total(`clusterExtId eq '${ids.native}'`), 24)
  assert.equal(await total(`clusterExtId eq '${ids.native}' and name eq 'eth5'`), 4)
  assert.equal(await total(`discoveryProtocol eq 'None' and clusterExtId eq '${ids.cloud}'`), 18)
  const [last] = await readNics(query(`$orderby=name desc&$limit=1&$select=name,pciModelId`))
  assert.deepEqual([last.name, last.pciModelId, last.macAddress], ['eth5', '15b3:1017', undefined])
})

test('version 4.0 has no list of all NICs and leaves out the newer fields', async () => {
  const v40 = '/clustermgmt/v4.0/config'
  assert.equal((await app.call('GET', `${v40}/host-nics`)).status, 404)
  const [nic] = await readNics(nicsOn(hostId('hp-n01-a')).replace(clustermgmt, v40))
  assert.deepEqual([nic.name, nic.pciModelId, nic.virtualSwitchExtId], ['eth0', undefined, undefined])
})

test('a NIC is found by its id under its own host only', async () => {
  const nic = await nicOf(hostId('hp-n01-a'), 'eth4')
  assert.deepEqual((await app.call('GET', `${nicsOn(hostId('hp-n01-a'))}/${nic.extId}`)).data, nic)
  for (const path of [
    `${nicsOn(hostId('hp-n01-b'))}/${nic.extId}`,
    `${nicsOn(hostId('hp-n01-a'), ids.extern)}/${nic.extId}`,
    `${nicsOn(hostId('hp-n01-a'))}/${randomUUID()}`,
    nicsOn(hostId('hp-n01-a'), ids.extern),
  ])
    assert.equal((await app.call('GET', path)).status, 404, path)
})

test('readers of hosts see NICs, others do not', async () => {
  for (const [role, status] of [
    ['Cluster Viewer', 200],
    ['Network Infra Admin', 200],
    ['Consumer', 403],
  ] as const) {
    const as = await aUser(app, [role])
    for (const path of [
      `${clustermgmt}/host-nics`,
      nicsOn(hostId('hp-n01-a')),
      nicsOn(hostId('hp-n01-a'), ids.native, 'virtual-nics'),
    ])
      assert.equal((await app.call('GET', path, { as })).status, status, `${role} ${path}`)
  }
})

test('the link of any NIC can be lost: its speed is 0, and its switch is not heard until it returns', async () => {
  const host = hostId('hp-n01-d')
  await happen(app, { type: 'UPLINK_LOST', host, uplink: 'eth5' })
  const lost = await nicOf(host, 'eth5')
  assert.deepEqual(
    [lost.interfaceStatus, lost.linkSpeedInKbps, lost.linkCapacityInMbps, lost.discoveryProtocol, lost.switchPortId],
    ['down', 0, 25_000, 'None', undefined],
  )
  await happen(app, { type: 'UPLINK_RETURNS', host, uplink: 'eth5' })
  const { interfaceStatus, switchPortId } = await nicOf(host, 'eth5')
  assert.deepEqual([interfaceStatus, typeof switchPortId], ['up', 'string'])
})

test('an uplink that flaps is up and down in turn, and the host stays reachable', async () => {
  const host = hostId('hp-n01-d')
  await happen(app, { type: 'UPLINK_FLAPS', host, periodSeconds: 240 })
  const statuses: string[] = []
  for (let turn = 0; turn < 4; turn++) {
    statuses.push((await nicOf(host, 'eth0')).interfaceStatus)
    await advance(app, 2)
  }
  assert.deepEqual(statuses, ['up', 'down', 'up', 'down'])
  const { data } = await app.call('GET', `${clustermgmt}/clusters/${ids.native}/hosts/${host}`)
  assert.equal(data.hypervisor.acropolisConnectionState, 'CONNECTED')
  await happen(app, { type: 'UPLINK_RETURNS', host })
  await advance(app, 2)
  assert.equal((await nicOf(host, 'eth0')).interfaceStatus, 'up')
})

test('virtual NICs of a host are its bridges, and the interfaces of the guests that run on it', async () => {
  const [vm] = (await app.call('GET', `/vmm/v4.2/ahv/config/vms?$filter=name eq 'web-01'`)).data
  const host = vm.host.extId
  const shown = await readNics(nicsOn(host, ids.native, 'virtual-nics'))
  const uplinks = (await readNics(nicsOn(host))).slice(0, 2)
  const br0 = shown.find(({ name }) => name === 'br0')
  assert.deepEqual(
    br0.hostNicsUuids,
    uplinks.map(({ extId }) => extId),
  )
  assert.deepEqual(uplinks[0].virtualNicExtIds, [br0.extId])
  assert.ok(br0.ipv4Addresses[0].ipv4.value)
  assert.deepEqual(
    shown.slice(0, 3).map(({ name }) => name),
    ['br0', 'br1', 'br2'],
  )
  const macs = vm.nics.map(({ backingInfo }: any) => `fe${backingInfo.macAddress.slice(2)}`)
  const taps = shown.filter(({ macAddress }) => macs.includes(macAddress))
  assert.equal(taps.length, macs.length)
  assert.match(taps[0].name, /^vnet/)
  assert.deepEqual((await app.call('GET', `${nicsOn(host, ids.native, 'virtual-nics')}/${br0.extId}`)).data, br0)
  assert.equal((await app.call('GET', `${nicsOn(host, ids.native, 'virtual-nics')}/${randomUUID()}`)).status, 404)
})

test('the interface of a guest is there while its VM runs', async () => {
  const cluster = await aNativeCluster(app, { hosts: 1 })
  const vm = await aVm(app, cluster, { nics: [nicOn(await aSubnet(app, cluster))] })
  const path = nicsOn(cluster.hostExtIds[0] as string, cluster.extId, 'virtual-nics')
  assert.deepEqual(await readNics(path), [])
  await changed(app, vm.extId, 'power-on')
  assert.equal((await readNics(path)).length, 1)
  await changed(app, vm.extId, 'power-off')
  assert.deepEqual(await readNics(path), [])
})

test('a seed without NICs gives its hosts six; one with models gives them these', async () => {
  const text = `clusters:
  - { name: plain, hosts: 1 }
  - { name: fast, hosts: [{ name: fast-1, nics: ['15b3:101d', '15b3:101d'] }] }`
  const own = await startApp({ config: { seed: { text } } })
  const nics = await readNics(`${clustermgmt}/host-nics?$limit=100`, own)
  const of = (speed: number): string[] =>
    nics.flatMap(({ name, linkCapacityInMbps }) => (linkCapacityInMbps === speed ? name : []))
  assert.deepEqual(
    [of(10_000), of(25_000), of(100_000)],
    [['eth0', 'eth1', 'eth2', 'eth3', 'eth4'], ['eth5'], ['eth0', 'eth1']],
  )
  await own.close()
})
