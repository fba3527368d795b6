/** Disks of storage pools. Source: behaviour clustermgmt.md 1.8, 5 (22, 23). */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Disk } from '@hyperplane/contract/clustermgmt/disk'
import { driveFacts } from '../../../src/drivers/simulated/drives.ts'
import { dataDisk } from '../../kinds/clustermgmt/disk.ts'
import { clustermgmt, hostId, ids, setFault } from '../../support/clustermgmt.ts'
import { driven, reached } from '../../support/driven.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
/** Data moves at the rate of its drives. */
let slow: TestApp
before(async () => {
  app = await startApp()
  slow = await startApp({ config: { durations: 'natural' } })
})
after(async () => {
  for (const each of [app, slow]) await each.close()
})

const disks = `${clustermgmt}/disks`
const HDD = { tier: 'DAS_SATA', sizeBytes: 4000 * GiB } as const
const SSD = { tier: 'SSD_SATA', sizeBytes: 2000 * GiB } as const

const read = async (extId: string, at = app): Promise<any> => (await at.call('GET', `${disks}/${extId}`)).data
const remove = (extId: string, at = app): Promise<CallResult> => at.call('DELETE', `${disks}/${extId}`)
const add = (serialNumber: string, info?: object, { at = app, to = ids.native as string } = {}): Promise<CallResult> =>
  at.call('POST', `${clustermgmt}/clusters/${to}/$actions/add-disk`, {
    body: { serialNumber, ...(info && { diskPartitionInfo: info }) },
  })
const done = async (started: Promise<CallResult>, at = app): Promise<any> => {
  const task = await at.task(await started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}
const refusal = async (result: Promise<CallResult>): Promise<string> => {
  const { status, errors } = await result
  return `${status} ${errors?.[0]?.errorGroup}`
}
const capacity = async (at = app): Promise<number> =>
  (await at.call('GET', `${clustermgmt}/storage-containers?$filter=name eq 'db-gold'`)).data[0].maxCapacityBytes
const disksOf = async ({ extId }: NativeCluster, host = 0): Promise<any[]> =>
  (await app.call('GET', `${clustermgmt}/clusters/${extId}/hosts`)).data[host].disk

test('clients see each disk with its place, and hosts mirror them', async () => {
  const { data, total } = await app.call('GET', `${disks}?$filter=hostName eq 'hp-n01-a'&$orderby=serialNumber`)
  assert.equal(total, 6)
  const [first] = data.filter(({ location }: any) => location === 1)
  assert.deepEqual(
    [first.clusterName, first.nodeExtId, first.storageTier, first.status, first.physicalCapacityBytes],
    ['hp-native-01', hostId('hp-n01-a'), 'SSD_SATA', 'NORMAL', (1.92e12 * 95) / 100],
  )
  assert.equal(first.diskAdvanceConfig.isBootDisk, true)
  assert.equal(first.removal, undefined)
  const host = (await app.call('GET', `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}`)).data
  assert.deepEqual(
    new Set(host.disk.map(({ uuid, serialId }: any) => `${uuid} ${serialId}`)),
    new Set(data.map(({ extId, serialNumber }: any) => `${extId} ${serialNumber}`)),
  )
  const tiers = await app.call('GET', `${disks}?$apply=groupby((storageTier))`)
  assert.deepEqual(
    new Set(tiers.data.map(({ storageTier }: any) => storageTier)),
    new Set(['SSD_SATA', 'DAS_SATA', 'SSD_PCIE']),
  )
  const old = await app.call('GET', disks.replace('v4.2', 'v4.0'))
  assert.equal(old.status, 200)
  const led = await app.call('POST', `${disks.replace('v4.2', 'v4.0')}/${first.extId}/$actions/update-led-state`, {
    body: { isEngaged: true },
  })
  assert.equal(led.status, 404)
})

test('22: a removed disk migrates at its rate, is detachable, and goes; added again, the capacity returns to the byte', async () => {
  const disk = dataDisk('b', 3)
  const { serialNumber, physicalCapacityBytes } = await read(disk, slow)
  const whole = await capacity(slow)
  const started = await remove(disk, slow)
  await reached(slow, started, 5)
  assert.equal((await read(disk, slow)).status, 'DATA_MIGRATION_INITIATED')
  await reached(slow, started, 6)
  assert.equal(await capacity(slow), whole - physicalCapacityBytes)
  const { evacuation, fillings } = driveFacts(slow.world).get(disk) as any
  const filling = fillings.at(-1)
  assert.equal(Math.round((filling.until - filling.since) / 1000), Math.round(evacuation.bytes / (250 * 1024 ** 2)))
  await slow.clock.advance((filling.since + filling.until) / 2 - slow.clock.now() + 10_000)
  const half = (await slow.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)).data.progressPercentage
  assert.ok(Math.abs(half - 50) <= 15, String(half))
  const task = await driven(slow, slow.task(started))
  assert.deepEqual([task.status, task.entitiesAffected[0].rel], ['SUCCEEDED', 'clustermgmt:config:disk'])
  const { status, diskAdvanceConfig } = await read(disk, slow)
  assert.deepEqual([status, diskAdvanceConfig.isDataMigrated], ['DETACHABLE', true])
  const detachable = (await slow.store.get(Disk, disk))?.removal?.detachableSince as string
  await slow.clock.advance(Date.parse(detachable) + 59_000 - slow.clock.now())
  assert.equal((await read(disk, slow)).status, 'DETACHABLE')
  await slow.clock.advance(2_000)
  assert.equal((await slow.call('GET', `${disks}/${disk}`)).status, 404)
  const added = await driven(slow, slow.task(await add(serialNumber, undefined, { at: slow })))
  assert.deepEqual([added.status, added.operation], ['SUCCEEDED', 'Add Disk'])
  assert.deepEqual([(await read(disk, slow)).status, await capacity(slow)], ['NORMAL', whole])
  assert.equal(await refusal(add(serialNumber, undefined, { at: slow })), '409 DISK_ALREADY_IN_USE')
})

