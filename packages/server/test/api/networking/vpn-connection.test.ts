/** Creating, changing and deleting VPN connections, and their tunnels. Source: behaviour networking.md 1.6, 1.11, 3.4. */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Task } from '@hyperplane/contract/platform/task'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { interiorRoutes, type OfferedRoute } from '../../../src/drivers/simulated/bgp-router.ts'
import { setTunnelFault, tunnelFacts } from '../../../src/drivers/simulated/vpn-state.ts'
import { hostOfAppliance } from '../../kinds/networking/gateway.ts'
import { happen } from '../../support/events.ts'
import { factsById } from '../../support/facts.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { changed, demoRoutes, demoVpc, ip, made, prefix, put, removed } from '../../support/vpcs.ts'
import {
  aRemoteVpn,
  connectionTo,
  demoConnection,
  demoRoute,
  preSharedKey,
  removeDemoConnection,
  vpnConnections,
} from '../../support/vpn.ts'

const gateways = '/networking/v4.3/config/gateways'
const localGateway = `${gateways}/${seedId('gateway/vpn-prod')}`
const branch = seedId('gateway/branch')
/** `<task definition> <step>` whose run fails. */
let failing: string | undefined
let ofDemo: { readonly connection: any; readonly gateway: any; readonly route: any }
let app: TestApp
before(async () => {
  app = await startApp({
    logLevel: 'silent',
    beforeStep(definition, step, phase) {
      if (phase === 'run' && `${definition} ${step}` === failing) throw new Error('no')
    },
  })
  ofDemo = {
    connection: await read(demoConnection),
    gateway: await read(`${gateways}/${branch}`),
    route: await read(demoRoute),
  }
  await removeDemoConnection(app)
  await changed(app, localGateway, { services: localVpn({ asn: 65010 }) })
})
afterEach(async () => {
  failing = undefined
  for (const { extId, routeType } of await routes())
    if (routeType === 'STATIC' && extId !== seedId('route/prod/default'))
      await removed(app, `${demoRoutes('prod')}/${extId}`)
  for (const { extId } of (await app.call('GET', vpnConnections)).data) await removed(app, `${vpnConnections}/${extId}`)
  assert.equal(tunnelFacts(app.world).tunnels.all().size, 0)
  await checkInvariants(app)
})
after(() => app.close())

const localVpn = (ebgpConfig: object): object => ({
  $objectType: 'networking.v4.config.LocalNetworkServices',
  localVpnService: { ebgpConfig },
})
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const routes = async (): Promise<any[]> => (await app.call('GET', `${demoRoutes('prod')}?$limit=100`)).data
const dynamic = async (): Promise<any[]> =>
  (await routes()).filter(({ nexthop }) => nexthop.nexthopType === 'VPN_CONNECTION')
const tunnel = async (path: string): Promise<string> => {
  const { state, message } = (await read(path)).ipsecTunnelStatus
  return message === undefined ? state : `${state} ${message}`
}
const refusal = async (asked: Promise<CallResult>) => {
  const { status, errors } = await asked
  return [status, errors[0]?.code, errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])]
}
const create = (name: string, more: object = {}, remote = branch): Promise<CallResult> =>
  app.call('POST', vpnConnections, { body: connectionTo(remote, name, more) })
const aConnection = (more: object = {}, remote = branch): Promise<string> =>
  made(app, vpnConnections, connectionTo(remote, 'to a branch', more))
async function anUp(more: object = {}, remote = branch): Promise<string> {
  const path = await aConnection(more, remote)
  await app.clock.advance(15_000)
  assert.equal(await tunnel(path), 'UP')
  return path
}
const through = (path: string, destination: string): object => ({
  routeType: 'STATIC',
  destination: prefix(destination),
  nexthop: { nexthopType: 'VPN_CONNECTION', nexthopReference: path.slice(-36) },
})

test('the connection of the demo is UP, without eBGP, and so is its remote gateway; a static route uses it', () => {
  const { ebgpStatus, ipsecTunnelStatus, learnedPrefixes, name } = ofDemo.connection
  assert.deepEqual([name, ipsecTunnelStatus, ebgpStatus, learnedPrefixes], ['branch-1', { state: 'UP' }, undefined, []])
  assert.equal(ofDemo.gateway.status.state, 'UP')
  assert.deepEqual([ofDemo.route.isActive, ofDemo.route.nexthop.nexthopName], [true, 'branch-1'])
})

