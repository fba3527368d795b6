/** What storage containers save, hold and give up. Source: behaviour clustermgmt.md 1.9, 3, 5 (28 to 32). */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { clustermgmt, hostId, ids, putFresh, requestId, setFault } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, changed, GiB, type NativeCluster, postVm } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aDisk, aGroup, onContainer, usageOf } from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const containers = `${clustermgmt}/storage-containers`
const native = { extId: ids.native } as NativeCluster
const externStore = `${containers}/${seedId('container/hp-extern-01/extern-store')}`
const day = 24 * 60 * 60 * 1000

const create = (body: object, clusterId: string = ids.native, of = app): Promise<CallResult> =>
  of.call('POST', containers, { body, clusterId, requestId: requestId() })
async function aContainer(name: string, more: object = {}, clusterId: string = ids.native, of = app): Promise<string> {
  const task = await of.task(await create({ name, ...more }, clusterId, of))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return `${containers}/${task.entitiesAffected[0].extId}`
}
const remove = (path: string): Promise<CallResult> => app.call('DELETE', path, { requestId: requestId() })
const diskIn = (path: string, bytes = GiB) => ({
  backingInfo: { diskSizeBytes: bytes, storageContainer: { extId: path.slice(-36) } },
})
const datastores = async (of = app): Promise<any[]> =>
  (await of.call('GET', `${clustermgmt}/clusters/${ids.extern}/storage-containers/datastores`)).data
const freeOfStore = async (of: TestApp): Promise<number> =>
  (await datastores(of)).find(({ datastoreName }) => datastoreName === 'extern-store').freeSpaceBytes
/** Bytes of a pool that a reservation could still have: a refusal says so. */
async function available(of: TestApp, clusterId: string): Promise<number> {
  const asked = { name: 'too-much', logicalExplicitReservedCapacityBytes: 2 ** 50 }
  const refused = await create(asked, clusterId, of)
  assert.equal(refused.errors[0]?.errorGroup, 'INSUFFICIENT_STORAGE')
  return Number(refused.errors[0]?.argumentsMap?.['available'])
}

test('with compression the same data takes less of the pool as time passes: the datastores have more free bytes', async () => {
  const fresh = await startApp()
  try {
    const before = await freeOfStore(fresh)
    const on = await fresh.task(
      await putFresh(fresh, externStore, { name: 'extern-store', isCompressionEnabled: true, compressionDelaySecs: 0 }),
    )
    assert.equal(on.status, 'SUCCEEDED', JSON.stringify(on.errorMessages))
    assert.equal(await freeOfStore(fresh), before, 'nothing is compressed yet')
    await fresh.clock.advance(day)
    const after = await freeOfStore(fresh)
    assert.ok(after > before)
    await fresh.task(await putFresh(fresh, externStore, { name: 'extern-store' }))
    assert.equal(await freeOfStore(fresh), before)
  } finally {
    await fresh.close()
  }
})

test('a guest that writes into a compressed container uses less of the pool than one in an uncompressed container', async () => {
  const takenWith = async (more: object): Promise<number> => {
    const fresh = await startApp()
    try {
      const path = await aContainer('written', more, ids.native, fresh)
      const before = await available(fresh, ids.native)
      await aVm(fresh, native, { name: 'writer', disks: [diskIn(path, 4096 * GiB)] })
      await fresh.clock.advance(day)
      return before - (await available(fresh, ids.native))
    } finally {
      await fresh.close()
    }
  }
  const plain = await takenWith({})
  const compressed = await takenWith({ isCompressionEnabled: true, compressionDelaySecs: 0 })
  assert.ok(0 < compressed && compressed < plain, `${compressed} < ${plain}`)
})

test('erasure coding reduces the space of data two days after its delay, and is 409 on three hosts', async () => {
  const fresh = await startApp()
  try {
    const body = { name: 'extern-store', erasureCode: 'ON', erasureCodeDelaySecs: 3600 }
    const three = await putFresh(fresh, externStore, body)
    assert.deepEqual([three.status, three.errors[0]?.errorGroup], [409, 'TOO_FEW_NODES_FOR_ERASURE_CODING'])
    await fresh.store.transaction(async (store) => {
      const host = await store.get(Host, hostId('hp-e01-a'))
      await store.insert(Host, { ...host, extId: hostId('hp-e01-d'), hostName: 'hp-e01-d', disk: [] } as never)
    })
    const before = await freeOfStore(fresh)
    assert.equal((await fresh.task(await putFresh(fresh, externStore, body))).status, 'SUCCEEDED')
    await fresh.clock.advance(3_600_000)
    assert.equal(await freeOfStore(fresh), before, 'the delay has just passed')
    await fresh.clock.advance(2 * day)
    assert.ok((await freeOfStore(fresh)) > before)
  } finally {
    await fresh.close()
  }
})

