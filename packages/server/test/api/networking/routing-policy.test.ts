/** Routing policies. Source: behaviour networking.md 1.7, 4, 5 (18, 26). */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { Flows } from '../../../src/drivers/simulated/flows/flows.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { countersOf } from '../../support/policy-counters.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aVpc, changed, ip, made, prefix, put, removed, routingPolicies } from '../../support/vpcs.ts'

let app: TestApp
let vpc: string
before(async () => {
  app = await startApp()
  vpc = (await aVpc(app, { name: 'ruled' })).slice(-36)
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const anything = { addressType: 'ANY' }
const of = (text: string): object => ({ addressType: 'SUBNET', subnetPrefix: prefix(text) })
const type = (name: string): string => `networking.v4.config.${name}`
const rule = (match: object = {}, action: object = {}, more: object = {}): object => ({
  policyMatch: { source: anything, destination: anything, protocolType: 'ANY', ...match },
  policyAction: { actionType: 'PERMIT', ...action },
  ...more,
})
const policy = (priority: number, one: object = rule(), more: object = {}): object => ({
  name: 'test',
  priority,
  vpcExtId: vpc,
  policies: [one],
  ...more,
})
const create = (body: object): Promise<CallResult> => app.call('POST', routingPolicies, { body })
const pathsOf = (result: CallResult): (string | undefined)[] =>
  result.errors.map((error) => error.argumentsMap?.['attributePath'])
const defaultOf = async (): Promise<any> =>
  (await app.call('GET', `${routingPolicies}?$filter=vpcExtId eq '${vpc}' and priority eq 1`)).data[0]
const refusal = /^Modification of default routing policy with priority less than 10 is not allowed$/

test('the demo has a policy that denies traffic from the databases, and every VPC has a default policy that permits', async () => {
  const prod = `$filter=vpcExtId eq '${seedId('vpc/prod')}'&$orderby=priority desc`
  const { data } = await app.call('GET', `${routingPolicies}?${prod}`)
  assert.deepEqual(
    data.map(({ name, priority, policies }: any) => [name, priority, policies[0].policyAction.actionType]),
    [
      ['db-stays-inside', 100, 'DENY'],
      ['default-policy', 1, 'PERMIT'],
    ],
  )
  assert.deepEqual(data[0].vpc, { name: 'prod' })
  const own = await defaultOf()
  assert.deepEqual([own.name, own.policies[0].policyMatch.source.addressType], ['default-policy', 'ANY'])
})

test('lists filter by action, protocol and kind of source, and expand the VPC', async () => {
  const listed = async (query: string): Promise<any[]> => (await app.call('GET', `${routingPolicies}?${query}`)).data
  const denying = await listed("$filter=policies/any(p:p/policyAction/actionType eq 'DENY')&$expand=vpc")
  assert.deepEqual(
    denying.map(({ name, vpcNameProjection }) => [name, vpcNameProjection]),
    [['db-stays-inside', { name: 'prod' }]],
  )
  assert.equal((await listed("$filter=policies/any(p:p/policyMatch/source eq 'SUBNET')")).length, 1)
  assert.equal((await listed("$filter=policies/any(p:p/policyMatch/protocolType eq 'TCP')")).length, 0)
})

test('a policy with priority 9, and PUT and DELETE of the default policy, are refused with the message about default policies', async () => {
  const { extId } = await defaultOf()
  const path = `${routingPolicies}/${extId}`
  const answers = [
    await create(policy(9)),
    await put(app, path, { description: 'mine' }),
    await put(app, path, { priority: 500 }),
    await app.call('DELETE', path),
  ]
  for (const { status, errors } of answers) {
    assert.deepEqual([status, errors[0]?.errorGroup], [400, 'INVALID_ARGUMENT'])
    assert.match(errors[0]!.message, refusal)
  }
})

test('a priority in use in the VPC is 409 and free in another VPC, and of concurrent creations with one priority exactly one succeeds', async () => {
  const first = await made(app, routingPolicies, policy(100))
  const again = await create(policy(100))
  assert.deepEqual([again.status, again.errors[0]?.errorGroup], [409, 'ENTITY_ALREADY_EXISTS'])
  const answers = await Promise.all([create(policy(101)), create(policy(101)), put(app, first, { priority: 101 })])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409, 409])
  const task = await app.task(answers.find(({ status }) => status === 202)!)
  assert.equal(task.status, 'SUCCEEDED')
  for (const { extId } of (await app.call('GET', `${routingPolicies}?$filter=vpcExtId eq '${vpc}' and priority gt 9`))
    .data)
    await removed(app, `${routingPolicies}/${extId}`)
})

