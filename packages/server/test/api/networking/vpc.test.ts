/** VPCs. Source: behaviour networking.md 1.1, 1.5, 4, 5 (17, 18, 20, 21, 23). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatAddress } from '../../../src/core/ip-address.ts'
import { addressOfLease, release } from '../../../src/domains/addressing/leases.ts'
import type { DhcpService } from '../../../src/drivers/network-fabric.ts'
import { routingFacts } from '../../../src/drivers/simulated/virtual-routing.ts'
import { hostId } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { assign, demoSubnet, ipConfigOf, reserve, subnets, usageOf } from '../../support/subnets.ts'
import {
  attachedTo,
  aVpc,
  changed,
  demoVpc,
  ip,
  made,
  prefix,
  put,
  removed,
  routeTables,
  routingPolicies,
  vpcs,
} from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const create = (body: object): Promise<CallResult> => app.call('POST', vpcs, { body: { name: 'test', ...body } })
const idOf = (path: string): string => path.slice(-36)
const pathsOf = (result: CallResult): (string | undefined)[] =>
  result.errors.map((error) => error.argumentsMap?.['attributePath'])
const groupOf = (result: CallResult): unknown[] => [result.status, result.errors[0]?.errorGroup]
/** Name servers that DHCP hands to guests of the subnet. */
const nameServersGiven = (subnetExtId: string): unknown => {
  const service = app.world.collection<DhcpService>('fabric.dhcp').get(subnetExtId)
  const ofRouter = routingFacts(app.world).routers.get(service?.vpcExtId ?? '')?.program.domainNameServers
  return service?.options['domainNameServers'] ?? ofRouter
}
const overlay = (vpc: string, body: object = {}): object => ({
  name: 'overlay',
  subnetType: 'OVERLAY',
  vpcReference: idOf(vpc),
  ipConfig: ipConfigOf({ ipv4: '172.16.0.0/24', pools: [['172.16.0.10', '172.16.0.20']] }),
  ...body,
})

test('the demo has three VPCs, of which prod is attached to two external subnets, one with NAT', async () => {
  const { data, total } = await app.call('GET', `${vpcs}?$orderby=name`)
  assert.equal(total, 3)
  assert.deepEqual(
    data.map(({ name, vpcType }: any) => [name, vpcType]),
    [
      ['prod', 'REGULAR'],
      ['tenant-a', 'REGULAR'],
      ['transit', 'TRANSIT'],
    ],
  )
  const { externalSubnets, snatIps, change } = data[0]
  assert.deepEqual(snatIps, externalSubnets[0].externalIps)
  assert.equal(externalSubnets.length, 2)
  assert.equal(externalSubnets[0].activeGatewayNodes.length, 1)
  assert.match(externalSubnets[0].activeGatewayNodes[0].nodeIpAddress.ipv4.value, /^10\.44\.1\.2[1-4]$/)
  assert.equal(change, undefined)
  const selected = await app.call('GET', `${vpcs}?$select=name,snatIps&$filter=vpcType eq 'TRANSIT'`)
  assert.deepEqual(Object.keys(selected.data[0]).sort(), ['extId', 'name', 'snatIps'])
})

test('two VPCs may have the same name, and each has exactly one route table by vpcReference', async () => {
  const [one, two] = await Promise.all([aVpc(app), aVpc(app)])
  for (const path of [one, two]) {
    const found = await app.call('GET', `${routeTables}?$filter=vpcReference eq '${idOf(path)}'`)
    assert.equal(found.total, 1)
    assert.equal(found.data[0].vpcReference, idOf(path))
  }
  await Promise.all([removed(app, one), removed(app, two)])
})

test('a VPC is visible at acceptance, with defaults and its owner; its task names it and its subnets', async () => {
  const started = await create({ externalSubnets: [attachedTo('ext-nat'), attachedTo('ext-routed')] })
  assert.equal(started.status, 202)
  assert.equal((await app.call('GET', `${vpcs}?$filter=name eq 'test'`)).total, 1)
  const task = await app.task(started)
  assert.equal(task.operation, 'kVpcCreate')
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel, name]),
    [
      ['networking:config:vpc', 'test'],
      ['networking:config:subnet', 'ext-nat'],
      ['networking:config:subnet', 'ext-routed'],
    ],
  )
  const path = `${vpcs}/${task.entitiesAffected[0].extId}`
  const { data } = await app.call('GET', path)
  assert.deepEqual([data.vpcType, data.metadata.ownerUserName], ['REGULAR', 'admin'])
  assert.equal(data.externalSubnets[0].activeGatewayCount, 1)
  const router = routingFacts(app.world).routers.get(idOf(path))
  assert.deepEqual(router?.translated, [data.snatIps[0].ipv4.value])
  await removed(app, path)
  assert.equal(routingFacts(app.world).routers.get(idOf(path)), undefined)
})

