/** Virtual switches made of bridges that exist on hosts. Source: behaviour networking.md 1.18, 4. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { ids } from '../../support/clustermgmt.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'
import { bridges, bridgesOn, demoHosts, freeBridge, switchBody, switches } from '../../support/virtual-switches.ts'
import { changed, removed } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(async () => {
  await checkInvariants(app)
  await app.close()
})

const migrate = (body: object, options: CallOptions = {}) => app.call('POST', bridges, { body, ...options })
const ended = async (body: object, options: CallOptions = {}): Promise<any> => app.task(await migrate(body, options))
const ownerOf = (host: string, name: string): string | undefined =>
  app.drivers.networkFabric.bridges(host).find((bridge) => bridge.name === name)?.virtualSwitchExtId

test('a request without a cluster in its body is refused with 400', async () => {
  const { status, errors } = await migrate({ name: 'vs2', existingBridgeName: 'br2' })
  assert.equal(status, 400)
  assert.equal(errors[0]?.argumentsMap?.['attributePath'], 'clusterReference')
  const body = { name: 'vs2', existingBridgeName: 'br2', clusterReference: ids.native }
  assert.equal((await migrate(body, { clusterId: ids.cloud })).status, 400)
})

test('the task fails with a message for an unknown cluster, an unknown bridge and a bridge in use', async () => {
  for (const [body, message] of [
    [{ existingBridgeName: 'br2', clusterReference: randomUUID() }, /Cluster .* not found/],
    [{ existingBridgeName: 'br9', clusterReference: ids.native }, /Bridge br9 not found/],
    [{ existingBridgeName: 'br1', clusterReference: ids.native }, /bridge "br1" is in use by virtual switch vs1/],
  ] as const) {
    const task = await ended({ name: 'vs2', ...body })
    assert.deepEqual([task.status, task.operation], ['FAILED', 'kBridgeMigrate'])
    assert.match(task.errorMessages[0].message, message)
    assert.equal((await app.call('GET', `${switches}?$filter=name eq 'vs2'`)).total, 0)
  }
  assert.equal(ownerOf(demoHosts[0] as string, 'br1'), seedId('virtual-switch/vs1'))
})

test('a caller who cannot view the cluster gets the same answer as for an unknown cluster', async () => {
  const as = await aUser(app, ['Network Infra Admin'])
  const task = await app.task(
    await migrate({ name: 'vs2', existingBridgeName: 'br1' }, { as, clusterId: randomUUID() }),
  )
  assert.deepEqual([task.status, task.clusterExtIds ?? []], ['FAILED', []])
})

test('a free bridge becomes a switch with the NICs, the bond mode and the VLAN of the bridge', async () => {
  await freeBridge(app, 'br5', {
    uplinks: ['eth4', 'eth5'],
    activeUplink: 'eth5',
    bondMode: 'ACTIVE_BACKUP',
    vlan: 44,
    mtu: 9000,
  })
  const task = await ended({ name: 'vs5', description: 'Found', existingBridgeName: 'br5' }, { clusterId: ids.native })
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    [
      'networking:config:virtual-switch',
      'clustermgmt:config:cluster',
      ...demoHosts.map(() => 'clustermgmt:config:host'),
    ],
  )
  const { data } = await app.call('GET', `${switches}/${task.entitiesAffected[0].extId}`)
  assert.deepEqual(
    [
      data.name,
      data.description,
      data.bondMode,
      data.mtu,
      data.clusters[0].vlanIdentifier,
      data.isDefault,
      data.ownerType,
    ],
    ['vs5', 'Found', 'ACTIVE_BACKUP', 9000, 44, false, 'PC'],
  )
  assert.deepEqual(
    data.clusters[0].hosts.map(({ extId, internalBridgeName, hostNics, activeUplink }: any) => [
      extId,
      internalBridgeName,
      hostNics,
      activeUplink,
    ]),
    demoHosts.map((extId) => [extId, 'br5', ['eth4', 'eth5'], 'eth5']),
  )
  assert.equal((await app.call('POST', switches, { body: switchBody('other', ['eth4']) })).status, 409)
  const deleted = await app.task(await app.call('DELETE', `${switches}/${data.extId}`))
  assert.equal(deleted.status, 'SUCCEEDED')
  for (const host of demoHosts) assert.deepEqual(bridgesOn(app, host), ['br0', 'br1', 'br2'])
})

test('addresses of hosts on the bridge stay theirs, also after an update of the switch', async () => {
  for (const [index, hostExtId] of demoHosts.entries())
    await freeBridge(app, 'br6', { address: `10.9.0.${index + 5}/24`, gateway: '10.9.0.1' }, [hostExtId])
  const task = await ended({ name: 'vs6', existingBridgeName: 'br6' }, { clusterId: ids.native })
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const path = `${switches}/${task.entitiesAffected[0].extId}`
  const { gatewayIpAddress, hosts } = (await app.call('GET', path)).data.clusters[0]
  assert.deepEqual(gatewayIpAddress, { value: '10.9.0.1', prefixLength: 32 })
  assert.deepEqual(
    hosts.map(({ ipAddress }: any) => ipAddress),
    demoHosts.map((_, index) => ({ ip: { value: `10.9.0.${index + 5}`, prefixLength: 32 }, prefixLength: 24 })),
  )
  await changed(app, path, { mtu: 9000 })
  for (const [index, host] of demoHosts.entries()) {
    const found = app.drivers.networkFabric.bridges(host).find(({ name }) => name === 'br6')
    assert.deepEqual([found?.mtu, found?.address, found?.gateway], [9000, `10.9.0.${index + 5}/24`, '10.9.0.1'])
  }
  await removed(app, path)
})

test('when a host fails, all bridges are free again', async () => {
  const match = { driverCall: { driver: 'networkFabric', method: 'putBridge' } }
  await aFault(app, match, { error: 'INTERNAL_ERROR' }, { nth: 3 })
  const task = await ended({ name: 'vs2', existingBridgeName: 'br2', clusterReference: ids.native })
  assert.equal(task.status, 'FAILED')
  await noFaults(app)
  for (const host of demoHosts) assert.equal(ownerOf(host, 'br2'), undefined)
  assert.equal((await app.call('GET', `${switches}?$filter=name eq 'vs2'`)).total, 0)
})

test('of two requests for one bridge at the same time the second fails, and the switch of the first keeps it', async () => {
  const body = { existingBridgeName: 'br2', clusterReference: ids.native }
  const answers = await Promise.all([migrate({ ...body, name: 'one' }), migrate({ ...body, name: 'two' })])
  const tasks = await Promise.all(answers.map((answer) => app.task(answer)))
  assert.deepEqual(tasks.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED'])
  const made = tasks.find(({ status }) => status === 'SUCCEEDED').entitiesAffected[0].extId
  for (const host of demoHosts) assert.equal(ownerOf(host, 'br2'), made)
  assert.equal((await migrate({ ...body, name: 'vs0' })).status, 409)
})
