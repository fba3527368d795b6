/** Load balancer sessions. Source: behaviour networking.md 1.3, 1.14, 3.5, 5 (38, 39). */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import type { RoleName } from '@hyperplane/contract/roles'
import { catalogueId, seedId } from '../../../src/core/ids/named-id.ts'
import { balancerFacts } from '../../../src/drivers/simulated/balancers.ts'
import { routingFacts } from '../../../src/drivers/simulated/virtual-routing.ts'
import { ids } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  balancerBody,
  balancers,
  demoBalancer,
  dynamic,
  nicOf,
  port,
  staticIp,
  tcp,
  toNics,
  toWebTier,
} from '../../support/load-balancers.ts'
import { act, aVm, bootDisk, changed as changedVm, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { demoSubnet, recount, usageOf } from '../../support/subnets.ts'
import { aVpc, changed, demoVpc, floatingIps, ip, made, put, removed, vpcFaults } from '../../support/vpcs.ts'

let app: TestApp
const steps = new Steps()
let release = (): void => undefined
function hold(at: string): void {
  release = steps.hold(at)
}
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
afterEach(async () => {
  steps.failing = undefined
  release()
  for (const collection of [floatingIps, balancers])
    for (const { extId, name } of (await app.call('GET', `${collection}?$limit=100`)).data)
      if (!['web-1', 'web-lb'].includes(name)) await removed(app, `${collection}/${extId}`)
  await recount(app)
  await checkInvariants(app)
  assert.deepEqual(await vpcFaults(app), [])
})
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const web = demoSubnet('web')
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const idOf = (path: string): string => path.slice(-36)
const create = (more: object = {}): Promise<CallResult> =>
  app.call('POST', balancers, { body: balancerBody('test', more) })
const aBalancer = (more: object = {}): Promise<string> => made(app, balancers, balancerBody('test', more))
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.errorGroup]
const pathsOf = ({ status, errors }: CallResult): unknown[] => [
  status,
  ...errors.map((error) => error.argumentsMap?.['attributePath']).sort(),
]
const virtualIpOf = async (path: string): Promise<string> => (await read(path)).listener.virtualIP.ipAddress.ipv4.value
const programOf = (path: string) => balancerFacts(app.world).balancers.get(idOf(path))
const aGuest = (more: object = {}): Promise<any> =>
  aVm(app, cluster, { name: 'guest', disks: [bootDisk(cluster)], nics: [nicOn(seedId('subnet/web'))], ...more })
const nicTargetsOf = async (path: string): Promise<any[]> => (await read(path)).targetsConfig.nicTargets ?? []

test('a session leases a DYNAMIC virtual IP from its subnet, programs the balancer, and releases the address at the end', async () => {
  const before = await usageOf(app, web)
  const nic = await nicOf(app, 'web-01')
  const task = await app.task(await create({ targetsConfig: toNics(nic) }))
  assert.deepEqual([task.operation, task.status], ['kLoadBalancerSessionCreate', 'SUCCEEDED'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel, name }: any) => [rel, name]),
    [
      ['networking:config:load-balancer-session', 'test'],
      ['networking:config:vpc', 'prod'],
      ['networking:config:subnet', 'web'],
    ],
  )
  const path = `${balancers}/${task.entitiesAffected[0].extId}`
  const { listener, healthCheckConfig, targetsConfig, type, algorithm, metadata } = await read(path)
  assert.deepEqual([type, algorithm, metadata.ownerUserName], ['NETWORK_LOAD_BALANCER', 'FIVE_TUPLE_HASH', 'admin'])
  const defaults = { intervalSecs: 5, timeoutSecs: 2, successThreshold: 3, failureThreshold: 3 }
  assert.deepEqual({ ...healthCheckConfig, $objectType: undefined }, { ...defaults, $objectType: undefined })
  const target = { virtualNicReference: nic, vmReference: seedId('vm/web-01'), port: 80, health: 'UNHEALTHY' }
  assert.deepEqual(targetsConfig.nicTargets, [target])
  const during = await usageOf(app, web)
  assert.deepEqual([during.numAssignedIPs - before.numAssignedIPs, during.numFreeIPs - before.numFreeIPs], [1, -1])
  const { address, portRanges, targets, check } = programOf(path)!
  assert.deepEqual([address, portRanges], [listener.virtualIP.ipAddress.ipv4.value, [port(80)]])
  assert.deepEqual(targets, [{ nicExtId: nic, vmExtId: seedId('vm/web-01'), port: 80 }])
  assert.equal(check?.intervalSeconds, 5)
  await removed(app, path)
  assert.deepEqual(await usageOf(app, web), before)
  assert.equal(programOf(path), undefined)
})

