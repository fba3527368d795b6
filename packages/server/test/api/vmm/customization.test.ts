/** The staged customisation of a guest, and the CD-ROM drive of its ISO. Source: behaviour vmm.md 1.1 (customize-guest, power-on), 3.3. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { diskFacts, domainFacts, haltGuest } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { advance } from '../../support/clustermgmt.ts'
import { aFault, noFaults, readFault } from '../../support/faults.ts'
import {
  aNativeCluster,
  aVm,
  bootDisk,
  change,
  changed,
  type NativeCluster,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { sealerFor } from '../../support/sealer.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const encoded = (text: string): string => Buffer.from(text).toString('base64')
const cloudInit = { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: encoded('instance-id: x') }
const guestCustomization = { config: cloudInit }
const staged = (more: object = {}): Promise<any> =>
  aVm(app, cluster, { disks: [bootDisk(cluster)], guestCustomization, ...more })
const drivesOf = async (extId: string): Promise<any[]> =>
  (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${extId}/cd-roms`)).data
const described = (drives: readonly any[]): string[] =>
  drives.map(
    ({ isoType, backingInfo, diskAddress }) => `${isoType} ${diskAddress.busType} ${backingInfo !== undefined}`,
  )
const disks = () => diskFacts(app.world)

test('the customisation ISO gets a drive at power-on, and 30 s after the boot both are removed', async () => {
  const vm = await staged()
  assert.deepEqual([vm.vmGuestCustomizationStatus, vm.cdRoms], ['PENDING', undefined])
  await changed(app, vm.extId, 'power-on')
  const [drive] = await drivesOf(vm.extId)
  assert.deepEqual(described([drive]), ['GUEST_CUSTOMIZATION IDE true'])
  const single = await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vm.extId}/cd-roms/${drive.extId}`)
  assert.equal(single.data.isoType, 'GUEST_CUSTOMIZATION')
  assert.ok(disks().get(drive.backingInfo.diskExtId))
  assert.ok(domainFacts(app.world).get(vm.extId)?.domain.isoExtIds.includes(drive.backingInfo.diskExtId))
  const tag = await tagOf(app, vm.extId)

  await app.clock.advance(1000)
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
  assert.equal((await drivesOf(vm.extId)).length, 1)
  await app.clock.advance(30_000)
  assert.deepEqual(await drivesOf(vm.extId), [])
  assert.equal((await readVm(app, vm.extId)).cdRoms, undefined)
  // Seen at once; written down, and the file removed, a little later. None of it is a change of the VM.
  await advance(app, 1)
  assert.equal(disks().get(drive.backingInfo.diskExtId), undefined)
  const stored = await app.store.get(Vm, vm.extId)
  assert.deepEqual(
    [stored?.guestCustomization, stored?.hasCustomizationIso, stored?.cdRoms],
    [undefined, undefined, undefined],
  )
  assert.equal(await tagOf(app, vm.extId), tag)
})

test('the customisation ISO uses an empty drive, which is empty again afterwards', async () => {
  const vm = await staged({ cdRoms: [bootDisk(cluster), {}] })
  await changed(app, vm.extId, 'power-on')
  const during = await drivesOf(vm.extId)
  assert.deepEqual(described(during), ['OTHER IDE true', 'GUEST_CUSTOMIZATION IDE true'])
  assert.equal(during[1].extId, vm.cdRoms[1].extId)
  await app.clock.advance(60_000)
  assert.deepEqual(await drivesOf(vm.extId), vm.cdRoms)
})

test('when IDE is full or absent, the drive of the customisation ISO is on SATA', async () => {
  const full = Array.from({ length: 4 }, () => bootDisk(cluster))
  const legacy = await staged({ cdRoms: full })
  await changed(app, legacy.extId, 'power-on')
  assert.equal((await drivesOf(legacy.extId)).at(-1).diskAddress.busType, 'SATA')
  const modern = await staged({ machineType: 'Q35' })
  await changed(app, modern.extId, 'power-on')
  assert.equal((await drivesOf(modern.extId)).at(-1).diskAddress.busType, 'SATA')
})

test('a power-on without an empty drive or a free index fails, and the customisation stays staged', async () => {
  const on = (busType: string, index: number) => ({ ...bootDisk(cluster), diskAddress: { busType, index } })
  const drives = [0, 1, 2, 3].map((n) => on('IDE', n)).concat([0, 1, 2, 3, 4, 5].map((n) => on('SATA', n)))
  const vm = await staged({ disks: [], cdRoms: drives })
  const task = await changed(app, vm.extId, 'power-on')
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30106'])
  const after = await readVm(app, vm.extId)
  assert.deepEqual([after.powerState, after.vmGuestCustomizationStatus], ['OFF', 'PENDING'])
  assert.deepEqual(after.cdRoms, vm.cdRoms)
})

test('a power-on whose response is lost is undone: the guest is stopped and the ISO removed, and the next power-on creates the ISO again', async () => {
  const vm = await staged()
  const before = [...disks().all().keys()]
  const isLost = { error: 'BACKEND_TIMEOUT', arguments: { fault: 'The answer was lost.' }, moment: 'AFTER' }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'startVm' } }, isLost)
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'FAILED')
  await noFaults(app)
  const { state, domain } = domainFacts(app.world).get(vm.extId)!
  assert.deepEqual([state, domain.isoExtIds], ['OFF', []])
  assert.deepEqual([...disks().all().keys()], before)
  assert.deepEqual(await app.store.findWhere(HostAllocation, { vmExtId: vm.extId }), [])
  const off = await readVm(app, vm.extId)
  assert.deepEqual([off.powerState, off.cdRoms, off.vmGuestCustomizationStatus], ['OFF', undefined, 'PENDING'])
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  assert.deepEqual(described(await drivesOf(vm.extId)), ['GUEST_CUSTOMIZATION IDE true'])
})

test('a guest that is powered off before its customisation has run gets it at the next power-on', async () => {
  const vm = await staged()
  await changed(app, vm.extId, 'power-on')
  const [first] = await drivesOf(vm.extId)
  await changed(app, vm.extId, 'power-off')
  const off = await readVm(app, vm.extId)
  assert.deepEqual([off.vmGuestCustomizationStatus, off.cdRoms], ['PENDING', undefined])
  assert.equal(disks().get(first.backingInfo.diskExtId), undefined)
  await changed(app, vm.extId, 'power-on')
  assert.deepEqual(described(await drivesOf(vm.extId)), ['GUEST_CUSTOMIZATION IDE true'])
  await app.clock.advance(1000)
  await changed(app, vm.extId, 'power-off')
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
  await changed(app, vm.extId, 'power-on')
  assert.deepEqual(await drivesOf(vm.extId), [])
})

test('a power-off that a crash interrupts after the guest stopped does not stage a completed customisation again', async () => {
  for (const [action, task, step] of [
    ['power-off', 'vmm.power-off-vm', 'force off'],
    ['shutdown', 'vmm.shutdown-vm', 'signal and wait'],
  ] as const) {
    const vm = await staged()
    await changed(app, vm.extId, 'power-on')
    await app.clock.advance(1000)
    const crash = { crashWorker: true, moment: 'AFTER' }
    const rule = await aFault(app, { taskStep: { task, step } }, crash, { next: 1 })
    assert.equal((await changed(app, vm.extId, action)).status, 'SUCCEEDED')
    assert.equal((await readFault(app, rule)).timesFired, 1)
    await noFaults(app)
    const off = await readVm(app, vm.extId)
    assert.deepEqual([off.powerState, off.vmGuestCustomizationStatus], ['OFF', undefined])
  }
})

test('a VM whose ISO cannot be deleted is OFF nevertheless, and the ISO is deleted by the next attempt', async () => {
  const final = { error: 'CONFLICT', arguments: { fault: 'Refused for a test.' } }
  for (const action of ['power-off', 'power-cycle'] as const) {
    const vm = await staged()
    await changed(app, vm.extId, 'power-on')
    const [drive] = await drivesOf(vm.extId)
    await aFault(app, { driverCall: { driver: 'hypervisor', method: 'deleteDisk' } }, final, { next: 1 })
    const task = await changed(app, vm.extId, action)
    await noFaults(app)
    assert.equal(task.status, action === 'power-off' ? 'SUCCEEDED' : 'FAILED')
    assert.equal((await readVm(app, vm.extId)).powerState, 'OFF')
    assert.equal(domainFacts(app.world).get(vm.extId)?.state, 'OFF')
    assert.equal(disks().get(drive.backingInfo.diskExtId), undefined)
  }
})

test('when a guest shuts itself down, a customisation that has not run stays staged, one that has run does not, and the ISO is removed', async () => {
  for (const [bootMillis, status] of [
    [0, 'PENDING'],
    [1000, undefined],
  ] as const) {
    const vm = await staged()
    await changed(app, vm.extId, 'power-on')
    const [drive] = await drivesOf(vm.extId)
    await app.clock.advance(bootMillis)
    await haltGuest(app.world, vm.extId)
    await advance(app, 1)
    const off = await readVm(app, vm.extId)
    assert.deepEqual([off.powerState, off.vmGuestCustomizationStatus, off.cdRoms], ['OFF', status, undefined])
    assert.equal(disks().get(drive.backingInfo.diskExtId), undefined)
  }
})

test('a reset does not run a completed customisation again', async () => {
  const vm = await staged()
  await changed(app, vm.extId, 'power-on')
  await app.clock.advance(1000)
  await changed(app, vm.extId, 'reset')
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
})

test('an update stages a customisation while the VM is OFF, and is refused while it is ON', async () => {
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  const put = { put: { ...vm, guestCustomization } }
  assert.equal((await changed(app, vm.extId, put)).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, 'PENDING')
  await changed(app, vm.extId, 'power-on')
  const refused = await change(app, vm.extId, put)
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'VMM-30101'])
  assert.match(refused.errors[0]?.message ?? '', /guestCustomization/)
})

test('an update with an empty or masked script keeps the staged script, even when another script is replaced', async () => {
  const script = { $objectType: 'vmm.v4.ahv.config.Userdata', value: encoded('#cloud-config') }
  const whole = { ...cloudInit, cloudInitScript: script }
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], guestCustomization: { config: whole } })
  const stagedConfig = async () => {
    const value = (await app.store.get(Vm, vm.extId))?.guestCustomization
    return JSON.parse(sealerFor(app).open((value as any).$sealed, `Vm/${vm.extId}/guestCustomization`)).config
  }
  const put = async (config: object) =>
    (await changed(app, vm.extId, { put: { ...(await readVm(app, vm.extId)), guestCustomization: { config } } })).status
  for (const blank of ['', '********', '']) {
    assert.equal(await put({ ...whole, metadata: blank, cloudInitScript: { ...script, value: blank } }), 'SUCCEEDED')
    assert.deepEqual(await stagedConfig(), whole)
  }
  const metadata = encoded('instance-id: y')
  assert.equal(await put({ ...whole, metadata, cloudInitScript: { ...script, value: '' } }), 'SUCCEEDED')
  assert.deepEqual(await stagedConfig(), { ...whole, metadata })
  const value = encoded('#cloud-config 2')
  assert.equal(await put({ ...whole, metadata: '********', cloudInitScript: { ...script, value } }), 'SUCCEEDED')
  assert.deepEqual(await stagedConfig(), { ...whole, metadata, cloudInitScript: { ...script, value } })
  // A text that is absent, and not empty, is no longer there.
  assert.equal(await put({ ...cloudInit, metadata: '' }), 'SUCCEEDED')
  assert.deepEqual(await stagedConfig(), { ...cloudInit, metadata })

  // An update that keeps all secrets changes nothing, so a running VM takes it as well.
  assert.equal(await put(whole), 'SUCCEEDED')
  await changed(app, vm.extId, 'power-on')
  assert.equal(await put({ ...whole, metadata: '', cloudInitScript: { ...script, value: '' } }), 'SUCCEEDED')
  // A guess is refused whether it is right or wrong: the answers must not confirm a stored secret.
  const guess = async (value: string) => {
    const config = { ...whole, metadata: '********', cloudInitScript: { ...script, value } }
    return (await change(app, vm.extId, { put: { ...(await readVm(app, vm.extId)), guestCustomization: { config } } }))
      .status
  }
  const wrong = await guess(encoded('#cloud-config 3'))
  assert.deepEqual([wrong, await guess(script.value)], [409, 409])
})

test('a creation with an empty script is refused, because no script is staged yet', async () => {
  const refused = await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
    requestId: crypto.randomUUID(),
    body: {
      name: 'bad',
      cluster: { extId: cluster.extId },
      guestCustomization: { config: { ...cloudInit, metadata: '' } },
    },
  })
  const path = 'guestCustomization/config/metadata'
  assert.deepEqual([refused.status, refused.errors[0]?.attributePath], [400, path])
})

test('a script that is not base64 or is too long is refused with its path', async () => {
  const refused = async (config: object): Promise<unknown[]> => {
    const result = await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
      requestId: crypto.randomUUID(),
      body: {
        name: 'bad',
        memorySizeBytes: 2 ** 30,
        cluster: { extId: cluster.extId },
        guestCustomization: { config },
      },
    })
    const [error] = result.errors
    return [result.status, error?.attributePath ?? error?.argumentsMap?.['attributePath']]
  }
  assert.deepEqual(await refused({ ...cloudInit, metadata: '!' }), [400, 'guestCustomization/config/metadata'])
  const long = encoded('x'.repeat(32_001))
  assert.deepEqual(await refused({ ...cloudInit, metadata: long }), [400, 'guestCustomization/config/metadata'])
})
