/** Deployments of further managers. Source: behaviour platform.md 4, 14 (statement 18). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { DriverError } from '../../../src/core/tasks/define-task.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { factsById } from '../../support/facts.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp, type TestSettings } from '../../support/start-app.ts'

const GiB = 1024 ** 3
const managers = '/platform/v4.3/config/domain-managers'
const native = seedId('cluster/hp-native-01')
const subnet = seedId('subnet/vlan-100-app')
const ip = (value: string) => ({ ipv4: { value } })

let app: TestApp | undefined
const start = async (settings: TestSettings = {}): Promise<TestApp> => (app = await startApp(settings))
afterEach(async () => {
  await app?.close()
  app = undefined
})

const network = {
  nameServers: [ip('10.44.1.2')],
  ntpServers: [{ fqdn: { value: 'ntp.example.com' } }],
  externalNetworks: [
    {
      networkExtId: subnet,
      defaultGateway: ip('10.10.100.1'),
      subnetMask: ip('255.255.255.0'),
      ipRanges: [{ begin: ip('10.10.100.220'), end: ip('10.10.100.230') }],
    },
  ],
}
const body = (more: object = {}, config: object = {}): any => ({
  config: { name: 'pc-02', size: 'SMALL', buildInfo: { version: '0.1.0' }, ...config },
  network,
  ...more,
})
const withExternal = (more: object, rest: object = {}) => ({
  network: { ...network, ...rest, externalNetworks: [{ ...network.externalNetworks[0], ...more }] },
})
const deploy = (on: TestApp, given: object = body()): Promise<CallResult> =>
  on.call('POST', managers, { body: given, requestId: randomUUID() })
const state = async (on: TestApp) => ({
  leases: (await on.store.find(AddressLease)).map(({ address }) => address).sort(),
  held: (await on.store.find(HostAllocation)).map(({ extId }) => extId).sort(),
  facts: [...((await factsById(on)).get('domains')?.keys() ?? [])].sort(),
  disks: [...((await factsById(on)).get('virtualDisks')?.keys() ?? [])].sort(),
  names: (await on.call('GET', managers)).data.map((manager: any) => manager.config.name),
})

test('a deployment takes addresses of the subnet and host load by the size table, and the manager is listed', async () => {
  const app = await start()
  const before = await state(app)
  const started = await deploy(app)
  assert.equal(started.status, 202, JSON.stringify(started.errors))
  const task = await app.task(started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'kDomainManagerDeploymentRequest')
  assert.equal(task.numberOfSubtasks, 2)
  assert.deepEqual(
    task.entitiesAffected.map(({ extId, rel }: any) => [extId === native, rel]),
    [
      [true, 'clustermgmt:config:cluster'],
      [false, 'platform:config:domain_manager'],
    ],
  )
  const { data: manager } = await app.call('GET', `${managers}/${task.entitiesAffected[1].extId}`)
  assert.equal(manager.network.externalAddress.ipv4.value, '10.10.100.220')
  assert.equal(manager.network.externalNetworks[0].ipAddresses[0].ipv4.value, '10.10.100.221')
  assert.equal(manager.isRegisteredWithHostingCluster, true)
  assert.equal(manager.hostingClusterExtId, native)
  const { numVcpus, memorySizeBytes, dataDiskSizeBytes } = manager.config.resourceConfig
  assert.deepEqual([numVcpus, memorySizeBytes, dataDiskSizeBytes], [10, 35 * GiB, 500 * GiB])
  const after = await state(app)
  assert.equal(after.leases.length, before.leases.length + 2)
  const [held] = await app.store.findWhere(HostAllocation, { vmExtId: manager.nodeExtIds[0] })
  assert.deepEqual([held?.vcpus, held?.memoryBytes], [10, 35 * GiB])
  assert.deepEqual(after.names, ['PC_10.44.1.9', 'dr-site', 'pc-02'])
  const vms = await app.call('GET', '/vmm/v4.2/ahv/config/vms?$limit=100')
  assert.equal(vms.total, 7, 'nodes are in no list')
  await checkInvariants(app)
})

test('high availability takes three hosts and four addresses, and shows the sum', async () => {
  const app = await start()
  const task = await app.task(await deploy(app, body({ shouldEnableHighAvailability: true })))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const { data } = await app.call('GET', `${managers}/${task.entitiesAffected[1].extId}`)
  assert.equal(data.nodeExtIds.length, 3)
  assert.equal(data.config.resourceConfig.numVcpus, 30)
  const hosts = await Promise.all(
    data.nodeExtIds.map((vmExtId: string) => app.store.findWhere(HostAllocation, { vmExtId })),
  )
  assert.equal(new Set(hosts.flat().map(({ hostExtId }) => hostExtId)).size, 3)
})

test('a failure at boot gives back addresses, load and disks', async () => {
  const app = await start({
    beforeStep: (definition, _step, phase) => {
      if (definition === 'platform.create-manager-nodes' && phase === 'record')
        throw DriverError.final('the nodes do not boot')
    },
  })
  const before = await state(app)
  const task = await app.task(await deploy(app))
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /do not boot/)
  assert.deepEqual(await state(app), before)
  await checkInvariants(app)
})

test('a deployment can be cancelled until it boots, and then leaves nothing', async () => {
  const goOn = Promise.withResolvers<void>()
  const waiting = Promise.withResolvers<void>()
  const app = await start({
    beforeStep: async (definition) => {
      if (definition !== 'platform.fetch-manager-software') return
      waiting.resolve()
      await goOn.promise
    },
  })
  const before = await state(app)
  const started = await deploy(app)
  await waiting.promise
  const cancel = await app.call('POST', `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`)
  assert.equal(cancel.status, 200, JSON.stringify(cancel.errors))
  goOn.resolve()
  assert.equal((await app.task(started)).status, 'CANCELED')
  assert.deepEqual(await state(app), before)
})

test('an impossible deployment is refused at once, and stores nothing', async () => {
  const app = await start()
  const before = await state(app)
  const refused = async (given: object, status: number, code: string, text = /./): Promise<void> => {
    const result = await deploy(app, given)
    assert.deepEqual([result.status, result.errors[0]?.code], [status, code], JSON.stringify(result.errors))
    assert.match(result.errors[0]!.message, text)
  }
  await refused(body({}, { name: 'PC_10.44.1.9' }), 409, 'DM-30001')
  await refused(body({}, { buildInfo: {} }), 400, 'PLAT-10008', /required/)
  await refused(body({ network: { ...network, nameServers: [] } }), 400, 'PLAT-10008')
  await refused(body(withExternal({ networkExtId: randomUUID() })), 404, 'NETWORKING-10010')
  await refused(body(withExternal({ networkExtId: seedId('subnet/web') })), 400, 'PLAT-10008', /overlay/)
  await refused(body({ hostingClusterExtId: seedId('cluster/cloud-1') }), 404, 'NETWORKING-10010')
  const outside = [{ begin: ip('10.10.101.1'), end: ip('10.10.101.9') }]
  await refused(body(withExternal({ ipRanges: outside })), 400, 'PLAT-10008', /inside 10\.10\.100\.0\/24/)
  const single = [{ begin: ip('10.10.100.220'), end: ip('10.10.100.220') }]
  await refused(body(withExternal({ ipRanges: single })), 409, 'DM-30002', /2 free addresses .* 1 are there/)
  await refused(body(withExternal({ defaultGateway: ip('10.9.9.9') })), 400, 'PLAT-10008')
  const resourceConfig = { containerExtIds: [seedId('container/hp-extern-01/extern-store')] }
  await refused(body({}, { resourceConfig }), 404, 'PLAT-10007')
  const shown = await deploy(app, body({ shouldEnableHighAvailability: true, ...withExternal({ ipRanges: single }) }))
  assert.match(shown.errors[0]!.argumentsMap!['shortfall']!, /4 free addresses/)
  assert.deepEqual(await state(app), before)
})

test('a full cluster refuses with the shortfall of each host', async () => {
  const app = await start({ unchecked: 'hosts are filled by allocations of no VM' })
  for (const [index, letter] of ['a', 'b', 'c', 'd'].entries()) {
    const hostExtId = seedId(`host/hp-n01-${letter}`)
    const row = { extId: `filler-${index}`, vmExtId: randomUUID(), hostExtId, clusterExtId: native, vcpus: 1 }
    await app.store.transaction((store) =>
      store.insert(HostAllocation, { ...row, memoryBytes: 690 * GiB, isPinned: false }),
    )
  }
  const result = await deploy(app)
  assert.deepEqual([result.status, result.errors[0]?.code], [409, 'DM-30002'])
  assert.match(result.errors[0]!.argumentsMap!['shortfall']!, /memory: \d+ bytes needed/)
})

test('on a subnet without address management no two managers get the same address', async () => {
  const app = await start()
  const external = {
    networkExtId: seedId('subnet/vlan-200-static'),
    defaultGateway: ip('10.44.1.1'),
    subnetMask: ip('255.255.255.0'),
    ipRanges: [{ begin: ip('10.44.1.9'), end: ip('10.44.1.13') }],
  }
  const first = await app.task(await deploy(app, body(withExternal(external))))
  assert.equal(first.status, 'SUCCEEDED', JSON.stringify(first.errorMessages))
  const second = await app.task(await deploy(app, body(withExternal(external), { name: 'pc-03' })))
  const { data } = await app.call('GET', managers)
  assert.equal(second.status, 'SUCCEEDED')
  const addresses = data
    .filter(({ config }: any) => config.name.startsWith('pc-'))
    .map((manager: any) => manager.network.externalAddress.ipv4.value)
  assert.deepEqual(addresses, ['10.44.1.10', '10.44.1.12'])
  const third = await deploy(app, body(withExternal(external), { name: 'pc-04' }))
  assert.equal(third.errors[0]?.code, 'DM-30002')
})

test('a manager gets the address that its body names; a second one with it is refused, although others are free', async () => {
  const app = await start()
  const own = { externalAddress: ip('10.10.100.225') }
  const first = await app.task(await deploy(app, body({ network: { ...network, ...own } })))
  assert.equal(first.status, 'SUCCEEDED', JSON.stringify(first.errorMessages))
  const { data } = await app.call('GET', `${managers}/${first.entitiesAffected[1].extId}`)
  assert.equal(data.network.externalAddress.ipv4.value, '10.10.100.225')
  const second = await deploy(app, body({ network: { ...network, ...own } }, { name: 'pc-03' }))
  assert.deepEqual([second.status, second.errors[0]?.code], [409, 'DM-30002'])
})

test('secrets of the new manager are in no response', async () => {
  const app = await start()
  const credentials = [{ username: 'nutanix', password: 'New.Manager.Passw0rd' }]
  const task = await app.task(await deploy(app, body({}, { credentials })))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const shown = await app.call('GET', `${managers}/${task.entitiesAffected[1].extId}`)
  assert.ok(!JSON.stringify([task, shown.data]).includes('New.Manager.Passw0rd'))
})