test('a body with several faults is refused with all of them', async () => {
  const nic = await nicOf(app, 'web-01')
  const answer = await create({
    listener: tcp({
      portRanges: [port(0, 10), port(90, 80), port(100, 200), port(150)],
      virtualIP: { ...dynamic, assignmentType: 'STATIC' },
    }),
    healthCheckConfig: { intervalSecs: 1, timeoutSecs: 2 },
    targetsConfig: { nicTargets: [{ virtualNicReference: nic }, { virtualNicReference: nic, port: 81 }] },
  })
  assert.deepEqual(pathsOf(answer), [
    400,
    'healthCheckConfig/timeoutSecs',
    'listener/portRanges[0]',
    'listener/portRanges[1]',
    'listener/portRanges[3]',
    'listener/virtualIP/ipAddress',
    'targetsConfig/nicTargets[0]/port',
  ])
  assert.deepEqual(pathsOf(await create({ targetsConfig: { nicTargets: [] } })), [400, 'targetsConfig'])
  const twice = { nicTargets: [{ virtualNicReference: nic }, { virtualNicReference: nic, port: 80 }] }
  assert.deepEqual(pathsOf(await create({ targetsConfig: twice })), [400, 'targetsConfig/nicTargets[1]'])
})

test('a transit VPC, a subnet of another VPC, a NIC outside the VPC and a chosen DYNAMIC address are refused', async () => {
  const elsewhere = await create({ vpcReference: seedId('vpc/transit') })
  assert.deepEqual(pathsOf(elsewhere), [400, 'listener/virtualIP/subnetReference', 'vpcReference'])
  const vlan = { ...dynamic, subnetReference: seedId('subnet/vlan-100-app') }
  assert.deepEqual(pathsOf(await create({ listener: tcp({ virtualIP: vlan }) })), [
    400,
    'listener/virtualIP/subnetReference',
  ])
  const outside = toNics(await nicOf(app, 'batch-01'))
  assert.deepEqual(pathsOf(await create({ targetsConfig: outside })), [
    400,
    'targetsConfig/nicTargets[0]/virtualNicReference',
  ])
  const chosen = { ...dynamic, ipAddress: ip('192.168.10.77') }
  assert.deepEqual(pathsOf(await create({ listener: tcp({ virtualIP: chosen }) })), [
    400,
    'listener/virtualIP/ipAddress',
  ])
})

test('unknown references are not found, and neither are NICs that the caller may not see', async () => {
  const unknown = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'
  const category = { categoryTargets: [{ matchAll: [{ extId: unknown }], port: 80 }] }
  for (const more of [
    { vpcReference: unknown },
    { listener: tcp({ virtualIP: { ...dynamic, subnetReference: unknown } }) },
    { targetsConfig: toNics(unknown) },
    { targetsConfig: category },
  ])
    assert.deepEqual(refusal(await create(more)), [404, 'ENTITY_NOT_FOUND'], JSON.stringify(more))
  const operations = ['Create_Load_Balancer_Session', 'View_Load_Balancer_Session', 'View_Subnet', 'View_VPC']
  const body = { displayName: 'Balancing', operations: operations.map((name) => catalogueId('operation', name)) }
  const role = await app.call('POST', '/iam/v4.1.b2/authz/roles', { body, requestId: crypto.randomUUID() })
  assert.equal(role.status, 201, JSON.stringify(role.errors))
  const as = await aUser(app, ['Balancing' as RoleName])
  const targetsConfig = toNics(await nicOf(app, 'web-01'))
  const refused = await app.call('POST', balancers, { body: balancerBody('test', { targetsConfig }), as })
  assert.deepEqual(refusal(refused), [404, 'ENTITY_NOT_FOUND'])
})

