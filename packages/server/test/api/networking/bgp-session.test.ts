/** BGP sessions and routes. Source: behaviour networking.md 1.10, 4, 5 (28, the demo's session). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { setPeerSilent } from '../../../src/drivers/simulated/bgp-peers.ts'
import { fabricFacts } from '../../../src/drivers/simulated/network-fabric.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { changed, demoVpc, prefix } from '../../support/vpcs.ts'

const sessions = '/networking/v4.3/config/bgp-sessions'
const demo = `${sessions}/${seedId('bgp-session/prod-tor-a')}`
const routes = `${demo}/bgp-routes`
let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const count = async (type: string): Promise<number | undefined> =>
  (await app.call('GET', `${routes}?$filter=bgpRouteType eq Networking.Config.BgpRouteType'${type}'`)).total

test('the session of the demo is established: 9 received, 1 ignored, 1 advertised', async () => {
  const { data, etag } = await app.call('GET', demo)
  assert.deepEqual(data.status, { state: 'UP', message: 'Established, 9 prefixes received' })
  assert.ok(etag)
  assert.deepEqual(await Promise.all(['RECEIVED', 'RECEIVED_AND_IGNORED', 'ADVERTISED'].map(count)), [9, 1, 1])
})

test('an ignored route says why; an advertised one has the router of the VPC as nexthop', async () => {
  const { data } = await app.call('GET', routes)
  const ignored = data.find((route: any) => route.bgpRouteType === 'RECEIVED_AND_IGNORED')
  assert.ok(ignored.description.length > 0)
  const advertised = data.find((route: any) => route.bgpRouteType === 'ADVERTISED')
  assert.equal(advertised.name, '192.168.20.0/24')
  assert.equal(advertised.nexthop.nexthopIpAddress.ipv4.value, '10.44.4.50')
  assert.deepEqual(advertised.bgpCommunities, [{ autonomousSystemNumber: 65010, communityValue: 100 }])
  const received = data.filter((route: any) => route.bgpRouteType === 'RECEIVED')
  assert.ok(received.some((route: any) => route.name === '0.0.0.0/0'))
  assert.ok(received.every((route: any) => route.nexthop.nexthopIpAddress.ipv4.value === '10.44.4.21'))
})

test('a route keeps its id, is read by it, and is 404 under another session', async () => {
  const [first] = (await app.call('GET', `${routes}?$limit=1`)).data
  const again = await app.call('GET', `${routes}/${first.extId}`)
  assert.deepEqual(again.data, first)
  const unknown = await app.call('GET', `${routes}/${randomUUID()}`)
  assert.deepEqual([unknown.status, unknown.errors[0]!.code], [404, 'NETWORKING-10010'])
  assert.equal((await app.call('GET', `${sessions}/${randomUUID()}/bgp-routes/${first.extId}`)).status, 404)
})

test('a prefix is advertised after it is added to the VPC', async () => {
  const prod = demoVpc('prod')
  const before = (await app.call('GET', prod)).data.externallyRoutablePrefixes
  await changed(app, prod, { externallyRoutablePrefixes: [...before, prefix('192.168.30.0/24')] })
  assert.equal(await count('ADVERTISED'), 2)
  await changed(app, prod, { externallyRoutablePrefixes: before })
  assert.equal(await count('ADVERTISED'), 1)
})

test('a route that overlaps a prefix of the VPC is ignored', async () => {
  const { data } = await app.call('GET', `${routes}?$filter=bgpRouteType eq 'RECEIVED'`)
  const offered = data.find((route: any) => route.name.startsWith('10.200.'))
  const prod = demoVpc('prod')
  const before = (await app.call('GET', prod)).data.externallyRoutablePrefixes
  await changed(app, prod, { externallyRoutablePrefixes: [...before, offered.destination] })
  const ignored = (await app.call('GET', `${routes}?$filter=name eq '${offered.name}'`)).data
  assert.deepEqual(
    ignored.map((route: any) => route.bgpRouteType),
    ['RECEIVED_AND_IGNORED', 'ADVERTISED'],
  )
  assert.match(ignored[0].description, /overlaps .* of the VPC/)
  await changed(app, prod, { externallyRoutablePrefixes: before })
})

test('a session with a new peer is DOWN at first and UP within ten seconds, with the same routes', async () => {
  const fresh = await startApp()
  try {
    const extId = seedId('bgp-session/prod-tor-a')
    const ids = async (): Promise<string[]> => (await fresh.call('GET', routes)).data.map((route: any) => route.extId)
    const before = await ids()
    const { since: _, ...peer } = fabricFacts(fresh.world).bgpPeers.get(extId)!
    await fresh.drivers.networkFabric.removeBgpPeer(extId)
    await fresh.drivers.networkFabric.addBgpPeer(peer)
    const down = await fresh.call('GET', demo)
    assert.equal(down.data.status.state, 'DOWN')
    assert.deepEqual(await ids(), [])
    await fresh.clock.advance(10_000)
    assert.equal((await fresh.call('GET', demo)).data.status.state, 'UP')
    assert.deepEqual(await ids(), before)
  } finally {
    await fresh.close()
  }
})

test('the list of sessions filters by fields and expands references, and no response has the password', async () => {
  await app.store.transaction((store) =>
    store.update(BgpSession, seedId('bgp-session/prod-tor-a'), { password: 'peer-secret-1' }),
  )
  const filter = `advertisedRoutesCommunities/any(c:c/communityValue eq 100) and dynamicRoutePriority eq 700`
  const list = await app.call(
    'GET',
    `${sessions}?$filter=${encodeURIComponent(filter)}&$expand=localGateway,remoteGateway`,
  )
  assert.equal(list.total, 1)
  assert.equal(list.data[0].localGateway.name, 'bgp-prod')
  assert.equal(list.data[0].remoteGateway.services.remoteBgpService.asn, 65001)
  const plain = await app.call('GET', demo)
  assert.equal(plain.data.localGateway, undefined)
  assert.ok(!JSON.stringify([list.data, plain.data]).includes('peer-secret-1'))
})

test('90 s after its peer falls silent a session is DOWN without routes; ten seconds after the peer returns it is UP with the same route ids', async () => {
  const fresh = await startApp()
  try {
    const extId = seedId('bgp-session/prod-tor-a')
    const ids = async (): Promise<string[]> => (await fresh.call('GET', routes)).data.map((route: any) => route.extId)
    const status = async (): Promise<any> => (await fresh.call('GET', demo)).data.status
    const before = [await ids(), (await fresh.call('GET', demo)).etag]
    await setPeerSilent(fresh.world, extId, true)
    await fresh.clock.advance(89_000)
    assert.equal((await status()).state, 'UP')
    await fresh.clock.advance(1000)
    assert.deepEqual(await status(), { state: 'DOWN', message: 'Active: the peer does not answer' })
    assert.deepEqual(await ids(), [])
    await setPeerSilent(fresh.world, extId, false)
    assert.equal((await status()).state, 'DOWN')
    await fresh.clock.advance(10_000)
    assert.equal((await status()).state, 'UP')
    assert.deepEqual([await ids(), (await fresh.call('GET', demo)).etag], before)
  } finally {
    await fresh.close()
  }
})

test('a route to a subnet of the VPC is ignored with a reason, and of 251 prefixes of a peer 250 are received', async () => {
  const extId = seedId('bgp-session/prod-tor-a')
  const faults = fabricFacts(app.world).bgpFaults
  const own = '192.168.10.0/24'
  await faults.put(extId, { originates: [own] })
  const ignored = (await app.call('GET', `${routes}?$filter=name eq '${own}'`)).data
  assert.deepEqual(
    ignored.map(({ bgpRouteType, description }: any) => [bgpRouteType, description]),
    [['RECEIVED_AND_IGNORED', `overlaps ${own} of the VPC`]],
  )
  const plain = (await count('RECEIVED')) as number
  const many = Array.from({ length: 251 - plain }, (_, index) => `10.${100 + (index >> 8)}.${index & 255}.0/24`)
  await faults.put(extId, { originates: many })
  assert.equal(await count('RECEIVED'), 250)
  const beyond = (await app.call('GET', `${routes}?$filter=name eq '${many.at(-1)}'`)).data
  assert.deepEqual(
    beyond.map(({ bgpRouteType, description }: any) => [bgpRouteType, description]),
    [['RECEIVED_AND_IGNORED', 'beyond 250 prefixes of this session']],
  )
  assert.equal((await app.call('GET', demo)).data.status.message, 'Established, 250 prefixes received')
  await faults.remove(extId)
})