test('a container with the disk of a VM can be deleted only after the VM', async () => {
  const path = await aContainer('holding-a-vm')
  const vm = await aVm(app, native, { name: 'tenant', disks: [diskIn(path)] })
  const refused = await remove(path)
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'STORAGE_CONTAINER_NOT_EMPTY'])
  assert.equal(refused.errors[0]?.argumentsMap?.['Vm'], '1')
  await changed(app, vm.extId, 'delete')
  assert.equal((await app.task(await remove(path))).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', path)).status, 404)
})

test('of a container deletion and a concurrent disk creation exactly one succeeds, in twenty rounds', async () => {
  for (let round = 0; round < 20; round++) {
    const path = await aContainer(`raced-${round}`)
    const disks = [diskIn(path)]
    const asks = [() => remove(path), () => postVm(app, native, { name: `racer-${round}`, disks })]
    if (round % 2 === 1) asks.reverse()
    const answers = await Promise.all(asks.map((ask) => ask()))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409], `round ${round}`)
    for (const answer of answers)
      if (answer.status === 202) assert.equal((await app.task(answer)).status, 'SUCCEEDED', `round ${round}`)
  }
  await checkInvariants(app)
})

test('a container that is being deleted refuses disks of VMs, disks of volume groups and datastores', async () => {
  let path = ''
  const refusals: CallResult[] = []
  let gated: TestApp | undefined
  gated = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'clustermgmt.delete-storage-container' || step !== 'check empty' || phase !== 'run') return
      const of = gated as TestApp
      refusals.push(await postVm(of, native, { name: 'late', disks: [diskIn(path)] }))
      const group = `/volumes/v4.2/config/volume-groups/${seedId('volume-group/vg-unused')}/disks`
      const source = { entityType: 'STORAGE_CONTAINER', extId: path.slice(-36) }
      const body = { diskSizeBytes: GiB, diskDataSourceReference: source }
      refusals.push(await of.call('POST', group, { body, requestId: requestId() }))
    },
  })
  try {
    path = await aContainer('leaving', {}, ids.native, gated)
    const task = await gated.task(await gated.call('DELETE', path, { requestId: requestId() }))
    assert.equal(task.status, 'SUCCEEDED')
    assert.deepEqual(
      refusals.map(({ status, errors }) => [status, /is being removed/.test(errors[0]?.message ?? '')]),
      [
        [409, true],
        [409, true],
      ],
    )
  } finally {
    await gated.close()
  }
})

test('of a deletion and a mount of one container the second is refused or fails, and no datastore remains without its container', async () => {
  const path = await aContainer('contested', {}, ids.extern)
  const mount = (): Promise<CallResult> =>
    app.call('POST', `${path}/$actions/mount`, { body: { containerName: 'contested' } })
  const [mounted, removed] = await Promise.all([mount(), remove(path)])
  assert.equal((await app.task(mounted)).status, 'SUCCEEDED')
  const failed = await app.task(removed)
  assert.deepEqual([failed.status, failed.errorMessages[0].errorGroup], ['FAILED', 'ENTITY_IN_USE'])
  assert.equal((await app.call('GET', path)).data.isMarkedForRemoval, false)
  await app.task(await app.call('POST', `${path}/$actions/unmount`, { body: { datastoreName: 'contested' } }))
  const [gone, late] = await Promise.all([remove(path), mount()])
  assert.equal(late.status, 409)
  assert.equal((await app.task(gone)).status, 'SUCCEEDED')
  assert.ok(!(await datastores()).some(({ containerName }) => containerName === 'contested'))
})

test('unmounting a datastore with a running external VM is 409 naming the VM, and succeeds once the VM is off', async () => {
  const unmount = (nodeExtIds?: string[]): Promise<CallResult> =>
    app.call('POST', `${externStore}/$actions/unmount`, { body: { datastoreName: 'extern-store', nodeExtIds } })
  const before = await datastores()
  assert.equal(before.length, 3)
  assert.ok(before[0].vmNames.includes('legacy-erp'))
  for (const hosts of [undefined, [hostId('hp-e01-a')], [hostId('hp-e01-a'), hostId('hp-e01-b')]]) {
    const refused = await unmount(hosts)
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'DATASTORE_IN_USE'])
    assert.equal(refused.errors[0]?.code, 'CLUSTER-10053')
    assert.match(refused.errors[0]?.message ?? '', /"legacy-erp"/)
  }
  assert.deepEqual(await datastores(), before)
  // On another host nothing runs from it.
  const elsewhere = await app.task(await unmount([hostId('hp-e01-c')]))
  assert.deepEqual([elsewhere.status, elsewhere.operation], ['SUCCEEDED', 'Unmount Storage Container'])

  const vm = `/vmm/v4.2/extern/config/vms/${seedId('extern-vm/legacy-erp')}`
  const { etag } = await app.call('GET', vm)
  const off = await app.call('POST', `${vm}/$actions/power-off`, { ifMatch: etag as string, requestId: requestId() })
  assert.equal((await app.task(off)).status, 'SUCCEEDED')
  assert.equal((await app.task(await unmount())).status, 'SUCCEEDED')
  assert.deepEqual(await datastores(), [])
})

