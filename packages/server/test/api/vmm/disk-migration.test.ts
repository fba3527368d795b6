/** migrateVmDisks. Source: behaviour vmm.md 1.0 (tasks), 1.1, 1.16. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { diskFacts, fullFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { advance } from '../../support/clustermgmt.ts'
import { aFault, noFaults, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm, changed, emptyDisk, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { failed, pathsOf, refusal, send, succeeded, vms } from '../../support/vm-parts.ts'
import { aGroup } from '../../support/volumes.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

async function aContainer(of: TestApp = app, clusterExtId = cluster.extId): Promise<string> {
  const extId = randomUUID()
  const row = { extId, containerExtId: extId, name: `c-${extId}`, clusterExtId, replicationFactor: 1 }
  await of.store.transaction((store) => store.insert(StorageContainer, row as never))
  return extId
}
const allTo = (extId?: string) => ({
  migrateDisks: { $objectType: 'vmm.v4.ahv.config.AllDisksMigrationPlan', storageContainer: extId && { extId } },
})
const plans = (...moves: readonly (readonly [string | undefined, ...string[]])[]) => ({
  migrateDisks: {
    $objectType: 'vmm.v4.ahv.config.MigrationPlans',
    plans: moves.map(([extId, ...disks]) => ({
      storageContainer: { extId },
      vmDisks: disks.map((diskExtId) => ({ diskExtId })),
    })),
  },
})
const post = (vm: string, body: object, options: CallOptions = {}, of: TestApp = app) =>
  send(of, 'POST', `${vm}/$actions/migrate-vm-disks`, body, options)
const backingsOf = async (vm: string, of: TestApp = app): Promise<any[]> =>
  ((await of.call('GET', `${vms}/${vm}/disks`)).data ?? []).map(({ backingInfo }: any) => backingInfo)
const containersOf = async (vm: string): Promise<string[]> =>
  (await backingsOf(vm)).map(({ storageContainer }) => storageContainer.extId)
const held = async (vm: string) => (await app.store.get(Vm, vm))?.filesUnderWay
async function vmWith(disks: number): Promise<{ vm: string; disks: string[] }> {
  const vm = await aVm(app, cluster, { disks: Array.from({ length: disks }, () => emptyDisk()) })
  return { vm: vm.extId, disks: vm.disks.map(({ extId }: any) => extId) }
}

test('one plan moves all disks, of a VM that is OFF or ON; the task names the disks and then the VM', async () => {
  const { vm, disks } = await vmWith(2)
  for (const power of ['power-off', 'power-on'] as const) {
    if (power === 'power-on') await changed(app, vm, power)
    const target = await aContainer()
    const task = await succeeded(app, post(vm, allTo(target)))
    assert.deepEqual([task.operation, task.progressPercentage], ['MigrateVmDisks', 100])
    assert.deepEqual(
      task.entitiesAffected.map(({ extId }: any) => extId),
      [...disks, vm],
    )
    assert.deepEqual(await containersOf(vm), [target, target])
    for (const disk of disks) assert.equal(diskFacts(app.world).get(disk)?.containerExtId, target)
    for (const { isMigrationInProgress } of await backingsOf(vm)) assert.equal(isMigrationInProgress, undefined)
  }
  assert.equal(await held(vm), undefined)
  await checkInvariants(app)
})

test('plans move the disks that they name; a disk that is already there stays', async () => {
  const { vm, disks } = await vmWith(3)
  const [first = '', , third = ''] = disks
  const [one, two] = [await aContainer(), await aContainer()]
  await succeeded(app, post(vm, plans([one, third], [two, first])))
  assert.deepEqual(await containersOf(vm), [two, cluster.containerExtId, one])
  await succeeded(app, post(vm, allTo(two)))
  assert.deepEqual(await containersOf(vm), [two, two, two])
})

test('a body without container, disks or plans, or with a disk in two plans, is 400', async () => {
  const { vm, disks } = await vmWith(1)
  const [disk = ''] = disks
  const container = await aContainer()
  for (const [body, paths] of [
    [{}, ['migrateDisks']],
    [allTo(), ['migrateDisks/storageContainer/extId']],
    [plans(), ['migrateDisks/plans']],
    [plans([container]), ['migrateDisks/plans[0]/vmDisks']],
    [
      plans([container, disk], [undefined, disk]),
      ['migrateDisks/plans[1]/storageContainer/extId', 'migrateDisks/plans[1]/vmDisks[0]/diskExtId'],
    ],
  ] as const) {
    const sent = await post(vm, body)
    assert.deepEqual([...refusal(sent), pathsOf(sent)], [400, 'VMM-10000', paths])
  }
})

test('unknown containers and disks, other clusters and volume groups fail the task with all faults', async () => {
  const { vm, disks } = await vmWith(1)
  const [disk = ''] = disks
  const container = await aContainer()
  const both = await failed(app, post(vm, plans([randomUUID(), randomUUID()], [container, disk])))
  assert.deepEqual(
    both.errorMessages.map(({ code }: any) => code),
    ['VMM-20005', 'VMM-20005'],
  )
  const elsewhere = await aNativeCluster(app)
  assert.equal((await failed(app, post(vm, allTo(elsewhere.containerExtId)))).errorMessages[0].code, 'VMM-10000')
  const group = await aGroup(app, { clusterReference: cluster.extId })
  const backingInfo = { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId: group.extId }
  const attached = (await succeeded(app, send(app, 'POST', `${vm}/disks`, { backingInfo }))).entitiesAffected[0].extId
  for (const body of [allTo(container), plans([container, attached])])
    assert.match((await failed(app, post(vm, body))).errorMessages[0].message, /volume group/)
  assert.equal((await containersOfFiles(vm)).join(), cluster.containerExtId)
})
const containersOfFiles = async (vm: string): Promise<string[]> =>
  (await backingsOf(vm)).flatMap(({ storageContainer }) => storageContainer?.extId ?? [])

test('a failed move leaves its disk in place and earlier moves done, and the message names both', async () => {
  const { vm, disks } = await vmWith(3)
  const [first = '', second = ''] = disks
  const target = await aContainer()
  const full = await aContainer()
  await fullFacts(app.world).put(full, { since: 0 })
  const noRoom = await failed(app, post(vm, plans([target, first], [full, second])))
  assert.deepEqual(
    noRoom.errorMessages.map(({ code }: any) => code),
    ['VMM-30001', 'VMM-40002'],
  )
  for (const part of [first, second, cluster.containerExtId])
    assert.ok(noRoom.errorMessages[0].message.includes(part), noRoom.errorMessages[0].message)
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'moveDisk' } }, unavailable, { nth: 2 })
  await failed(app, post(vm, allTo(full)))
  await noFaults(app)
  await fullFacts(app.world).remove(full)
  assert.deepEqual(await containersOf(vm), [target, cluster.containerExtId, cluster.containerExtId])
  assert.deepEqual([await held(vm), (await backingsOf(vm))[1].isMigrationInProgress], [undefined, undefined])
  await succeeded(app, post(vm, allTo(target)))
  await checkInvariants(app)
})

test('a container that the caller may not use is reported like an unknown one', async () => {
  const { vm } = await vmWith(1)
  const task = await failed(app, post(vm, allTo(randomUUID())))
  assert.match(task.errorMessages[0].message, /could not find the entity/)
  const as = await aUser(app, ['Virtual Machine Operator'])
  assert.equal((await post(vm, allTo(await aContainer()), { as })).status, 403)
})

test('with natural durations the copy shows its progress, and a cancelled copy leaves its disk in place', async (t) => {
  const natural = await startApp({ config: { seed: 'empty', durations: 'natural', clock: 'frozen' } })
  t.after(() => natural.close())
  const own = await aNativeCluster(natural)
  const making = await natural.call('POST', vms, {
    requestId: randomUUID(),
    body: { name: 'slow', cluster: { extId: own.extId }, disks: [emptyDisk(100 * GiB), emptyDisk(100 * GiB)] },
  })
  await advance(natural, 1)
  const vm = (await natural.task(making)).entitiesAffected[0].extId
  const target = await aContainer(natural, own.extId)
  const started: CallResult = await post(vm, allTo(target), {}, natural)
  const taskPath = `/platform/v4.3/config/tasks/${encodeURIComponent(started.data.extId)}`
  const taskNow = async (): Promise<any> => (await natural.call('GET', taskPath)).data
  await advance(natural, 1)
  const halfway = await taskNow()
  assert.ok(halfway.progressPercentage > 20 && halfway.progressPercentage < 60, String(halfway.progressPercentage))
  assert.equal(halfway.isCancelable, true)
  assert.deepEqual(
    (await backingsOf(vm, natural)).map(({ isMigrationInProgress }) => isMigrationInProgress),
    [true, undefined],
  )
  const gone = await natural.call('DELETE', `/clustermgmt/v4.2/config/storage-containers/${target}`, {
    requestId: randomUUID(),
    ifMatch: (await natural.call('GET', `/clustermgmt/v4.2/config/storage-containers/${target}`)).etag as string,
  })
  assert.equal(gone.status, 409)
  await advance(natural, 1)
  assert.equal((await backingsOf(vm, natural))[0].storageContainer.extId, target)
  await natural.call('POST', `${taskPath}/$actions/cancel`, { requestId: randomUUID() })
  await advance(natural, 1)
  assert.equal((await taskNow()).status, 'CANCELED')
  assert.deepEqual(
    (await backingsOf(vm, natural)).map(({ storageContainer, isMigrationInProgress }) => [
      storageContainer.extId,
      isMigrationInProgress,
    ]),
    [
      [target, undefined],
      [own.containerExtId, undefined],
    ],
  )
  await checkInvariants(natural)
})