test('a name is unique in its VPC, also against an update that is running', async () => {
  const path = await aBalancer()
  assert.deepEqual(refusal(await create({ listener: tcp({ portRanges: [port(81)] }) })), [409, 'ENTITY_ALREADY_EXISTS'])
  hold('networking.update-load-balancer-session configure balancer')
  const renaming = await put(app, path, { name: 'renamed' })
  assert.equal(renaming.status, 202)
  const other = balancerBody('renamed')
  assert.deepEqual(refusal(await app.call('POST', balancers, { body: other })), [409, 'ENTITY_ALREADY_EXISTS'])
  for (const again of [await put(app, path), await app.call('DELETE', path)])
    assert.deepEqual(refusal(again), [409, 'ENTITY_BUSY'])
  release()
  await app.task(renaming)
  assert.equal((await read(path)).name, 'renamed')
})

test('sessions share a virtual IP on different ports, and the last of them releases it', async () => {
  const before = await usageOf(app, web)
  const shared = (ports: object[], more: object = {}) =>
    tcp({ virtualIP: staticIp('192.168.10.7'), portRanges: ports, ...more })
  const first = await aBalancer({ listener: shared([port(80), port(8000, 8100)]) })
  const clash = await create({ name: 'second', listener: shared([port(8100, 8200)]) })
  assert.deepEqual(refusal(clash), [409, 'ENTITY_ALREADY_EXISTS'])
  const second = await made(app, balancers, balancerBody('second', { listener: shared([port(443)]) }))
  const third = await made(app, balancers, balancerBody('third', { listener: shared([port(80)], { protocol: 'UDP' }) }))
  assert.equal((await usageOf(app, web)).numAssignedIPs - before.numAssignedIPs, 1)
  for (const path of [first, second]) {
    await removed(app, path)
    await checkInvariants(app)
    assert.equal((await usageOf(app, web)).numAssignedIPs - before.numAssignedIPs, 1)
  }
  await removed(app, third)
  assert.deepEqual(await usageOf(app, web), before)
})