test('a connection that was created is configured, negotiates, and is UP within ten seconds, with eBGP five seconds later', async () => {
  const task = await app.task(await create('to a branch'))
  assert.deepEqual([task.operation, task.status], ['kVpnConnectionCreate', 'SUCCEEDED'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['networking:config:vpn-connection', 'networking:config:gateway', 'networking:config:gateway'],
  )
  const path = `${vpnConnections}/${task.entitiesAffected[0].extId}`
  const first = await read(path)
  assert.deepEqual(first.ipsecTunnelStatus, { state: 'DOWN', message: 'negotiating' })
  assert.deepEqual(first.ebgpStatus, { state: 'DOWN', message: 'Idle' })
  assert.deepEqual([first.learnedPrefixes, await dynamic()], [[], []])
  assert.deepEqual(first.ipsecConfig, {
    ikeAuthenticationAlgorithm: 'SHA256',
    ikeEncryptionAlgorithm: 'AES256',
    ikeLifetimeSecs: 28800,
    ipsecAuthenticationAlgorithm: 'SHA256',
    ipsecEncryptionAlgorithm: 'AES256',
    ipsecLifetimeSecs: 3600,
    espPfsDhGroupNumber: 14,
    localVtiIp: ip('169.254.0.1'),
    remoteVtiIp: ip('169.254.0.2'),
  })
  assert.deepEqual(first.dpdConfig, { intervalSecs: 10, timeoutSecs: 30, operation: 'RESTART' })
  assert.equal(first.dynamicRoutePriority, 500)
  await app.clock.advance(3000 - 1)
  assert.equal(await tunnel(path), 'DOWN negotiating')
  await app.clock.advance(7000)
  assert.equal(await tunnel(path), 'UP')
  await app.clock.advance(5001)
  const up = await read(path)
  assert.equal(up.ebgpStatus.message, `Established, ${up.learnedPrefixes.length} prefixes received`)
  assert.ok(up.learnedPrefixes.length >= 2)
  assert.deepEqual(up.advertisedPrefixes.map(({ ipv4 }: any) => ipv4.ip.value).sort(), ['192.168.10.0', '192.168.20.0'])
  const learned = await dynamic()
  assert.deepEqual(
    learned.map(({ destination }) => destination),
    up.learnedPrefixes,
  )
  for (const { isActive, nexthop, priority, routeType } of learned) {
    assert.deepEqual([routeType, priority, isActive], ['DYNAMIC', 500, true])
    assert.deepEqual([nexthop.nexthopReference, nexthop.nexthopName], [path.slice(-36), 'to a branch'])
  }
  const refused = await app.call('DELETE', `${demoRoutes('prod')}/${learned[0].extId}`)
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]!.message, /follows its VPN connection/)
})

test('a peer without an AS number has no eBGP: no routes are learned, and static routes use the tunnel', async () => {
  const path = await anUp({}, await aRemoteVpn(app, '198.51.100.7'))
  const shown = await read(path)
  assert.deepEqual([shown.ebgpStatus, shown.learnedPrefixes, shown.advertisedPrefixes], [undefined, [], []])
  const route = await made(app, demoRoutes('prod'), through(path, '10.250.0.0/16'))
  const { isActive, nexthop } = await read(route)
  assert.equal(isActive, true)
  assert.deepEqual(nexthop, {
    nexthopType: 'VPN_CONNECTION',
    nexthopReference: path.slice(-36),
    nexthopName: 'to a branch',
  })
})

test('a static route is inactive while its tunnel is DOWN, keeps the connection, and survives a change of its nexthop', async () => {
  const path = await anUp()
  const route = await made(app, demoRoutes('prod'), through(path, '10.250.0.0/16'))
  await setTunnelFault(app.world, path.slice(-36), 'otherKeySince', true)
  assert.deepEqual([await tunnel(path), (await read(route)).isActive], ['DOWN authentication failed', false])
  const refused = await app.call('DELETE', path)
  assert.deepEqual([refused.status, refused.errors[0]!.code], [409, 'NETWORKING-10070'])
  assert.match(refused.errors[0]!.message, /in use by route/)
  await setTunnelFault(app.world, path.slice(-36), 'otherKeySince', false)
  await app.clock.advance(20_000)
  assert.deepEqual([await tunnel(path), (await read(route)).isActive], ['UP', true])
  const nexthop = { nexthopType: 'EXTERNAL_SUBNET', nexthopReference: seedId('subnet/ext-nat') }
  await changed(app, route, { nexthop })
  await removed(app, path)
  assert.equal((await read(route)).isActive, true)
})

test('a route is refused through an unknown connection, one of another VPC, with an address, and to IPv6', async () => {
  const path = await aConnection()
  const ask = (vpc: string, body: object) => refusal(app.call('POST', demoRoutes(vpc), { body }))
  const unknown = through(seedId('vpn-connection/none'), '10.250.0.0/16')
  assert.deepEqual(await ask('prod', unknown), [404, 'NETWORKING-10060', ['nexthop/nexthopReference']])
  const invalid = (attributePath: string) => [400, 'NETWORKING-10001', [attributePath]]
  assert.deepEqual(await ask('tenant-a', through(path, '10.250.0.0/16')), invalid('nexthop/nexthopReference'))
  const addressed = { ...through(path, '10.250.0.0/16') } as any
  addressed.nexthop = { ...addressed.nexthop, nexthopIpAddress: ip('169.254.0.2') }
  assert.deepEqual(await ask('prod', addressed), invalid('nexthop/nexthopIpAddress'))
  const destination = { ipv6: { ip: { value: 'fd00:9::' }, prefixLength: 64 } }
  assert.deepEqual(await ask('prod', { ...through(path, '10.250.0.0/16'), destination }), invalid('destination'))
})

