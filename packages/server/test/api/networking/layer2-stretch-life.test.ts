/** Status, learned addresses and statistics of stretches over time. Source: behaviour networking.md 1.9, 1.12, 3.3, 3.4. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { hostOfAppliance } from '../../kinds/networking/gateway.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  demoStretch,
  localSide,
  macsOf,
  remoteSide,
  statsOf,
  stretchBody,
  stretches,
  unstretched,
  vpnBody,
} from '../../support/stretches.ts'
import { made, removed, routingPolicies } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo({ logLevel: 'silent' })
})
after(() => app.close())

const gateways = '/networking/v4.3/config/gateways'
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const seconds = (count: number): Promise<unknown> => app.clock.advance(count * 1000)
const statusOf = async (path: string): Promise<unknown[]> => {
  const { stretchStatus, highAvailabilityStatus } = await read(path)
  return [stretchStatus.interfaceState, stretchStatus.tunnelState, highAvailabilityStatus.state]
}
const macs = async (path: string, macType: string): Promise<any[]> =>
  read(`${macsOf(path)}?$filter=macType eq '${macType}'`)
const measured = async (path: string, from: number, to: number, more = ''): Promise<any> => {
  const [start, end] = [from, to].map((at) => new Date(at).toISOString())
  return app.call('GET', `${statsOf(path)}?$startTime=${start}&$endTime=${end}${more}`)
}
const up = ['UP', 'UP', 'NORMAL']

test('the demo has a stretch that is UP, with three learned addresses, and its remote gateway is UP', async () => {
  assert.deepEqual(await statusOf(demoStretch), up)
  const { remoteStretchStatus, stretchStatus } = await read(demoStretch)
  const { roundTripTimeMillis } = stretchStatus
  assert.ok(roundTripTimeMillis >= 2 && roundTripTimeMillis <= 83, roundTripTimeMillis)
  assert.equal(remoteStretchStatus.length, 1)
  assert.equal((await read(`${gateways}/${seedId('gateway/vtep-dr')}`)).status.state, 'UP')

  const learned = await macs(demoStretch, 'LEARNED')
  assert.equal(learned.length, 3)
  for (const { remoteGatewayReference, vtepIPAddress } of learned)
    assert.deepEqual([remoteGatewayReference, vtepIPAddress.ipv4.value], [seedId('gateway/vtep-dr'), '10.46.1.30'])
  const local = await macs(demoStretch, 'AUTO_ASSIGNED')
  const nics = await read(`/networking/v4.3/config/subnets/${seedId('subnet/web')}/vnics`)
  assert.deepEqual(
    local.map(({ value }) => value),
    nics.map(({ macAddress }: any) => macAddress),
  )
  const one = learned[0]
  assert.deepEqual(await read(`${macsOf(demoStretch)}/${one.extId}`), one)
  const ordered = await read(`${macsOf(demoStretch)}?$orderby=value desc`)
  assert.deepEqual(
    ordered.map(({ value }: any) => value),
    ordered
      .map(({ value }: any) => value)
      .toSorted()
      .toReversed(),
  )
  assert.equal((await app.call('GET', `${macsOf(demoStretch)}/${seedId('vm/web-01')}`)).status, 404)
})

test('a remote site that is cut off takes the tunnel down; its addresses age out 300 s after the last frame, and return with the site', async () => {
  await happen(app, { type: 'REMOTE_CUT_OFF', remote: 'dr-site' })
  const { stretchStatus } = await read(demoStretch)
  assert.deepEqual(
    [stretchStatus.interfaceState, stretchStatus.tunnelState, stretchStatus.detail, stretchStatus.roundTripTimeMillis],
    ['UP', 'DOWN', 'the remote site does not answer', undefined],
  )
  assert.equal((await read(`${gateways}/${seedId('gateway/vtep-dr')}`)).status.state, 'DOWN')
  await seconds(299)
  assert.equal((await macs(demoStretch, 'LEARNED')).length, 3)
  await seconds(1)
  assert.equal((await macs(demoStretch, 'LEARNED')).length, 0)
  assert.equal((await macs(demoStretch, 'AUTO_ASSIGNED')).length, 3)

  await happen(app, { type: 'REMOTE_RETURNS', remote: 'dr-site' })
  await seconds(4)
  assert.deepEqual(await statusOf(demoStretch), ['UP', 'DOWN', 'NORMAL'])
  await seconds(11)
  assert.deepEqual(await statusOf(demoStretch), up)
  assert.equal((await macs(demoStretch, 'LEARNED')).length, 3)
  await checkInvariants(app)
})

test('a stretch whose local gateway has no peer is down until the gateway runs on another host', async () => {
  const host = await hostOfAppliance(app, seedId('gateway/vtep-prod'))
  await happen(app, { type: 'HOST_FAILS', host })
  assert.deepEqual(await statusOf(demoStretch), ['DOWN', 'DOWN', 'FAILOVER_FAILED'])
  const { highAvailabilityStatus, stretchStatus } = await read(demoStretch)
  assert.match(highAvailabilityStatus.errorDetails, /no peered gateway/)
  assert.equal(stretchStatus.detail, 'the host of the gateway does not answer')
  await seconds(180)
  assert.deepEqual(await statusOf(demoStretch), up)
  await happen(app, { type: 'HOST_RETURNS', host })
  await seconds(60)
  assert.deepEqual(await statusOf(demoStretch), up)
})

test('a peered gateway takes over in 3 to 10 s, and keeps the frames', async () => {
  await unstretched(app)
  const highAvailabilityGroup = { isHaEnabled: true, algorithm: 'ACTIVE_BACKUP' }
  const vtep = (name: string): object => ({
    name,
    vpcReference: seedId('vpc/prod'),
    services: { $objectType: 'networking.v4.config.LocalNetworkServices', localVtepService: { vxlanPort: 4789 } },
    highAvailabilityGroup,
  })
  const first = await made(app, gateways, vtep('vtep-1'))
  const connectionReference = first.slice(-36)
  const body = stretchBody('paired', { localSiteParams: localSide({ connectionReference }) })
  const path = await made(app, stretches, body)
  await seconds(60)
  assert.equal((await read(first)).highAvailabilityGroup.peeredGateways, undefined)
  const second = await made(app, gateways, vtep('vtep-2'))
  await seconds(60)
  const peersOf = ({ highAvailabilityGroup }: any): unknown[] =>
    highAvailabilityGroup.peeredGateways.map(({ extId, status }: any) => [extId, status.state])
  assert.deepEqual(peersOf(await read(first)), [[second.slice(-36), 'UP']])
  assert.deepEqual(peersOf(await read(second)), [[connectionReference, 'UP']])
  assert.deepEqual(peersOf((await read(path)).localSiteParams), [[second.slice(-36), 'UP']])
  assert.deepEqual(await statusOf(path), up)

  const hosts = [await hostOfAppliance(app, connectionReference), await hostOfAppliance(app, second.slice(-36))]
  assert.notEqual(hosts[0], hosts[1])
  await happen(app, { type: 'HOST_FAILS', host: hosts[0]! })
  assert.deepEqual(await statusOf(path), ['DOWN', 'DOWN', 'FAILOVER_IN_PROGRESS'])
  await seconds(2)
  assert.deepEqual(await statusOf(path), ['DOWN', 'DOWN', 'FAILOVER_IN_PROGRESS'])
  await seconds(8)
  assert.deepEqual(await statusOf(path), up)
  await seconds(180)
  await happen(app, { type: 'HOST_RETURNS', host: hosts[0]! })
  assert.deepEqual(await statusOf(path), up)
  for (const each of [path, second, first]) await removed(app, each)
})

test('a stretch that forbids failover has no peers', async () => {
  const body = stretchBody('alone', {
    localSiteParams: localSide({ highAvailabilityGroup: { isHaEnabled: false } }),
    remoteSiteParams: remoteSide(),
  })
  const path = await made(app, stretches, body)
  assert.deepEqual((await read(path)).localSiteParams.highAvailabilityGroup, { isHaEnabled: false })
  assert.deepEqual(await statusOf(path), ['DOWN', 'DOWN', 'NORMAL'])
  await seconds(4)
  assert.equal((await read(path)).stretchStatus.detail, 'the tunnel is being set up')
  await seconds(11)
  assert.deepEqual(await statusOf(path), up)
  await removed(app, path)
})

test('a stretch through a VPN connection is down while its tunnel is: after a silent peer, and after a failed gateway', async () => {
  const path = await made(app, stretches, vpnBody('through-vpn'))
  await seconds(15)
  assert.deepEqual(await statusOf(path), up)
  const learned = await macs(path, 'LEARNED')
  assert.deepEqual([learned.length, learned[0].vtepIPAddress], [3, undefined])
  await happen(app, { type: 'VPN_PEER_FALLS_SILENT', connection: 'branch-1' })
  await seconds(29)
  assert.deepEqual(await statusOf(path), up)
  await seconds(1)
  assert.deepEqual(await statusOf(path), ['DOWN', 'DOWN', 'NORMAL'])
  assert.match((await read(path)).stretchStatus.detail, /dead peer detected/)
  await happen(app, { type: 'VPN_PEER_ANSWERS', connection: 'branch-1' })
  await seconds(40)
  assert.deepEqual(await statusOf(path), up)
  await happen(app, { type: 'VPN_PEER_FALLS_SILENT', connection: 'branch-1' })
  await seconds(10)
  await happen(app, { type: 'VPN_PEER_ANSWERS', connection: 'branch-1' })
  await seconds(60)
  assert.deepEqual(await statusOf(path), up)

  await happen(app, { type: 'HOST_FAILS', host: await hostOfAppliance(app, seedId('gateway/vpn-prod')) })
  assert.deepEqual(await statusOf(path), ['DOWN', 'DOWN', 'NORMAL'])
  await seconds(180)
  assert.deepEqual(await statusOf(path), up)
  await removed(app, path)
  await checkInvariants(app)
})

test('statistics follow the VMs of the subnet, are 0 while the tunnel is down, and are equal in repeated reads', async () => {
  const path = await made(app, stretches, stretchBody('measured'))
  await seconds(90)
  const cut = app.clock.now()
  await happen(app, { type: 'REMOTE_CUT_OFF', remote: 'dr-site' })
  await seconds(120)
  await happen(app, { type: 'REMOTE_RETURNS', remote: 'dr-site' })
  await seconds(120)
  const { data } = await measured(path, cut, app.clock.now())
  const numbers = (texts: readonly string[]): number[] => texts.map(Number)
  for (const series of [data.rtt, data.throughputRxKbps, data.throughputTxKbps]) {
    assert.equal(series.length, 9)
    assert.ok(
      series.every((text: unknown) => typeof text === 'string' && /^\d+(?:\.\d)?$/.test(text)),
      series.join(),
    )
    assert.deepEqual(numbers(series.slice(2, 5)), [0, 0, 0])
    for (const value of [...numbers(series.slice(0, 1)), ...numbers(series.slice(7))])
      assert.ok(value > 0, series.join())
  }
  assert.ok(numbers(data.rtt).every((value) => value <= 83))
  assert.deepEqual((await measured(path, cut, app.clock.now())).data, data)
  const second = await measured(path, cut, app.clock.now(), '&$page=1&$limit=4&$select=rtt')
  assert.deepEqual(second.data, { extId: path.slice(-36), statType: 'LAST', rtt: data.rtt.slice(4, 8) })
  assert.equal((await measured(path, cut, cut)).status, 400)
  await removed(app, path)
  assert.equal((await measured(path, cut, app.clock.now())).status, 404)
})

test('nothing crosses a stretch while policies deny it, in either direction, as traces through it say', async () => {
  const path = await made(app, stretches, stretchBody('denied'))
  await seconds(30)
  const body = { source: { vm: 'web-01' }, destination: { address: '192.168.10.200' }, destinationPort: 443 }
  const crossing = async (): Promise<unknown[]> => {
    const { outcome } = (await app.call('POST', '/control/v1/worlds/default/network/$actions/trace', { body })).data
    await app.clock.advance(60_000 - (app.clock.now() % 30_000))
    const now = app.clock.now()
    const { throughputRxKbps, throughputTxKbps } = (await measured(path, now - 1000, now)).data
    return [outcome, Number(throughputRxKbps) > 0, Number(throughputTxKbps) > 0]
  }
  assert.deepEqual(await crossing(), ['DELIVERED', true, true])
  const any = { addressType: 'ANY' }
  const site = {
    addressType: 'SUBNET',
    subnetPrefix: { ipv4: { ip: { value: '192.168.10.128', prefixLength: 32 }, prefixLength: 25 } },
  }
  for (const [source, destination, outcome] of [
    [any, any, 'DROPPED'],
    [any, site, 'DROPPED'],
    // A trace follows one packet; the answers to it are denied.
    [site, any, 'DELIVERED'],
  ]) {
    const deny = await made(app, routingPolicies, {
      ...{ name: 'nothing-passes', priority: 900, vpcExtId: seedId('vpc/prod') },
      policies: [{ policyMatch: { source, destination, protocolType: 'ANY' }, policyAction: { actionType: 'DENY' } }],
    })
    assert.deepEqual(await crossing(), [outcome, false, false])
    await removed(app, deny)
  }
  await removed(app, path)
})

test('the path of a stretch survives a restart of the service', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'stretches-'))
  const first = await startApp({ folder })
  let shown: unknown
  try {
    await happen(first, { type: 'REMOTE_CUT_OFF', remote: 'dr-site' })
    await first.clock.advance(15_000)
    shown = [(await first.call('GET', demoStretch)).data, (await first.call('GET', macsOf(demoStretch))).data]
  } finally {
    await first.close()
  }
  const second = await startApp({ folder })
  try {
    const read = async () => [
      (await second.call('GET', demoStretch)).data,
      (await second.call('GET', macsOf(demoStretch))).data,
    ]
    assert.deepEqual(await read(), shown)
  } finally {
    await second.close()
    rmSync(folder, { recursive: true })
  }
})
