/** Hosts that carry the routers of VPCs. Source: behaviour networking.md 1.5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { routingFacts } from '../../../src/drivers/simulated/virtual-routing.ts'
import { advance, hostId, setFault } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { attachedTo, aVpc, changed, removed, vpcs } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const hosts = (...letters: string[]): string[] => letters.map((letter) => hostId(`hp-n01-${letter}`))
const nodesOf = async (path: string): Promise<string[]> =>
  ((await app.call('GET', path)).data.externalSubnets[0].activeGatewayNodes ?? []).map(({ nodeId }: any) => nodeId)
const tenSeconds = 1 / 6

test('the gateway port runs on as many hosts as requested, chosen from the listed hosts', async () => {
  const gatewayNodes = hosts('b', 'c', 'd')
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat', { gatewayNodes, activeGatewayCount: 2 })] })
  const nodes = await nodesOf(path)
  assert.equal(nodes.length, 2)
  assert.ok(nodes.every((node) => gatewayNodes.includes(node)))
  const more = await changed(app, path, {
    externalSubnets: [attachedTo('ext-nat', { gatewayNodes, activeGatewayCount: 3 })],
  })
  assert.equal(more.externalSubnets[0].activeGatewayNodes.length, 3)
  await removed(app, path)
})

test('an unknown host is 404, and one that does not reach the external subnet is 400', async () => {
  const create = (gatewayNodes: string[]) =>
    app.call('POST', vpcs, { body: { name: 'x', externalSubnets: [attachedTo('ext-nat', { gatewayNodes })] } })
  const missing = await create([...hosts('a', 'b'), randomUUID()])
  assert.deepEqual([missing.status, missing.errors[0]?.code], [404, 'NETWORKING-10060'])
  const far = await create([...hosts('a', 'b'), hostId('hp-c01-a')])
  assert.deepEqual(
    [far.status, far.errors[0]?.argumentsMap?.['attributePath']],
    [400, 'externalSubnets[0]/gatewayNodes[2]'],
  )
})

test('when the host of a gateway fails, another eligible host takes over within ten seconds, and the ETag of the VPC stays', async () => {
  const gatewayNodes = hosts('a', 'b', 'c')
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat', { gatewayNodes })] })
  const { etag } = await app.call('GET', path)
  const [first] = await nodesOf(path)
  await setFault(app, first!, { isDown: true })
  await advance(app, tenSeconds)
  const [second, ...others] = await nodesOf(path)
  assert.deepEqual(others, [])
  assert.ok(second !== first && gatewayNodes.includes(second!))
  assert.deepEqual(routingFacts(app.world).routers.get(path.slice(-36))?.ports[0]?.gatewayHostExtIds, [second])
  assert.equal((await app.call('GET', path)).etag, etag)
  await setFault(app, first!)
  await advance(app, tenSeconds)
  assert.deepEqual(await nodesOf(path), [second], 'who carries it goes on')
  await removed(app, path)
})

test('while no eligible host is up the gateway has no host, and the first host that returns takes it', async () => {
  const gatewayNodes = hosts('b', 'c', 'd')
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat', { gatewayNodes })] })
  for (const host of gatewayNodes) await setFault(app, host, { isDown: true })
  await advance(app, tenSeconds)
  assert.deepEqual(await nodesOf(path), [])
  await setFault(app, gatewayNodes[1]!)
  await advance(app, tenSeconds)
  assert.deepEqual(await nodesOf(path), [gatewayNodes[1]])
  for (const host of gatewayNodes) await setFault(app, host)
  await removed(app, path)
})

test('a host that enters maintenance hands its gateways over to another host', async () => {
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] })
  const [first] = await nodesOf(path)
  const enter = (maintenanceState: string) =>
    app.store.transaction((store) => store.update(Host, first!, { maintenanceState }))
  await enter('in_maintenance')
  await advance(app, tenSeconds)
  const [second] = await nodesOf(path)
  assert.notEqual(second, first)
  await enter('normal')
  await removed(app, path)
})

test('gateways stay on their hosts while the controller is down, and pending moves follow once it is up', async () => {
  const path = await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] })
  const [first] = await nodesOf(path)
  const { controllerFaults } = routingFacts(app.world)
  await controllerFaults.put(seedId('network-controller'), { state: 'DOWN' })
  await setFault(app, first!, { isDown: true })
  await advance(app, tenSeconds)
  assert.deepEqual(await nodesOf(path), [first])
  await controllerFaults.remove(seedId('network-controller'))
  await advance(app, tenSeconds)
  assert.notDeepEqual(await nodesOf(path), [first])
  await setFault(app, first!)
  await removed(app, path)
})
