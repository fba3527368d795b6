import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { ContainerFact } from '../../../src/drivers/simulated/hardware.ts'
import { clustermgmt, hostId, ids, putFresh, requestId, setFault } from '../../support/clustermgmt.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const containers = `${clustermgmt}/storage-containers`
const TiB = 1024 ** 4
const get = async (path: string): Promise<any> => (await app.call('GET', path)).data
const create = (body: object, clusterId = ids.native, id = requestId()): Promise<CallResult> =>
  app.call('POST', containers, { body, clusterId, requestId: id })
async function aContainer(name: string, more: object = {}, clusterId: string = ids.native): Promise<string> {
  const task = await app.task(await create({ name, ...more }, clusterId))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected[0].extId
}
const remove = (extId: string, query = ''): Promise<CallResult> =>
  app.call('DELETE', `${containers}/${extId}${query}`, { requestId: requestId() })

/** A VM with one disk in this container; vmm's own creation is not what is tested here. */
async function aVmWithDisk(container: string, bytes: number): Promise<string> {
  const extId = requestId()
  const backingInfo = {
    $objectType: 'vmm.v4.ahv.config.VmDisk',
    diskExtId: requestId(),
    diskSizeBytes: bytes,
    storageContainer: { extId: container },
  }
  await app.store.transaction(async (transaction) => {
    await transaction.insert(Vm, {
      extId,
      name: 'holder',
      powerState: 'OFF',
      cluster: { extId: ids.native },
      disks: [{ extId: requestId(), backingInfo }],
    } as never)
  })
  return extId
}

test('a creation needs the header of its cluster, and a minimal body gets the defaults', async () => {
  const without = await app.call('POST', containers, { body: { name: 'nowhere' }, requestId: requestId() })
  assert.equal(without.status, 400)
  assert.equal(without.errors[0]?.attributePath, 'X-Cluster-Id')
  assert.equal((await create({ name: 'a' }, requestId())).status, 404)
  assert.equal((await create({ name: 'a' }, ids.manager)).errors[0]?.errorGroup, 'NOT_SUPPORTED_ON_MANAGER')

  const task = await app.task(await create({ name: 'plain' }))
  assert.deepEqual(
    [task.status, task.operation, task.entitiesAffected[0].rel],
    ['SUCCEEDED', 'Create Storage Container', 'clustermgmt:config:storage-containers'],
  )
  const { extId } = task.entitiesAffected[0]
  const shown = await get(`${containers}/${extId}`)
  assert.equal(shown.containerExtId, extId)
  assert.equal(shown.clusterExtId, ids.native)
  assert.equal(shown.clusterName, 'hp-native-01')
  const expected = {
    replicationFactor: 2,
    logicalExplicitReservedCapacityBytes: 0,
    logicalImplicitReservedCapacityBytes: 0,
    erasureCode: 'OFF',
    isCompressionEnabled: false,
    compressionDelaySecs: 0,
    onDiskDedup: 'OFF',
    cacheDeduplication: 'OFF',
    isSoftwareEncryptionEnabled: false,
    isEncrypted: false,
    isNfsWhitelistInherited: true,
    isInternal: false,
    isMarkedForRemoval: false,
    // Four hosts of 19.84 TB, 95 % of it usable.
    maxCapacityBytes: 4 * 19_840_000_000_000 * 0.95,
  }
  for (const [name, value] of Object.entries(expected)) assert.equal(shown[name], value, name)
})

test('two containers may have the same name only in different clusters', async () => {
  const answers = await Promise.all([create({ name: 'Twin' }), create({ name: 'twin' })])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  assert.equal(answers.find(({ status }) => status === 409)?.errors[0]?.errorGroup, 'STORAGE_CONTAINER_NAME_EXISTS')
  for (const answer of answers) if (answer.status === 202) await app.task(answer)
  assert.equal((await app.task(await create({ name: 'twin' }, ids.cloud))).status, 'SUCCEEDED')
})