test('an unmount that one host refuses leaves the datastore on every host', async () => {
  const path = await aContainer('clinging', {}, ids.extern)
  await app.task(await app.call('POST', `${path}/$actions/mount`, { body: { containerName: 'clinging' } }))
  await setFault(app, hostId('hp-e01-b'), { refuses: ['unmountDatastore'] })
  const failed = await app.task(
    await app.call('POST', `${path}/$actions/unmount`, { body: { datastoreName: 'clinging' } }),
  )
  await setFault(app, hostId('hp-e01-b'))
  assert.equal(failed.status, 'FAILED')
  const left = (await datastores()).filter(({ datastoreName }) => datastoreName === 'clinging')
  assert.equal(left.length, 3)
  const facts = [...app.world.collection('hardware.datastores').all().keys()].filter((key) => key.endsWith('/clinging'))
  assert.equal(facts.length, 3)
})

test('31. clearing thick-provisioned space makes thick disks thin: nothing is reserved for them, and what is written stays', async () => {
  const path = await aContainer('thick')
  const container = path.slice(-36)
  const [group, other] = [await aGroup(app), await aGroup(app)]
  const disk = await aDisk(app, group.extId, { diskSizeBytes: 100 * GiB, ...onContainer(container) })
  const thin = await aDisk(app, other.extId, { diskSizeBytes: 50 * GiB, ...onContainer(container) })
  const factOf = (extId: string) => ({ type: 'FACT_CHANGES', kind: 'VOLUME_DISK', of: extId }) as const
  for (const { extId } of [disk, thin]) await happen(app, { ...factOf(extId), path: 'writtenBytes', value: 10 * GiB })
  const shown = async () => (await app.call('GET', path)).data
  const free = await available(app, ids.native)
  await happen(app, { ...factOf(disk.extId), path: 'isThick', value: true })
  assert.equal((await shown()).logicalImplicitReservedCapacityBytes, 100 * GiB)
  assert.equal(free - (await available(app, ids.native)), 2 * (100 - 20) * GiB)
  const clear = (more: object = {}) => app.call('POST', `${path}/$actions/clear-thick-provisioned-space`, more)
  assert.equal((await clear({ clusterId: ids.extern })).status, 400)
  const once = { driverCall: { driver: 'blockStorage', method: 'provisionDisks' } }
  await aFault(app, once, { error: 'CONFLICT', arguments: { fault: 'refused' } }, { next: 1 })
  assert.equal((await app.task(await clear())).status, 'FAILED')
  await noFaults(app)
  assert.equal((await shown()).logicalImplicitReservedCapacityBytes, 100 * GiB)
  const task = await app.task(await clear({ clusterId: ids.native }))
  assert.deepEqual([task.status, task.entitiesAffected[0].rel], ['SUCCEEDED', 'clustermgmt:config:storage-containers'])
  assert.equal((await shown()).logicalImplicitReservedCapacityBytes, 0)
  assert.equal(await available(app, ids.native), free)
  assert.equal((await usageOf(app, container)).logicalBytes, 20 * GiB)
  assert.equal((await app.task(await clear())).status, 'SUCCEEDED')
})

test('a datastore names the VMs that are registered through it, so a second datastore of their container can be unmounted', async () => {
  const fresh = await startApp()
  try {
    const post = async (action: string, body: object) =>
      fresh.call('POST', `${externStore}/$actions/${action}`, { body })
    const second = { containerName: 'extern-store', datastoreName: 'second' }
    assert.equal((await fresh.task(await post('mount', second))).status, 'SUCCEEDED')
    for (const { datastoreName, vmNames } of await datastores(fresh))
      assert.equal((vmNames ?? []).includes('legacy-erp'), datastoreName === 'extern-store', datastoreName)
    assert.equal((await post('unmount', { datastoreName: 'extern-store' })).status, 409)
    assert.equal((await fresh.task(await post('unmount', { datastoreName: 'second' }))).status, 'SUCCEEDED')
    assert.equal((await datastores(fresh)).length, 3)
  } finally {
    await fresh.close()
  }
})