test('the old priority of a policy is not free before the update that changes it has ended', async () => {
  const path = await made(app, routingPolicies, policy(110))
  const { data, etag } = await app.call('GET', path)
  const [update, ...answers] = await Promise.all([
    app.call('PUT', path, { body: { ...data, priority: 111 }, ifMatch: etag as string }),
    create(policy(110)),
    create(policy(111)),
    app.call('DELETE', path),
  ])
  assert.deepEqual(
    answers.map(({ status, errors }) => [status, errors[0]?.errorGroup]),
    [
      [409, 'ENTITY_ALREADY_EXISTS'],
      [409, 'ENTITY_ALREADY_EXISTS'],
      [409, 'ENTITY_BUSY'],
    ],
  )
  await app.task(update)
  const other = await made(app, routingPolicies, policy(110))
  await removed(app, other)
  await removed(app, path)
})

test('a policy is stored in canonical form with its VPC and owner, its task names policy and VPC, and a PUT needs the ETag', async () => {
  const six = { addressType: 'SUBNET', subnetPrefix: { ipv6: { ip: { value: 'FD00:0:0::' }, prefixLength: 48 } } }
  const started = await create(policy(120, rule({ source: six, protocolType: 'TCP' })))
  const task = await app.task(started)
  assert.equal(task.operation, 'kRoutingPolicyCreate')
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel, name]),
    [
      ['networking:config:routing-policy', 'test'],
      ['networking:config:vpc', 'ruled'],
    ],
  )
  const path = `${routingPolicies}/${task.entitiesAffected[0].extId}`
  const { data } = await app.call('GET', path)
  assert.equal(data.policies[0].policyMatch.source.subnetPrefix.ipv6.ip.value, 'fd00::')
  assert.deepEqual(
    [data.policies[0].isBidirectional, data.vpc, data.metadata.ownerUserName],
    [false, { name: 'ruled' }, 'admin'],
  )
  assert.equal((await app.call('PUT', path, { body: data })).status, 428)
  const moved = await put(app, path, { vpcExtId: seedId('vpc/prod') })
  assert.deepEqual([moved.status, moved.errors[0]?.errorGroup], [400, 'IMMUTABLE_ATTRIBUTE'])
  assert.equal((await changed(app, path, { description: 'more' })).description, 'more')
  await removed(app, path)
})

test('prefix lengths are returned as sent, and that of the address counts when that of the subnet is 0', async () => {
  const given = { ipv4: { ip: { value: '10.9.8.0', prefixLength: 24 }, prefixLength: 0 } }
  const policies = [rule({ source: { addressType: 'SUBNET', subnetPrefix: given } })]
  const task = await app.task(await create({ ...policy(51), policies }))
  const path = `${routingPolicies}/${task.entitiesAffected[0].extId}`
  const shown = (data: any) => data.policies[0].policyMatch.source.subnetPrefix
  assert.deepEqual(shown((await app.call('GET', path)).data), given)
  const both = { ipv4: { ip: { value: '10.9.0.0', prefixLength: 32 }, prefixLength: 16 } }
  const source = { addressType: 'SUBNET', subnetPrefix: both }
  assert.deepEqual(shown(await changed(app, path, { policies: [rule({ source })] })), both)
  const wide = { ipv4: { ip: { value: '10.9.8.0', prefixLength: 16 }, prefixLength: 0 } }
  const refused = await create({
    ...policy(52),
    policies: [rule({ source: { addressType: 'SUBNET', subnetPrefix: wide } })],
  })
  assert.match(refused.errors[0]?.message ?? '', /expected no host bits: 10\.9\.0\.0\/16/)
  assert.equal((await app.task(await app.call('DELETE', path))).status, 'SUCCEEDED')
})

const match = 'policies[0]/policyMatch'
const action = 'policies[0]/policyAction'
const ports = (...ranges: [number, number][]): object => ({
  $objectType: type('LayerFourProtocolObject'),
  destinationPortRanges: ranges.map(([startPort, endPort]) => ({ startPort, endPort })),
})
const reroute = (...rerouteParams: object[]): object => ({ actionType: 'REROUTE', rerouteParams })
const faults: readonly [title: string, one: () => object, path: string][] = [
  ['SUBNET without a prefix', () => rule({ source: { addressType: 'SUBNET' } }), `${match}/source/subnetPrefix`],
  [
    'ANY with a prefix',
    () => rule({ destination: { ...of('10.0.0.0/8'), addressType: 'ANY' } }),
    `${match}/destination/subnetPrefix`,
  ],
  ['host bits', () => rule({ source: of('10.0.0.1/8') }), `${match}/source/subnetPrefix/ipv4/ip/value`],
  [
    'two families',
    () =>
      rule({
        source: of('10.0.0.0/8'),
        destination: { addressType: 'SUBNET', subnetPrefix: { ipv6: { ip: { value: 'fd00::' }, prefixLength: 8 } } },
      }),
    `${match}/destination/subnetPrefix`,
  ],
  ['parameters with ANY', () => rule({ protocolParameters: ports([1, 2]) }), `${match}/protocolParameters`],
  [
    'ports with ICMP',
    () => rule({ protocolType: 'ICMP', protocolParameters: ports([1, 2]) }),
    `${match}/protocolParameters`,
  ],
  ['a protocol number that is missing', () => rule({ protocolType: 'PROTOCOL_NUMBER' }), `${match}/protocolParameters`],
  [
    'a port range whose end is before its start',
    () => rule({ protocolType: 'UDP', protocolParameters: ports([1, 2], [20, 10]) }),
    `${match}/protocolParameters/destinationPortRanges[1]`,
  ],
  ['FORWARD without a nexthop', () => rule({}, { actionType: 'FORWARD' }), `${action}/nexthopIpAddress`],
  ['PERMIT with a nexthop', () => rule({}, { nexthopIpAddress: ip('10.0.0.1') }), `${action}/nexthopIpAddress`],
  ['REROUTE without parameters', () => rule({}, { actionType: 'REROUTE' }), `${action}/rerouteParams`],
  [
    'DENY that reroutes',
    () => rule({}, { ...reroute({ serviceIp: ip('10.0.0.1') }), actionType: 'DENY' }),
    `${action}/rerouteParams`,
  ],
  [
    'REROUTE of ingress without egress',
    () => rule({}, reroute({ ingressServiceIp: ip('10.0.0.1') })),
    `${action}/rerouteParams[0]`,
  ],
]
for (const [title, one, path] of faults) {
  test(`${title} is refused with its path`, async () => {
    const refused = await create(policy(130, one()))
    assert.deepEqual([refused.status, ...pathsOf(refused)], [400, path])
  })
}

