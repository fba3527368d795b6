/** Guest tools of VMs. Source: behaviour vmm.md 1.0, 1.5, 1.16, 2, 3.3, 3.8, 5. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { happen } from '../../support/events.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import {
  aBootedVm,
  aVmWithDrive,
  credential,
  install,
  readTools,
  setVersion,
  tools,
  toolsDone,
  toolsPath,
} from '../../support/guest-tools.ts'
import {
  act,
  aNativeCluster,
  aVm,
  bootDisk,
  booted,
  changed,
  type NativeCluster,
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

const refusal = async (
  ...given: Parameters<typeof toolsDone> extends [any, ...infer R] ? R : never
): Promise<unknown[]> => {
  const { status, errors } = await tools(app, ...given)
  return [status, errors[0]?.code]
}
const notReady = [409, 'VMM-30103']
async function aVmWithTools(body: object = install): Promise<string> {
  const vm = await aBootedVm(app, cluster)
  assert.equal((await toolsDone(app, vm, 'install', body)).status, 'SUCCEEDED')
  await app.clock.advance(1000)
  return vm
}
const journal = async (extId: string): Promise<string[]> =>
  (await powerHistory(app.store, extId)).map((event) => event.change)

test('the tools of a VM that never had any are shown with the tag of the VM, and are absent from the VM', async () => {
  const vm = await aVmWithDrive(app, cluster)
  const { status, data, etag } = await app.call('GET', toolsPath(vm))
  assert.equal(status, 200)
  assert.deepEqual([data.isInstalled, data.availableVersion], [false, '4.1'])
  assert.equal(etag, await tagOf(app, vm))
  assert.equal((await readVm(app, vm)).guestTools, undefined)
})

test('an installation with an immediate reboot ends with reachable tools and an ejected ISO; a second one is refused', async () => {
  const vm = await aBootedVm(app, cluster)
  const disks = diskFacts(app.world).all().size
  const body = { ...install, capabilities: ['VSS_SNAPSHOT', 'SELF_SERVICE_RESTORE'] }
  const task = await toolsDone(app, vm, 'install', body)
  assert.deepEqual([task.operation, task.status], ['InstallVmGuestTools', 'SUCCEEDED'])
  assert.deepEqual(await journal(vm), ['ON', 'RESET'])
  await app.clock.advance(1000)
  const installed = await readTools(app, vm)
  const { isInstalled, isReachable, isEnabled, isIsoInserted, isVssSnapshotCapable, version, guestInfo } = installed
  assert.deepEqual([isInstalled, isReachable, isEnabled, isIsoInserted], [true, true, true, false])
  assert.deepEqual([isVssSnapshotCapable, version], [true, '4.1'])
  assert.deepEqual(installed.capabilities, body.capabilities)
  assert.match(installed.guestOsVersion, /^linux/)
  assert.ok(guestInfo.guestOsFullName && guestInfo.dnsName.value && guestInfo.lastBootUpTime)
  assert.equal(installed.isCommunicationActiveOverSerialPort, false)
  const { cdRoms, guestTools } = await readVm(app, vm)
  assert.deepEqual([cdRoms.length, cdRoms[0].backingInfo, cdRoms[0].isoType], [1, undefined, 'OTHER'])
  assert.equal(guestTools.isInstalled, true)
  assert.equal(diskFacts(app.world).all().size, disks)
  assert.deepEqual(await refusal(vm, 'install', install), notReady)
})

test('an upgrade to the installed version fails as already upgraded; an older version is upgraded', async () => {
  const vm = await aVmWithTools()
  const current = await toolsDone(app, vm, 'upgrade', {})
  assert.equal(current.status, 'FAILED')
  assert.match(current.errorMessages[0].message, /is already upgraded\.$/)
  await setVersion(app, vm, '4.0')
  assert.equal((await readTools(app, vm)).version, '4.0')
  const task = await toolsDone(app, vm, 'upgrade', { rebootPreference: { scheduleType: 'IMMEDIATE' } })
  assert.equal(task.status, 'SUCCEEDED')
  await app.clock.advance(1000)
  const { version, isReachable } = await readTools(app, vm)
  assert.deepEqual([version, isReachable], ['4.1', true])
})

test('a removal clears the tools of the VM; another removal, an upgrade and a guest shutdown are refused', async () => {
  const vm = await aVmWithTools()
  assert.equal((await toolsDone(app, vm, 'uninstall')).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm)).guestTools, undefined)
  assert.equal((await readTools(app, vm)).isInstalled, false)
  assert.deepEqual(await refusal(vm, 'uninstall'), notReady)
  assert.deepEqual(await refusal(vm, 'upgrade', {}), notReady)
  assert.equal((await act(app, vm, 'guest-shutdown', {})).errors[0]?.code, 'VMM-30103')
  // They can be installed again.
  assert.equal((await toolsDone(app, vm, 'install', install)).status, 'SUCCEEDED')
})

test('without a reboot the tools are installed but not reachable until the next boot', async () => {
  for (const rebootPreference of [undefined, { scheduleType: 'SKIP' }]) {
    const vm = await aBootedVm(app, cluster)
    await toolsDone(app, vm, 'install', { credential, rebootPreference })
    await app.clock.advance(60_000)
    const before = await readTools(app, vm)
    assert.deepEqual([before.isInstalled, before.isReachable], [true, false])
    assert.deepEqual(await journal(vm), ['ON'])
    await changed(app, vm, 'reboot')
    await app.clock.advance(1000)
    assert.equal((await readTools(app, vm)).isReachable, true)
  }
})

test('a scheduled reboot happens at its time, and does not change the entity tag of the VM', async () => {
  const vm = await aBootedVm(app, cluster)
  const startTime = new Date(app.clock.now() + 3_600_000).toISOString()
  const later = { scheduleType: 'LATER', schedule: { startTime } }
  assert.equal((await toolsDone(app, vm, 'install', { credential, rebootPreference: later })).status, 'SUCCEEDED')
  await app.clock.advance(3_500_000)
  assert.equal((await readTools(app, vm)).isReachable, false)
  const tag = await tagOf(app, vm)
  await app.clock.advance(200_000)
  assert.equal((await readTools(app, vm)).isReachable, true)
  assert.deepEqual(await journal(vm), ['ON', 'RESET'])
  assert.equal(await tagOf(app, vm), tag)
})

test('a VM that has booted since the installation is not rebooted by the schedule', async () => {
  const vm = await aBootedVm(app, cluster)
  const startTime = new Date(app.clock.now() + 3_600_000).toISOString()
  await toolsDone(app, vm, 'install', {
    credential,
    rebootPreference: { scheduleType: 'LATER', schedule: { startTime } },
  })
  await changed(app, vm, 'reset')
  await app.clock.advance(4_000_000)
  assert.deepEqual(await journal(vm), ['ON', 'RESET'])
})

test('an installation needs a credential, a running guest with an address, and a time in the future', async () => {
  const vm = await aBootedVm(app, cluster)
  const pathsOf = async (body: object): Promise<unknown[]> => {
    const { status, errors } = await tools(app, vm, 'install', body)
    assert.equal(status, 400)
    return errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])
  }
  assert.deepEqual(await pathsOf({}), ['credential/username', 'credential/password'])
  assert.deepEqual(await pathsOf({ credential: { username: 'root' } }), ['credential/password'])
  const later = (schedule?: object) => ({ credential, rebootPreference: { scheduleType: 'LATER', schedule } })
  assert.deepEqual(await pathsOf(later()), ['rebootPreference/schedule/startTime'])
  const past = { startTime: new Date(app.clock.now() - 1000).toISOString() }
  assert.deepEqual(await pathsOf(later(past)), ['rebootPreference/schedule/startTime'])

  const off = await aVmWithDrive(app, cluster)
  assert.deepEqual(await refusal(off, 'install', install), [409, 'VMM-30100'])
  await changed(app, off, 'power-on')
  assert.deepEqual(await refusal(off, 'install', install), notReady)
  const noNic = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  await booted(app, noNic.extId)
  assert.deepEqual(await refusal(noNic.extId, 'install', install), notReady)
})

test('an installation adds a drive for its ISO if none is empty, and removes it again', async () => {
  const vm = await aBootedVm(app, cluster, { cdRoms: [] })
  assert.equal((await toolsDone(app, vm, 'install', install)).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm)).cdRoms, undefined)
})

test('a guest that refuses the login fails the installation: the ISO is ejected, and nothing is left', async () => {
  for (const cdRoms of [[{}], []]) {
    const vm = await aBootedVm(app, cluster, { cdRoms })
    const [before, disks] = [await readVm(app, vm), diskFacts(app.world).all().size]
    await happen(app, { type: 'GUEST_FAILS', vm, fault: 'LOGIN_REFUSED' })
    const task = await toolsDone(app, vm, 'install', install)
    assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30001'])
    assert.ok(!JSON.stringify(task).includes(credential.password))
    assert.deepEqual(await readVm(app, vm), before)
    assert.equal(diskFacts(app.world).all().size, disks)
    assert.deepEqual(domainFacts(app.world).get(vm)?.domain.isoExtIds, [])
    await happen(app, { type: 'GUEST_RECOVERS', vm })
    assert.equal((await toolsDone(app, vm, 'install', install)).status, 'SUCCEEDED')
  }
})

test('a fault of the hypervisor at any call undoes the installation', async () => {
  const final = { error: 'CONFLICT', arguments: { fault: 'It fails on purpose.' } }
  for (const method of ['setUpTools', 'requestReboot', 'createDisk']) {
    const vm = await aBootedVm(app, cluster)
    const [before, disks] = [await readVm(app, vm), diskFacts(app.world).all().size]
    const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method } }, final)
    assert.equal((await toolsDone(app, vm, 'install', install)).status, 'FAILED', method)
    await removeFault(app, fault)
    assert.deepEqual(await readVm(app, vm), before, method)
    assert.equal(diskFacts(app.world).all().size, disks, method)
    assert.equal(domainFacts(app.world).get(vm)?.domain.hasGuestTools, false, method)
  }
})

test('a failed upgrade leaves the tools reachable in their former version', async () => {
  const vm = await aVmWithTools()
  await setVersion(app, vm, '4.0')
  const final = { error: 'CONFLICT', arguments: { fault: 'It fails on purpose.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'requestReboot' } }, final)
  const task = await toolsDone(app, vm, 'upgrade', { rebootPreference: { scheduleType: 'IMMEDIATE' } })
  await removeFault(app, fault)
  assert.equal(task.status, 'FAILED')
  const { version, isReachable } = await readTools(app, vm)
  assert.deepEqual([version, isReachable], ['4.0', true])
})

test('the ISO goes into the first empty drive, of an OFF or running VM; an installation then uses it and ejects it', async () => {
  const vm = await aVmWithDrive(app, cluster, { cdRoms: [{ diskAddress: { busType: 'SATA' } }, {}] })
  const task = await toolsDone(app, vm, 'insert-iso', { capabilities: ['VSS_SNAPSHOT'] })
  assert.deepEqual([task.operation, task.status], ['InsertVmGuestTools', 'SUCCEEDED'])
  const { isInstalled, isIsoInserted, isEnabled, isVssSnapshotCapable, capabilities } = await readTools(app, vm)
  assert.deepEqual([isInstalled, isIsoInserted, isEnabled], [false, true, true])
  assert.deepEqual([isVssSnapshotCapable, capabilities], [false, ['VSS_SNAPSHOT']])
  const drives = (await readVm(app, vm)).cdRoms.map(({ isoType }: any) => isoType)
  assert.deepEqual(drives, ['GUEST_TOOLS', 'OTHER'])
  assert.deepEqual(await refusal(vm, 'insert-iso', {}), notReady)
  await booted(app, vm)
  assert.equal((await toolsDone(app, vm, 'install', install)).status, 'SUCCEEDED')
  const after = await readTools(app, vm)
  assert.deepEqual([after.isInstalled, after.isIsoInserted], [true, false])
})

test('the ISO needs an empty drive, tools that are not installed, or isConfigOnly', async () => {
  const bare = await aVm(app, cluster)
  const { errors } = await tools(app, bare.extId, 'insert-iso', {})
  assert.equal(errors[0]?.code, 'VMM-30103')
  assert.match(errors[0]?.message ?? '', /no empty CD-ROM/)
  const vm = await aVmWithDrive(app, cluster)
  assert.deepEqual(await refusal(vm, 'insert-iso', { isConfigOnly: true }), notReady)
  const withTools = await aVmWithTools()
  assert.deepEqual(await refusal(withTools, 'insert-iso', {}), notReady)
  assert.equal((await toolsDone(app, withTools, 'insert-iso', { isConfigOnly: true })).status, 'SUCCEEDED')
  const { isIsoInserted, isReachable } = await readTools(app, withTools)
  assert.deepEqual([isIsoInserted, isReachable], [true, true])
})

test('an update stores settings for tools that are not installed yet, and replaces the capabilities of installed ones', async () => {
  const off = await aVmWithDrive(app, cluster)
  assert.equal(
    (await toolsDone(app, off, 'PUT', { isEnabled: true, capabilities: ['VSS_SNAPSHOT'] })).status,
    'SUCCEEDED',
  )
  const stored = (await readVm(app, off)).guestTools
  assert.deepEqual([stored.isInstalled, stored.isEnabled, stored.isVssSnapshotCapable], [false, true, false])
  const vm = await aVmWithTools({ ...install, capabilities: ['VSS_SNAPSHOT'] })
  await toolsDone(app, vm, 'PUT', { isEnabled: true, capabilities: ['SELF_SERVICE_RESTORE'] })
  const { capabilities, isVssSnapshotCapable, isReachable, isInstalled } = await readTools(app, vm)
  assert.deepEqual([capabilities, isVssSnapshotCapable], [['SELF_SERVICE_RESTORE'], false])
  assert.deepEqual([isReachable, isInstalled], [true, true])
})

test('disabled tools are unreachable, refuse an upgrade and a removal, and run again after the next boot', async () => {
  const vm = await aVmWithTools()
  await toolsDone(app, vm, 'PUT', { isEnabled: false })
  assert.equal((await readTools(app, vm)).isReachable, false)
  assert.deepEqual(await refusal(vm, 'upgrade', {}), notReady)
  assert.deepEqual(await refusal(vm, 'uninstall'), notReady)
  await toolsDone(app, vm, 'PUT', { isEnabled: true })
  await app.clock.advance(60_000)
  assert.equal((await readTools(app, vm)).isReachable, false)
  await changed(app, vm, 'reboot')
  await app.clock.advance(1000)
  assert.equal((await readTools(app, vm)).isReachable, true)
})

test('tools of an OFF VM stay installed and refuse an upgrade and a removal', async () => {
  const vm = await aVmWithTools()
  await changed(app, vm, 'power-off')
  const { isInstalled, isReachable, guestInfo } = await readTools(app, vm)
  assert.deepEqual([isInstalled, isReachable], [true, false])
  assert.equal(guestInfo.guestOsFullName, 'Ubuntu 24.04')
  assert.equal(guestInfo.lastBootUpTime, undefined)
  assert.deepEqual(await refusal(vm, 'upgrade', {}), notReady)
  assert.deepEqual(await refusal(vm, 'uninstall'), notReady)
})

test('a stale ETag is 412, a missing one 428, and of two requests with one ETag one is accepted', async () => {
  const vm = await aVmWithDrive(app, cluster)
  const { etag } = await app.call('GET', toolsPath(vm))
  const ifMatch = etag as string
  const first = await tools(app, vm, 'PUT', { isEnabled: true }, { ifMatch })
  const second = await tools(app, vm, 'PUT', { isEnabled: false }, { ifMatch })
  assert.deepEqual([first.status, second.status, second.errors[0]?.code], [202, 412, 'VMM-30303'])
  await app.task(first)
  const missing = await app.call('PUT', toolsPath(vm), { requestId: crypto.randomUUID(), body: {} })
  assert.equal(missing.status, 428)
})

test('a queued installation fails in its task with the code of an immediate refusal', async () => {
  const vm = await aBootedVm(app, cluster)
  const first = await tools(app, vm, 'install', install)
  const second = await tools(app.atOnce, vm, 'install', install)
  assert.equal((await app.task(first)).status, 'SUCCEEDED')
  const task = await app.task(second)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30103'])
})

test('a clone has the installed tools of its source', async () => {
  const vm = await aVmWithTools()
  const task = await app.task(await act(app, vm, 'clone', { name: 'copy' }))
  const clone = task.entitiesAffected[1].extId
  await booted(app, clone)
  const { isInstalled, isReachable } = await readTools(app, clone)
  assert.deepEqual([isInstalled, isReachable], [true, true])
})