test('a VPC on ext-nat without externalIps gets a pool address, shown in snatIps and counted in numAssignedIPs until the VPC is deleted', async () => {
  const before = await usageOf(app, demoSubnet('ext-nat'))
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] })
  const { snatIps } = (await app.call('GET', path)).data
  assert.match(snatIps[0].ipv4.value, /^10\.44\.3\.(19[4-9]|20\d|21\d|22[0-2])$/)
  const during = await usageOf(app, demoSubnet('ext-nat'))
  assert.deepEqual([during.numAssignedIPs, during.numFreeIPs], [before.numAssignedIPs + 1, before.numFreeIPs - 1])
  await removed(app, path)
  assert.deepEqual(await usageOf(app, demoSubnet('ext-nat')), before)
})

test('requested external addresses are leased and returned in their order; one in use is 409, one outside the subnet is 400', async () => {
  const named = [ip('10.44.3.222'), ip('10.44.3.205')]
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat', { externalIps: named })] })
  const { externalSubnets, snatIps } = (await app.call('GET', path)).data
  assert.deepEqual(externalSubnets[0].externalIps, named)
  assert.deepEqual(snatIps, named)
  const taken = await create({ externalSubnets: [attachedTo('ext-nat', { externalIps: [ip('10.44.3.205')] })] })
  assert.deepEqual(groupOf(taken), [409, 'IP_ADDRESS_UNAVAILABLE'])
  const outside = await create({ externalSubnets: [attachedTo('ext-nat', { externalIps: [ip('10.44.9.1')] })] })
  assert.deepEqual(pathsOf(outside), ['externalSubnets[0]/externalIps[0]'])
  const reserved = await reserve(app, demoSubnet('ext-nat'), { reserveType: 'IP_ADDRESS_LIST', ipAddresses: named })
  assert.deepEqual(groupOf(reserved), [409, 'IP_ADDRESS_UNAVAILABLE'])
  await removed(app, path)
})

