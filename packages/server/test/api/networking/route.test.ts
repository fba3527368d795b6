/** Routes. Source: behaviour networking.md 1.6, 4, 5 (18, 24, 25, 28, 29). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { setPeerSilent } from '../../../src/drivers/simulated/bgp-peers.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import {
  attachedTo,
  aVpc,
  changed,
  demoRoutes,
  demoVpc,
  ip,
  made,
  prefix,
  put,
  removed,
  routesIn,
  throughSubnet,
} from '../../support/vpcs.ts'
import { aUser, grant } from '../iam/people.ts'

const steps = new Steps()
let app: TestApp
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
/** Runs `work` while the task that `start` begins waits before that step. @returns the ended task */
async function during(at: string, start: () => Promise<CallResult>, work: () => Promise<void>): Promise<any> {
  const release = steps.hold(at)
  const started = await start()
  await work()
  release()
  return app.task(started)
}
afterEach(async () => {
  steps.failing = undefined
  await checkInvariants(app)
})
after(() => app.close())

const prod = demoRoutes('prod')
const session = seedId('bgp-session/prod-tor-a')
const bgpRoutes = `/networking/v4.3/config/bgp-sessions/${session}/bgp-routes`
const attachedVpc = (): Promise<string> =>
  aVpc(app, { externalSubnets: [attachedTo('ext-nat'), attachedTo('ext-routed')] })
const listed = async (path: string, filter = ''): Promise<any[]> =>
  (await app.call('GET', `${path}?$limit=100${filter && `&$filter=${encodeURIComponent(filter)}`}`)).data
const refusalOf = async (path: string, body: object) => {
  const { status, errors } = await app.call('POST', path, { body })
  return [status, errors[0]?.code, errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])]
}

test('the demo has a default route through ext-nat, one LOCAL route for each overlay subnet, and the routes of its BGP session', async () => {
  const [fallback] = await listed(prod, "routeType eq 'STATIC'")
  assert.deepEqual(
    [fallback.destination.ipv4.ip.value, fallback.nexthop.nexthopName, fallback.isActive, fallback.priority],
    ['0.0.0.0', 'ext-nat', true, 32768],
  )
  const local = await listed(prod, "routeType eq Networking.Config.RouteType'LOCAL'")
  assert.deepEqual(
    local.map(({ name, priority, isActive, nexthop }) => [name, priority, isActive, nexthop.nexthopName]),
    [
      ['192.168.10.0/24', 65534, true, 'web'],
      ['192.168.20.0/24', 65534, true, 'db'],
    ],
  )
  const dynamic = await listed(prod, "routeType eq 'DYNAMIC'")
  const received = await listed(bgpRoutes, "bgpRouteType eq 'RECEIVED'")
  assert.deepEqual(dynamic.map(({ name }) => name).sort(), received.map(({ name }) => name).sort())
  assert.ok(dynamic.every(({ priority, nexthop }) => priority === 700 && nexthop.nexthopName === '10.44.4.21'))
  // The static default route has the higher priority.
  assert.deepEqual(
    dynamic.filter(({ isActive }) => !isActive).map(({ name }) => name),
    ['0.0.0.0/0'],
  )
})

test('a new VPC with external subnets lists exactly the two static routes that its owner created', async () => {
  const routes = await routesIn(app, await attachedVpc())
  assert.deepEqual(await listed(routes), [])
  const one = await made(app, routes, throughSubnet('0.0.0.0/0', 'ext-nat', { name: 'default' }))
  await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-routed'))
  const [first, second, ...others] = await listed(routes)
  assert.deepEqual(others, [])
  const shown = ({ routeType, priority, isActive, nexthop }: any) => [
    ...[routeType, priority, isActive],
    ...[nexthop.nexthopName, nexthop.nexthopIpAddress.ipv4.value],
  ]
  assert.deepEqual(shown(first), ['STATIC', 32768, true, 'ext-nat', '10.44.3.193'])
  assert.deepEqual(shown(second), ['STATIC', 32768, true, 'ext-routed', '10.44.4.1'])
  assert.equal(first.metadata.ownerReferenceId, first.vpcReference)
  const read = await app.call('GET', one)
  assert.deepEqual(read.data, first)
  assert.ok(read.etag)
})

test('the task of a route names the route and then its VPC', async () => {
  const vpc = await attachedVpc()
  const body = throughSubnet('10.9.0.0/16', 'ext-nat')
  const task = await app.task(await app.call('POST', await routesIn(app, vpc), { body }))
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['networking:config:route', 'networking:config:vpc'],
  )
  assert.deepEqual([task.operation, task.entitiesAffected[1].extId], ['kRouteCreate', vpc.slice(-36)])
})

