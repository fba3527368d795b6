/** How packets travel in the demo: `POST .../network/$actions/trace`. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatAddress, isInRange, parsePrefix } from '../../../src/core/ip-address.ts'
import { Flows } from '../../../src/drivers/simulated/flows/flows.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { nicOf } from '../../support/load-balancers.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import {
  demoRoutes,
  floatingIps,
  made,
  prefix,
  removed,
  routingPolicies,
  throughSubnet,
  vpcs,
} from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const path = '/control/v1/worlds/default/network/$actions/trace'
const outside = { address: '198.51.100.7' }
const web = parsePrefix('192.168.10.0/24')!
const vm = (name: string): object => ({ vm: name })
const ask = (source: object, destination: object, more: object = {}): Promise<CallResult> =>
  app.call('POST', path, { body: { source, destination, destinationPort: 443, ...more } })

async function trace(source: object, destination: object, more: object = {}): Promise<any> {
  const { status, data, errors } = await ask(source, destination, more)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
async function end(source: object, destination: object, more: object = {}): Promise<string> {
  const { outcome, reason } = await trace(source, destination, more)
  return `${outcome}: ${reason}`
}
/** Types of the hops, with names of entities. */
const way = ({ hops }: any): string[] =>
  hops.map(({ type, entity }: any) => (entity === undefined ? type : `${type} ${entity.name ?? entity.kind}`))
const denyAll = (priority: number): object => ({
  name: 'nothing-passes',
  priority,
  vpcExtId: seedId('vpc/prod'),
  policies: [
    {
      policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
      policyAction: { actionType: 'DENY' },
    },
  ],
})

test('between VMs of one subnet a policy decides, and no router routes; on a VLAN there is no policy', async () => {
  const found = await trace(vm('web-01'), vm('web-02'))
  const hops = ['NIC web-01', 'SUBNET web', 'POLICY default-policy', 'NIC web-02']
  assert.deepEqual([found.outcome, way(found)], ['DELIVERED', hops])
  const onVlan = await trace(vm('batch-01'), { address: '10.10.100.150' })
  assert.deepEqual(way(onVlan), ['NIC batch-01', 'SUBNET vlan-100-app'])
})

test('between subnets of a VPC the router decides by policy and route', async () => {
  const found = await trace(vm('web-01'), vm('db-01'), { destinationPort: 5432 })
  assert.equal(found.outcome, 'DELIVERED')
  const hops = [
    'NIC web-01',
    'SUBNET web',
    'ROUTER prod',
    'POLICY default-policy',
    'ROUTE db',
    'SUBNET db',
    'NIC db-01',
  ]
  assert.deepEqual(way(found), hops)
})

test('on its way out the source of a packet is translated to an address of the VPC', async () => {
  const found = await trace(vm('web-02'), outside)
  const hops = ['ROUTE default', 'NAT ext-nat', 'SUBNET ext-nat', 'EXTERNAL_NETWORK']
  assert.deepEqual([found.outcome, way(found).slice(4)], ['DELIVERED', hops])
  const { data } = await app.call('GET', `${vpcs}/${seedId('vpc/prod')}`)
  assert.equal(found.hops.at(-1).sourceAddress, data.snatIps[0].ipv4.value)
})

test('a policy that denies is named as what drops the packet', async () => {
  const found = await trace(vm('db-01'), outside)
  assert.deepEqual([found.outcome, way(found).at(-1)], ['DROPPED', 'POLICY db-stays-inside'])
  assert.match(found.reason, /priority 100/)
})

test('a floating IP lets packets in and translates those that leave; without it the reason advises one', async () => {
  assert.match(
    await end(outside, vm('web-02')),
    /^NOT_ROUTABLE: 192\.168\.10\.11 is private.*Give the NIC a floating IP/,
  )
  const nic = { $objectType: 'networking.v4.config.VmNicAssociation', vmNicReference: await nicOf(app, 'web-02') }
  const created = await made(app, floatingIps, {
    ...{ name: 'web-2', externalSubnetReference: seedId('subnet/ext-nat'), association: nic },
  })
  const address = (await app.call('GET', created)).data.floatingIpValue
  const incoming = await trace(outside, { address })
  const hops = ['FLOATING_IP web-2', 'ROUTER prod', 'POLICY default-policy', 'ROUTE web', 'SUBNET web', 'NIC web-02']
  assert.deepEqual([incoming.outcome, way(incoming).slice(-6)], ['DELIVERED', hops])
  assert.equal((await trace(vm('web-02'), outside)).hops.at(-1).sourceAddress, address)
  assert.match(await end(outside, vm('web-02')), new RegExp(`Send to its floating IP ${address}`))
  await removed(app, created)
  assert.match(await end(outside, { address }), /^DROPPED: no port of the subnet has the address/)
})

