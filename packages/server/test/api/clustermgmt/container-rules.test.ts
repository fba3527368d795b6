/** What a storage container may be like: one row for each rule. Source: behaviour clustermgmt.md 1.9. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { DatastoreSpec } from '../../../src/drivers/hardware.ts'
import { clustermgmt, hostId, ids, putFresh, requestId } from '../../support/clustermgmt.ts'
import { aVm, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const containers = `${clustermgmt}/storage-containers`
const create = (body: object, clusterId: string = ids.native): Promise<CallResult> =>
  app.call('POST', containers, { body, clusterId, requestId: requestId() })
async function aContainer(name: string, more: object = {}, clusterId: string = ids.native): Promise<string> {
  const task = await app.task(await create({ name, ...more }, clusterId))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return `${containers}/${task.entitiesAffected[0].extId}`
}
const pathOf = ({ errors }: CallResult): string | undefined =>
  errors[0]?.attributePath ?? errors[0]?.argumentsMap?.['attributePath'] ?? errors[0]?.argumentsMap?.['attribute']

const refusals: readonly (readonly [title: string, body: object, status: number, path: string])[] = [
  ['a name with a slash', { name: 'a/b' }, 400, 'name'],
  ['a name with a blank at its end', { name: 'a ' }, 400, 'name'],
  ['a name with a control character', { name: 'a\u0007b' }, 400, 'name'],
  ['a name of 76 characters', { name: 'n'.repeat(76) }, 400, 'name'],
  ['a body of another cluster than the header', { name: 'x', clusterExtId: ids.cloud }, 400, 'clusterExtId'],
  ['two copies with a host', { name: 'x', affinityHostExtId: hostId('hp-n01-a') }, 400, 'affinityHostExtId'],
  [
    'a host of another cluster',
    { name: 'x', replicationFactor: 1, affinityHostExtId: hostId('hp-e01-a') },
    404,
    'affinityHostExtId',
  ],
  ['more copies than the cluster keeps', { name: 'x', replicationFactor: 3 }, 400, 'replicationFactor'],
  [
    'erasure coding of one copy',
    { name: 'x', replicationFactor: 1, affinityHostExtId: hostId('hp-n01-a'), erasureCode: 'ON' },
    400,
    'erasureCode',
  ],
  ['a compression delay beyond 30 days', { name: 'x', compressionDelaySecs: 2_592_001 }, 400, 'compressionDelaySecs'],
  ['a negative erasure coding delay', { name: 'x', erasureCodeDelaySecs: -1 }, 400, 'erasureCodeDelaySecs'],
  ['an address of nobody in the whitelist', { name: 'x', nfsWhitelistAddress: [{}] }, 400, 'nfsWhitelistAddress[0]'],
  [
    'an inherited whitelist beside its own',
    { name: 'x', isNfsWhitelistInherited: true, nfsWhitelistAddress: [{ ipv4: { value: '10.1.1.1' } }] },
    400,
    'isNfsWhitelistInherited',
  ],
  ['an internal container', { name: 'x', isInternal: true }, 400, 'isInternal'],
]
for (const [title, body, status, path] of refusals) {
  test(`a creation is refused: ${title}`, async () => {
    const refused = await create(body)
    assert.deepEqual([refused.status, pathOf(refused)], [status, path], JSON.stringify(refused.errors))
  })
}

test('101 addresses in the whitelist are too many, 100 are not; with addresses nothing is inherited', async () => {
  const addresses = (count: number) => Array.from({ length: count }, (_, n) => ({ ipv4: { value: `10.1.1.${n}` } }))
  assert.equal((await create({ name: 'listed', nfsWhitelistAddress: addresses(101) })).status, 400)
  const path = await aContainer('listed', { nfsWhitelistAddress: addresses(100) })
  const shown = (await app.call('GET', path)).data
  assert.equal(shown.nfsWhitelistAddress.length, 100)
  assert.equal(shown.isNfsWhitelistInherited, false)
})

test('a container with a single copy gets a host of its cluster, and an update without the host keeps it', async () => {
  const paths = [
    await aContainer('once', { replicationFactor: 1 }),
    await aContainer('twice', { replicationFactor: 1 }),
  ]
  const hosts = await Promise.all(paths.map(async (path) => (await app.call('GET', path)).data.affinityHostExtId))
  const ofCluster = ['a', 'b', 'c', 'd'].map((letter) => hostId(`hp-n01-${letter}`))
  assert.ok(hosts.every((extId) => ofCluster.includes(extId)))
  assert.notEqual(hosts[0], hosts[1], 'single copies spread over the hosts')
  assert.equal(
    (await app.task(await putFresh(app, paths[0]!, { name: 'once', replicationFactor: 1 }))).status,
    'SUCCEEDED',
  )
  assert.equal((await app.call('GET', paths[0]!)).data.affinityHostExtId, hosts[0])
})

test('two copies cannot be reduced to one, because the host of a single copy is chosen at creation', async () => {
  const path = await aContainer('pair')
  const refused = await putFresh(app, path, { name: 'pair', replicationFactor: 1 })
  assert.deepEqual([refused.status, pathOf(refused)], [400, 'affinityHostExtId'])
})

test('the host of a single copy cannot be changed', async () => {
  const path = await aContainer('single', { replicationFactor: 1, affinityHostExtId: hostId('hp-n01-a') })
  const moved = await putFresh(app, path, {
    name: 'single',
    replicationFactor: 1,
    affinityHostExtId: hostId('hp-n01-b'),
  })
  assert.deepEqual([moved.status, moved.errors[0]?.code], [400, 'PLAT-10012'])
})

test('an advertised capacity cannot be smaller than the used capacity', async () => {
  const path = await aContainer('filled', { logicalAdvertisedCapacityBytes: 4096 * GiB })
  const disk = { backingInfo: { diskSizeBytes: 2048 * GiB, storageContainer: { extId: path.slice(-36) } } }
  await aVm(app, { extId: ids.native } as NativeCluster, { name: 'filling', disks: [disk] })
  await app.clock.advance(24 * 3_600_000)
  const refused = await putFresh(app, path, { name: 'filled', logicalAdvertisedCapacityBytes: GiB })
  assert.deepEqual([refused.status, pathOf(refused)], [400, 'logicalAdvertisedCapacityBytes'])
  const enough = await putFresh(app, path, { name: 'filled', logicalAdvertisedCapacityBytes: 1024 * GiB })
  assert.equal((await app.task(enough)).status, 'SUCCEEDED')
})

test('a small reservation is accepted, and the owner is the creator even after updates', async () => {
  const path = await aContainer('small', { logicalExplicitReservedCapacityBytes: 20 })
  const before = (await app.call('GET', path)).data
  assert.equal(before.logicalExplicitReservedCapacityBytes, 20)
  await app.task(await putFresh(app, path, { name: 'small' }))
  const after = (await app.call('GET', path)).data
  assert.deepEqual([after.ownerExtId, after.logicalExplicitReservedCapacityBytes], [before.ownerExtId, 0])
})

test('the inline and fault domain preferences of erasure coding are stored as sent', async () => {
  const path = await aContainer('preferring', { isInlineEcEnabled: true, hasHigherEcFaultDomainPreference: true })
  const { isInlineEcEnabled, hasHigherEcFaultDomainPreference } = (await app.call('GET', path)).data
  assert.deepEqual([isInlineEcEnabled, hasHigherEcFaultDomainPreference], [true, true])
})

test('an update ignores the header of a cluster', async () => {
  const path = await aContainer('headed')
  const { etag } = await app.call('GET', path)
  const sent = { body: { name: 'headed' }, ifMatch: etag as string, requestId: requestId(), clusterId: ids.extern }
  assert.equal((await app.task(await app.call('PUT', path, sent))).status, 'SUCCEEDED')
})

test('a mount sends path and access mode to the requested hosts, and a datastore name is unique on each host', async () => {
  const path = await aContainer('shared', {}, ids.extern)
  const mount = (body: object): Promise<CallResult> =>
    app.call('POST', `${path}/$actions/mount`, { body: { containerName: 'shared', ...body } })
  const one = { datastoreName: 'one', nodeExtIds: [hostId('hp-e01-a')], isReadOnly: true, targetPath: '/mnt/one' }
  assert.equal((await app.task(await mount(one))).status, 'SUCCEEDED')
  const facts = app.world.collection<DatastoreSpec>('hardware.datastores')
  const fact = facts.get(`${hostId('hp-e01-a')}/one`)
  assert.deepEqual([fact?.isReadOnly, fact?.targetPath], [true, '/mnt/one'])
  assert.equal((await mount(one)).status, 409)
  assert.equal((await app.task(await mount({ ...one, nodeExtIds: [hostId('hp-e01-b')] }))).status, 'SUCCEEDED')
  const usual = await app.task(await mount({}))
  assert.deepEqual(
    [usual.status, usual.entitiesAffected[0].rel],
    ['SUCCEEDED', 'clustermgmt:config:storage-containers'],
  )
  assert.equal((await mount({ nodeExtIds: [requestId()] })).status, 404)
  const filter = encodeURIComponent(`containerExtId eq '${path.slice(-36)}'`)
  const list = await app.call(
    'GET',
    `${clustermgmt}/clusters/${ids.extern}/storage-containers/datastores?$filter=${filter}`,
  )
  assert.deepEqual(list.data.map(({ datastoreName }: any) => datastoreName).sort(), [
    'one',
    'one',
    'shared',
    'shared',
    'shared',
  ])
})

test('a container cannot be created on the manager, which has no storage', async () => {
  const refused = await create({ name: 'x' }, ids.manager)
  assert.deepEqual([refused.status, refused.errors[0]?.code], [400, 'CLUSTER-10001'])
  assert.equal((await app.call('GET', `${containers}/${seedId('container/hp-native-01/default')}`)).status, 200)
})
