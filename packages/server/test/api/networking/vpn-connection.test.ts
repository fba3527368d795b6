/** Creating, changing and deleting VPN connections, and their tunnels. Source: behaviour networking.md 1.6, 1.11, 3.4. */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Task } from '@hyperplane/contract/platform/task'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { setTunnelFault, tunnelFacts } from '../../../src/drivers/simulated/vpn-state.ts'
import { hostOfAppliance } from '../../kinds/networking/gateway.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { changed, demoRoutes, ip, made, prefix, put, removed } from '../../support/vpcs.ts'
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
  const texts = (list: any[]): string[] => list.map(({ ipv4 }) => `${ipv4.ip.value}/${ipv4.prefixLength}`)
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
