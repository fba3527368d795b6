/** Creating, changing and deleting BGP sessions. Source: behaviour networking.md 1.10, 5 (28, 30, 31). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Task } from '@hyperplane/contract/platform/task'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { bgpFacts } from '../../../src/drivers/simulated/bgp-peers.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { attachedTo, aVpc, changed, demoRoutes, demoVpc, ip, made, prefix, put, removed } from '../../support/vpcs.ts'

const sessions = '/networking/v4.3/config/bgp-sessions'
const local = seedId('gateway/bgp-prod')
/** 10.44.4.51 and 10.44.4.52, which the gateways `bgp-prod` and `vtep-prod` have from their creation on. */
const ownInterfaces: readonly (string | undefined)[] = ['0a2c0433', '0a2c0434']
/** `<task definition> <step>` whose run fails. */
let failing: string | undefined
let app: TestApp
before(async () => {
  app = await startApp({
    logLevel: 'silent',
    beforeStep(definition, step, phase) {
      if (phase === 'run' && `${definition} ${step}` === failing) throw new Error('no')
    },
  })
  await removed(app, `${sessions}/${seedId('bgp-session/prod-tor-a')}`)
})
afterEach(async () => {
  failing = undefined
  await checkInvariants(app)
  for (const { extId } of (await app.call('GET', sessions)).data) await removed(app, `${sessions}/${extId}`)
  assert.deepEqual(await interfaces(), [])
  await checkInvariants(app)
})
after(() => app.close())

/** Interfaces that sessions have leased, beside those of the gateways themselves. */
const interfaces = async (): Promise<readonly (string | undefined)[]> =>
  (await app.store.findWhere(AddressLease, { kind: 'GATEWAY_INTERFACE' }))
    .map(({ address }) => address)
    .filter((address) => !ownInterfaces.includes(address))
const session = (more: object = {}): object => ({
  name: 'to a rack',
  localGatewayReference: local,
  remoteGatewayReference: seedId('gateway/tor-a'),
  ...more,
})
const create = (more: object = {}): Promise<CallResult> => app.call('POST', sessions, { body: session(more) })
const refusal = async (more: object) => {
  const { status, errors } = await create(more)
  return [status, errors[0]?.code, errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])]
}
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const routes = async (path: string, type: string): Promise<any[]> =>
  (await app.call('GET', `${path}/bgp-routes?$limit=100&$filter=bgpRouteType eq '${type}'`)).data
const dynamic = async (): Promise<any[]> =>
  (await app.call('GET', `${demoRoutes('prod')}?$limit=100&$filter=routeType eq 'DYNAMIC'`)).data

const gateways = '/networking/v4.3/config/gateways'
const remoteServices = (address: string, asn: number): object => ({
  $objectType: 'networking.v4.config.RemoteNetworkServices',
  remoteBgpService: { address: ip(address), asn },
})
async function aRemoteGateway(address: string, asn = 65002): Promise<string> {
  return (await made(app, gateways, { name: address, services: remoteServices(address, asn) })).slice(-36)
}

test('a session that was created is UP within ten seconds, and its RECEIVED routes are the DYNAMIC routes of its VPC', async () => {
  const task = await app.task(await create({ dynamicRoutePriority: 650 }))
  assert.equal(task.operation, 'kBgpSessionCreate')
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['networking:config:bgp-session', 'networking:config:gateway', 'networking:config:gateway'],
  )
  const path = `${sessions}/${task.entitiesAffected[0].extId}`
  const made = await read(path)
  assert.equal(made.status.state, 'DOWN')
  assert.equal(made.shouldAdvertiseAllExternallyRoutablePrefixes, true)
  assert.match(made.localGatewayInterfaceIpAddress.ipv4.value, /^10\.44\.4\./)
  assert.deepEqual(await dynamic(), [])
  await app.clock.advance(10_000)
  assert.equal((await read(path)).status.state, 'UP')
  const received = await routes(path, 'RECEIVED')
  assert.equal(received.length, 9)
  const learned = await dynamic()
  assert.deepEqual(learned.map(({ name }) => name).sort(), received.map(({ name }) => name).sort())
  assert.ok(learned.every(({ priority }) => priority === 650))
  await removed(app, path)
  assert.deepEqual(await dynamic(), [])
})