test('more copies than the cluster has and less advertised than reserved capacity are 400, more reserved than the pool has is 409', async () => {
  assert.equal((await create({ name: 'c', replicationFactor: 3 })).status, 400)
  assert.equal(
    (await create({ name: 'c', logicalAdvertisedCapacityBytes: 5, logicalExplicitReservedCapacityBytes: 6 })).status,
    400,
  )
  assert.equal((await create({ name: 'c', logicalAdvertisedCapacityBytes: 100 * TiB })).status, 400)
  const beyond = await create({ name: 'c', logicalExplicitReservedCapacityBytes: 100 * TiB })
  assert.equal(beyond.status, 409)
  assert.equal(beyond.errors[0]?.errorGroup, 'INSUFFICIENT_STORAGE')
  assert.equal((await create({ name: 'c', isInternal: true })).status, 400)
  const inherited = { isNfsWhitelistInherited: true, nfsWhitelistAddress: [{ ipv4: { value: '10.1.1.1' } }] }
  assert.equal((await create({ name: 'c', ...inherited })).status, 400)
})

test('a reservation of 1 TiB takes 2 TiB of the pool from all others', async () => {
  const free = async (): Promise<number> =>
    (await get(`${clustermgmt}/clusters/${ids.extern}/storage-containers/datastores`))[0].freeSpaceBytes
  const before = await free()
  const extId = await aContainer('reserving', { logicalExplicitReservedCapacityBytes: TiB }, ids.extern)
  // Free bytes are logical: two physical ones each.
  assert.equal((before - (await free())) * 2, 2 * TiB)
  await app.task(await remove(extId))
  assert.equal(await free(), before)
})

