/** Disks and CD-ROM drives whose content is in an external repository. Source: behaviour vmm.md 1.2, 1.3, 1.16. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { advance } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aVm,
  changed,
  emptyDisk,
  type NativeCluster,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { failed, pathsOf, refusal, send, succeeded, vms } from '../../support/vm-parts.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty', clock: 'frozen' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

/** A minute copies 6 GB of it. */
const sizeBytes = 24e9
const external = (more: object = {}, externalRepositoryExtId = 'store.example') => ({
  backingInfo: {
    diskSizeBytes: sizeBytes,
    dataSource: {
      reference: {
        $objectType: 'vmm.v4.ahv.config.ExternalDataSourceDiskReference',
        externalRepositoryExtId,
        externalDiskRelativePath: 'disks/linux.img',
        ...more,
      },
    },
  },
})
const infoOf = async (part: string): Promise<any> =>
  (await app.call('GET', `${vms}/${part}`)).data.backingInfo.vmDiskHydrationInfo
const is = (diskHydrationStatus: string, diskHydrationRemainingBytes: number) => ({
  diskHydrationStatus,
  diskHydrationRemainingBytes,
})
const post = (part: string, verb: 'enable' | 'disable'): Promise<CallResult> =>
  app.call('POST', `${vms}/${part}/$actions/${verb}-hydration`, { requestId: randomUUID() })
const aPart = async (vm: string, list: string, body: object): Promise<string> =>
  `${vm}/${list}/${(await succeeded(app, send(app, 'POST', `${vm}/${list}`, body))).entitiesAffected[0].extId}`

test('an external source is copied at 100 MB a second, can be stopped and resumed, and shows nothing when done', async () => {
  const { extId: vm } = await aVm(app, cluster)
  for (const [list, kind] of [
    ['disks', 'Disk'],
    ['cd-roms', 'CdRom'],
  ] as const) {
    const part = await aPart(vm, list, external())
    assert.deepEqual(await infoOf(part), is('IN_PROGRESS', sizeBytes))
    const tag = await tagOf(app, vm)
    await advance(app, 1)
    assert.deepEqual([await infoOf(part), await tagOf(app, vm)], [is('IN_PROGRESS', 18e9), tag])
    const shown = (await readVm(app, vm))[list === 'disks' ? 'disks' : 'cdRoms'].at(-1)
    assert.deepEqual(shown.backingInfo.vmDiskHydrationInfo, is('IN_PROGRESS', 18e9))
    const task = await succeeded(app, post(part, 'disable'))
    assert.deepEqual(
      [task.operation, task.entitiesAffected.map(({ extId }: any) => extId), task.subSteps[0].name],
      [`DisableVm${kind}Hydration`, [part.split('/')[2], vm], 'switch'],
    )
    assert.notEqual(await tagOf(app, vm), tag)
    await advance(app, 1)
    assert.deepEqual(await infoOf(part), is('DISABLED', 18e9))
    for (const verb of ['enable', 'enable'] as const) await succeeded(app, post(part, verb))
    await advance(app, 1)
    assert.deepEqual(await infoOf(part), is('IN_PROGRESS', 12e9))
    await advance(app, 2)
    assert.equal(await infoOf(part), undefined)
    for (const verb of ['enable', 'disable'] as const) assert.equal((await post(part, verb)).status, 409)
  }
  await checkInvariants(app)
})

test('a source with hydration disabled is not copied until it is enabled', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [external({ shouldEnableBackgroundHydration: false })] })
  const part = `${vm}/disks/${(await readVm(app, vm)).disks[0].extId}`
  await advance(app, 5)
  assert.deepEqual(await infoOf(part), is('DISABLED', sizeBytes))
  await succeeded(app, post(part, 'enable'))
  await advance(app, 5)
  assert.equal(await infoOf(part), undefined)
})

test('while its repository is unreachable a copy is FAILED and makes no progress, and its VM runs', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [external({}, 'away.example')] })
  const part = `${vm}/disks/${(await readVm(app, vm)).disks[0].extId}`
  await changed(app, vm, 'power-on')
  await advance(app, 1)
  await happen(app, { type: 'CONTENT_SERVER_FAILS', server: 'away.example' })
  await advance(app, 5)
  assert.deepEqual([await infoOf(part), (await readVm(app, vm)).powerState], [is('FAILED', 18e9), 'ON'])
  const refused = await failed(app, send(app, 'POST', `${vm}/disks`, external({}, 'away.example')))
  assert.equal(refused.errorMessages[0].code, 'VMM-50001')
  await happen(app, { type: 'CONTENT_SERVER_RETURNS', server: 'away.example' })
  await advance(app, 1)
  assert.deepEqual(await infoOf(part), is('IN_PROGRESS', 12e9))
})

test('a slow repository is copied at 1 MB a second', async () => {
  const { extId: vm } = await aVm(app, cluster)
  await happen(app, { type: 'CONTENT_SERVER_FAILS', server: 'slow.example', fault: 'SLOW' })
  const part = await aPart(vm, 'disks', external({}, 'slow.example'))
  await advance(app, 1)
  assert.deepEqual(await infoOf(part), is('IN_PROGRESS', sizeBytes - 60e6))
  await happen(app, { type: 'CONTENT_SERVER_RETURNS', server: 'slow.example' })
  await advance(app, 1)
  assert.deepEqual(await infoOf(part), is('IN_PROGRESS', sizeBytes - 6060e6))
})

test('a disk that returns with a revert resumes its copy', async () => {
  const { extId: vm } = await aVm(app, cluster, { disks: [external()] })
  const path = '/vmm/v4.2/ahv/config/vm-recovery-points'
  const point = await succeeded(app, app.call('POST', path, { requestId: randomUUID(), body: { vmExtId: vm } }))
  await advance(app, 1)
  const body = { vmRecoveryPointExtId: point.entitiesAffected[0].extId }
  await succeeded(app, send(app, 'POST', `${vm}/$actions/revert`, body))
  const part = `${vm}/disks/${(await readVm(app, vm)).disks[0].extId}`
  assert.deepEqual(await infoOf(part), is('IN_PROGRESS', 18e9))
})

test('a repository that cannot be reached fails the task, and leaves nothing', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const { errorMessages } = await failed(app, send(app, 'POST', `${vm}/disks`, external({}, 'unreachable.example')))
  assert.equal(errorMessages[0].code, 'VMM-50001')
  assert.equal((await readVm(app, vm)).disks, undefined)
  await checkInvariants(app)
})

test('an external source needs the size of the disk', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const { diskSizeBytes: _, ...backingInfo } = external().backingInfo
  const sent = await send(app, 'POST', `${vm}/disks`, { backingInfo })
  assert.deepEqual([...refusal(sent), ...pathsOf(sent)], [400, 'VMM-10000', 'backingInfo/diskSizeBytes'])
})

test('disks with content of their own, and empty drives, have nothing to hydrate', async () => {
  const vm = await aVm(app, cluster, { disks: [emptyDisk()], cdRoms: [{}] })
  for (const part of [`${vm.extId}/disks/${vm.disks[0].extId}`, `${vm.extId}/cd-roms/${vm.cdRoms[0].extId}`])
    for (const verb of ['enable', 'disable'] as const) assert.equal((await post(part, verb)).status, 409, part)
  assert.deepEqual(refusal(await post(`${vm.extId}/disks/${randomUUID()}`, 'enable')), [404, 'VMM-20005'])
})