test('the service reads only the disks of a host whose hardware has changed', async (t) => {
  const [disk, sibling, other] = [dataDisk('b', 3), dataDisk('b', 4), dataDisk('c', 3)]
  await happen(app, { type: 'DISK_SLOWS', disk })
  await app.clock.advance(20_000)
  const find = t.mock.method(app.store, 'find')
  await happen(app, { type: 'HOST_FAILS', host: hostId('hp-n01-b') })
  await app.clock.advance(20_000)
  const isOnline = async (extId: string): Promise<boolean> => (await read(extId)).diskAdvanceConfig.isOnline
  assert.deepEqual(await Promise.all([disk, sibling, other].map(isOnline)), [false, false, true])
  const queries = find.mock.calls.filter(({ arguments: [kind] }) => kind === Disk)
  assert.ok(queries.length > 0 && queries.every(({ arguments: [, query] }) => query?.filter !== undefined))
  await happen(app, { type: 'HOST_RETURNS', host: hostId('hp-n01-b') })
  await happen(app, { type: 'DISK_SPEEDS_UP', disk })
  await app.clock.advance(20_000)
  assert.deepEqual(await Promise.all([disk, sibling].map(isOnline)), [true, true])
  assert.equal((await read(disk)).diskAdvanceConfig.isSuspectedUnhealthy, false)
})

test('23: a boot disk stays, and of two removals at once one is accepted', async () => {
  assert.equal(await refusal(remove(dataDisk('a', 1))), '409 DISK_REQUIRED')
  const disk = dataDisk('a', 3)
  const answers = await Promise.all([refusal(remove(disk)), refusal(remove(disk))])
  assert.deepEqual(answers.sort(), ['202 undefined', '409 DISK_REMOVAL_IN_PROGRESS'])
})

