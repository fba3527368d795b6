/** Products over the interface. Source: behaviour platform.md 5, 14 (statement 23). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { ownPath } from '../../support/registering.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aVpc, controllers, made, removed, vpcs } from '../../support/vpcs.ts'

const GiB = 1024 ** 3
const products = `${ownPath}/products`
const node = seedId('manager/node-1')

let app: TestApp
before(async () => {
  app = await startApp()
})
after(async () => {
  await checkInvariants(app)
  await app.close()
})

/** Of the manager of this world, whose id is that of the demo only there. */
const productsOf = async (on: TestApp): Promise<string> => {
  const [own] = (await on.call('GET', '/platform/v4.3/config/domain-managers')).data
  return `/platform/v4.3/management/domain-managers/${own.extId}/products`
}
const productOf = async (name: string): Promise<any> => {
  const { data, total } = await app.call('GET', `${products}?$filter=name eq '${name}'`)
  assert.equal(total, 1)
  return data[0]
}
async function set(name: string, enablementState: string, more: object = {}, query = ''): Promise<CallResult> {
  const path = `${products}/${(await productOf(name)).extId}`
  const { etag } = await app.call('GET', path)
  return app.call('PUT', `${path}${query}`, { body: { enablementState, ...more }, ifMatch: etag as string })
}
/** The same in another world. */
async function setIn(on: TestApp, name: string, enablementState: string): Promise<CallResult> {
  const all = await productsOf(on)
  const [{ extId }] = (await on.call('GET', `${all}?$filter=name eq '${name}'`)).data
  const { etag } = await on.call('GET', `${all}/${extId}`)
  return on.call('PUT', `${all}/${extId}`, { body: { enablementState }, ifMatch: etag as string })
}
const managerTakes = async (): Promise<[number, number]> => {
  const { data } = await app.call('GET', `/platform/v4.3/config/domain-managers/${seedId('manager')}`)
  return [data.config.resourceConfig.numVcpus, data.config.resourceConfig.memorySizeBytes / GiB]
}
const hostCarries = async (): Promise<[number, number]> => {
  const [held] = await app.store.findWhere(HostAllocation, { vmExtId: node })
  return [held!.vcpus, held!.memoryBytes / GiB]
}

test('eight products are listed, four of them enabled, each with its resources', async () => {
  const { data } = await app.call('GET', `${products}?$orderby=name`)
  const enabled = data.filter(({ enablementState }: any) => enablementState === 'ENABLED').map(({ name }: any) => name)
  assert.equal(data.length, 8)
  assert.deepEqual(enabled, [
    'FLOW_NETWORK_SECURITY',
    'FLOW_VIRTUAL_NETWORKING',
    'INTELLIGENT_OPERATIONS',
    'NUTANIX_DISASTER_RECOVERY',
  ])
  const [first] = data
  assert.ok(first.version && first.resourceSpec && first.lastModifiedTime)
  assert.deepEqual((await app.call('GET', `${products}/${first.extId}`)).data, first)
  assert.equal((await app.call('GET', `${products}/${randomUUID()}`)).status, 404)
  assert.equal((await app.call('GET', `${products.replace(seedId('manager'), randomUUID())}`)).status, 404)
})

test('enabling a product raises the load of the manager and its host, disabling it lowers both', async () => {
  assert.deepEqual(
    [await managerTakes(), await hostCarries()],
    [
      [10, 35],
      [10, 35],
    ],
  )
  const task = await app.task(await set('SELF_SERVICE', 'ENABLED'))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'updateProduct')
  assert.deepEqual(
    [await managerTakes(), await hostCarries()],
    [
      [14, 45],
      [14, 45],
    ],
  )
  const enabled = await productOf('SELF_SERVICE')
  assert.equal(enabled.enablementState, 'ENABLED')
  assert.ok(enabled.serviceEnablementTime && enabled.resizeTime)
  await app.task(await set('SELF_SERVICE', 'DISABLED'))
  assert.deepEqual(
    [await managerTakes(), await hostCarries()],
    [
      [10, 35],
      [10, 35],
    ],
  )
})