test('an update of a route needs the ETag, a deletion does not, and a route is 404 under another table', async () => {
  const routes = await routesIn(app, await attachedVpc())
  const path = await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-nat'))
  const moved = await changed(app, path, { destination: prefix('10.8.0.0/16'), name: 'moved' })
  assert.deepEqual([moved.destination.ipv4.ip.value, moved.name, moved.isActive], ['10.8.0.0', 'moved', true])
  const { data } = await app.call('GET', path)
  assert.equal((await app.call('PUT', path, { body: data })).status, 428)
  const elsewhere = `${prod}/${path.slice(-36)}`
  assert.equal((await app.call('GET', elsewhere)).status, 404)
  assert.equal((await app.call('DELETE', elsewhere)).status, 404)
  await removed(app, path)
})

test('filters compare destinations as CIDR text, names of nexthops and activity', async () => {
  assert.equal((await listed(prod, "destination eq '0.0.0.0/0'")).length, 2)
  assert.equal((await listed(prod, "destination eq '0.0.0.0/0' and isActive eq true")).length, 1)
  assert.equal((await listed(prod, "nexthop/nexthopName eq 'web'")).length, 1)
  const sorted = (await app.call('GET', `${prod}?$orderby=priority desc&$limit=1`)).data
  assert.equal(sorted[0].routeType, 'LOCAL')
  assert.equal(sorted[0].destination.cidr, undefined)
})

test('LOCAL and DYNAMIC routes are read by their ids with a tag; changing or deleting them is 409', async () => {
  for (const type of ['LOCAL', 'DYNAMIC']) {
    const [route] = await listed(prod, `routeType eq '${type}'`)
    const path = `${prod}/${route.extId}`
    const read = await app.call('GET', path)
    assert.deepEqual([read.status, read.data], [200, route])
    for (const answer of [await put(app, path, { description: 'mine' }), await app.call('DELETE', path)]) {
      assert.deepEqual([answer.status, answer.errors[0]?.code], [409, 'NETWORKING-10084'])
      assert.match(answer.errors[0]!.message, new RegExp(`is ${type}`))
    }
    assert.equal((await app.call('PUT', path, { body: read.data })).status, 428)
    assert.equal((await app.call('PUT', path, { body: read.data, ifMatch: 'stale' })).status, 412)
  }
})

test('all faults of a route are in one answer', async () => {
  const body = {
    routeType: 'LOCAL',
    routeTableReference: randomUUID(),
    destination: { ipv4: { ip: { value: '10.1.2.3' }, prefixLength: 8 } },
    nexthop: { nexthopType: 'IP_ADDRESS', nexthopReference: randomUUID() },
  }
  assert.deepEqual(await refusalOf(prod, body), [
    400,
    'NETWORKING-10001',
    [
      ...['routeType', 'routeTableReference', 'destination/ipv4/ip/value'],
      ...['nexthop/nexthopReference', 'nexthop/nexthopIpAddress'],
    ],
  ])
  const bare = await refusalOf(prod, { routeType: 'STATIC' })
  assert.deepEqual(bare, [400, 'NETWORKING-10001', ['destination', 'nexthop']])
})

test('nexthops that the VPC cannot reach are refused', async () => {
  const refused = (nexthop: object, more: object = {}) =>
    refusalOf(prod, { routeType: 'STATIC', destination: prefix('10.9.0.0/16'), nexthop, ...more })
  const subnet = (nexthopType: string, name: string, more: object = {}) =>
    refused({ nexthopType, nexthopReference: seedId(`subnet/${name}`), ...more })
  const fault = (path: string) => [400, 'NETWORKING-10001', [path]]
  assert.deepEqual(await subnet('EXTERNAL_SUBNET', 'transit-ext'), fault('nexthop/nexthopReference'))
  assert.deepEqual(await subnet('EXTERNAL_SUBNET', 'web'), fault('nexthop/nexthopReference'))
  assert.deepEqual(await subnet('LOCAL_SUBNET', 'ext-nat'), fault('nexthop/nexthopReference'))
  const other = { nexthopIpAddress: ip('10.44.3.200') }
  assert.deepEqual(await subnet('EXTERNAL_SUBNET', 'ext-nat', other), fault('nexthop/nexthopIpAddress'))
  const address = (value: object) => refused({ nexthopType: 'IP_ADDRESS', nexthopIpAddress: value })
  assert.deepEqual(await address(ip('203.0.113.1')), fault('nexthop/nexthopIpAddress'))
  assert.deepEqual(await address({ ipv6: { value: '2001:db8::1' } }), fault('nexthop/nexthopIpAddress'))
  for (const nexthopType of ['VPN_CONNECTION', 'DIRECT_CONNECT_VIF']) {
    const [status, code] = await refused({ nexthopType, nexthopReference: randomUUID() })
    assert.deepEqual([status, code], [404, 'NETWORKING-10060'])
  }
  const foreign = { vpcReference: seedId('vpc/transit') }
  const nexthop = { nexthopType: 'LOCAL_SUBNET', nexthopReference: seedId('subnet/web') }
  assert.deepEqual(await refused(nexthop, foreign), fault('vpcReference'))
})