test('a client cancels a removal: moved data stays where it is', async () => {
  const disk = dataDisk('c', 3)
  const whole = await capacity(slow)
  const started = await remove(disk, slow)
  await reached(slow, started, 40)
  await slow.call('POST', `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`)
  assert.equal((await driven(slow, slow.task(started))).status, 'CANCELED')
  const { status, diskAdvanceConfig } = await read(disk, slow)
  assert.deepEqual([status, diskAdvanceConfig.isMarkedForRemoval], ['NORMAL', false])
  assert.equal(await capacity(slow), whole)
  const filling = driveFacts(slow.world).get(disk)?.fillings?.at(-1) as any
  assert.ok(filling.from === filling.to && filling.to > 0.3 && filling.to < 0.7, JSON.stringify(filling))
})

test('a client adds a disk whose removal is under way: the removal is called off', async () => {
  const disk = dataDisk('c', 4)
  const { serialNumber } = await read(disk, slow)
  const started = await remove(disk, slow)
  await reached(slow, started, 10)
  const added = await add(serialNumber, undefined, { at: slow })
  assert.equal(await refusal(add(serialNumber, undefined, { at: slow })), '409 DISK_ALREADY_IN_USE')
  assert.equal((await driven(slow, slow.task(added))).status, 'SUCCEEDED')
  const removal = await slow.task(started)
  assert.equal(removal.status, 'CANCELED')
  assert.match(removal.errorMessages[0].message, /added to the storage pool again/)
  assert.equal((await read(disk, slow)).status, 'NORMAL')
})

test('disks of one host leave together and share its bandwidth; those of another host wait', async () => {
  const leaving = [3, 4, 5, 6].map((slot) => dataDisk('d', slot))
  const started = []
  for (const disk of leaving) started.push(await remove(disk, slow))
  const busy = await remove(dataDisk('a', 3), slow)
  assert.deepEqual([busy.status, busy.errors?.[0]?.errorGroup], [409, 'CLUSTER_BUSY'])
  assert.equal((busy.errors?.[0] as any).argumentsMap.taskExtId, started[0]?.data.extId)
  for (const task of started) await reached(slow, task, 6)
  const facts = leaving.map((disk) => driveFacts(slow.world).get(disk) as any)
  for (const { fillings, evacuation } of facts) {
    const filling = fillings.at(-1)
    const rate = (evacuation.bytes * filling.from) / evacuation.share / ((filling.until - filling.since) / 1000)
    assert.ok(Math.abs(rate / 1024 ** 2 - 200) < 1, String(rate))
  }
  for (const task of started) await slow.call('POST', `/platform/v4.3/config/tasks/${task.data.extId}/$actions/cancel`)
  for (const task of started) await driven(slow, slow.task(task))
  for (const disk of leaving) assert.equal((await read(disk, slow)).status, 'NORMAL')
})

test('after a restart the migration continues with the bytes that have not moved', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-test-'))
  const config = { durations: 'natural' } as const
  const first = await startApp({ folder, config })
  const disk = dataDisk('a', 5)
  const started = await remove(disk, first)
  await reached(first, started, 40)
  const filling = driveFacts(first.world).get(disk)?.fillings?.at(-1) as any
  await first.close()
  const second = await startApp({ folder, config, startAt: first.clock.now() })
  try {
    await reached(second, started, 45)
    assert.deepEqual(driveFacts(second.world).get(disk)?.fillings?.at(-1), filling)
    const task = await driven(second, second.task(started.data.extId))
    assert.equal(task.status, 'SUCCEEDED')
    assert.ok(Date.parse(task.completedTime) < filling.until + 30_000)
    assert.equal((await read(disk, second)).status, 'DETACHABLE')
  } finally {
    await second.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the last SSD and the last disk of a host stay', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, drives: [SSD, SSD, HDD] })
  const [, second, third] = await disksOf(cluster)
  await happen(app, { type: 'DISK_FAILS', disk: (await disksOf(cluster))[0].serialId })
  const refused = await remove(second.uuid)
  assert.match(refused.errors?.[0]?.message ?? '', /last working SSD/)
  await happen(app, { type: 'DISK_FAILS', disk: third.serialId })
  assert.match((await remove(second.uuid)).errors?.[0]?.message ?? '', /last working disk/)
})