test('a load balancer chooses a healthy target, always the same for one connection, and drops without one', async () => {
  const virtualIp = { address: '192.168.10.5' }
  const found = await trace(vm('db-01'), virtualIp)
  assert.equal(found.outcome, 'DELIVERED')
  assert.deepEqual(way(await trace(vm('db-01'), virtualIp)), way(found))
  const targets = new Set<string>()
  for (let sourcePort = 40_000; sourcePort < 40_020; sourcePort++)
    targets.add(way(await trace(vm('db-01'), virtualIp, { sourcePort })).at(-1) as string)
  assert.deepEqual([...targets].sort(), ['NIC web-01', 'NIC web-02'])
  assert.match(
    await end(vm('db-01'), virtualIp, { destinationPort: 444 }),
    /^DROPPED: .*does not listen on TCP port 444/,
  )
  for (const name of ['web-01', 'web-02']) await happen(app, { type: 'GUEST_PORT_CLOSES', vm: name, port: 443 })
  await app.clock.advance(60_000)
  assert.equal(await end(vm('db-01'), virtualIp), 'DROPPED: the load balancer has no healthy target')
  assert.match(await end(vm('db-01'), vm('web-01')), /^DROPPED: no service of the VM web-01 answers on 443/)
  for (const name of ['web-01', 'web-02']) await happen(app, { type: 'GUEST_PORT_OPENS', vm: name, port: 443 })
  await app.clock.advance(60_000)
  assert.match(await end(vm('db-01'), virtualIp), /^DELIVERED/)
})

test('a VM that is off, and one whose guest hangs, neither send nor get packets', async () => {
  assert.match(await end(vm('template-source'), vm('batch-01')), /^DROPPED: the VM template-source is off/)
  await happen(app, { type: 'GUEST_HANGS', vm: 'web-02' })
  assert.match(await end(vm('web-01'), vm('web-02')), /^DROPPED: the guest of the VM web-02 hangs/)
  assert.match(await end(vm('web-02'), vm('web-01')), /^DROPPED: the guest of the VM web-02 hangs/)
  await happen(app, { type: 'GUEST_RECOVERS', vm: 'web-02' })
  assert.match(await end(vm('web-01'), vm('web-02')), /^DELIVERED/)
})

test('without a route, or with one whose nexthop does not work, the reason says so', async () => {
  const host = { address: '203.0.113.9' }
  const fresh = await made(app, vpcs, {
    ...{ name: 'fresh', externalSubnets: [{ subnetReference: seedId('subnet/ext-nat') }] },
  })
  const inside = { address: '172.16.0.9', vpc: 'fresh' }
  assert.equal(await end(inside, host), 'NOT_ROUTABLE: the VPC has no route to 203.0.113.9')
  await removed(app, fresh)
  const more = throughSubnet('203.0.113.0/24', 'ext-routed')
  const route = await made(app, demoRoutes('prod'), more)
  assert.match(
    await end(vm('web-01'), host),
    /^DROPPED: the source 192\.168\.10\.10 is in no externally routable prefix/,
  )
  assert.match(await end(vm('db-01'), host), /^DROPPED: a routing policy with priority 100/)
  await removed(app, route)
})

test('a route into a VPN tunnel carries packets while the tunnel is up', async () => {
  const branch = { address: '172.20.0.9' }
  const route = await made(app, demoRoutes('prod'), {
    ...{ routeType: 'STATIC', destination: prefix('172.20.0.0/16') },
    nexthop: { nexthopType: 'VPN_CONNECTION', nexthopReference: seedId('vpn-connection/branch-1') },
  })
  const found = await trace(vm('web-01'), branch)
  assert.deepEqual([found.outcome, way(found).at(-1)], ['DELIVERED', 'TUNNEL branch-1'])
  await happen(app, { type: 'VPN_PEER_FALLS_SILENT', connection: 'branch-1' })
  await app.clock.advance(60_000)
  const without = await trace(vm('web-01'), branch)
  assert.ok(way(without).includes('ROUTE default'), 'the default route takes over')
  await happen(app, { type: 'VPN_PEER_ANSWERS', connection: 'branch-1' })
  await app.clock.advance(60_000)
  assert.equal(way(await trace(vm('web-01'), branch)).at(-1), 'TUNNEL branch-1')
  await removed(app, route)
})