test('a subnet or a VPN connection that the caller may not see is not found as a nexthop, and its name appears nowhere', async () => {
  const { extId, as } = await aUser(app)
  for (const filter of [
    { vpc: { '*': { eq: '*' } } },
    { route_table: { '*': { eq: '*' } } },
    { subnet: { uuid: { eq: seedId('subnet/ext-nat') } } },
  ])
    await grant(app, 'VPC Admin', extId, filter)
  const { data } = await app.call('GET', `${prod}?$limit=100`, { as })
  assert.deepEqual(
    new Set(data.map(({ nexthop }: any) => nexthop.nexthopName)),
    new Set(['ext-nat', undefined, '10.44.4.21']),
  )
  const refused = async (destination: string, nexthopReference: string, nexthopType = 'LOCAL_SUBNET') => {
    const nexthop = { nexthopType, nexthopReference }
    const body = { routeType: 'STATIC', destination: prefix(destination), nexthop }
    const { status, errors } = await app.call('POST', prod, { body, as })
    return [status, errors[0]?.code, errors[0]?.argumentsMap?.['attributePath'], errors[0]?.message]
  }
  for (const extId of [seedId('subnet/web'), randomUUID()])
    assert.deepEqual((await refused('10.9.0.0/16', extId)).slice(0, 3), [
      404,
      'NETWORKING-10060',
      'nexthop/nexthopReference',
    ])
  const connection = seedId('vpn-connection/branch-1')
  assert.deepEqual((await refused('10.9.0.0/16', connection, 'VPN_CONNECTION')).slice(0, 2), [404, 'NETWORKING-10060'])
  const nexthop = { nexthopType: 'EXTERNAL_SUBNET', nexthopReference: seedId('subnet/ext-nat') }
  const body = { routeType: 'STATIC', destination: prefix('192.168.10.0/25'), nexthop }
  const covered = await app.call('POST', prod, { body, as })
  assert.equal(covered.status, 409)
  assert.match(covered.errors[0]!.message, /belongs to a subnet of the VPC/)
})

test('a destination inside an overlay subnet is 409, a destination that contains the subnet is accepted', async () => {
  for (const inside of ['192.168.10.0/24', '192.168.10.128/25'])
    assert.deepEqual((await refusalOf(prod, throughSubnet(inside, 'ext-nat'))).slice(0, 2), [409, 'NETWORKING-10071'])
  await removed(app, await made(app, prod, throughSubnet('192.168.0.0/16', 'ext-nat')))
})

