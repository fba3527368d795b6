/** The network controller. Source: behaviour networking.md 1.20, 4. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { fabricFacts } from '../../../src/drivers/simulated/network-fabric.ts'
import { routingFacts } from '../../../src/drivers/simulated/virtual-routing.ts'
import { hostId, setFault } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { ipConfigOf, subnets } from '../../support/subnets.ts'
import {
  attachedTo,
  aVpc,
  changed,
  controllers,
  demoController,
  demoVpc,
  made,
  prefix,
  put,
  removed,
  routingPolicies,
  vpcs,
} from '../../support/vpcs.ts'

const GiB = 1024 ** 3
let app: TestApp
before(async () => {
  app = await startApp()
})
after(async () => {
  await checkInvariants(app)
  await app.close()
})

const setState = (state?: 'DEGRADED' | 'DOWN'): Promise<void> => {
  const faults = routingFacts(app.world).controllerFaults
  const extId = seedId('network-controller')
  return state === undefined ? faults.remove(extId) : faults.put(extId, { state })
}
const statusOf = async (): Promise<string> => (await app.call('GET', demoController)).data.controllerStatus

test('the demo has one controller, UP, for VLANs of the legacy stack; an empty world has none', async () => {
  const { data, total } = await app.call('GET', controllers)
  assert.equal(total, 1)
  const { extId: _, tenantId: __, metadata, links: ___, ...shown } = data[0]
  assert.deepEqual(shown, {
    defaultVlanStack: 'LEGACY',
    vpcGlobalConfig: { isOverlappingErpsEnabled: false },
    controllerStatus: 'UP',
    controllerVersion: '7.6.0',
    minimumAHVVersion: '10.0',
    minimumNOSVersion: '7.0',
  })
  assert.equal(metadata.ownerUserName, 'admin')
  assert.equal((await app.call('GET', `${controllers}?$filter=controllerStatus eq 'UP'`)).status, 400)
  const empty = await startApp({ config: { seed: 'empty' } })
  try {
    assert.equal((await empty.call('GET', controllers)).total, 0)
  } finally {
    await empty.close()
  }
})

test('a second controller is refused with 409', async () => {
  const refused = await app.call('POST', controllers, { body: {} })
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'ENTITY_ALREADY_EXISTS'])
  assert.match(refused.errors[0]!.message, new RegExp(seedId('network-controller')))
})

test('a controller is not deleted while VPCs, overlay or advanced subnets exist, and the refusal names five of them', async () => {
  const refused = await app.call('DELETE', demoController)
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(refused.errors[0]!.message, /VPC prod, VPC transit, VPC tenant-a, subnet web, subnet db and 1 more/)
})

test('a controller is DEGRADED while an agent is silent and DOWN while it does not answer itself, with the same ETag', async () => {
  const { etag } = await app.call('GET', demoController)
  await setFault(app, hostId('hp-n01-d'), { isDown: true })
  assert.equal(await statusOf(), 'DEGRADED')
  await setFault(app, hostId('hp-n01-d'))
  await setState('DOWN')
  assert.equal(await statusOf(), 'DOWN')
  await setState()
  const again = await app.call('GET', demoController)
  assert.deepEqual([again.data.controllerStatus, again.etag], ['UP', etag])
})

test('while the controller is DOWN mutations of VPC kinds are 503 with Retry-After, but reads and VLANs work; while it is DEGRADED everything works', async () => {
  await setState('DOWN')
  const overlay = {
    name: 'late',
    subnetType: 'OVERLAY',
    vpcReference: seedId('vpc/prod'),
    ipConfig: ipConfigOf({ ipv4: '192.168.77.0/24' }),
  }
  const policy = `${routingPolicies}/${seedId('routing-policy/prod/db-stays-inside')}`
  const refused = [
    await app.call('POST', vpcs, { body: { name: 'late' } }),
    await put(app, demoVpc('prod'), { description: 'late' }),
    await app.call('POST', subnets, { body: overlay }),
    await put(app, policy, { description: 'late' }),
    await app.call('DELETE', policy),
  ]
  for (const { status, errors, headers } of refused) {
    assert.deepEqual([status, errors[0]?.errorGroup, headers['Retry-After']], [503, 'NETWORK_CONTROLLER_DOWN', '5'])
  }
  assert.equal((await app.call('GET', demoVpc('prod'))).data.description, undefined)
  const vlan = await made(app, subnets, { name: 'vlan', subnetType: 'VLAN', networkId: 3007 })
  await removed(app, vlan)
  await setState('DEGRADED')
  await removed(app, await aVpc(app))
  await setState()
})

test('a creation whose controller goes down before its task ends fails, and is undone once the controller is up again', async () => {
  const other = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'networking.create-vpc' || step !== 'attach external subnets' || phase !== 'run') return
      await routingFacts(other.world).controllerFaults.put(seedId('network-controller'), { state: 'DOWN' })
    },
  })
  try {
    const body = { name: 'unlucky', externalSubnets: [attachedTo('ext-nat')] }
    const started = await other.call('POST', vpcs, { body })
    const statusAfter = async (seconds: number): Promise<string> => {
      await other.clock.advance(1000 * seconds)
      return (await other.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)).data.status
    }
    assert.equal(await statusAfter(60), 'RUNNING', 'what was made is still there')
    await routingFacts(other.world).controllerFaults.remove(seedId('network-controller'))
    let status = 'RUNNING'
    for (let minute = 0; minute < 10 && status === 'RUNNING'; minute++) status = await statusAfter(60)
    assert.equal(status, 'FAILED')
    assert.equal((await other.call('GET', `${vpcs}?$filter=name eq 'unlucky'`)).total, 0)
    await checkInvariants(other)
  } finally {
    await other.close()
  }
})

test('an update with the ETag changes the default VLAN stack of later subnets, and leaves the other settings unchanged', async () => {
  const body = { defaultVlanStack: 'ADVANCED' }
  assert.equal((await app.call('PUT', demoController, { body })).status, 428)
  const { defaultVlanStack, vpcGlobalConfig } = await changed(app, demoController, body)
  assert.deepEqual([defaultVlanStack, vpcGlobalConfig], ['ADVANCED', { isOverlappingErpsEnabled: false }])
  assert.equal(routingFacts(app.world).controllers.get(seedId('network-controller'))?.defaultVlanStack, 'ADVANCED')
  const vlan = await made(app, subnets, { name: 'vlan', subnetType: 'VLAN', networkId: 3008 })
  assert.equal((await app.call('GET', vlan)).data.isAdvancedNetworking, true)
  const plain = `${subnets}/${seedId('subnet/vlan-200-static')}`
  assert.equal((await app.call('GET', plain)).data.isAdvancedNetworking, undefined)
  const moved = await put(app, plain, { isAdvancedNetworking: true })
  assert.deepEqual(
    [moved.status, moved.errors[0]?.errorGroup],
    [400, 'IMMUTABLE_ATTRIBUTE'],
    'only a migration does that',
  )
  await removed(app, vlan)
  const substrate = await put(app, demoController, { cloudSubstrate: 'AWS' })
  assert.deepEqual([substrate.status, substrate.errors[0]?.code], [400, 'NETWORKING-10002'])
  const { cloudSubstrate } = await changed(app, demoController, { defaultVlanStack: 'LEGACY' })
  assert.equal(cloudSubstrate, undefined)
})

test('the controller can allow overlapping prefixes, and cannot forbid them again while some overlap', async () => {
  const overlapping = { vpcGlobalConfig: { isOverlappingErpsEnabled: true } }
  const body = {
    externalSubnets: [attachedTo('ext-routed')],
    externallyRoutablePrefixes: [prefix('192.168.20.128/25')],
  }
  const refused = await app.call('POST', vpcs, { body: { name: 'twin', ...body } })
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'ENTITY_ALREADY_EXISTS'])
  await changed(app, demoController, overlapping)
  const twin = await aVpc(app, body)
  const forbidden = await put(app, demoController, { vpcGlobalConfig: { isOverlappingErpsEnabled: false } })
  assert.deepEqual([forbidden.status, forbidden.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(forbidden.errors[0]!.message, /VPC prod/)
  await removed(app, twin)
  await changed(app, demoController, { vpcGlobalConfig: { isOverlappingErpsEnabled: false } })
})

test('without a controller VPCs and advanced VLANs are 409; creating one adds to the resources of the manager, deleting it releases them', async () => {
  const empty = await startApp({ config: { seed: 'empty' } })
  const managerTakes = async (): Promise<number[]> => {
    const { resourceConfig } = (await empty.call('GET', '/platform/v4.3/config/domain-managers')).data[0].config
    return [resourceConfig.numVcpus, resourceConfig.memorySizeBytes / GiB]
  }
  try {
    const refused = await empty.call('POST', vpcs, { body: { name: 'early' } })
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'CAPABILITY_NOT_SUPPORTED'])
    assert.deepEqual(await managerTakes(), [10, 35])
    const controller = await made(empty, controllers, {})
    assert.deepEqual(await managerTakes(), [11, 36])
    const { data } = await empty.call('GET', controller)
    assert.deepEqual([data.controllerStatus, data.defaultVlanStack], ['UP', 'LEGACY'])
    const vpc = await aVpc(empty)
    assert.equal((await empty.call('DELETE', controller)).status, 409)
    await removed(empty, vpc)
    await removed(empty, controller)
    assert.deepEqual(await managerTakes(), [10, 35])
    await checkInvariants(empty)
  } finally {
    await empty.close()
  }
})

test('the controller uses memory of the host of the manager, and its creation is 409 naming the missing amount when the host has too little', async () => {
  const other = await startApp({ unchecked: 'a host is filled by an allocation of no VM' })
  const carried = async () => {
    const [held] = await other.store.findWhere(HostAllocation, { vmExtId: seedId('manager/node-1') })
    return [held!.vcpus, held!.memoryBytes / GiB]
  }
  try {
    // Not through the interface: what the demo has needs its controller.
    await other.store.transaction((store) => store.remove(NetworkController, seedId('network-controller')))
    await routingFacts(other.world).controllers.remove(seedId('network-controller'))
    const before = await carried()
    const controller = await made(other, controllers, { defaultVlanStack: 'ADVANCED' })
    assert.deepEqual(await carried(), [before[0]! + 1, before[1]! + 1])
    assert.equal(routingFacts(other.world).controllers.get(controller.slice(-36))?.hostExtIds.length, 7)
    await other.store.transaction((store) => store.remove(NetworkController, controller.slice(-36)))
    const cluster = seedId('cluster/hp-native-01')
    const filler = { extId: 'filler', vmExtId: 'filler', hostExtId: hostId('hp-n01-a'), clusterExtId: cluster }
    await other.store.transaction((store) =>
      store.insert(HostAllocation, { ...filler, memoryBytes: 700 * GiB, vcpus: 1, isPinned: false }),
    )
    const refused = await other.call('POST', controllers, { body: {} })
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'INSUFFICIENT_RESOURCES'])
    assert.match(refused.errors[0]!.message, /memory/)
  } finally {
    await other.close()
  }
})

test('external DHCP servers are accepted for an advanced VLAN without pools, and refused for a basic VLAN or one with pools', async () => {
  const relay = (more: object): object => ({
    name: 'relayed',
    subnetType: 'VLAN',
    networkId: 3009,
    externalDhcpServers: [{ externalDhcpServerIpAddress: { ipv4: { value: '10.1.1.1' } } }],
    ...more,
  })
  const pooled = ipConfigOf({ ipv4: '10.60.0.0/24', pools: [['10.60.0.10', '10.60.0.20']] })
  for (const more of [{}, { isAdvancedNetworking: false }, { isAdvancedNetworking: true, ipConfig: pooled }]) {
    const refused = await app.call('POST', subnets, { body: relay(more) })
    assert.deepEqual([refused.status, refused.errors[0]?.argumentsMap?.['attributePath']], [400, 'externalDhcpServers'])
  }
  const path = await made(app, subnets, relay({ isAdvancedNetworking: true }))
  const relayTo = () => fabricFacts(app.world).dhcp.get(path.slice(-36))?.relayTo
  assert.deepEqual(relayTo(), [{ address: '10.1.1.1', port: 67 }])
  const { isAdvancedNetworking } = await changed(app, path, { externalDhcpServers: undefined })
  assert.deepEqual([isAdvancedNetworking, relayTo()], [true, undefined])
  await removed(app, path)
})

test('a controller with a running update refuses a deletion as busy', async () => {
  const { data, etag } = await app.call('GET', demoController)
  const answers = await Promise.all([
    app.call('PUT', demoController, { body: { ...data, defaultVlanStack: 'ADVANCED' }, ifMatch: etag as string }),
    app.call('DELETE', demoController),
  ])
  assert.deepEqual(
    answers.map(({ status, errors }) => [status, errors[0]?.errorGroup]),
    [
      [202, undefined],
      [409, 'ENTITY_BUSY'],
    ],
  )
  await app.task(answers[0])
  await changed(app, demoController, { defaultVlanStack: 'LEGACY' })
})