test('of two concurrent reservations that fit only alone, one succeeds', async () => {
  const half = Math.floor((3 * 4 * 3_840_000_000_000 * 0.95) / 2 / 2) + TiB
  const answers = await Promise.all([
    create({ name: 'left', logicalExplicitReservedCapacityBytes: half }, ids.cloud),
    create({ name: 'right', logicalExplicitReservedCapacityBytes: half }, ids.cloud),
  ])
  const ends = await Promise.all(answers.map((answer) => app.task(answer)))
  assert.deepEqual(ends.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED'])
  const failed = ends.find(({ status }) => status === 'FAILED')
  assert.equal(failed.errorMessages[0].errorGroup, 'INSUFFICIENT_STORAGE')
  assert.equal((await app.call('GET', `${containers}/${failed.entitiesAffected[0].extId}`)).status, 404)
})

test('erasure coding needs four hosts for two copies', async () => {
  const three = await create({ name: 'coded', erasureCode: 'ON' }, ids.cloud)
  assert.equal(three.status, 409)
  assert.equal(three.errors[0]?.errorGroup, 'TOO_FEW_NODES_FOR_ERASURE_CODING')
  const extId = await aContainer('coded', { erasureCode: 'ON' })
  assert.equal((await get(`${containers}/${extId}`)).erasureCodeDelaySecs, 604_800)
})

test('an update needs the ETag, replaces the container and cannot disable encryption', async () => {
  const extId = await aContainer('changing', { isCompressionEnabled: true, isSoftwareEncryptionEnabled: true })
  const path = `${containers}/${extId}`
  assert.equal((await app.call('PUT', path, { body: { name: 'changing' }, requestId: requestId() })).status, 428)
  const off = await putFresh(app, path, { name: 'changing' })
  assert.equal(off.status, 400)
  assert.match(off.errors[0]?.message ?? '', /Encryption cannot be disabled once enabled\./)
  const task = await app.task(await putFresh(app, path, { name: 'changed', isSoftwareEncryptionEnabled: true }))
  assert.equal(task.status, 'SUCCEEDED')
  const shown = await get(path)
  assert.deepEqual(
    [shown.name, shown.isCompressionEnabled, shown.isEncrypted, shown.clusterExtId],
    ['changed', false, true, ids.native],
  )
  assert.equal((await putFresh(app, path, { name: 'db-gold', isSoftwareEncryptionEnabled: true })).status, 409)
  const moved = await putFresh(app, path, {
    name: 'changed',
    isSoftwareEncryptionEnabled: true,
    clusterExtId: ids.cloud,
  })
  assert.equal(moved.errors[0]?.code, 'PLAT-10012')
})

test('a container with a VM disk can be deleted only after the disk', async () => {
  const extId = await aContainer('holding')
  const vm = await aVmWithDisk(extId, TiB)
  const refused = await remove(extId)
  assert.equal(refused.status, 409)
  assert.equal(refused.errors[0]?.errorGroup, 'STORAGE_CONTAINER_NOT_EMPTY')
  assert.equal(refused.errors[0]?.argumentsMap?.['Vm'], '1')
  await app.store.transaction((transaction) => transaction.remove(Vm, vm))
  assert.equal((await app.task(await remove(extId))).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', `${containers}/${extId}`)).status, 404)
})

test('of two concurrent deletions of a container one is refused', async () => {
  const extId = await aContainer('leaving')
  const answers = await Promise.all([remove(extId), remove(extId)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  for (const answer of answers) if (answer.status === 202) await app.task(answer)
})

test('leftover files prevent the deletion of a container, but small ones do not if the caller ignores them', async () => {
  const extId = await aContainer('littered')
  const collection = app.world.collection<ContainerFact>('hardware.containers')
  await collection.put(extId, { ...(collection.get(extId) as ContainerFact), files: [4096] })
  const kept = await app.task(await remove(extId))
  assert.equal(kept.status, 'FAILED')
  assert.equal(kept.errorMessages[0].errorGroup, 'STORAGE_CONTAINER_NOT_EMPTY')
  assert.equal((await get(`${containers}/${extId}`)).isMarkedForRemoval, false)
  assert.equal((await app.task(await remove(extId, '?ignoreSmallFiles=true'))).status, 'SUCCEEDED')
})

test('internal and mounted containers are not deleted, and a mounted one is not renamed', async () => {
  assert.equal((await remove(seedId('container/hp-native-01/ManagementShare'))).status, 409)
  const mounted = seedId('container/hp-extern-01/extern-store')
  assert.equal((await remove(mounted)).status, 409)
  assert.equal((await putFresh(app, `${containers}/${mounted}`, { name: 'other' })).status, 409)
})

test('a datastore is mounted on all requested hosts or on none, and only on ESX clusters', async () => {
  const native = await aContainer('native-only')
  const mount = (extId: string, body: object) => app.call('POST', `${containers}/${extId}/$actions/mount`, { body })
  const refused = await mount(native, { containerName: 'native-only' })
  assert.equal(refused.status, 400)
  assert.equal(refused.errors[0]?.errorGroup, 'NOT_AN_ESX_CLUSTER')

  const extId = await aContainer('esx-share', {}, ids.extern)
  const list = async () =>
    get(
      `${clustermgmt}/clusters/${ids.extern}/storage-containers/datastores?$filter=${encodeURIComponent(`containerExtId eq '${extId}'`)}`,
    )
  assert.equal((await mount(extId, { containerName: 'wrong' })).status, 400)
  assert.equal((await mount(extId, { containerName: 'esx-share', nodeExtIds: [hostId('hp-n01-a')] })).status, 404)
  await setFault(app, hostId('hp-e01-b'), { refuses: ['mountDatastore'] })
  const failed = await app.task(await mount(extId, { containerName: 'esx-share' }))
  await setFault(app, hostId('hp-e01-b'))
  assert.equal(failed.status, 'FAILED')
  assert.deepEqual(await list(), [])
  const facts = [...app.world.collection('hardware.datastores').all().keys()]
  assert.equal(
    facts.some((key) => key.endsWith('/esx-share')),
    false,
  )

  const done = await app.task(await mount(extId, { containerName: 'esx-share', datastoreName: 'share' }))
  assert.deepEqual([done.status, done.operation], ['SUCCEEDED', 'Mount Storage Container'])
  const mounted = await list()
  assert.deepEqual(
    mounted.map(({ hostIpAddress }: any) => hostIpAddress),
    ['10.44.2.21', '10.44.2.22', '10.44.2.23'],
  )
  assert.ok(mounted[0].capacityBytes >= mounted[0].freeSpaceBytes)
  assert.equal((await mount(extId, { containerName: 'esx-share', datastoreName: 'share' })).status, 409)

  const unmount = (body: object) => app.call('POST', `${containers}/${extId}/$actions/unmount`, { body })
  assert.equal((await unmount({ datastoreName: 'unknown' })).status, 404)
  assert.equal(
    (await app.task(await unmount({ datastoreName: 'share', nodeExtIds: [hostId('hp-e01-a')] }))).status,
    'SUCCEEDED',
  )
  assert.equal((await list()).length, 2)
  assert.equal((await app.task(await unmount({ datastoreName: 'share' }))).status, 'SUCCEEDED')
  assert.deepEqual(await list(), [])
})

test('a failed creation leaves no row and no name behind', async () => {
  await setFault(app, ids.cloud, { refuses: ['putContainer'] })
  const task = await app.task(await create({ name: 'unlucky' }, ids.cloud))
  await setFault(app, ids.cloud)
  assert.equal(task.status, 'FAILED')
  assert.equal((await app.call('GET', `${containers}/${task.entitiesAffected[0].extId}`)).status, 404)
  await aContainer('unlucky', {}, ids.cloud)
})

test('an unreachable or read-only cluster takes no new container', async () => {
  await setFault(app, ids.cloud, { isDown: true })
  const down = await create({ name: 'x' }, ids.cloud)
  await setFault(app, ids.cloud)
  assert.equal(down.status, 503)
  await app.task(
    await putFresh(app, `${clustermgmt}/clusters/${ids.cloud}`, { config: { operationMode: 'READ_ONLY' } }),
  )
  assert.equal((await create({ name: 'x' }, ids.cloud)).status, 409)
})

test('repeating a creation with its request id returns the same task and creates one container, even after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-test-'))
  const id = requestId()
  const once = (to: TestApp) =>
    to.call('POST', containers, { body: { name: 'once' }, clusterId: ids.native, requestId: id })
  try {
    const first = await startApp({ folder })
    const made = await once(first)
    await first.task(made)
    await first.close()
    const second = await startApp({ folder })
    const again = await once(second)
    assert.deepEqual([again.status, again.replayed, again.data.extId], [202, true, made.data.extId])
    const found = await second.call('GET', `${containers}?$filter=${encodeURIComponent(`name eq 'once'`)}`)
    assert.equal(found.total, 1)
    await second.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('of the creation of a disk and the deletion of its container exactly one succeeds', async () => {
  const extId = await aContainer('contested')
  // The disk's claim is in the transaction that asks: the removal that follows sees it, though its VM is not visible yet.
  const vm = requestId()
  const backingInfo = {
    $objectType: 'vmm.v4.ahv.config.VmDisk',
    diskExtId: requestId(),
    diskSizeBytes: 1,
    storageContainer: { extId },
  }
  const [, removal] = await Promise.all([
    app.store.transaction((transaction) =>
      transaction.insert(
        Vm,
        {
          extId: vm,
          name: 'pending',
          powerState: 'OFF',
          cluster: { extId: ids.native },
          disks: [{ extId: requestId(), backingInfo }],
        } as never,
        { pending: true },
      ),
    ),
    remove(extId),
  ])
  assert.equal(removal.status, 409)
  await app.store.transaction((transaction) => transaction.remove(Vm, vm))
  assert.equal((await app.task(await remove(extId))).status, 'SUCCEEDED')
})