test('a new key or algorithm makes the tunnel renegotiate for up to five seconds; other changes, and the same key, keep it up', async () => {
  const path = await anUp()
  await changed(app, path, {
    description: 'the key is left out',
    dynamicRoutePriority: 900,
    localGatewayRole: 'ACCEPTOR',
  })
  assert.equal(await tunnel(path), 'UP')
  assert.ok((await dynamic()).every(({ priority }) => priority === 900))
  const { ipsecConfig } = await read(path)
  await changed(app, path, { ipsecConfig: { ...ipsecConfig, preSharedKey }, qosConfig: { egressLimitMbps: 50 } })
  assert.equal(await tunnel(path), 'UP')
  for (const ipsec of [{ preSharedKey: 'another-key' }, { ipsecEncryptionAlgorithm: 'AES256GCM128' }]) {
    await changed(app, path, { ipsecConfig: { ...ipsecConfig, ...ipsec } })
    assert.equal(await tunnel(path), 'DOWN negotiating')
    await app.clock.advance(5000)
    assert.equal(await tunnel(path), 'UP')
    await app.clock.advance(5000)
  }
})

test('a silent peer is lost after the timeout of dead peer detection, tried again every ten seconds, and found', async () => {
  const path = await anUp({ dpdConfig: { intervalSecs: 5, timeoutSecs: 20 } })
  const extId = path.slice(-36)
  const before = (await dynamic()).map((route) => route.extId)
  await setTunnelFault(app.world, extId, 'silentSince', true)
  await app.clock.advance(19_999)
  assert.equal(await tunnel(path), 'UP')
  await app.clock.advance(1)
  assert.equal(await tunnel(path), 'DOWN dead peer detected')
  assert.deepEqual([await dynamic(), (await read(path)).ebgpStatus.state], [[], 'DOWN'])
  await app.clock.advance(10_000)
  assert.equal(await tunnel(path), 'DOWN no response')
  await setTunnelFault(app.world, extId, 'silentSince', false)
  await app.clock.advance(20_000)
  assert.equal(await tunnel(path), 'UP')
  await app.clock.advance(5000)
  assert.deepEqual(
    (await dynamic()).map((route) => route.extId),
    before,
  )
})

test('after HOLD the next packet brings the tunnel back, after CLEAR the peer does, within a minute', async () => {
  const lost = async (operation: string): Promise<string> => {
    const path = await anUp({ dpdConfig: { operation } })
    await setTunnelFault(app.world, path.slice(-36), 'silentSince', true)
    await app.clock.advance(60_000)
    assert.equal(await tunnel(path), 'DOWN dead peer detected')
    await setTunnelFault(app.world, path.slice(-36), 'silentSince', false)
    return path
  }
  const held = await lost('HOLD')
  assert.equal(await tunnel(held), 'DOWN negotiating')
  await app.clock.advance(10_000)
  assert.equal(await tunnel(held), 'UP')
  await removed(app, held)
  const cleared = await lost('CLEAR')
  await app.clock.advance(9_999)
  assert.equal(await tunnel(cleared), 'DOWN dead peer detected')
  await app.clock.advance(60_001)
  assert.equal(await tunnel(cleared), 'UP')
})

test('a peer that is silent from the start does not respond; a silence shorter than the timeout is not noticed', async () => {
  const path = await aConnection()
  await setTunnelFault(app.world, path.slice(-36), 'silentSince', true)
  await app.clock.advance(12_000)
  assert.equal(await tunnel(path), 'DOWN no response')
  await setTunnelFault(app.world, path.slice(-36), 'silentSince', false)
  await app.clock.advance(20_000)
  assert.equal(await tunnel(path), 'UP')
  await setTunnelFault(app.world, path.slice(-36), 'silentSince', true)
  await app.clock.advance(29_000)
  await setTunnelFault(app.world, path.slice(-36), 'silentSince', false)
  assert.equal(await tunnel(path), 'UP')
})