test('on a stretched subnet, packets to an address that no local NIC has go to the remote site while the stretch is up', async () => {
  const remote = { address: '192.168.10.200' }
  const found = await trace(vm('web-01'), remote)
  const hops = ['NIC web-01', 'SUBNET web', 'POLICY default-policy', 'TUNNEL web-stretch']
  assert.deepEqual([found.outcome, way(found)], ['DELIVERED', hops])
  await happen(app, { type: 'REMOTE_CUT_OFF', remote: 'dr-site' })
  await app.clock.advance(60_000)
  assert.match(await end(vm('web-01'), remote), /^DROPPED: .*its layer-2 stretch is down/)
  await happen(app, { type: 'REMOTE_RETURNS', remote: 'dr-site' })
  await app.clock.advance(60_000)
  assert.match(await end(vm('web-01'), remote), /^DELIVERED/)
})

test('an externally routable prefix is reached from outside without translation', async () => {
  const found = await trace(outside, vm('db-01'), { destinationPort: 5432 })
  assert.equal(found.outcome, 'DELIVERED')
  assert.equal(found.hops.at(-1).sourceAddress, outside.address)
})

test('a new policy applies to the next trace, until it is deleted', async () => {
  const policy = await made(app, routingPolicies, denyAll(900))
  assert.match(await end(vm('web-01'), vm('db-01')), /^DROPPED: a routing policy with priority 900/)
  assert.match(await end(vm('web-01'), vm('floating-01')), /^DROPPED: a routing policy with priority 900/)
  await removed(app, policy)
  assert.match(await end(vm('web-01'), vm('db-01')), /^DELIVERED/)
})

/** Compares a trace with each flow of the VPC. @returns whether each flow within the subnet `web` arrives */
async function compareWithFlows(): Promise<readonly boolean[]> {
  await app.clock.advance(120_000)
  const time = app.clock.now() - (app.clock.now() % 30_000)
  const within: boolean[] = []
  const expected: [object, object, boolean][] = []
  new Flows(app.world)
    .tableAt(seedId('vpc/prod'), time)!
    .visit(time / 1000, ({ kind, source, destination, decision }) => {
      if (kind === 'ingress') return
      if ([source, destination].every(({ address }) => isInRange(web, address.value))) within.push(decision.arrives)
      const to =
        destination.nicExtId === undefined
          ? { address: formatAddress(destination.address) }
          : { nicExtId: destination.nicExtId }
      expected.push([{ nicExtId: source.nicExtId }, { ...to, port: destination.port }, decision.arrives])
    })
  assert.ok(expected.length >= 4)
  for (const [source, { port, ...to }, arrives] of expected as any[]) {
    const found = await trace(source, to, { destinationPort: port })
    assert.equal(found.outcome === 'DELIVERED', arrives, JSON.stringify([source, to, found]))
  }
  return within
}

test('traces agree with the flows of which statistics and counters are sums, also within a subnet', async () => {
  const before = await compareWithFlows()
  assert.ok(before.length > 0 && before.every((arrives) => arrives))
  const policy = await made(app, routingPolicies, denyAll(900))
  const denied = await compareWithFlows()
  assert.ok(denied.length > 0 && denied.every((arrives) => !arrives))
  await removed(app, policy)
})

test('faults of a request are found together, and unknown names suggest others', async () => {
  const { status, errors } = await ask(
    { vm: 'web-01', vpc: 'prod' },
    { address: '10.0.0.300' },
    { destinationPort: undefined },
  )
  assert.equal(status, 400)
  const paths = errors.map(({ argumentsMap }: any) => argumentsMap.attributePath)
  assert.deepEqual(paths.sort(), ['destination/address', 'destinationPort', 'source/vpc'])
  const unknown = await ask(vm('web-1'), outside)
  assert.equal(unknown.status, 404)
  assert.match(unknown.errors?.[0]?.message ?? '', /web-01/)
  assert.equal((await ask(vm('web-01'), outside, { protocol: 'ICMP' })).status, 400)
  assert.match(await end(vm('web-01'), { address: '2001:db8::1' }), /no hop translates between IPv4 and IPv6/)
})