test('of two requests for the same destination and nexthop one succeeds; an update claims its new values at once, and releases the old ones when it ends', async () => {
  const routes = await routesIn(app, await attachedVpc())
  const body = throughSubnet('10.9.0.0/16', 'ext-nat')
  const answers = await Promise.all([1, 2].map(() => app.call('POST', routes, { body })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  await app.task(answers.find(({ status }) => status === 202)!)
  const other = await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-routed'))
  const nexthop = { nexthopType: 'EXTERNAL_SUBNET', nexthopReference: seedId('subnet/ext-nat') }
  assert.equal((await put(app, other, { nexthop })).status, 409)
  const moved = throughSubnet('10.7.0.0/16', 'ext-routed')
  const change = () => put(app, other, { destination: prefix('10.7.0.0/16') })
  const task = await during('networking.update-route replace route', change, async () => {
    assert.equal((await put(app, other)).errors[0]?.code, 'NETWORKING-10072')
    assert.equal((await refusalOf(routes, moved))[0], 409)
  })
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal((await refusalOf(routes, moved))[0], 409)
  await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-routed'))
})

test('of two routes with one destination the older forwards, and the younger takes over after it is deleted', async () => {
  const routes = await routesIn(app, await attachedVpc())
  const older = await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-nat'))
  await app.clock.advance(1000)
  const younger = await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-routed'))
  const active = async (path: string): Promise<boolean> => (await app.call('GET', path)).data.isActive
  assert.deepEqual([await active(older), await active(younger)], [true, false])
  const tag = (await app.call('GET', younger)).etag
  await removed(app, older)
  const taken = await app.call('GET', younger)
  assert.deepEqual([taken.data.isActive, taken.etag], [true, tag])
})

test('while the static default route is gone the route of the BGP session forwards', async () => {
  const vpc = demoVpc('prod')
  const [fallback] = await listed(prod, "routeType eq 'STATIC'")
  const active = async () =>
    (await listed(prod, "destination eq '0.0.0.0/0' and isActive eq true")).map(({ routeType }) => routeType)
  await removed(app, `${prod}/${fallback.extId}`)
  assert.deepEqual(await active(), ['DYNAMIC'])
  await made(app, await routesIn(app, vpc), throughSubnet('0.0.0.0/0', 'ext-nat'))
  assert.deepEqual(await active(), ['STATIC'])
})

test('the DYNAMIC routes of a session are removed when its peer falls silent, and return with the same ids; static routes stay', async () => {
  const idsOf = async (type: string) => (await listed(prod, `routeType eq '${type}'`)).map(({ extId }) => extId)
  const [dynamic, fixed] = [await idsOf('DYNAMIC'), await idsOf('STATIC')]
  assert.ok(dynamic.length > 0)
  await setPeerSilent(app.world, session, true)
  await app.clock.advance(90_000)
  assert.deepEqual([await idsOf('DYNAMIC'), await idsOf('STATIC')], [[], fixed])
  await setPeerSilent(app.world, session, false)
  await app.clock.advance(10_000)
  assert.deepEqual(await idsOf('DYNAMIC'), dynamic)
})

test('a detached external subnet is refused while a route uses it, also one with an address in it', async () => {
  const vpc = await attachedVpc()
  const routes = await routesIn(app, vpc)
  const nexthop = { nexthopType: 'IP_ADDRESS', nexthopIpAddress: ip('10.44.4.9') }
  const path = await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-nat', { name: 'to a rack', nexthop }))
  const detach = () => put(app, vpc, { externalSubnets: [attachedTo('ext-nat')] })
  const refused = await detach()
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'NETWORKING-10070'])
  assert.match(refused.errors[0]!.message, /route to a rack/)
  await removed(app, path)
  const task = await during('networking.update-vpc attach external subnets', detach, async () => {
    const [status] = await refusalOf(routes, throughSubnet('10.9.0.0/16', 'ext-routed'))
    assert.equal(status, 400, 'no new route uses the attachment that goes')
  })
  assert.equal(task.status, 'SUCCEEDED')
})

test('routes are deleted with their VPC, but not while a task changes one', async () => {
  const vpc = await attachedVpc()
  const routes = await routesIn(app, vpc)
  await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-nat'))
  const create = () => app.call('POST', routes, { body: throughSubnet('10.8.0.0/16', 'ext-nat') })
  await during('networking.create-route install route', create, async () => {
    const [one, two] = await listed(routes)
    assert.deepEqual([one.isActive, two.isActive], [true, false])
    assert.equal((await app.call('DELETE', vpc)).errors[0]?.code, 'NETWORKING-10072')
  })
  await removed(app, vpc)
  assert.equal((await app.call('GET', routes)).status, 404)
})

test('a creation that fails leaves no row, no fact and no claim on the destination', async () => {
  const routes = await routesIn(app, await attachedVpc())
  const body = throughSubnet('10.9.0.0/16', 'ext-nat')
  steps.failing = 'networking.create-route install route'
  assert.equal((await app.task(await app.call('POST', routes, { body }))).status, 'FAILED')
  steps.failing = undefined
  assert.deepEqual(await listed(routes), [])
  await made(app, routes, body)
})

test('an update that fails keeps the old route, and releases the new destination', async () => {
  const routes = await routesIn(app, await attachedVpc())
  const path = await made(app, routes, throughSubnet('10.9.0.0/16', 'ext-nat'))
  const before = (await app.call('GET', path)).data
  steps.failing = 'networking.update-route replace route'
  assert.equal((await app.task(await put(app, path, { destination: prefix('10.8.0.0/16') }))).status, 'FAILED')
  steps.failing = undefined
  assert.deepEqual((await app.call('GET', path)).data, before)
  await made(app, routes, throughSubnet('10.8.0.0/16', 'ext-nat'))
})