test('gateways of the wrong kind, equal AS numbers and a missing key are refused with their paths', async () => {
  const invalid = (...paths: string[]) => [400, 'NETWORKING-10001', paths]
  const swapped = { localGatewayReference: branch, remoteGatewayReference: seedId('gateway/vpn-prod') }
  assert.deepEqual(await refusal(create('wrong', swapped)), invalid('localGatewayReference', 'remoteGatewayReference'))
  const bgp = { localGatewayReference: seedId('gateway/bgp-prod') }
  assert.deepEqual(await refusal(create('wrong', bgp)), invalid('localGatewayReference'))
  const same = await aRemoteVpn(app, '198.51.100.8', 65010)
  assert.deepEqual(await refusal(create('wrong', {}, same)), invalid('remoteGatewayReference'))
  assert.deepEqual(await refusal(create('wrong', { ipsecConfig: {} })), invalid('ipsecConfig/preSharedKey'))
  const faults = {
    ipsecConfig: { espPfsDhGroupNumber: 15, localVtiIp: ip('169.254.0.1') },
    dpdConfig: { intervalSecs: 30, timeoutSecs: 30 },
  }
  assert.deepEqual(
    await refusal(create('wrong', faults)),
    invalid(
      'ipsecConfig/preSharedKey',
      'ipsecConfig/espPfsDhGroupNumber',
      'dpdConfig/timeoutSecs',
      'ipsecConfig/remoteVtiIp',
    ),
  )
})

test('interface addresses are the two hosts of a /30, and no two connections of a gateway share one', async () => {
  const wrong = (localVtiIp: string, remoteVtiIp: string) =>
    refusal(
      create('wrong', { ipsecConfig: { preSharedKey, localVtiIp: ip(localVtiIp), remoteVtiIp: ip(remoteVtiIp) } }),
    )
  assert.deepEqual((await wrong('169.254.0.1', '169.254.0.5'))[2], ['ipsecConfig/remoteVtiIp'])
  assert.deepEqual((await wrong('169.254.0.4', '169.254.0.5'))[2], ['ipsecConfig/localVtiIp'])
  assert.deepEqual((await wrong('169.254.0.1', '169.254.0.1'))[2], ['ipsecConfig/remoteVtiIp'])
  const first = await aConnection({
    ipsecConfig: { preSharedKey, localVtiIp: ip('169.254.0.2'), remoteVtiIp: ip('169.254.0.1') },
  })
  const other = await aRemoteVpn(app, '198.51.100.9')
  const second = await made(app, vpnConnections, connectionTo(other, 'second'))
  assert.deepEqual((await read(second)).ipsecConfig.localVtiIp, ip('169.254.0.5'))
  const taken = { preSharedKey, localVtiIp: ip('169.254.0.1'), remoteVtiIp: ip('169.254.0.2') }
  const refused = await put(app, second, { ipsecConfig: taken })
  assert.deepEqual([refused.status, refused.errors[0]!.code], [409, 'NETWORKING-10071'])
  await changed(app, first, { ipsecConfig: { ...taken, localVtiIp: ip('10.9.9.1'), remoteVtiIp: ip('10.9.9.2') } })
  await changed(app, second, { ipsecConfig: taken })
  assert.deepEqual((await read(second)).ipsecConfig.localVtiIp, ip('169.254.0.1'))
})