test('a change of priority, communities or prefixes keeps the session up; a change of the password takes it down', async () => {
  const path = await made(app, sessions, session())
  await app.clock.advance(10_000)
  const communities = [{ autonomousSystemNumber: 65010, communityValue: 7 }]
  await changed(app, path, { dynamicRoutePriority: 300, advertisedRoutesCommunities: communities })
  assert.equal((await read(path)).status.state, 'UP')
  assert.ok((await dynamic()).every(({ priority }) => priority === 300))
  const advertised = await routes(path, 'ADVERTISED')
  assert.deepEqual(
    advertised.map(({ name, bgpCommunities }) => [name, bgpCommunities]),
    [['192.168.20.0/24', communities]],
  )
  const none = { externallyRoutablePrefixesToAdvertise: [], shouldAdvertiseAllExternallyRoutablePrefixes: false }
  await changed(app, path, none)
  assert.deepEqual(await routes(path, 'ADVERTISED'), [])
  await changed(app, path, { password: 'first' })
  assert.equal((await read(path)).status.state, 'DOWN')
  await app.clock.advance(10_000)
  await changed(app, path, { description: 'the password is left out' })
  assert.equal((await read(path)).status.state, 'UP')
})

test('a password shows in no answer, task or fact', async () => {
  const password = 'peer-secret-7'
  const path = await made(app, sessions, session({ password }))
  await changed(app, path, { password: `${password}-new` })
  const shown = [await read(path), await app.call('GET', sessions), await app.store.find(Task)]
  const facts = [...bgpFacts(app.world).bgpPeers.all().values()]
  assert.ok(!JSON.stringify([shown, facts]).includes(password))
  assert.ok(facts[0]?.passwordDigest)
})

test('gateways of the wrong kind, equal AS numbers and foreign prefixes are refused with their paths', async () => {
  const [remote, same] = [seedId('gateway/tor-a'), await aRemoteGateway('10.44.4.30', 65010)]
  const fault = (...paths: string[]) => [400, 'NETWORKING-10001', paths]
  assert.deepEqual(
    await refusal({ localGatewayReference: remote, remoteGatewayReference: local }),
    fault('localGatewayReference', 'remoteGatewayReference'),
  )
  assert.deepEqual(await refusal({ remoteGatewayReference: same }), fault('remoteGatewayReference'))
  const listed = { externallyRoutablePrefixesToAdvertise: [prefix('192.168.20.0/24'), prefix('10.0.0.0/8')] }
  assert.deepEqual(await refusal(listed), fault('externallyRoutablePrefixesToAdvertise[1]'))
  assert.deepEqual(
    await refusal({ ...listed, shouldAdvertiseAllExternallyRoutablePrefixes: true }),
    fault('shouldAdvertiseAllExternallyRoutablePrefixes'),
  )
  assert.equal((await refusal({ remoteGatewayReference: randomUUID() }))[0], 404)
  const sixth = { localGatewayInterfaceIpAddress: { ipv6: { value: 'fd00::9' } } }
  assert.deepEqual(await refusal(sixth), fault('localGatewayInterfaceIpAddress'))
})

test('the name and the pair of gateways of a session are unique, also among concurrent requests and updates', async () => {
  const remoteGatewayReference = await aRemoteGateway('10.44.4.31')
  const answers = await Promise.all([create(), create({ name: 'another' })])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  await app.task(answers.find(({ status }) => status === 202)!)
  const [{ name }] = (await app.call('GET', sessions)).data
  assert.deepEqual((await refusal({ name, remoteGatewayReference })).slice(0, 2), [409, 'NETWORKING-10071'])
  const other = await made(app, sessions, session({ name: 'second', remoteGatewayReference }))
  assert.equal((await put(app, other, { name })).status, 409)
  assert.equal((await put(app, other, { remoteGatewayReference: seedId('gateway/tor-a') })).status, 400)
})