test('the same state again succeeds without effect, and may change the metadata', async () => {
  const before = await productOf('NUTANIX_MARKETPLACE')
  const metadata = {
    $objectType: 'platform.v4.management.GenericMetadata',
    attributes: [{ name: 'note', value: 'later' }],
  }
  const task = await app.task(await set('NUTANIX_MARKETPLACE', 'DISABLED', { metadata }))
  assert.equal(task.status, 'SUCCEEDED')
  const later = await productOf('NUTANIX_MARKETPLACE')
  assert.equal(later.enablementState, 'DISABLED')
  assert.equal(later.resizeTime, before.resizeTime)
  assert.equal(later.metadata.attributes[0].value, 'later')
  assert.deepEqual(await managerTakes(), [10, 35])
})

test('a product keeps its name, and a tag is needed to change it', async () => {
  const { extId } = await productOf('SELF_SERVICE')
  assert.equal((await set('SELF_SERVICE', 'ENABLED', { name: 'FLOW_CONTROLLER' })).errors[0]?.code, 'PLAT-10012')
  const body = { enablementState: 'ENABLED' }
  assert.equal((await app.call('PUT', `${products}/${extId}`, { body })).status, 428)
  assert.equal((await app.call('PUT', `${products}/${extId}`, { body, ifMatch: '"old"' })).status, 412)
  assert.equal((await set('SELF_SERVICE', 'PAUSED')).status, 400)
})

test('FLOW_VIRTUAL_NETWORKING can be disabled only without VPCs, then createVpc is 409 DM-30011, and the manager size follows', async () => {
  const demo = await set('FLOW_VIRTUAL_NETWORKING', 'DISABLED')
  assert.deepEqual([demo.status, demo.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(demo.errors[0]!.message, /3 VPCs/)
  const empty = await startApp({ config: { seed: 'empty' } })
  try {
    const takes = async (): Promise<number[]> => {
      const { resourceConfig } = (await empty.call('GET', '/platform/v4.3/config/domain-managers')).data[0].config
      return [resourceConfig.numVcpus, resourceConfig.memorySizeBytes / GiB]
    }
    await made(empty, controllers, {})
    const vpc = await aVpc(empty)
    const [vcpus, memory] = (await takes()) as [number, number]
    const refused = await setIn(empty, 'FLOW_VIRTUAL_NETWORKING', 'DISABLED')
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
    assert.match(refused.errors[0]!.message, /1 VPC\b/)
    await removed(empty, vpc)
    assert.equal((await empty.task(await setIn(empty, 'FLOW_VIRTUAL_NETWORKING', 'DISABLED'))).status, 'SUCCEEDED')
    assert.deepEqual(await takes(), [vcpus - 1, memory - 4])
    const closed = await empty.call('POST', vpcs, { body: { name: 'closed' } })
    assert.deepEqual([closed.status, closed.errors[0]?.code], [409, 'DM-30011'])
    assert.match(closed.errors[0]!.message, /enable it first/)
    assert.equal((await empty.call('GET', vpcs)).total, 0, 'reads go on')
    assert.equal((await empty.task(await setIn(empty, 'FLOW_VIRTUAL_NETWORKING', 'ENABLED'))).status, 'SUCCEEDED')
    assert.deepEqual(await takes(), [vcpus, memory])
    const open = await aVpc(empty)
    assert.equal((await empty.call('GET', open)).status, 200)
    await checkInvariants(empty)
  } finally {
    await empty.close()
  }
})

test('a VPC that is created while the product is being disabled makes the disabling fail', async () => {
  const other = await startApp({
    config: { seed: 'empty' },
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'platform.update-product' || step !== 'health' || phase !== 'run') return
      await aVpc(other, { name: 'late' })
    },
  })
  try {
    await made(other, controllers, {})
    const task = await other.task(await setIn(other, 'FLOW_VIRTUAL_NETWORKING', 'DISABLED'))
    assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'ENTITY_IN_USE'])
    const { data } = await other.call('GET', `${await productsOf(other)}?$filter=name eq 'FLOW_VIRTUAL_NETWORKING'`)
    assert.equal(data[0].enablementState, 'ENABLED')
  } finally {
    await other.close()
  }
})