test('disks that work stay with their host while it is down, and any other one can leave it', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, drives: [SSD, SSD, HDD, HDD] })
  const [boot, ssd, hdd] = await disksOf(cluster)
  await happen(app, { type: 'DISK_FAILS', disk: ssd.serialId })
  await happen(app, { type: 'HOST_FAILS', host: cluster.hostExtIds[0] as string })
  assert.match((await remove(boot.uuid)).errors?.[0]?.message ?? '', /boots from it/)
  await done(remove(ssd.uuid))
  await done(remove(hdd.uuid))
})

test('the last SSD and the last disk of a host that is down stay', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, drives: [SSD, SSD, HDD] })
  const [first, second, third] = await disksOf(cluster)
  await happen(app, { type: 'DISK_FAILS', disk: first.serialId })
  await happen(app, { type: 'HOST_FAILS', host: cluster.hostExtIds[0] as string })
  assert.match((await remove(second.uuid)).errors?.[0]?.message ?? '', /last working SSD/)
  await happen(app, { type: 'DISK_FAILS', disk: third.serialId })
  assert.match((await remove(second.uuid)).errors?.[0]?.message ?? '', /last working disk/)
})

test('a disk stays if its data has no room on the others', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, drives: [SSD, SSD] })
  await happen(app, { type: 'CONTAINER_FILLS', container: cluster.containerExtId, percent: 90 })
  const [, disk] = await disksOf(cluster)
  assert.equal(await refusal(remove(disk.uuid)), '409 INSUFFICIENT_STORAGE')
  await happen(app, { type: 'CONTAINER_FREED', container: cluster.containerExtId })
  await done(remove(disk.uuid))
})

test('a broken disk is removed without its host, and cannot be added', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, drives: [SSD, HDD, HDD] })
  const [, , disk] = await disksOf(cluster)
  await happen(app, { type: 'DISK_FAILS', disk: disk.serialId })
  await done(remove(disk.uuid))
  assert.equal(await refusal(add(disk.serialId, undefined, { to: cluster.extId })), '409 DISK_UNHEALTHY')
  await happen(app, { type: 'DISK_PULLED', disk: disk.serialId })
  assert.equal(await refusal(add(disk.serialId, undefined, { to: cluster.extId })), '404 ENTITY_NOT_FOUND')
  await app.clock.advance(61_000)
  assert.equal((await app.call('GET', `${disks}/${disk.uuid}`)).status, 404)
})

test('a replacement is at least as large as the disk before, an upgrade larger', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, drives: [SSD, HDD, HDD] })
  const [host = ''] = cluster.hostExtIds
  const [, , disk] = await disksOf(cluster)
  const asked = { to: cluster.extId }
  const insert = async (sizeBytes: number): Promise<string> => {
    const { effects } = await happen(app, { type: 'DISK_INSERTED', host, tier: 'DAS_SATA', sizeBytes })
    return /SN\w+/.exec(effects[0])?.[0] as string
  }
  const elsewhere = await insert(HDD.sizeBytes)
  assert.equal((await add(elsewhere, { driveReplacementOption: 'RMA' }, asked)).status, 400)
  await happen(app, { type: 'DISK_PULLED', disk: disk.serialId })
  const small = await insert(HDD.sizeBytes - GiB)
  assert.equal((await add(small, { driveReplacementOption: 'RMA' }, asked)).status, 400)
  await happen(app, { type: 'DISK_PULLED', disk: small })
  const equal = await insert(HDD.sizeBytes)
  assert.equal((await add(equal, { driveReplacementOption: 'CAPACITY_UPGRADE' }, asked)).status, 400)
  await done(add(equal, { driveReplacementOption: 'RMA', partitionType: 'XFS' }, asked))
  const added = (await app.call('GET', `${disks}?$filter=serialNumber eq '${equal}'`)).data[0]
  assert.equal(driveFacts(app.world).get(added.extId)?.partition, 'XFS')
  await done(remove(disk.uuid))
  assert.equal(driveFacts(app.world).get(disk.uuid), undefined)
})