test('sessions share the default interface of their gateway; an interface that one session requests is removed with that session', async () => {
  const one = await made(app, sessions, session())
  const remoteGatewayReference = await aRemoteGateway('10.44.4.32')
  const two = await made(app, sessions, session({ name: 'second', remoteGatewayReference }))
  const addressOf = async (path: string) => (await read(path)).localGatewayInterfaceIpAddress
  assert.deepEqual(await addressOf(one), await addressOf(two))
  await removed(app, one)
  assert.deepEqual(await interfaces(), [])
  const moved = await changed(app, two, { localGatewayInterfaceIpAddress: ip('10.44.4.180') })
  assert.equal(moved.localGatewayInterfaceIpAddress.ipv4.value, '10.44.4.180')
  assert.equal((await interfaces()).length, 1)
  const router = (await read(demoVpc('prod'))).externalSubnets.find(
    ({ subnetReference }: any) => subnetReference === seedId('subnet/ext-routed'),
  )
  const [localGatewayInterfaceIpAddress] = router.externalIps
  assert.equal((await put(app, two, { localGatewayInterfaceIpAddress })).errors[0]?.code, 'NETWORKING-10080')
})

test('a creation or an update that fails leaves session, interfaces and peer unchanged', async () => {
  failing = 'networking.create-bgp-session add peer'
  assert.equal((await app.task(await create())).status, 'FAILED')
  failing = undefined
  assert.deepEqual([(await app.call('GET', sessions)).data, await interfaces()], [[], []])
  const path = await made(app, sessions, session())
  await app.clock.advance(10_000)
  const before = await read(path)
  failing = 'networking.update-bgp-session configure peer'
  const change = { dynamicRoutePriority: 900, localGatewayInterfaceIpAddress: ip('10.44.4.181') }
  assert.equal((await app.task(await put(app, path, change))).status, 'FAILED')
  failing = undefined
  assert.deepEqual(await read(path), before)
  assert.deepEqual(await interfaces(), [])
})

test('of two sessions with the same priority the older one forwards, and the other takes over when the first loses priority', async () => {
  const one = await made(app, sessions, session())
  await app.clock.advance(10_000)
  const remoteGatewayReference = await aRemoteGateway('10.44.4.33')
  const two = await made(app, sessions, session({ name: 'second', remoteGatewayReference }))
  await app.clock.advance(10_000)
  const fallbacks = async (): Promise<string[]> =>
    (await dynamic())
      .filter(({ name, isActive }) => name === '0.0.0.0/0' && isActive)
      .map((each) => each.nexthop.nexthopName)
  const vpcRoutes = demoRoutes('prod')
  await removed(app, `${vpcRoutes}/${seedId('route/prod/default')}`)
  assert.deepEqual(await fallbacks(), ['10.44.4.21'])
  await changed(app, two, { dynamicRoutePriority: 701 })
  assert.deepEqual(await fallbacks(), ['10.44.4.33'])
  await removed(app, two)
  assert.deepEqual(await fallbacks(), ['10.44.4.21'])
  await removed(app, one)
})

test('a session is refused when the VPC of its gateway has no external subnet without NAT', async () => {
  const vpcReference = (await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] })).slice(-36)
  const services = { $objectType: 'networking.v4.config.LocalNetworkServices', localBgpService: { asn: 65020 } }
  const gateway = await made(app, gateways, { name: 'without a place', vpcReference, services })
  assert.deepEqual(await refusal({ localGatewayReference: gateway.slice(-36) }), [
    400,
    'NETWORKING-10001',
    ['localGatewayReference'],
  ])
})