test('of two concurrent sessions that claim one virtual IP and port, one is refused', async () => {
  const listener = tcp({ virtualIP: staticIp('192.168.10.8') })
  const bodies = ['a', 'b'].map((name) => balancerBody(name, { listener }))
  const answers = await Promise.all(bodies.map((body) => app.call('POST', balancers, { body })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  for (const answer of answers.filter(({ status }) => status === 202)) await app.task(answer)
})

test('an address in use is refused as a virtual IP, and a virtual IP cannot be assigned to anything else', async () => {
  const path = await aBalancer()
  const [{ networkInfo }] = (await read(`/vmm/v4.2/ahv/config/vms/${seedId('vm/web-01')}`)).nics
  const taken = networkInfo.ipv4Config.ipAddress.value
  const answer = await create({ name: 'other', listener: tcp({ virtualIP: staticIp(taken) }) })
  assert.deepEqual(refusal(answer), [409, 'IP_ADDRESS_UNAVAILABLE'])
  const inUse = await app.call('DELETE', web)
  assert.match(inUse.errors[0]!.message, /load balancer session (test|web-lb)/)
  assert.match((await app.call('DELETE', demoVpc('prod'))).errors[0]!.message, /in use/)
  assert.ok(await virtualIpOf(path))
})

test('an update changes the address; the old one is free afterwards, and its subnet cannot change', async () => {
  const path = await aBalancer()
  const before = await virtualIpOf(path)
  const listener = tcp({ virtualIP: staticIp('192.168.10.9'), portRanges: [port(8080)] })
  await changed(app, path, { listener, targetsConfig: toWebTier(9090) })
  assert.deepEqual([programOf(path)?.address, programOf(path)?.portRanges], ['192.168.10.9', [port(8080)]])
  assert.deepEqual([...new Set(programOf(path)?.targets.map(({ port }) => port))], [9090])
  const other = await made(app, balancers, balancerBody('other'))
  assert.equal(await virtualIpOf(other), before)
  const moved = { ...staticIp('192.168.20.50'), subnetReference: seedId('subnet/db') }
  assert.deepEqual(refusal(await put(app, path, { listener: tcp({ virtualIP: moved }) })), [400, 'IMMUTABLE_ATTRIBUTE'])
  assert.deepEqual(refusal(await put(app, path, { vpcReference: seedId('vpc/tenant-a') })), [
    400,
    'IMMUTABLE_ATTRIBUTE',
  ])
  // A DYNAMIC virtual IP keeps the address that it has.
  await changed(app, path, { listener: tcp({ virtualIP: dynamic }) })
  assert.equal(await virtualIpOf(path), '192.168.10.9')
  assert.equal((await app.call('PUT', path, { body: await read(path) })).status, 428)
})

test('a failed creation leaves nothing behind', async () => {
  const before = await usageOf(app, web)
  steps.failing = 'networking.create-load-balancer-session start health checks'
  const task = await app.task(await create())
  assert.equal(task.status, 'FAILED')
  const path = `${balancers}/${task.entitiesAffected[0].extId}`
  assert.equal((await app.call('GET', path)).status, 404)
  assert.deepEqual([programOf(path), await usageOf(app, web)], [undefined, before])
  steps.failing = undefined
  await aBalancer()
})

test('a failed update restores address, listener and targets, and the next update succeeds', async () => {
  const path = await aBalancer()
  const [program, stored] = [programOf(path), await read(path)]
  const usage = await usageOf(app, web)
  const change = {
    listener: tcp({ virtualIP: staticIp('192.168.10.9'), portRanges: [port(81)] }),
    healthCheckConfig: { intervalSecs: 10 },
    targetsConfig: toWebTier(81),
  }
  steps.failing = 'networking.update-load-balancer-session configure health checks'
  assert.equal((await app.task(await put(app, path, change))).status, 'FAILED')
  steps.failing = undefined
  assert.deepEqual([programOf(path), await read(path)], [program, stored])
  assert.deepEqual(await usageOf(app, web), usage)
  assert.equal((await changed(app, path, change)).healthCheckConfig.intervalSecs, 10)
})

test('a deletion waits while the network controller is down, and ends when it is back', async () => {
  const path = await aBalancer()
  hold('networking.delete-load-balancer-session remove balancer')
  const deleting = await app.call('DELETE', path)
  await happen(app, { type: 'NETWORK_CONTROLLER_FAILS' })
  assert.equal((await create({ name: 'meanwhile' })).status, 503)
  release()
  await app.clock.advance(1000)
  assert.deepEqual([(await app.call('GET', path)).status, programOf(path)?.extId], [200, idOf(path)])
  await happen(app, { type: 'NETWORK_CONTROLLER_RETURNS' })
  assert.equal((await app.task(deleting)).status, 'SUCCEEDED')
  assert.equal(programOf(path), undefined)
})

test('a deleted NIC and the NIC of a deleted VM leave the targets', async () => {
  const [one, two] = [await aGuest(), await aGuest()]
  const nics = [await nicOf(app, 'web-01'), one.nics[0].extId, two.nics[0].extId]
  const path = await aBalancer({ targetsConfig: toNics(...nics) })
  assert.equal((await nicTargetsOf(path)).length, 3)
  await changedVm(app, one.extId, 'delete')
  assert.deepEqual(
    (await nicTargetsOf(path)).map(({ virtualNicReference }) => virtualNicReference),
    [nics[0], nics[2]],
  )
  const nicPath = `/vmm/v4.2/ahv/config/vms/${two.extId}/nics/${nics[2]}`
  const { etag } = await app.call('GET', nicPath)
  const answer = await app.call('DELETE', nicPath, { ifMatch: etag as string, requestId: crypto.randomUUID() })
  assert.equal((await app.task(answer)).status, 'SUCCEEDED')
  assert.deepEqual(
    (await nicTargetsOf(path)).map(({ virtualNicReference }) => virtualNicReference),
    [nics[0]],
  )
  await app.clock.advance(5000)
  assert.deepEqual(
    programOf(path)?.targets.map(({ nicExtId }) => nicExtId),
    [nics[0]],
  )
  await changedVm(app, two.extId, 'delete')
})

test('a VM that is deleted during an update is no target afterwards', async () => {
  const vm = await aGuest()
  const path = await aBalancer()
  hold('networking.update-load-balancer-session configure balancer')
  const nics = [await nicOf(app, 'web-01'), vm.nics[0].extId]
  const updating = await put(app, path, { targetsConfig: toNics(...nics) })
  assert.equal(updating.status, 202, JSON.stringify(updating.errors))
  await changedVm(app, vm.extId, 'delete')
  release()
  assert.equal((await app.task(updating)).status, 'SUCCEEDED')
  assert.deepEqual(
    (await nicTargetsOf(path)).map(({ virtualNicReference }) => virtualNicReference),
    [nics[0]],
  )
})

test('a category target follows the categories of VMs within 5 s', async () => {
  const path = await aBalancer()
  const nicsOf = async (): Promise<string[]> =>
    (await read(path)).targetsConfig.categoryTargets[0].nics.map(({ virtualNicReference }: any) => virtualNicReference)
  const both = [await nicOf(app, 'web-01'), await nicOf(app, 'web-02')]
  assert.deepEqual(await nicsOf(), both)
  const vm = await aGuest({ categories: [{ extId: seedId('category/AppTier/Web') }] })
  await app.clock.advance(5000)
  assert.deepEqual(await nicsOf(), [...both, vm.nics[0].extId])
  assert.deepEqual(
    programOf(path)?.targets.map(({ nicExtId }) => nicExtId),
    [...both, vm.nics[0].extId],
  )
  await changedVm(app, vm.extId, 'delete')
  await app.clock.advance(5000)
  assert.deepEqual(await nicsOf(), both)
  assert.deepEqual(
    programOf(path)?.targets.map(({ nicExtId }) => nicExtId),
    both,
  )
})

test('a VM that gets the category of a target is one within 5 s, and none after it loses the category', async () => {
  const path = await aBalancer()
  const vm = await aGuest()
  const targets = async (): Promise<unknown> => {
    await app.clock.advance(5000)
    const shown = (await read(path)).targetsConfig.categoryTargets[0].nics
    assert.deepEqual(
      programOf(path)?.targets.map(({ nicExtId }) => nicExtId),
      shown.map(({ virtualNicReference }: any) => virtualNicReference),
    )
    return shown.map(({ virtualNicReference }: any) => virtualNicReference)
  }
  const both = [await nicOf(app, 'web-01'), await nicOf(app, 'web-02')]
  assert.deepEqual(await targets(), both)
  const categories = { categories: [{ extId: seedId('category/AppTier/Web') }] }
  for (const [action, expected] of [
    ['associate-categories', [...both, vm.nics[0].extId]],
    ['disassociate-categories', both],
  ] as const) {
    assert.equal((await app.task(await act(app, vm.extId, action, categories))).status, 'SUCCEEDED')
    assert.deepEqual(await targets(), expected, action)
  }
  await changedVm(app, vm.extId, 'delete')
})

test('sessions and targets beyond the limits are refused', async () => {
  const limited = await startApp({ limits: { loadBalancerSessionsOfVpc: 2, targetsOfLoadBalancerSession: 1 } })
  try {
    const nic = await nicOf(limited, 'web-01')
    const post = (name: string, targetsConfig: object): Promise<CallResult> =>
      limited.call('POST', balancers, { body: balancerBody(name, { targetsConfig }) })
    assert.deepEqual(refusal(await post('a', toWebTier())), [422, 'LIMIT_EXCEEDED'])
    const first = await post('a', toNics(nic))
    assert.equal(first.status, 202, JSON.stringify(first.errors))
    assert.deepEqual(refusal(await post('b', toNics(nic))), [422, 'LIMIT_EXCEEDED'])
  } finally {
    await limited.close()
  }
})

test('a floating IP translates to the virtual IP until the session is deleted', async () => {
  const path = await aBalancer()
  const address = await virtualIpOf(path)
  const externalSubnetReference = seedId('subnet/ext-nat')
  const associations = [
    { loadBalancerSessionReference: idOf(path) },
    {
      association: {
        $objectType: 'networking.v4.config.LoadBalancerSessionAssociation',
        loadBalancerSessionReference: idOf(path),
      },
    },
  ]
  const wrong = { ...associations[1]!.association, privateIp: { ipv4: { value: '192.168.10.77' } } }
  const refused = await app.call('POST', floatingIps, {
    body: { name: 'front', externalSubnetReference, association: wrong },
  })
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]!.message, new RegExp(`has ${address}, not 192.168.10.77`))
  for (const association of associations) {
    const floating = await made(app, floatingIps, { name: 'front', externalSubnetReference, ...association })
    const shown = await read(floating)
    assert.deepEqual(
      [shown.associationStatus, shown.privateIp, shown.loadBalancerSessionReference, shown.vpcReference],
      ['ASSOCIATED_TO_LOAD_BALANCER_SESSION', address, idOf(path), seedId('vpc/prod')],
    )
    const second = await app.call('POST', floatingIps, { body: { name: 'b', externalSubnetReference, ...association } })
    assert.deepEqual(refusal(second), [409, 'ENTITY_ALREADY_EXISTS'])
    assert.equal(routingFacts(app.world).floatingIps.get(idOf(floating))?.privateAddress, address)
    const moving = await put(app, path, { listener: tcp({ virtualIP: staticIp('192.168.10.9') }) })
    assert.deepEqual(refusal(moving), [409, 'ENTITY_IN_USE'])
    assert.equal((await changed(app, floating, { name: 'renamed' })).associationStatus, shown.associationStatus)
    if (association === associations[0]) await removed(app, floating)
  }
  await removed(app, path)
  const [{ associationStatus, loadBalancerSessionReference, privateIp, extId }] = (
    await app.call('GET', `${floatingIps}?$filter=name eq 'renamed'`)
  ).data
  assert.deepEqual(
    [associationStatus, loadBalancerSessionReference, privateIp],
    ['NOT_ASSOCIATED', undefined, undefined],
  )
  assert.equal(routingFacts(app.world).floatingIps.get(extId), undefined)
})