test('a host without room refuses the product and names the shortfall', async () => {
  const hostExtId = seedId('host/hp-n01-a')
  const filler = { extId: 'filler', vmExtId: randomUUID(), hostExtId, clusterExtId: seedId('cluster/hp-native-01') }
  await app.store.transaction((store) =>
    store.insert(HostAllocation, { ...filler, memoryBytes: 690 * GiB, vcpus: 1, isPinned: false }),
  )
  const refused = await set('SELF_SERVICE', 'ENABLED')
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'DM-30010'])
  assert.match(refused.errors[0]!.argumentsMap!['shortfall']!, /memory/)
  const dry = await app.task(await set('SELF_SERVICE', 'ENABLED', {}, '?$dryrun=true'))
  assert.deepEqual([dry.status, dry.errorMessages[0].code], ['FAILED', 'DM-30010'])
  await app.store.transaction((store) => store.remove(HostAllocation, 'filler'))
})

test('$dryrun of an update lists the changes, and changes nothing', async () => {
  const before = await productOf('SELF_SERVICE')
  const task = await app.task(await set('SELF_SERVICE', 'ENABLED', {}, '?$dryrun=true'))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'updateProduct-dryrun'])
  const changes = task.completionDetails.find(({ name }: any) => name === 'changes').value
  assert.deepEqual(changes[0].map, { attribute: 'enablementState', from: 'DISABLED', to: 'ENABLED' })
  assert.deepEqual(await productOf('SELF_SERVICE'), before)
  assert.deepEqual(await managerTakes(), [10, 35])
})

test('FLOW_CONTROLLER needs to know its cluster and subnet', async () => {
  assert.equal((await set('FLOW_CONTROLLER', 'ENABLED')).status, 400)
  const type = 'platform.v4.management.FlowControllerMetadata'
  const metadata = { $objectType: type, cloudSubstrate: 'AWS', clusterExtId: seedId('cluster/cloud-1') }
  assert.equal((await set('FLOW_CONTROLLER', 'ENABLED', { metadata })).status, 400)
  const unknown = { ...metadata, subnetExtId: randomUUID() }
  assert.equal((await set('FLOW_CONTROLLER', 'ENABLED', { metadata: unknown })).status, 404)
  const known = { ...metadata, subnetExtId: seedId('subnet/vlan-100-app') }
  assert.equal((await app.task(await set('FLOW_CONTROLLER', 'ENABLED', { metadata: known }))).status, 'SUCCEEDED')
  assert.equal((await productOf('FLOW_CONTROLLER')).metadata.clusterExtId, seedId('cluster/cloud-1'))
  await app.task(await set('FLOW_CONTROLLER', 'DISABLED'))
})

test('a cancelled update releases its resources', async () => {
  const waiting = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const other = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'platform.update-product' || step !== 'check' || phase !== 'run') return
      waiting.resolve()
      await goOn.promise
    },
  })
  try {
    const started = await setIn(other, 'SELF_SERVICE', 'ENABLED')
    await waiting.promise
    const cancel = await other.call('POST', `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`)
    assert.equal(cancel.status, 200)
    goOn.resolve()
    assert.equal((await other.task(started)).status, 'CANCELED')
    const { data } = await other.call('GET', `${await productsOf(other)}?$filter=name eq 'SELF_SERVICE'`)
    assert.equal(data[0].enablementState, 'DISABLED')
  } finally {
    goOn.resolve()
    await other.close()
  }
})

test('in an empty world products only count for the manager', async () => {
  const empty = await startApp({ config: { seed: 'empty' } })
  try {
    assert.equal((await empty.task(await setIn(empty, 'SELF_SERVICE', 'ENABLED'))).status, 'SUCCEEDED')
    const [grown] = (await empty.call('GET', '/platform/v4.3/config/domain-managers')).data
    assert.equal(grown.config.resourceConfig.numVcpus, 14)
  } finally {
    await empty.close()
  }
})
