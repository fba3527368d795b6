/** Chains of copy-on-write layers. Source: behaviour vmm.md 3.4, 3.8 (invariant 5). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { poolUsage } from '../../../src/domains/storage-space/capacity.ts'
import { diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { chainOf, contentBytes } from '../../../src/drivers/simulated/hypervisor/layers.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  act,
  aNativeCluster,
  aVm,
  bootDisk,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { send, succeeded } from '../../support/vm-parts.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
beforeEach(async () => {
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
const day = 24 * 3600 * 1000

async function aPoint(vmExtId: string): Promise<string> {
  const task = await succeeded(app, app.call('POST', points, { requestId: randomUUID(), body: { vmExtId } }))
  return task.entitiesAffected[0].extId
}
const layerOf = async (point: string): Promise<string> =>
  (await app.call('GET', `${points}/${point}`)).data.diskRecoveryPoints[0].diskRecoveryPointExtId
async function aClone(source: string): Promise<any> {
  const task = await succeeded(app, act(app, source, 'clone', {}))
  return readVm(app, task.entitiesAffected[1].extId)
}
const diskOf = (vm: any): string => vm.disks[0].extId
const depthOf = (diskExtId: string): number => chainOf(diskFacts(app.world), diskExtId).length
function contentOf(diskExtId: string): number {
  const disks = diskFacts(app.world)
  return contentBytes(disks, disks.get(diskExtId)!, app.clock.now())
}
const usedBytes = async (containerExtId = cluster.containerExtId): Promise<number> =>
  (await poolUsage(app, cluster.extId)).containers.get(containerExtId)?.logicalBytes ?? 0

test('a disk with a hundred recovery points has at most 64 layers, and each point keeps what the disk held', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk(100 * GiB)] })
  const held = new Map<string, number>()
  for (let count = 0; count < 100; count++) {
    await app.clock.advance(day / 4)
    const layer = await layerOf(await aPoint(vm.extId))
    held.set(layer, contentOf(layer))
    assert.ok(depthOf(diskOf(vm)) <= 64, `${depthOf(diskOf(vm))} layers after ${count + 1} points`)
  }
  for (const [layer, bytes] of held) assert.equal(contentOf(layer), bytes)
  assert.equal(new Set(held.values()).size, 100, 'the guest wrote between any two points')
  await checkInvariants(app)
})

test('recovery points over a shortened chain are deleted in any order, and the disk keeps its content', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk(100 * GiB)] })
  const made: string[] = []
  for (let count = 0; count < 70; count++) {
    await app.clock.advance(day)
    made.push(await aPoint(vm.extId))
  }
  assert.ok(depthOf(diskOf(vm)) < 64)
  const content = contentOf(diskOf(vm))
  for (const point of [...made.filter((_, index) => index % 2 === 0), ...made.filter((_, index) => index % 2 === 1)])
    await succeeded(app, app.call('DELETE', `${points}/${point}`, { requestId: randomUUID() }))
  assert.equal(depthOf(diskOf(vm)), 1)
  assert.ok(Math.abs(contentOf(diskOf(vm)) - content) <= 70, `${contentOf(diskOf(vm))} instead of ${content}`)
  await changed(app, vm.extId, 'delete')
  assert.equal(await usedBytes(), 0)
  await checkInvariants(app)
})

test('a VM that was cloned seventy times has at most 64 layers, and all are gone with the last clone', async () => {
  const source = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const layers = diskFacts(app.world).all().size
  const clones: any[] = []
  for (let count = 0; count < 70; count++) {
    await app.clock.advance(1000)
    clones.push(await aClone(source.extId))
    assert.ok(depthOf(diskOf(source)) <= 64)
  }
  await checkInvariants(app)
  for (const { extId } of clones) await changed(app, extId, 'delete')
  assert.equal(diskFacts(app.world).all().size, layers)
  await changed(app, source.extId, 'delete')
  assert.equal(diskFacts(app.world).all().size, layers - 1)
})

test('disks that share a layer keep their content when they move, and leave nothing in their former container', async () => {
  const target = randomUUID()
  const row = { extId: target, containerExtId: target, name: 'target', clusterExtId: cluster.extId }
  await app.store.transaction((store) => store.insert(StorageContainer, { ...row, replicationFactor: 1 } as never))
  const source = await aVm(app, cluster, { disks: [emptyDisk(10 * GiB)] })
  await app.clock.advance(5 * day)
  const clone = await aClone(source.extId)
  const content = contentOf(diskOf(source))
  for (const { extId } of [source, clone]) {
    const plan = { $objectType: 'vmm.v4.ahv.config.AllDisksMigrationPlan', storageContainer: { extId: target } }
    await succeeded(app, send(app, 'POST', `${extId}/$actions/migrate-vm-disks`, { migrateDisks: plan }))
  }
  for (const vm of [source, clone]) assert.deepEqual([contentOf(diskOf(vm)), depthOf(diskOf(vm))], [content, 1])
  assert.deepEqual([await usedBytes(), await usedBytes(target)], [0, 2 * content])
  await checkInvariants(app)
  for (const { extId } of [source, clone]) await changed(app, extId, 'delete')
  assert.equal(await usedBytes(target), 0)
})

test('the file of a CD-ROM drive holds no bytes that guests wrote, also after a clone and a recovery point', async () => {
  const backing = bootDisk(cluster)
  const vm = await aVm(app, cluster, { cdRoms: [backing] })
  await app.clock.advance(5 * day)
  const clone = await aClone(vm.extId)
  await aPoint(vm.extId)
  await app.clock.advance(5 * day)
  assert.equal(await usedBytes(), 0)
  for (const { extId } of [vm, clone]) await changed(app, extId, 'delete')
  await checkInvariants(app)
})