test('name and pair of gateways are unique, also in parallel, and the gateways are immutable', async () => {
  const other = await aRemoteVpn(app, '198.51.100.10')
  const answers = await Promise.all([create('same'), create('same', {}, other)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  for (const answer of answers) if (answer.status === 202) await app.task(answer)
  const [{ extId, remoteGatewayReference: taken }] = (await app.call('GET', vpnConnections)).data
  assert.equal((await create('another', {}, taken)).errors[0]!.code, 'NETWORKING-10071')
  const path = `${vpnConnections}/${extId}`
  const moved = await put(app, path, { remoteGatewayReference: taken === other ? branch : other })
  assert.deepEqual([moved.status, moved.errors[0]!.code], [400, 'NETWORKING-10002'])
})

test('a gateway with connections cannot be deleted, and the local one cannot change its AS number', async () => {
  await aConnection()
  const refused = await app.call('DELETE', `${gateways}/${branch}`)
  assert.deepEqual([refused.status, refused.errors[0]!.code], [409, 'NETWORKING-10070'])
  assert.match(refused.errors[0]!.message, /VPN connection to a branch/)
  const services = localVpn({ asn: 65099 })
  assert.equal((await put(app, localGateway, { services })).errors[0]!.code, 'NETWORKING-10070')
  const { services: ofBranch } = await read(`${gateways}/${branch}`)
  const equal = { ...ofBranch, remoteVpnService: { ...ofBranch.remoteVpnService, ebgpConfig: { asn: 65010 } } }
  assert.deepEqual(await refusal(put(app, `${gateways}/${branch}`, { services: equal })), [
    400,
    'NETWORKING-10001',
    ['services'],
  ])
})

test('a change of the address of the remote gateway ends the tunnel, a change of its AS number only the eBGP session', async () => {
  const remote = await aRemoteVpn(app, '198.51.100.11', 65044)
  const path = await anUp({}, remote)
  const gateway = `${gateways}/${remote}`
  const services = (address: string, asn: number): object => ({
    $objectType: 'networking.v4.config.RemoteNetworkServices',
    remoteVpnService: { serviceAddress: ip(address), ebgpConfig: { asn } },
  })
  await changed(app, gateway, { services: services('198.51.100.11', 65045) })
  assert.deepEqual([await tunnel(path), (await read(path)).ebgpStatus.state], ['UP', 'DOWN'])
  await app.clock.advance(5000)
  assert.equal((await read(path)).ebgpStatus.state, 'UP')
  await changed(app, gateway, { services: services('198.51.100.12', 65045) })
  assert.deepEqual([await tunnel(path), (await read(gateway)).status.state], ['DOWN negotiating', 'DOWN'])
  await app.clock.advance(15_000)
  assert.deepEqual([await tunnel(path), (await read(gateway)).status.state], ['UP', 'UP'])
})

test('a gateway that redistributes routes advertises those of the BGP session, but no default route', async () => {
  const path = await anUp()
  const advertised = async (): Promise<number> => (await read(path)).advertisedPrefixes.length
  assert.equal(await advertised(), 2)
  await changed(app, localGateway, { services: localVpn({ asn: 65010, shouldRedistributeRoutes: true }) })
  assert.equal(await advertised(), 2 + 8)
  await changed(app, localGateway, { services: localVpn({ asn: 65010 }) })
  assert.equal(await advertised(), 2)
})

test('prefixes of the sites are exchanged as their gateways list them, without a flap, and need eBGP', async () => {
  const remote = await aRemoteVpn(app, '198.51.100.14', 65047)
  const path = await anUp({}, remote)
  const site = (...texts: string[]): object => ({ peerIgpConfig: { localPrefixList: texts.map(prefix) } })
  const services = (service: object, name = 'localVpnService', side = 'Local'): object => ({
    services: { $objectType: `networking.v4.config.${side}NetworkServices`, [name]: service },
  })
  const here = services({ ebgpConfig: { asn: 65010 }, ...site('10.77.0.0/16') })
  assert.deepEqual((await changed(app, localGateway, here)).services.localVpnService.peerIgpConfig, {
    localPrefixList: [prefix('10.77.0.0/16')],
  })
  const there = { serviceAddress: ip('198.51.100.14'), ...site('10.88.0.0/16', '192.168.10.0/25') }
  const gateway = `${gateways}/${remote}`
  await changed(app, gateway, services({ ...there, ebgpConfig: { asn: 65047 } }, 'remoteVpnService', 'Remote'))
  const { advertisedPrefixes, ebgpStatus, learnedPrefixes } = await read(path)
  assert.equal(ebgpStatus.state, 'UP')
  assert.ok(texts(advertisedPrefixes).includes('10.77.0.0/16'))
  assert.ok(texts(learnedPrefixes).includes('10.88.0.0/16'))
  assert.ok(!texts(learnedPrefixes).includes('192.168.10.0/25'), 'it overlaps a subnet of the VPC')
  assert.ok((await dynamic()).some(({ name }) => name === '10.88.0.0/16'))
  assert.deepEqual(await refusal(put(app, gateway, services(there, 'remoteVpnService', 'Remote'))), [
    400,
    'NETWORKING-10001',
    ['services/remoteVpnService/ebgpConfig/asn'],
  ])
  await changed(app, localGateway, services({ ebgpConfig: { asn: 65010 } }))
})

const texts = (list: any[]): string[] => list.map(({ ipv4 }) => `${ipv4.ip.value}/${ipv4.prefixLength}`)
/** Simulated routers inside sites advertise prefixes of 10.160.0.0 to 10.199.255.255 only. */
const isInterior = (text: string): boolean => /^10\.1[6-9]\d\./.test(text)
const learnedBy = async (path: string): Promise<string[]> => texts((await read(path)).learnedPrefixes)
const advertisedBy = async (path: string): Promise<string[]> => texts((await read(path)).advertisedPrefixes)
const peers = (...addresses: string[]): object => ({
  ibgpConfigList: addresses.map((address) => ({ peerIp: ip(address) })),
})
const area = (areaId: string): object => ({ ospfConfig: { areaId } })
const siteOf = (address: string, asn: number, peerIgpConfig: object = {}): object => ({
  services: {
    $objectType: 'networking.v4.config.RemoteNetworkServices',
    remoteVpnService: { serviceAddress: ip(address), ebgpConfig: { asn }, peerIgpConfig },
  },
})
const hereWith = (peerIgpConfig: object): object => ({
  services: {
    $objectType: 'networking.v4.config.LocalNetworkServices',
    localVpnService: { ebgpConfig: { asn: 65010 }, peerIgpConfig },
  },
})

test('prefixes of the iBGP peers and OSPF area of the remote site are learned as DYNAMIC routes, and follow its configuration', async () => {
  const [address, asn] = ['198.51.100.16', 65048] as const
  const remote = await aRemoteVpn(app, address, asn)
  const gateway = `${gateways}/${remote}`
  const path = await anUp({}, remote)
  const [first, advertised] = [await learnedBy(path), await advertisedBy(path)]
  const change = async (peerIgpConfig: object): Promise<string[]> => {
    await changed(app, gateway, siteOf(address, asn, peerIgpConfig))
    const { ebgpStatus } = await read(path)
    const learned = await learnedBy(path)
    assert.deepEqual(ebgpStatus, { state: 'UP', message: `Established, ${learned.length} prefixes received` })
    assert.equal(new Set(learned).size, learned.length)
    assert.deepEqual((await dynamic()).map(({ name }) => name).sort(), learned.toSorted())
    return learned
  }
  const added = async (peerIgpConfig: object): Promise<string[]> => {
    const learned = await change(peerIgpConfig)
    assert.ok(first.every((text) => learned.includes(text)))
    return learned.filter((text) => !first.includes(text))
  }
  const ofPeer = await added(peers('10.16.0.1'))
  assert.ok(ofPeer.length >= 2 && ofPeer.length <= 16, String(ofPeer))
  assert.ok(ofPeer.every(isInterior), String(ofPeer))
  assert.ok(!ofPeer.some((text) => text.endsWith('/32') || text.endsWith('/0')), String(ofPeer))
  const ofOther = await added(peers('10.16.0.2'))
  assert.notDeepEqual(ofOther, ofPeer)
  const ofArea = await added(area('0.0.0.3'))
  assert.ok(ofArea.every(isInterior))
  assert.notDeepEqual(await added(area('0.0.0.4')), ofArea)
  const [shared = ''] = ofPeer
  const localPrefixList = ['10.88.0.0/16', '10.88.0.0/16', shared].map(prefix)
  const all = { ...peers('10.16.0.2', '10.16.0.1'), ...area('0.0.0.3'), localPrefixList }
  const expected = new Set(['10.88.0.0/16', ...ofOther, ...ofPeer, ...ofArea])
  assert.deepEqual((await added(all)).sort(), [...expected].sort())
  assert.deepEqual(await advertisedBy(path), advertised, 'what one side announces is no matter of the other')
  assert.deepEqual(await change({}), first)
  // The same names give the same prefixes, also in another spelling.
  assert.deepEqual(await added(area('0.000.00.03')), ofArea)
})

test('prefixes inside the local site are announced over its tunnels, but not to the peer that announces them', async () => {
  const [address, asn] = ['198.51.100.17', 65049] as const
  const remote = await aRemoteVpn(app, address, asn)
  const path = await anUp({}, remote)
  const first = await advertisedBy(path)
  await changed(app, localGateway, hereWith({ ...peers('10.17.0.1'), ...area('0.0.0.0') }))
  const inside = (await advertisedBy(path)).filter((text) => !first.includes(text))
  assert.ok(inside.length >= 4 && inside.every(isInterior), String(inside))
  assert.ok(!(await learnedBy(path)).some(isInterior))
  const [shared = ''] = inside
  await changed(app, `${gateways}/${remote}`, siteOf(address, asn, { localPrefixList: [prefix(shared)] }))
  assert.ok((await learnedBy(path)).includes(shared))
  assert.deepEqual((await advertisedBy(path)).toSorted(), [...first, ...inside.slice(1)].sort())
  await changed(app, localGateway, { services: localVpn({ asn: 65010 }) })
  assert.deepEqual(await advertisedBy(path), first)
})

test('prefixes that passed the AS of the local gateway on their way into the remote site are not learned', async () => {
  const [address, asn] = ['198.51.100.21', 65053] as const
  const offered = interiorRoutes({ protocol: 'IBGP', address: '10.21.0.1' }, asn)
  const isSound = ({ nexthop, prefix }: OfferedRoute): boolean => nexthop === '10.21.0.1' && !/\/(0|32)$/.test(prefix)
  const passed = offered.find((route) => isSound(route) && route.autonomousSystemPath.some((each) => each !== asn))!
  const [through] = passed.autonomousSystemPath
  const remote = await aRemoteVpn(app, address, asn)
  await changed(app, `${gateways}/${remote}`, siteOf(address, asn, peers('10.21.0.1')))
  const first = await anUp({}, remote)
  assert.ok((await learnedBy(first)).includes(passed.prefix))
  await removed(app, first)
  await changed(app, localGateway, { services: localVpn({ asn: through }) })
  const second = await anUp({}, remote)
  const learned = await learnedBy(second)
  assert.ok(learned.some(isInterior) && !learned.includes(passed.prefix))
  await removed(app, second)
  await changed(app, localGateway, { services: localVpn({ asn: 65010 }) })
})

test('what overlaps networks of the VPC is neither learned from inside the local site nor from the remote one', async () => {
  const [address, asn] = ['198.51.100.20', 65052] as const
  const remote = await aRemoteVpn(app, address, asn)
  const path = await anUp({}, remote)
  await changed(app, localGateway, hereWith(area('0.0.0.6')))
  await changed(app, `${gateways}/${remote}`, siteOf(address, asn, area('0.0.0.6')))
  assert.ok((await advertisedBy(path)).some(isInterior) && (await learnedBy(path)).some(isInterior))
  const { externallyRoutablePrefixes } = await read(demoVpc('prod'))
  const wide = ['10.160.0.0/11', '10.192.0.0/13'].map(prefix)
  await changed(app, demoVpc('prod'), { externallyRoutablePrefixes: [...externallyRoutablePrefixes, ...wide] })
  assert.ok(![...(await advertisedBy(path)), ...(await learnedBy(path))].some(isInterior))
  await changed(app, demoVpc('prod'), { externallyRoutablePrefixes })
  await changed(app, localGateway, { services: localVpn({ asn: 65010 }) })
})

test('a side learns 250 prefixes of the other one at most, however many are inside its site', async () => {
  const [address, asn] = ['198.51.100.18', 65050] as const
  const remote = await aRemoteVpn(app, address, asn)
  const path = await anUp({}, remote)
  const listed = Array.from({ length: 240 }, (_, index) => `10.90.${index}.0/24`)
  const many = Array.from({ length: 32 }, (_, index) => `10.18.0.${index + 1}`)
  const interior = { ...peers(...many), ...area('0.0.0.5') }
  await changed(
    app,
    `${gateways}/${remote}`,
    siteOf(address, asn, { ...interior, localPrefixList: listed.map(prefix) }),
  )
  const learned = await learnedBy(path)
  assert.deepEqual([learned.length, new Set(learned).size], [250, 250])
  assert.deepEqual(learned.slice(0, 240), listed)
  await changed(app, `${gateways}/${remote}`, siteOf(address, asn, {}))
  await changed(app, localGateway, hereWith(interior))
  const advertised = await advertisedBy(path)
  assert.ok(advertised.length > 100 && advertised.length <= 250, String(advertised.length))
  assert.equal(new Set(advertised).size, advertised.length)
  await changed(app, localGateway, { services: localVpn({ asn: 65010 }) })
})

test('two worlds have the same prefixes for the same names inside a site', async () => {
  const worlds = [app, await startApp({ logLevel: 'silent' })]
  try {
    const found: string[][] = []
    await removeDemoConnection(worlds[1]!)
    await changed(worlds[1]!, localGateway, { services: localVpn({ asn: 65010 }) })
    for (const world of worlds) {
      const remote = await aRemoteVpn(world, '198.51.100.19', 65051)
      await changed(world, `${gateways}/${remote}`, siteOf('198.51.100.19', 65051, { ...peers('10.19.0.1') }))
      const path = await made(world, vpnConnections, connectionTo(remote, 'equal'))
      await world.clock.advance(15_000)
      found.push(texts((await world.call('GET', path)).data.learnedPrefixes))
    }
    assert.ok(found[0]!.some(isInterior))
    assert.deepEqual(found[1], found[0])
  } finally {
    await worlds[1]!.close()
  }
})

test('passwords of eBGP have to be equal on both gateways, and no answer, task or fact has a secret', async () => {
  const remote = await aRemoteVpn(app, '198.51.100.13', 65046, { password: 'ebgp-secret-1' })
  const path = await anUp({ ipsecConfig: { preSharedKey: 'tunnel-secret-1' } }, remote)
  assert.deepEqual((await read(path)).ebgpStatus, { state: 'DOWN', message: 'Active: authentication failed' })
  await changed(app, localGateway, { services: localVpn({ asn: 65010, password: 'ebgp-secret-1' }) })
  await app.clock.advance(5000)
  assert.equal((await read(path)).ebgpStatus.state, 'UP')
  const shown = [await read(path), await app.call('GET', vpnConnections), await app.store.find(Task)]
  const facts = [...tunnelFacts(app.world).tunnels.all().values()]
  assert.ok(!/(ebgp|tunnel)-secret/.test(JSON.stringify([...shown, facts])))
})

test('a tunnel whose peer has another key stays down and says why, and neither key shows', async () => {
  const path = await anUp({ ipsecConfig: { preSharedKey: 'tunnel-secret-3' } })
  const peer = { connection: 'to a branch' }
  await happen(app, { type: 'VPN_PEER_CHANGES_KEY', ...peer })
  for (const minutes of [0, 1, 10, 60]) {
    await app.clock.advance(minutes * 60_000)
    assert.equal(await tunnel(path), 'DOWN authentication failed')
  }
  await changed(app, path, { description: 'the key is left out' })
  await app.clock.advance(60_000)
  const { ebgpStatus, learnedPrefixes, ...shown } = await read(path)
  assert.deepEqual([ebgpStatus, learnedPrefixes], [{ state: 'DOWN', message: 'Idle' }, []])
  const configs = `${path}/vpn-vendor-configs`
  const [{ extId: device }] = await read(configs)
  const { data: events } = await app.call('GET', '/control/v1/worlds/default/events')
  const everything = [shown, await read(vpnConnections), await read(`${configs}/${device}`), events]
  const facts = await factsById(app)
  const text = JSON.stringify([...everything, await app.store.find(Task), [...facts].map(([, each]) => [...each])])
  assert.ok(text.includes('authentication failed') && text.includes('VPN_PEER_CHANGES_KEY'))
  assert.ok(!/tunnel-secret|preSharedKey"/.test(text))
  await happen(app, { type: 'VPN_PEER_RESTORES_KEY', ...peer })
  await app.clock.advance(10_000)
  assert.equal(await tunnel(path), 'UP')
})

for (const step of ['create tunnel interface', 'install IPsec policy', 'configure routing'])
  test(`a creation that fails at "${step}" leaves neither a row nor a tunnel, and can be repeated`, async () => {
    failing = `networking.create-vpn-connection ${step}`
    const task = await app.task(await create('fails'))
    assert.equal(task.status, 'FAILED')
    assert.ok(task.errorMessages.length > 0)
    assert.equal(tunnelFacts(app.world).tunnels.all().size, 0)
    assert.deepEqual((await app.call('GET', vpnConnections)).total, 0)
    failing = undefined
    await made(app, vpnConnections, connectionTo(branch, 'fails'))
  })

test('an update that fails restores tunnel and addresses, and releases the addresses that it claimed', async () => {
  const path = await anUp()
  const before = await read(path)
  const { security, routing, local } = tunnelFacts(app.world).tunnels.get(path.slice(-36))!
  failing = 'networking.update-vpn-connection configure routing'
  const ipsecConfig = { ...before.ipsecConfig, localVtiIp: ip('10.9.9.1'), remoteVtiIp: ip('10.9.9.2') }
  const changes = {
    name: 'other',
    dynamicRoutePriority: 20,
    ipsecConfig: { ...ipsecConfig, preSharedKey: 'another-key' },
  }
  assert.equal((await app.task(await put(app, path, changes))).status, 'FAILED')
  failing = undefined
  const after = tunnelFacts(app.world).tunnels.get(path.slice(-36))!
  assert.deepEqual([after.security, after.routing, after.local], [security, routing, local])
  await app.clock.advance(15_000)
  const { ebgpStatus, ipsecTunnelStatus, ...kept } = await read(path)
  assert.deepEqual([kept.name, kept.ipsecConfig, ipsecTunnelStatus.state], [before.name, before.ipsecConfig, 'UP'])
  await changed(app, path, changes)
  assert.equal((await read(path)).ipsecConfig.localVtiIp.ipv4.value, '10.9.9.1')
})

test('a connection that a task changes refuses other changes, and routes while it is deleted', async () => {
  const path = await aConnection()
  const deletion = await app.call('DELETE', path, { isAtOnce: true })
  const { data: body, etag } = await app.call('GET', path, { isAtOnce: true })
  const during = [
    await app.call('PUT', path, { body, ifMatch: etag as string, isAtOnce: true }),
    await app.call('DELETE', path, { isAtOnce: true }),
    await app.call('POST', demoRoutes('prod'), { body: through(path, '10.250.0.0/16'), isAtOnce: true }),
  ]
  assert.deepEqual(
    during.map(({ status, errors }) => [status, errors[0]?.code]),
    Array.from({ length: 3 }, () => [409, 'NETWORKING-10072']),
  )
  assert.equal((await app.task(deletion)).status, 'SUCCEEDED')
})

test('a tunnel goes down with the host of its gateway, and negotiates again when the appliance runs on another host', async () => {
  const path = await anUp()
  const host = await hostOfAppliance(app, seedId('gateway/vpn-prod'))
  await happen(app, { type: 'HOST_FAILS', host })
  assert.equal(await tunnel(path), 'DOWN the host of the gateway does not answer')
  await app.clock.advance(5000)
  await app.runner.idle()
  assert.equal((await read(localGateway)).status.state, 'UP')
  assert.equal(await tunnel(path), 'DOWN negotiating')
  await app.clock.advance(15_000)
  assert.equal(await tunnel(path), 'UP')
  await happen(app, { type: 'HOST_RETURNS', host })
})

test('a gateway has 20 connections at most', async () => {
  const small = await startApp({ limits: { vpnConnectionsOfGateway: 1 } })
  try {
    const other = await aRemoteVpn(small, '198.51.100.20')
    const { status, errors } = await small.call('POST', vpnConnections, { body: connectionTo(other, 'second') })
    assert.deepEqual([status, errors[0]!.code], [422, 'NETWORKING-10090'])
  } finally {
    await small.close()
  }
})