test('a disk that was removed and pulled, in either order, is replaced by the next one in its slot', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, drives: [SSD, HDD, HDD, HDD] })
  const [host = ''] = cluster.hostExtIds
  const [, , first, second] = await disksOf(cluster)
  const pull = ({ serialId }: any) => happen(app, { type: 'DISK_PULLED', disk: serialId })
  for (const work of [
    async () => {
      await done(remove(first.uuid))
      await pull(first)
    },
    async () => {
      await pull(second)
      await done(remove(second.uuid))
    },
  ]) {
    await work()
    const inserted = { type: 'DISK_INSERTED', host, tier: 'DAS_SATA', sizeBytes: HDD.sizeBytes } as const
    const serialNumber = /SN\w+/.exec((await happen(app, inserted)).effects[0])?.[0] as string
    const option = (driveReplacementOption: string) =>
      add(serialNumber, { driveReplacementOption }, { to: cluster.extId })
    assert.equal((await option('CAPACITY_UPGRADE')).status, 400)
    await done(option('RMA'))
  }
})

test('unknown drives, drives of other clusters and the manager are refused', async () => {
  assert.equal(await refusal(add('SN0000')), '404 ENTITY_NOT_FOUND')
  const { serialNumber } = await read(dataDisk('b', 4))
  assert.equal(await refusal(add(serialNumber, undefined, { to: ids.cloud })), '404 ENTITY_NOT_FOUND')
  assert.equal(await refusal(add(serialNumber, undefined, { to: ids.manager })), '400 NOT_SUPPORTED_ON_MANAGER')
  await setFault(app, ids.native, { isDown: true })
  assert.equal(await refusal(remove(dataDisk('b', 4))), '503 CLUSTER_UNREACHABLE')
  assert.equal(await refusal(add(serialNumber)), '503 CLUSTER_UNREACHABLE')
  await setFault(app, ids.native)
})

test('an administrator finds a disk by its LED, which goes off after a day; that of an unreachable host fails', async () => {
  const disk = dataDisk('b', 5)
  const set = (isEngaged: boolean): Promise<CallResult> =>
    app.call('POST', `${disks}/${disk}/$actions/update-led-state`, { body: { isEngaged } })
  const engaged = await done(set(true))
  assert.equal(engaged.completionDetails[0].value, 'ON')
  assert.equal(driveFacts(app.world).get(disk)?.ledEngagedUntil, app.clock.now() + 24 * 3_600_000)
  assert.equal((await done(set(false))).completionDetails[0].value, 'OFF')
  assert.equal(driveFacts(app.world).get(disk)?.ledEngagedUntil, undefined)
  await setFault(app, hostId('hp-n01-b'), { isDown: true })
  assert.equal((await app.task(await set(true))).status, 'FAILED')
  await setFault(app, hostId('hp-n01-b'))
})

test('a disk that cannot leave the pool stays in it, and a failed addition leaves none behind', async () => {
  const disk = dataDisk('b', 6)
  const { serialNumber } = await read(disk)
  await setFault(app, ids.native, { refuses: ['evacuateDrive'] })
  assert.equal((await app.task(await remove(disk))).status, 'FAILED')
  assert.equal((await read(disk)).status, 'NORMAL')
  await setFault(app, ids.native)
  await done(remove(disk))
  await app.clock.advance(61_000)
  await setFault(app, ids.native, { refuses: ['poolDrive'] })
  assert.equal((await app.task(await add(serialNumber))).status, 'FAILED')
  assert.equal((await app.call('GET', `${disks}/${disk}`)).status, 404)
  assert.equal(driveFacts(app.world).get(disk)?.isInPool, undefined)
  await setFault(app, ids.native)
  await done(add(serialNumber))
  await checkInvariants(app)
})
