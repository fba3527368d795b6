/** Reverting volume groups. Source: behaviour volumes-storage.md 1.2 (Revert), 5 (27 to 29). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { VolumeGroupRecoveryPoint } from '@hyperplane/contract/volumes/recovery-point'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { blockDiskFacts, imageFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { revertible } from '../../kinds/volumes/recovery-point.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import type { TestApp } from '../../support/start-app.ts'
import {
  act,
  aDisk,
  aGroup,
  aRecoveryPoint,
  aVm,
  changeVm,
  GiB,
  groups,
  postDisk,
  put,
  read,
  refusal,
  send,
  succeeded,
  usageOf,
} from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const orders = seedId('volume-group/vg-orders-db')
const dayOld = seedId('volume-group-recovery-point/vg-orders-db/24h')
const revert = (groupId: string, volumeGroupRecoveryPointExtId: string, of = app) =>
  act(of, groupId, 'revert', { volumeGroupRecoveryPointExtId })
const disksOf = async (groupId: string, of = app): Promise<any[]> =>
  (await of.call('GET', `${groups}/${groupId}/disks`)).data
const sizesOf = async (groupId: string, of = app): Promise<number[]> =>
  (await disksOf(groupId, of)).map(({ diskSizeBytes }) => diskSizeBytes / GiB)
const hour = 3600_000
const powerOff = async (extId: string): Promise<void> => {
  const vm = `/vmm/v4.2/ahv/config/vms/${extId}`
  const { etag } = await app.call('GET', vm)
  await succeeded(app, send(app, 'POST', `${vm}/$actions/power-off`, { ifMatch: etag as string }))
}

test('27. a revert to the day-old point restores sizes and number of disks, keeps name and attachments, and hydrates to the end', async () => {
  const fresh = await startQuietDemo()
  try {
    for (const client of ['db-a', 'db-b'])
      await happen(fresh, { type: 'STORAGE_CLIENT_DISCONNECTS', client: `iqn.2026-01.io.example:${client}` })
    await aDisk(fresh, orders, { diskSizeBytes: GiB })
    const before = await read(fresh, orders)
    const [first] = await disksOf(orders, fresh)
    const task = await succeeded(fresh, revert(orders, dayOld, fresh))
    assert.deepEqual(
      [task.operation, task.entitiesAffected.map(({ rel }: any) => rel)],
      ['VolumeGroupRevert', ['volumes:config:volume-group']],
    )
    assert.deepEqual(task.completionDetails, [{ name: 'volumeGroupExtIds', value: [orders] }])
    assert.deepEqual(await sizesOf(orders, fresh), [500, 80])
    assert.equal((await disksOf(orders, fresh))[0].extId, first.extId)
    const { hydrationStatus, ...reverted } = await read(fresh, orders)
    assert.equal(hydrationStatus, 'IN_PROGRESS')
    assert.deepEqual(reverted, before)
    const remaining = async (): Promise<number[]> => {
      const span = [fresh.clock.now() - hour, fresh.clock.now()].map((time) => new Date(time).toISOString())
      const query = `$startTime=${span[0]}&$endTime=${span[1]}&$select=hydrationRemainingBytes`
      const { data } = await fresh.call('GET', `/volumes/v4.2/stats/volume-groups/${orders}?${query}`)
      return data.hydrationRemainingBytes.map(({ value }: any) => value)
    }
    assert.equal(refusal(await revert(orders, dayOld, fresh)).group, 'VOLUME_GROUP_BUSY')
    await fresh.clock.advance(hour)
    const bytes = await remaining()
    assert.ok(bytes[0]! > 100 * GiB, `${bytes[0]}`)
    assert.deepEqual(
      bytes,
      bytes.toSorted((a, b) => b - a),
    )
    assert.equal(bytes.at(-1), 0)
    assert.equal((await read(fresh, orders)).hydrationStatus, 'COMPLETE')
  } finally {
    await fresh.close()
  }
})

test('27. disks that have gone are made again with new ids, those that came later go, and one that grew has its former size', async () => {
  const { path, body, ids } = await revertible(app)
  await succeeded(app, send(app, 'POST', path, { body }))
  const disks = await disksOf(ids.group)
  assert.deepEqual(
    disks.map(({ index, diskSizeBytes }) => [index, diskSizeBytes]),
    [
      [0, GiB],
      [1, 2 * GiB],
    ],
  )
  assert.equal(disks[0].extId, ids.grown)
  assert.ok(![ids.gone, ids.added].includes(disks[1].extId))
  const facts = [...blockDiskFacts(app.world).all().values()].filter((fact) => fact.volumeGroupExtId === ids.group)
  assert.deepEqual(new Set(facts.map(({ extId }) => extId)), new Set(disks.map(({ extId }) => extId)))
  const { extId, diskSizeBytes, storageContainerId } = disks[1]
  const source = { extId: storageContainerId, entityType: 'STORAGE_CONTAINER' }
  const sent = { diskSizeBytes, diskDataSourceReference: source }
  await succeeded(app, put(app, `${groups}/${ids.group}/disks/${extId}`, sent))
})

test('28. a revert while an attached VM is on or a client has a session is 409, to a point of another group 400, to an unknown one 404', async () => {
  const group = await aGroup(app, { disks: [{ diskSizeBytes: GiB }] })
  const point = await aRecoveryPoint(app, group.extId)
  const vm = await aVm(app)
  await succeeded(app, act(app, group.extId, 'attach-vm', { extId: vm.extId }))
  await changeVm(app, vm.extId, 'power-on')
  assert.deepEqual(refusal(await revert(group.extId, point)), { status: 409, group: 'VOLUME_GROUP_IN_USE' })
  assert.deepEqual(refusal(await revert(orders, dayOld)), { status: 409, group: 'VOLUME_GROUP_IN_USE' })
  assert.deepEqual(refusal(await revert(group.extId, dayOld)), {
    status: 400,
    group: 'RECOVERY_POINT_OF_ANOTHER_GROUP',
  })
  assert.equal((await revert(group.extId, randomUUID())).status, 404)
  await powerOff(vm.extId)
  await succeeded(app, revert(group.extId, point))
  assert.equal((await read(app, group.extId)).attachments.length, 1)
})

test('29. a revert that fails while it switches the disks is undone: the group has its disks and their contents as before', async () => {
  const { path, body, ids } = await revertible(app)
  const before = await disksOf(ids.group)
  const contents = () =>
    [...blockDiskFacts(app.world).all().values()]
      .filter((fact) => fact.volumeGroupExtId === ids.group)
      .map(({ extId, sizeBytes, writtenBytes, createdAt }) => ({ extId, sizeBytes, writtenBytes, createdAt }))
      .toSorted((a, b) => (a.extId < b.extId ? -1 : 1))
  const stored = contents()
  const used = await usageOf(app)
  const images = imageFacts(app.world).all().size
  for (const call of ['snapshotBlocks', 'suspendTarget', 'putContents', 'resumeTarget', 'startHydration']) {
    const within = { driverCall: { driver: 'blockStorage', method: call } }
    const refused = { error: 'CONFLICT', arguments: { fault: 'refused' } }
    await aFault(app, within, refused, { next: 1 })
    assert.equal((await app.task(await send(app, 'POST', path, { body }))).status, 'FAILED', call)
    await noFaults(app)
    assert.deepEqual(contents(), stored, call)
    assert.deepEqual(
      (await disksOf(ids.group)).map(({ extId, diskSizeBytes }) => [extId, diskSizeBytes]),
      before.map(({ extId, diskSizeBytes }) => [extId, diskSizeBytes]),
      call,
    )
    assert.equal(imageFacts(app.world).all().size, images, call)
    assert.deepEqual(await usageOf(app), used, call)
    assert.equal((await read(app, ids.group)).hydrationStatus, undefined)
  }
  await succeeded(app, send(app, 'POST', path, { body }))
})

test('the state before a revert can be returned to, and is deleted after a day', async () => {
  const { path, body, ids } = await revertible(app)
  await succeeded(app, send(app, 'POST', path, { body }))
  const points = await app.store.findWhere(VolumeGroupRecoveryPoint, { volumeGroupExtId: ids.group })
  const safety = points.find(({ expirationTime }) => expirationTime !== undefined)!
  await app.clock.advance(60_000)
  await succeeded(app, revert(ids.group, safety.extId))
  assert.deepEqual(await sizesOf(ids.group), [4, 3])
  await app.clock.advance(25 * hour)
  await app.runner.idle()
  assert.deepEqual(
    (await app.store.findWhere(VolumeGroupRecoveryPoint, { volumeGroupExtId: ids.group })).map(({ extId }) => extId),
    [body.volumeGroupRecoveryPointExtId],
  )
})

test('while a group is reverted its disks and attachments are 409, and of two reverts at once one wins', async () => {
  const { path, body, ids } = await revertible(app)
  await aFault(app, { driverCall: { driver: 'blockStorage', method: 'putContents' } }, { delay: { fixed: 'PT1M' } })
  const revertAtOnce = () => send(app.atOnce, 'POST', path, { body, isAtOnce: true })
  const [one, two] = await Promise.all([revertAtOnce(), revertAtOnce()])
  assert.deepEqual([one!.status, two!.status].toSorted(), [202, 409])
  for (const refused of [
    await postDisk(app.atOnce, ids.group, { diskSizeBytes: GiB }),
    await send(app.atOnce, 'DELETE', `${groups}/${ids.group}`),
    await act(app.atOnce, ids.group, 'attach-iscsi-client', { iscsiInitiatorName: 'iqn.2026-01.io.example:late' }),
  ])
    assert.deepEqual(refusal(refused), { status: 409, group: 'VOLUME_GROUP_BUSY' })
  const ended = app.task(one!.status === 202 ? one! : two!)
  await app.clock.advance(120_000)
  assert.equal((await ended).status, 'SUCCEEDED')
  await noFaults(app)
})

test('a hydration that fails leaves the data readable and the group deletable, and goes on when the fault has gone', async () => {
  const group = await aGroup(app, { disks: [{ diskSizeBytes: 4096 * GiB }] })
  const [{ extId }] = await disksOf(group.extId)
  await blockDiskFacts(app.world).put(extId, { ...blockDiskFacts(app.world).get(extId)!, writtenBytes: 2000 * GiB })
  const point = await aRecoveryPoint(app, group.extId)
  await succeeded(app, revert(group.extId, point))
  assert.deepEqual(refusal(await send(app, 'DELETE', `${groups}/${group.extId}`)), {
    status: 409,
    group: 'VOLUME_GROUP_BUSY',
  })
  await succeeded(app, put(app, `${groups}/${group.extId}`, { description: 'hydrating' }))
  await happen(app, { type: 'HYDRATION_FAILS', group: group.name })
  assert.equal((await read(app, group.extId)).hydrationStatus, 'FAIL')
  await app.clock.advance(hour)
  assert.equal((await read(app, group.extId)).hydrationStatus, 'FAIL')
  await happen(app, { type: 'HYDRATION_RESUMES', group: group.name })
  await app.clock.advance(3 * hour)
  assert.equal((await read(app, group.extId)).hydrationStatus, 'COMPLETE')
  const images = imageFacts(app.world).all().size
  await succeeded(app, send(app, 'DELETE', `${groups}/${group.extId}`))
  assert.equal(imageFacts(app.world).all().size, images - 2)
})

test('a disk of a recovery point is the source of a new disk, with its size and contents', async () => {
  const image = seedId('volume-disk-recovery-point/vg-orders-db/24h/1')
  const group = await aGroup(app)
  const disk = await aDisk(app, group.extId, {
    diskDataSourceReference: { extId: image, entityType: 'DISK_RECOVERY_POINT' },
  })
  assert.equal(disk.diskSizeBytes, 80 * GiB)
  assert.equal(blockDiskFacts(app.world).get(disk.extId)?.writtenBytes, imageFacts(app.world).get(image)?.writtenBytes)
  const unknown = { diskDataSourceReference: { extId: randomUUID(), entityType: 'DISK_RECOVERY_POINT' } }
  assert.equal((await postDisk(app, group.extId, unknown)).status, 404)
})
