/** Uplink bonds and the schedulable status of nodes. Source: behaviour networking.md 1.18. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { nicOn } from '../../support/native-cluster.ts'
import { aRunningVm } from '../../support/policies.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ipConfigOf, subnets } from '../../support/subnets.ts'
import { bonds, demoHosts, onHosts, switchBody, switches } from '../../support/virtual-switches.ts'
import { made } from '../../support/vpcs.ts'

const statuses = '/networking/v4.3/config/node-schedulable-statuses'
let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const list = async (query = ''): Promise<any[]> => {
  const { status, data, errors } = await app.call('GET', `${bonds}?$limit=100${query}`)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const [host = ''] = demoHosts

test('the demo has two bonds on each host, with the mode and the NICs of their switches', async () => {
  const all = await list()
  assert.equal(all.length, 8)
  const own = await list(`&$filter=hostReference eq '${host}'&$orderby=name`)
  const nics = (await app.call('GET', `${clustermgmt}/clusters/${ids.native}/hosts/${host}/host-nics`)).data
  assert.deepEqual(
    own.map(({ name, type, lacpStatus, virtualSwitchInfo, hostNicReferences, clusterReference }) => [
      ...[name, type, lacpStatus, virtualSwitchInfo, hostNicReferences, clusterReference],
    ]),
    [
      [
        ...['br0-up', 'ACTIVE_BACKUP', 'NIL', { name: 'vs0', reference: seedId('virtual-switch/vs0') }],
        ...[[nics[0].extId, nics[1].extId], ids.native],
      ],
      [
        ...['br1-up', 'BALANCE_TCP', own[1].lacpStatus, { name: 'vs1', reference: seedId('virtual-switch/vs1') }],
        ...[[nics[2].extId, nics[3].extId], ids.native],
      ],
    ],
  )
  assert.deepEqual((await app.call('GET', `${bonds}/${own[0].extId}`)).data, own[0])
  assert.equal((await app.call('GET', `${bonds}/${randomUUID()}`)).status, 404)
})

test('LACP is negotiated within three seconds, and is configured only while all links are lost', async () => {
  const body = switchBody('lacp', [], { bondMode: 'BALANCE_TCP', ...onHosts([host], ['eth4', 'eth5']) })
  const path = await made(app, switches, body)
  const status = async (): Promise<string> =>
    (await list()).find(({ virtualSwitchInfo }) => virtualSwitchInfo.reference === path.slice(-36)).lacpStatus
  assert.equal(await status(), 'CONFIGURED')
  await app.clock.advance(3000)
  assert.equal(await status(), 'NEGOTIATED')
  for (const uplink of ['eth4', 'eth5']) await happen(app, { type: 'UPLINK_LOST', host, uplink })
  assert.equal(await status(), 'CONFIGURED')
  await happen(app, { type: 'UPLINK_RETURNS', host, uplink: 'eth5' })
  assert.equal(await status(), 'NEGOTIATED')
  await app.task(await app.call('DELETE', path))
  assert.equal((await list()).length, 8)
})

test('traffic uses the preferred uplink while it has a link, and otherwise the other one', async () => {
  const active = (): readonly string[] | undefined => app.drivers.networkFabric.bonds(host)[0]?.active
  const speed = async (): Promise<number> =>
    (await app.call('GET', `${clustermgmt}/clusters/${ids.native}/hosts/${host}/virtual-nics?$filter=name eq 'br0'`))
      .data[0].linkSpeedInKbps
  assert.deepEqual([active(), await speed()], [['eth0'], 10_000_000])
  await happen(app, { type: 'UPLINK_LOST', host, uplink: 'eth0' })
  assert.deepEqual([active(), await speed()], [['eth1'], 10_000_000])
  await happen(app, { type: 'UPLINK_RETURNS', host, uplink: 'eth0' })
  assert.deepEqual(active(), ['eth0'])
  await happen(app, { type: 'UPLINK_FLAPS', host, uplink: 'eth0', periodSeconds: 20 })
  assert.deepEqual(active(), ['eth0'])
  await app.clock.advance(11_000)
  assert.deepEqual(active(), ['eth1'])
  await happen(app, { type: 'UPLINK_RETURNS', host, uplink: 'eth0' })
})

test('a switch with one NIC on a host has no bond there', async () => {
  const path = await made(app, switches, switchBody('single', ['eth4']))
  assert.equal((await list()).length, 8)
  await app.task(await app.call('DELETE', path))
})

test('without any uplink a host is cut off from the VLANs of the switch, and guests on it still reach each other', async () => {
  const path = await made(app, switches, switchBody('carrier', [], onHosts(demoHosts.slice(0, 2), ['eth4', 'eth5'])))
  const subnet = await made(app, subnets, {
    name: 'carried',
    subnetType: 'VLAN',
    networkId: 19,
    virtualSwitchReference: path.slice(-36),
    ipConfig: ipConfigOf({ ipv4: '10.19.0.0/24', pools: [['10.19.0.10', '10.19.0.20']] }),
  })
  const imageExtId = seedId('image/ubuntu-24.04.qcow2')
  const demo = { extId: ids.native, hostExtIds: demoHosts, containerExtId: '', imageExtId }
  const nics: string[] = []
  for (const host of [demoHosts[0], demoHosts[0], demoHosts[1]]) {
    const vm = await aRunningVm(app, demo, { host, nics: [nicOn(subnet.slice(-36))] })
    nics.push(vm.nics[0].extId)
  }
  await app.clock.advance(120_000)
  const outcome = async (from: number, to: number): Promise<string> => {
    const [source, destination] = [{ nicExtId: nics[from] as string }, { nicExtId: nics[to] as string }]
    const { outcome, reason } = await app.drivers.networkFabric.trace({ source, destination, protocol: 'ICMP' })
    return outcome === 'DELIVERED' ? outcome : `${outcome}: ${reason}`
  }
  await happen(app, { type: 'UPLINK_LOST', host, uplink: 'eth4' })
  assert.deepEqual([await outcome(0, 1), await outcome(0, 2)], ['DELIVERED', 'DELIVERED'])
  await happen(app, { type: 'UPLINK_LOST', host, uplink: 'eth5' })
  assert.equal(await outcome(0, 1), 'DELIVERED')
  for (const way of [await outcome(0, 2), await outcome(2, 0)])
    assert.match(way, /^DROPPED: no uplink of br3 has a link/)
  await happen(app, { type: 'UPLINK_RETURNS', host })
})

test('each host has a schedulable status, and a storage-only node is never schedulable', async () => {
  const read = async (query = '', options: object = {}): Promise<any[]> =>
    (await app.call('GET', `${statuses}?$limit=100${query}`, options)).data
  const all = await read()
  assert.equal(all.length, (await app.store.find(Host)).length)
  assert.ok(all.every(({ isNeverSchedulable }) => isNeverSchedulable === false))
  const native = await read('', { clusterId: ids.native })
  assert.deepEqual(native.map(({ extId }) => extId).sort(), [...demoHosts].sort())
  const storage = hostId('hp-c01-a')
  await app.store.transaction((store) => store.update(Host, storage, { hostType: 'STORAGE_ONLY' }))
  assert.deepEqual(await read(`&$filter=isNeverSchedulable eq true`), [
    { ...all.find(({ extId }) => extId === storage), isNeverSchedulable: true },
  ])
  assert.equal((await app.call('GET', statuses, { clusterId: 'x' })).status, 400)
})

test('readers of virtual switches see bonds and statuses', async () => {
  for (const [role, status] of [
    ['Consumer', 200],
    ['Operator', 200],
    ['Storage Viewer', 403],
  ] as const) {
    const as = await aUser(app, [role])
    for (const path of [bonds, statuses]) {
      const answer = await app.call('GET', path, { as })
      assert.equal(answer.status, status, `${role} ${path}`)
      if (status === 200) assert.ok((answer.total ?? 0) > 0, `${role} ${path}`)
    }
  }
})