test('a session of a VPC that is not attached to the external subnet has no floating IP', async () => {
  const body = { name: 'no', externalSubnetReference: seedId('subnet/transit-ext') }
  const loadBalancerSessionReference = idOf(demoBalancer)
  const answer = await app.call('POST', floatingIps, { body: { ...body, loadBalancerSessionReference } })
  assert.equal(answer.status, 409)
  assert.match(answer.errors[0]!.message, /is not attached/)
})

test('lists filter by address, name and VPC, and select fields', async () => {
  const path = await aBalancer({ name: 'zz' })
  const address = await virtualIpOf(path)
  const named = async (filter: string): Promise<string[]> =>
    (await app.call('GET', `${balancers}?$filter=${filter}&$orderby=name`)).data.map(({ name }: any) => name)
  assert.deepEqual(await named(`listener/virtualIP/ipAddress/ipv4/value eq '${address}'`), ['zz'])
  assert.deepEqual(await named(`vpcReference eq '${seedId('vpc/prod')}'`), ['web-lb', 'zz'])
  const selected = (await app.call('GET', `${balancers}?$select=name,targetsConfig&$filter=name eq 'web-lb'`)).data[0]
  assert.deepEqual(
    Object.keys(selected)
      .filter((key) => !key.startsWith('$'))
      .sort(),
    ['extId', 'links', 'name', 'targetsConfig'].filter((key) => key in selected),
  )
  assert.equal(selected.targetsConfig.nicTargets.length, 2)
})

test('a new VPC with a session is deleted only after the session', async () => {
  const vpc = await aVpc(app, {})
  const subnet = await made(app, '/networking/v4.3/config/subnets', {
    name: 'own',
    subnetType: 'OVERLAY',
    vpcReference: idOf(vpc),
    ipConfig: [
      {
        ipv4: {
          ipSubnet: { ip: { value: '10.77.0.0' }, prefixLength: 24 },
          defaultGatewayIp: { value: '10.77.0.1' },
          poolList: [{ startIp: { value: '10.77.0.10' }, endIp: { value: '10.77.0.11' } }],
        },
      },
    ],
  })
  const virtualIP = { assignmentType: 'DYNAMIC', subnetReference: idOf(subnet) }
  const path = await aBalancer({ vpcReference: idOf(vpc), listener: tcp({ virtualIP }) })
  assert.deepEqual((await read(path)).targetsConfig.categoryTargets[0].nics, [])
  assert.match((await app.call('DELETE', vpc)).errors[0]!.message, /load balancer session test/)
  assert.match((await app.call('DELETE', subnet)).errors[0]!.message, /load balancer session test/)
  for (const each of [path, subnet, vpc]) await removed(app, each)
})
