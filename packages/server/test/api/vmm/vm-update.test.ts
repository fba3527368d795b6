/** updateVmById through the API. Source: behaviour vmm.md 1.0, 1.1 (Update), 5. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  change,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const put = (vm: any, changes: object) => ({ put: { ...vm, ...changes } })

test('of two PUTs with the same ETag one is accepted and sets the name, the other is 412; a PUT without an ETag is 428', async () => {
  const vm = await aVm(app, cluster)
  const ifMatch = await tagOf(app, vm.extId)
  const both = await Promise.all(['left', 'right'].map((name) => change(app, vm.extId, put(vm, { name }), { ifMatch })))
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 412])
  const winner = both.findIndex(({ status }) => status === 202)
  await app.task(both[winner] as never)
  assert.equal((await readVm(app, vm.extId)).name, ['left', 'right'][winner])
  assert.equal((await change(app, vm.extId, put(vm, {}), { ifMatch: '' })).status, 428)
})

test('a PUT of the body that GET returned ignores the parts and changes only the update time', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const vm = await aVm(app, cluster, { description: 'kept', disks: [emptyDisk()], nics: [nicOn(subnet)], cdRoms: [{}] })
  assert.equal((await changed(app, vm.extId, put(vm, { disks: [], nics: [] }))).status, 'SUCCEEDED')
  const { updateTime: _before, ...before } = vm
  const { updateTime: _after, ...now } = await readVm(app, vm.extId)
  assert.deepEqual(now, before)
})

test('a PUT resets omitted fields to their defaults, except owner, project and BIOS UUID', async () => {
  const project = { extId: cluster.extId }
  const vm = await aVm(app, cluster, { description: 'gone', numSockets: 4, project, isBrandingEnabled: false })
  await changed(app, vm.extId, { put: { name: 'plain' } })
  const now = await readVm(app, vm.extId)
  assert.deepEqual(
    [now.name, now.description, now.numSockets, now.isBrandingEnabled, now.project, now.biosUuid, now.memorySizeBytes],
    ['plain', undefined, 1, true, project, vm.biosUuid, GiB],
  )
  assert.deepEqual(now.ownershipInfo, vm.ownershipInfo)
})

test('a PUT cannot change the cluster or the source of a VM', async () => {
  const vm = await aVm(app, cluster)
  const other = await aNativeCluster(app)
  const result = await change(app, vm.extId, put(vm, { cluster: { extId: other.extId } }))
  assert.deepEqual([result.status, result.errors[0]?.code], [400, 'PLAT-10012'])
})

test('changing the machine type or shrinking memory is 409 naming the fields while the VM is ON, and accepted while it is OFF', async () => {
  const vm = await aVm(app, cluster, { memorySizeBytes: 2 * GiB })
  await changed(app, vm.extId, 'power-on')
  const hot = await change(app, vm.extId, put(vm, { machineType: 'Q35', memorySizeBytes: GiB }))
  assert.deepEqual([hot.status, hot.errors[0]?.code], [409, 'VMM-30101'])
  assert.match(hot.errors[0]?.message ?? '', /machineType/)
  assert.match(hot.errors[0]?.message ?? '', /memorySizeBytes/)
  await changed(app, vm.extId, 'power-off')
  await changed(app, vm.extId, put(vm, { machineType: 'Q35', memorySizeBytes: GiB }))
  const now = await readVm(app, vm.extId)
  assert.deepEqual([now.machineType, now.memorySizeBytes], ['Q35', GiB])
})

test('while the VM is ON its name and memory may change, and its sockets only with CPU hot plug', async () => {
  const vm = await aVm(app, cluster)
  await changed(app, vm.extId, 'power-on')
  assert.equal(
    (await changed(app, vm.extId, put(vm, { name: 'grown', memorySizeBytes: 2 * GiB, numSockets: 2 }))).status,
    'SUCCEEDED',
  )
  const now = await readVm(app, vm.extId)
  assert.deepEqual([now.name, now.memorySizeBytes, now.numSockets, now.powerState], ['grown', 2 * GiB, 2, 'ON'])
  const [held] = await app.store.findWhere(HostAllocation, { vmExtId: vm.extId })
  assert.deepEqual([held?.memoryBytes, held?.vcpus], [2 * GiB, 2])
  assert.equal(domainFacts(app.world).get(vm.extId)?.domain.memoryBytes, 2 * GiB)
  assert.deepEqual(
    (await powerHistory(app.store, vm.extId)).map((event) => [event.change, event.memorySizeBytes]),
    [
      ['ON', GiB],
      ['RESIZED', 2 * GiB],
    ],
  )
  const fixed = await aVm(app, cluster, { isCpuHotplugEnabled: false })
  await changed(app, fixed.extId, 'power-on')
  assert.match((await change(app, fixed.extId, put(fixed, { numSockets: 2 }))).errors[0]?.message ?? '', /numSockets/)
})

test('growing the memory of a running VM beyond its host migrates it to a host with room, or fails and changes nothing', async () => {
  const pair = await aNativeCluster(app, { hosts: 2, usableGiB: 10 })
  const [big, small, neighbour] = await Promise.all([6, 3, 2].map((n) => aVm(app, pair, { memorySizeBytes: n * GiB })))
  // 6 GiB on one host, 3 and 2 GiB on the other.
  for (const { extId } of [big, small, neighbour]) await changed(app, extId, 'power-on')
  const before = await readVm(app, small.extId)
  const held = (): ReturnType<typeof app.store.findWhere<typeof HostAllocation>> =>
    app.store.findWhere(HostAllocation, { vmExtId: small.extId })
  const grow = put(before, { memorySizeBytes: 9 * GiB })

  const refused = await changed(app, small.extId, grow)
  assert.deepEqual([refused.status, refused.errorMessages[0].code], ['FAILED', 'VMM-40001'])
  assert.equal(refused.errorMessages[0].message.match(/memory:/g).length, 2)
  assert.deepEqual(await readVm(app, small.extId), before)
  assert.deepEqual(
    (await held()).map(({ memoryBytes }) => memoryBytes),
    [3 * GiB],
  )

  await changed(app, big.extId, 'power-off')
  assert.equal((await changed(app, small.extId, grow)).status, 'SUCCEEDED')
  const moved = await readVm(app, small.extId)
  assert.notEqual(moved.host.extId, before.host.extId)
  assert.deepEqual([moved.powerState, moved.memorySizeBytes], ['ON', 9 * GiB])
  assert.equal(domainFacts(app.world).get(small.extId)?.hostExtId, moved.host.extId)
  assert.deepEqual(
    (await held()).map(({ hostExtId, memoryBytes }) => [hostExtId, memoryBytes]),
    [[moved.host.extId, 9 * GiB]],
  )
  assert.equal((await powerHistory(app.store, small.extId)).at(-1)?.change, 'MOVED')
})

test('a PUT is validated against the VM that would result, including its parts', async () => {
  const vm = await aVm(app, cluster, { cdRoms: [{}] })
  const result = await change(app, vm.extId, put(vm, { machineType: 'Q35' }))
  assert.deepEqual(
    [result.status, result.errors[0]?.argumentsMap?.['attributePath']],
    [400, 'cdRoms[0]/diskAddress/busType'],
  )
})

test('enabling UEFI creates its variables file, disabling it removes the file', async () => {
  const vm = await aVm(app, cluster)
  const uefi = { $objectType: 'vmm.v4.ahv.config.UefiBoot' }
  await changed(app, vm.extId, put(vm, { bootConfig: uefi }))
  const withUefi = await readVm(app, vm.extId)
  const { diskExtId } = withUefi.bootConfig.nvramDevice.backingStorageInfo
  const disks = app.world.collection('virtualDisks')
  assert.ok(disks.get(diskExtId))
  await changed(app, vm.extId, put(withUefi, { description: 'the file stays' }))
  assert.equal((await readVm(app, vm.extId)).bootConfig.nvramDevice.backingStorageInfo.diskExtId, diskExtId)
  await changed(app, vm.extId, put(vm, {}))
  assert.equal(disks.get(diskExtId), undefined)
})

test('enabling a virtual TPM creates its device and file, disabling it removes both', async () => {
  const vm = await aVm(app, cluster, { bootConfig: { $objectType: 'vmm.v4.ahv.config.UefiBoot' } })
  await changed(app, vm.extId, put(vm, { vtpmConfig: { isVtpmEnabled: true } }))
  const { vtpmConfig } = await readVm(app, vm.extId)
  assert.equal(vtpmConfig.version, '2.0')
  const disks = app.world.collection('virtualDisks')
  assert.ok(disks.get(vtpmConfig.vtpmDevice.diskExtId))
  await changed(app, vm.extId, put(vm, { vtpmConfig: { isVtpmEnabled: false } }))
  assert.deepEqual((await readVm(app, vm.extId)).vtpmConfig.isVtpmEnabled, false)
  assert.equal(disks.get(vtpmConfig.vtpmDevice.diskExtId), undefined)
})

test('a PUT ignores host, power state and categories of the body, and an unknown owner is 404', async () => {
  const vm = await aVm(app, cluster)
  const [host] = cluster.hostExtIds
  const ignored = { host: { extId: host }, powerState: 'ON', categories: [], customAttributes: ['a:b'] }
  assert.equal((await changed(app, vm.extId, put(vm, ignored))).status, 'SUCCEEDED')
  const now = await readVm(app, vm.extId)
  assert.deepEqual([now.host, now.powerState, now.customAttributes], [undefined, 'OFF', undefined])
  const stranger = await change(app, vm.extId, put(vm, { ownershipInfo: { owner: { extId: crypto.randomUUID() } } }))
  assert.deepEqual([stranger.status, stranger.errors[0]?.code], [404, 'VMM-20005'])
})

test('while the VM is ON a change of BIOS UUID, boot or isAgentVm is refused with the field named; time zone, branding and console can change', async () => {
  const vm = await aVm(app, cluster)
  await changed(app, vm.extId, 'power-on')
  const fixed = {
    biosUuid: crypto.randomUUID(),
    bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootOrder: ['NETWORK'] },
    isAgentVm: true,
  }
  const refused = await change(app, vm.extId, put(vm, fixed))
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'VMM-30101'])
  for (const name of Object.keys(fixed)) assert.match(refused.errors[0]?.message ?? '', new RegExp(name))
  const open = { hardwareClockTimezone: 'Europe/Berlin', isBrandingEnabled: false, isVgaConsoleEnabled: false }
  assert.equal((await changed(app, vm.extId, put(vm, open))).status, 'SUCCEEDED')
  const now = await readVm(app, vm.extId)
  assert.deepEqual(
    [now.hardwareClockTimezone, now.isBrandingEnabled, now.isVgaConsoleEnabled],
    ['Europe/Berlin', false, false],
  )
})