test('when two VPCs request one external address at the same time, one succeeds', async () => {
  const body = { externalSubnets: [attachedTo('ext-nat', { externalIps: [ip('10.44.3.221')] })] }
  const answers = await Promise.all([create(body), create(body)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  const task = await app.task(answers.find(({ status }) => status === 202)!)
  await removed(app, `${vpcs}/${task.entitiesAffected[0].extId}`)
})

test('all faults of the body are reported together, each with its path', async () => {
  const refused = await create({
    externalSubnets: [
      attachedTo('ext-nat', { externalIps: [ip('10.44.3.205'), ip('10.44.3.205')] }),
      attachedTo('ext-nat', {
        gatewayNodes: ['a', 'b', 'c'].map((each) => hostId(`hp-n01-${each}`)),
        activeGatewayCount: 4,
      }),
    ],
    externallyRoutablePrefixes: [prefix('10.9.0.0/16'), prefix('10.9.1.0/24'), prefix('10.8.0.1/24'), {}],
    commonDhcpOptions: { domainNameServers: [ip('127.0.0.1')] },
    kubernetesClusters: [{ extId: seedId('k') }, { extId: seedId('k') }],
  })
  assert.equal(refused.status, 400)
  assert.ok(refused.errors.every(({ code }) => code === 'NETWORKING-10001'))
  assert.deepEqual(pathsOf(refused), [
    'externalSubnets[0]/externalIps[1]',
    'externalSubnets[1]/activeGatewayCount',
    'externalSubnets[1]/subnetReference',
    'externallyRoutablePrefixes[1]',
    'externallyRoutablePrefixes[2]/ipv4/ip/value',
    'externallyRoutablePrefixes[3]',
    'commonDhcpOptions/domainNameServers[0]',
    'kubernetesClusters[1]/extId',
  ])
})

test('a VPC can be attached only to external subnets of its type, at most one with NAT and one without', async () => {
  const cases: readonly [body: object, path: string, text: RegExp][] = [
    [{ externalSubnets: [attachedTo('web')] }, 'externalSubnets[0]/subnetReference', /expected an external subnet/],
    [{ externalSubnets: [attachedTo('vlan-100-app')] }, 'externalSubnets[0]/subnetReference', /expected an external/],
    [
      { vpcType: 'TRANSIT', externalSubnets: [attachedTo('transit-ext')] },
      'externalSubnets[0]/subnetReference',
      /expected a VLAN/,
    ],
    [
      { externalSubnets: [attachedTo('ext-nat'), attachedTo('transit-ext')] },
      'externalSubnets[1]/subnetReference',
      /at most one external subnet with NAT/,
    ],
  ]
  for (const [body, path, text] of cases) {
    const refused = await create(body)
    assert.deepEqual([refused.status, ...pathsOf(refused)], [400, path])
    assert.match(refused.errors[0]!.message, text)
  }
  const own = await put(app, demoVpc('transit'), { externalSubnets: [attachedTo('transit-ext')] })
  assert.match(own.errors[0]!.message, /is a subnet of this VPC/)
  const unknown = await create({ externalSubnets: [{ subnetReference: randomUUID() }] })
  assert.deepEqual(groupOf(unknown), [404, 'ENTITY_NOT_FOUND'])
  assert.match(unknown.errors[0]!.message, /^Failed to create VPC test as a referenced resource was not found/)
})

test('externally routable prefixes, name servers and external addresses are returned with the prefix lengths that were sent', async () => {
  const externallyRoutablePrefixes = [{ ipv4: { ip: { value: '172.29.0.0', prefixLength: 16 }, prefixLength: 0 } }]
  const commonDhcpOptions = { domainNameServers: [{ ipv4: { value: '10.0.0.53', prefixLength: 24 } }] }
  const path = await aVpc(app, { externallyRoutablePrefixes, commonDhcpOptions })
  const { data } = await app.call('GET', path)
  assert.deepEqual(data.externallyRoutablePrefixes, externallyRoutablePrefixes)
  assert.deepEqual(data.commonDhcpOptions, commonDhcpOptions)
  assert.deepEqual((await changed(app, path, { commonDhcpOptions: {} })).commonDhcpOptions, {})
})

test('the categories of a VPC are counted as VIRTUAL_NETWORK until the VPC is deleted', async () => {
  const category = `/platform/v4.3/config/categories/${seedId('category/KubernetesCluster/dev')}`
  const counted = async (): Promise<any[]> =>
    (await app.call('GET', `${category}?$expand=associations`)).data.associations ?? []
  const id = idOf(category)
  const path = await aVpc(app, { metadata: { categoryIds: [id, id] } })
  assert.deepEqual((await app.call('GET', path)).data.metadata.categoryIds, [id])
  const [{ resourceType, count }] = (await counted()).filter((each) => each.resourceType === 'VIRTUAL_NETWORK')
  assert.deepEqual([resourceType, count], ['VIRTUAL_NETWORK', 1])
  await changed(app, path, { metadata: {} })
  assert.ok(!(await counted()).some((each) => each.resourceType === 'VIRTUAL_NETWORK'))
  await removed(app, path)
})

test('an update attaches and detaches external subnets: new ports lease addresses, removed ones release theirs, and unchanged ones keep theirs', async () => {
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] })
  const first = (await app.call('GET', path)).data.snatIps
  const started = await put(app, path, { externalSubnets: [attachedTo('ext-nat'), attachedTo('ext-routed')] })
  const task = await app.task(started)
  assert.deepEqual(
    task.entitiesAffected.map(({ name }: any) => name),
    ['test', 'ext-routed'],
  )
  const { data } = await app.call('GET', path)
  assert.deepEqual(data.externalSubnets[0].externalIps, first)
  const held = async (): Promise<string[]> =>
    (await app.store.findWhere(AddressLease, { holderExtId: idOf(path) })).map((lease) =>
      formatAddress(addressOfLease(lease)),
    )
  assert.equal((await held()).length, 2)
  const later = await changed(app, path, { externalSubnets: [attachedTo('ext-routed')] })
  assert.equal(later.snatIps, undefined)
  assert.deepEqual(await held(), [later.externalSubnets[0].externalIps[0].ipv4.value])
  assert.deepEqual(routingFacts(app.world).routers.get(idOf(path))?.translated, [])
  const other = await changed(app, path, {
    externalSubnets: [attachedTo('ext-routed', { externalIps: [ip('10.44.4.77')] })],
  })
  assert.deepEqual(await held(), ['10.44.4.77'])
  assert.equal((await changed(app, path, { name: 'renamed', externalSubnets: other.externalSubnets })).name, 'renamed')
  await removed(app, path)
})