test('each action and protocol is accepted with the fields it needs, and a reroute falls back to ALLOW by default', async () => {
  const whole = [
    rule({ protocolType: 'ICMP', protocolParameters: { $objectType: type('ICMPObject'), icmpType: 8 } }),
    rule({
      protocolType: 'PROTOCOL_NUMBER',
      protocolParameters: { $objectType: type('ProtocolNumberObject'), protocolNumber: 47 },
    }),
    rule({ protocolType: 'TCP', protocolParameters: ports([80, 80], [443, 443]) }, { actionType: 'DENY' }),
    rule({}, { actionType: 'FORWARD', nexthopIpAddress: ip('192.168.9.9') }),
    rule({}, reroute({ serviceIp: ip('192.168.9.9') })),
    rule({}, reroute({ ingressServiceIp: ip('192.168.9.8'), egressServiceIp: ip('192.168.9.9') })),
  ]
  for (const [index, one] of whole.entries()) {
    const path = await made(app, routingPolicies, policy(140 + index, one))
    const [{ policyAction }] = (await app.call('GET', path)).data.policies
    if (index > 3) assert.equal(policyAction.rerouteParams[0].rerouteFallbackAction, 'ALLOW')
    await removed(app, path)
  }
})

test('counters grow with time, and clearing resets those of one policy, or of all policies of a VPC, at one instant', async () => {
  const inProd = { vpcExtId: seedId('vpc/prod') }
  const fromWeb = { source: of('192.168.10.0/24') }
  const [one, two] = [
    await made(app, routingPolicies, policy(150, rule(fromWeb, {}, { isBidirectional: true }), inProd)),
    await made(app, routingPolicies, policy(149, rule(), inProd)),
  ]
  const count = (path: string) => countersOf(new Flows(app.world), path.slice(-36))!
  await app.clock.advance(60_000)
  assert.ok(count(one).forward.packets > 0 && count(one).reverse.bytes > 0 && count(two).forward.packets > 0)
  assert.equal(count(two).reverse.packets, 0)
  const clear = (body: object): Promise<CallResult> =>
    app.call('POST', '/networking/v4.3/stats/routing-policies/$actions/clear', { body })
  const task = await app.task(await clear({ ...inProd, routingPolicyExtId: one.slice(-36) }))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'kRoutingPolicyCountersClear'])
  assert.deepEqual(
    task.entitiesAffected.map(({ extId }: any) => extId),
    [one.slice(-36)],
  )
  assert.equal(count(one).forward.packets, 0)
  assert.ok(count(two).forward.packets > 0)
  const all = await app.task(await clear(inProd))
  assert.equal(all.numberOfEntitiesAffected ?? all.entitiesAffected.length, 4)
  assert.equal(count(two).forward.packets, 0)
  const foreign = await clear({ vpcExtId: vpc, routingPolicyExtId: one.slice(-36) })
  assert.deepEqual([foreign.status, ...pathsOf(foreign)], [400, 'routingPolicyExtId'])
  await app.clock.advance(60_000)
  await changed(app, two, { priority: 152 })
  assert.equal(count(two).forward.packets, 0, 'rules that differ count anew')
  await removed(app, one)
  await removed(app, two)
})

test('a VPC takes 991 policies beside its default one, and refuses more', async () => {
  const few = await startApp({ limits: { routingPoliciesOfVpc: 1 } })
  try {
    const refused = await few.call('POST', routingPolicies, {
      body: policy(10, rule(), { vpcExtId: seedId('vpc/prod') }),
    })
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [422, 'LIMIT_EXCEEDED'])
    await made(few, routingPolicies, policy(10, rule(), { vpcExtId: seedId('vpc/transit') }))
  } finally {
    await few.close()
  }
})