test('a PUT needs the ETag and of two with the same one only one is 202; a DELETE needs no ETag but checks one that is sent', async () => {
  const path = await aVpc(app)
  const { data, etag } = await app.call('GET', path)
  assert.equal((await app.call('PUT', path, { body: data })).status, 428)
  const send = () => app.call('PUT', path, { body: { ...data, description: 'x' }, ifMatch: etag as string })
  const answers = await Promise.all([send(), send()])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 412])
  await app.task(answers.find(({ status }) => status === 202)!)
  assert.equal((await app.call('DELETE', path, { ifMatch: etag as string })).status, 412)
  await removed(app, path)
})

test('the type never changes, and a PUT that leaves it out keeps it', async () => {
  const path = await aVpc(app, { vpcType: 'TRANSIT' })
  const refused = await put(app, path, { vpcType: 'REGULAR' })
  assert.deepEqual(groupOf(refused), [400, 'IMMUTABLE_ATTRIBUTE'])
  assert.equal((await changed(app, path, { vpcType: undefined })).vpcType, 'TRANSIT')
  await removed(app, path)
})

test('while a VPC is being deleted, a second deletion and a new subnet in it are refused as busy', async () => {
  const path = await aVpc(app)
  const deletion = await app.call('DELETE', path)
  const { atOnce } = app
  const busy = [await atOnce.call('DELETE', path), await atOnce.call('POST', subnets, { body: overlay(path) })]
  for (const refused of busy) assert.deepEqual(groupOf(refused), [409, 'ENTITY_BUSY'])
  assert.equal((await app.task(deletion)).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', path)).status, 404)
})

test('a VPC is not deleted while a task creates a routing policy in it', async () => {
  const path = await aVpc(app)
  const any = { addressType: 'ANY' }
  const policies = [
    {
      policyMatch: { source: any, destination: any, protocolType: 'ANY' },
      policyAction: { actionType: 'PERMIT' },
    },
  ]
  const [started, refused] = await Promise.all([
    app.call('POST', routingPolicies, { body: { name: 'p', priority: 10, vpcExtId: idOf(path), policies } }),
    app.call('DELETE', path),
  ])
  assert.deepEqual(groupOf(refused), [409, 'ENTITY_BUSY'])
  const task = await app.task(started)
  await removed(app, path)
  assert.equal((await app.call('GET', `${routingPolicies}/${task.entitiesAffected[0].extId}`)).status, 404)
})

test('deleting a VPC with subnets, floating IPs or gateways is refused naming them, but its route table and policies do not prevent it', async () => {
  const refused = await app.call('DELETE', demoVpc('prod'))
  assert.deepEqual(groupOf(refused), [409, 'ENTITY_IN_USE'])
  // Five are named.
  for (const user of ['floating IP web-1', 'gateway bgp-prod', 'and 2 more'])
    assert.ok(refused.errors[0]!.message.includes(user))
  const transit = await app.call('DELETE', demoVpc('transit'))
  assert.match(transit.errors[0]!.message, /subnet transit-ext/)
  const path = await aVpc(app)
  const subnet = await made(app, subnets, overlay(path))
  assert.deepEqual(groupOf(await app.call('DELETE', path)), [409, 'ENTITY_IN_USE'])
  await removed(app, subnet)
  await removed(app, path)
})

test('a VPC with more than a hundred routing policies is not deleted while it has a subnet', async () => {
  const path = await aVpc(app)
  const subnet = await made(app, subnets, overlay(path))
  const rule = {
    policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
    policyAction: { actionType: 'PERMIT' },
  }
  for (let priority = 10; priority < 115; priority++)
    await made(app, routingPolicies, { name: `p${priority}`, priority, vpcExtId: idOf(path), policies: [rule] })
  const refused = await app.call('DELETE', path)
  assert.deepEqual(groupOf(refused), [409, 'ENTITY_IN_USE'])
  assert.match(refused.errors[0]!.message, /subnet overlay/)
  await removed(app, subnet)
  await removed(app, path)
})

test('an external subnet with an attached VPC can neither be deleted nor change its NAT', async () => {
  const ranges = { ipv4: '10.46.0.0/24', pools: [['10.46.0.10', '10.46.0.20']] } as const
  const subnet = await made(app, subnets, {
    name: 'ext-more',
    subnetType: 'VLAN',
    networkId: 3046,
    isExternal: true,
    ipConfig: ipConfigOf(ranges),
  })
  const path = await aVpc(app, { externalSubnets: [{ subnetReference: idOf(subnet) }] })
  const refused = await app.call('DELETE', subnet)
  assert.match(refused.errors[0]!.message, /VPC test/)
  assert.deepEqual(groupOf(await put(app, subnet, { isNatEnabled: false })), [409, 'ENTITY_IN_USE'])
  await changed(app, path, { externalSubnets: [] })
  await removed(app, subnet)
  await removed(app, path)
})

test('detaching the external subnet of a BGP session is refused naming the session', async () => {
  const refused = await put(app, demoVpc('prod'), { externalSubnets: [attachedTo('ext-nat')] })
  assert.deepEqual(groupOf(refused), [409, 'ENTITY_IN_USE'])
  assert.match(refused.errors[0]!.message, /ext-routed.*BGP session prod-tor-a/)
})

test('the BGP session of a VPC advertises an externally routable prefix after an update adds it', async () => {
  const session = `/networking/v4.3/config/bgp-sessions/${seedId('bgp-session/prod-tor-a')}/bgp-routes`
  const advertised = async (): Promise<string[]> =>
    (await app.call('GET', `${session}?$filter=bgpRouteType eq 'ADVERTISED'`)).data.map(({ name }: any) => name)
  const before = (await app.call('GET', demoVpc('prod'))).data.externallyRoutablePrefixes
  await changed(app, demoVpc('prod'), { externallyRoutablePrefixes: [...before, prefix('192.168.40.0/24')] })
  assert.deepEqual(await advertised(), ['192.168.20.0/24', '192.168.40.0/24'])
  await changed(app, demoVpc('prod'), { externallyRoutablePrefixes: before })
  assert.deepEqual(await advertised(), ['192.168.20.0/24'])
})

test('guests on subnets without name servers get those of the VPC as soon as they change', async () => {
  const path = await aVpc(app, { commonDhcpOptions: { domainNameServers: [ip('10.8.8.8')] } })
  const plain = await made(app, subnets, overlay(path))
  const own = { domainNameServers: [ip('10.1.1.1')] }
  const ranges = ipConfigOf({ ipv4: '172.17.0.0/24' })
  const special = await made(app, subnets, overlay(path, { dhcpOptions: own, ipConfig: ranges }))
  assert.deepEqual(nameServersGiven(idOf(plain)), ['10.8.8.8'])
  await changed(app, path, { commonDhcpOptions: { domainNameServers: [ip('10.9.9.9')] } })
  assert.deepEqual(nameServersGiven(idOf(plain)), ['10.9.9.9'])
  assert.deepEqual(nameServersGiven(idOf(special)), own.domainNameServers)
  await removed(app, plain)
  await removed(app, special)
  await removed(app, path)
})

test('a dry run and malformed bodies are 400, and a VPC beyond the limit is 422', async () => {
  assert.equal((await app.call('POST', `${vpcs}?$dryrun=true`, { body: { name: 'x' }, unknown: 'ignore' })).status, 400)
  for (const body of [
    { name: 'a\u0000b' },
    { externalSubnets: [{}] },
    { externallyRoutablePrefixes: Array(11).fill({}) },
  ]) {
    assert.equal((await create(body)).status, 400)
  }
  const few = await startApp({ limits: { vpcs: 3 } })
  try {
    const refused = await few.call('POST', vpcs, { body: { name: 'fourth' } })
    assert.deepEqual(groupOf(refused), [422, 'LIMIT_EXCEEDED'])
  } finally {
    await few.close()
  }
})

test('a VPC is refused when the pools of its external subnet have no free address, and nothing of it is stored', async () => {
  const subnet = await made(app, subnets, {
    name: 'ext-small',
    subnetType: 'VLAN',
    networkId: 3047,
    isExternal: true,
    ipConfig: ipConfigOf({ ipv4: '10.47.0.0/24', pools: [['10.47.0.10', '10.47.0.10']] }),
  })
  await assign(app, subnet, seedId('vpc/prod'))
  const refused = await create({ externalSubnets: [{ subnetReference: idOf(subnet) }] })
  assert.deepEqual(groupOf(refused), [409, 'IP_POOL_EXHAUSTED'])
  const [lease] = await app.store.findWhere(AddressLease, { subnetExtId: idOf(subnet), kind: 'ASSIGNED' })
  await app.store.transaction((store) => release(store, [lease!]))
  await removed(app, subnet)
})
