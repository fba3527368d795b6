/** Guest tools of external VMs. Source: behaviour vmm.md 1.5, 1.7, 1.16, 2, 5 (28, 43, 44, 46, 48). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type ManagementFault, outsideVms } from '../../../src/drivers/simulated/external-hypervisor.ts'
import { happen } from '../../support/events.ts'
import {
  anEmptyDrive,
  erp,
  externPath,
  externTools,
  externToolsDone,
  externToolsPath,
  readExternTools,
  withExternTools,
} from '../../support/extern-tools.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import { credential, install } from '../../support/guest-tools.ts'
import { aUser } from '../../support/identities.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const cluster = seedId('cluster/hp-extern-01')
const notReady = [409, 'VMM-30103']

let app: TestApp
beforeEach(async () => {
  app = await startApp()
})
afterEach(() => app.close())

const readVm = async (): Promise<any> => (await app.call('GET', externPath(erp))).data
const refusal = async (...given: Parameters<typeof externTools> extends [any, ...infer R] ? R : never) => {
  const { status, errors } = await externTools(app, ...given)
  return [status, errors[0]?.code]
}
const outside = () => outsideVms(app.world).get(erp)
async function power(action: string): Promise<any> {
  const { etag } = await app.call('GET', externPath(erp))
  const options = { ifMatch: etag as string, requestId: randomUUID() }
  return app.task(await app.call('POST', `${externPath(erp)}/$actions/${action}`, options))
}

test('the tools of a VM that never had any are shown with the tag of the VM, and are absent from the VM', async () => {
  const { status, data, etag } = await app.call('GET', externToolsPath(erp))
  assert.deepEqual([status, data.isInstalled, data.availableVersion], [200, false, '4.1'])
  assert.equal(etag, (await app.call('GET', externPath(erp))).etag)
  assert.equal((await readVm()).nutanixGuestTools, undefined)
  assert.equal((await app.call('GET', externToolsPath(randomUUID()))).status, 404)
})

test('an installation with an immediate reboot ends with reachable tools and an ejected ISO; a second one is refused', async () => {
  const startedAt = outside()?.now?.startedAt
  const body = { ...install, capabilities: ['VSS_SNAPSHOT', 'SELF_SERVICE_RESTORE'] }
  const task = await externToolsDone(app, 'install', body)
  assert.deepEqual(
    [task.operation, task.status, task.entitiesAffected[0].rel],
    ['InstallNutanixGuestTools', 'SUCCEEDED', 'vmm:extern:config:vm'],
  )
  assert.notEqual(outside()?.now?.startedAt, startedAt)
  await app.clock.advance(1000)
  const tools = await readExternTools(app)
  assert.deepEqual(
    [tools.isInstalled, tools.isReachable, tools.isEnabled, tools.isIsoInserted, tools.isVssSnapshotCapable],
    [true, true, true, false, true],
  )
  assert.deepEqual([tools.version, tools.capabilities], ['4.1', body.capabilities])
  assert.equal(tools.guestInfo.guestOsFullName, 'Red Hat Enterprise Linux 8 (64-bit)')
  assert.ok(tools.guestInfo.lastBootUpTime && tools.guestInfo.dnsName.value && tools.guestOsVersion)
  const { cdRoms, nutanixGuestTools } = await readVm()
  assert.deepEqual([cdRoms, nutanixGuestTools.isReachable], [undefined, true])
  assert.deepEqual(await refusal('install', install), notReady)
})

test('an upgrade to the installed version fails as already upgraded; an older version is upgraded', async () => {
  await withExternTools(app)
  const current = await externToolsDone(app, 'upgrade', {})
  assert.equal(current.status, 'FAILED')
  assert.match(current.errorMessages[0].message, /is already upgraded\.$/)
  await app.close()
  app = await startApp()
  await withExternTools(app, '4.0')
  const task = await externToolsDone(app, 'upgrade', { rebootPreference: { scheduleType: 'IMMEDIATE' } })
  assert.equal(task.status, 'SUCCEEDED')
  await app.clock.advance(1000)
  const { version, isReachable } = await readExternTools(app)
  assert.deepEqual([version, isReachable], ['4.1', true])
})

test('a removal clears the tools; another removal and an upgrade are refused; a new installation works', async () => {
  await withExternTools(app)
  assert.equal((await externToolsDone(app, 'uninstall')).status, 'SUCCEEDED')
  assert.equal((await readVm()).nutanixGuestTools, undefined)
  assert.equal(outside()?.tools, undefined)
  assert.deepEqual(await refusal('uninstall'), notReady)
  assert.deepEqual(await refusal('upgrade', {}), notReady)
  assert.equal((await externToolsDone(app, 'install', install)).status, 'SUCCEEDED')
})

test('without a reboot the tools are installed but not reachable until the next boot', async () => {
  await externToolsDone(app, 'install', { credential })
  await app.clock.advance(60_000)
  const before = await readExternTools(app)
  assert.deepEqual([before.isInstalled, before.isReachable], [true, false])
  assert.equal((await power('reset')).status, 'SUCCEEDED')
  await app.clock.advance(1000)
  assert.equal((await readExternTools(app)).isReachable, true)
})

test('a scheduled reboot happens at its time, and does not change the entity tag of the VM', async () => {
  const startTime = new Date(app.clock.now() + 3_600_000).toISOString()
  const rebootPreference = { scheduleType: 'LATER', schedule: { startTime } }
  assert.equal((await externToolsDone(app, 'install', { credential, rebootPreference })).status, 'SUCCEEDED')
  await app.clock.advance(3_500_000)
  const { data, etag } = await app.call('GET', externToolsPath(erp))
  assert.equal(data.isReachable, false)
  await app.clock.advance(200_000)
  const after = await app.call('GET', externToolsPath(erp))
  assert.deepEqual([after.data.isReachable, after.etag], [true, etag])
})

test('the ISO goes into an empty drive; without one, and while it is inserted, it is refused', async () => {
  const none = await externTools(app, 'insert-iso', {})
  assert.equal(none.status, 409)
  assert.match(JSON.stringify(none.errors), /no empty CD-ROM/)
  await anEmptyDrive(app)
  const task = await externToolsDone(app, 'insert-iso', { capabilities: ['VSS_SNAPSHOT'] })
  assert.deepEqual([task.operation, task.status], ['InsertNutanixGuestTools', 'SUCCEEDED'])
  const { isIsoInserted, isEnabled, isInstalled, capabilities } = await readExternTools(app)
  assert.deepEqual([isIsoInserted, isEnabled, isInstalled, capabilities], [true, true, false, ['VSS_SNAPSHOT']])
  assert.ok((await readVm()).cdRoms[0].backingInfo.diskExtId)
  assert.deepEqual(await refusal('insert-iso', {}), notReady)
  // An installation uses the ISO and ejects it; the drive stays.
  assert.equal((await externToolsDone(app, 'install', install)).status, 'SUCCEEDED')
  assert.equal((await readExternTools(app)).isIsoInserted, false)
  const { cdRoms } = await readVm()
  assert.deepEqual([cdRoms.length, cdRoms[0].backingInfo], [1, undefined])
})

test('tools that are disabled are unreachable; enabled again, they answer after the next boot; capabilities are replaced', async () => {
  await withExternTools(app)
  const disabled = await externToolsDone(app, 'PUT', { isEnabled: false, capabilities: ['VSS_SNAPSHOT'] })
  assert.deepEqual([disabled.operation, disabled.status], ['UpdateNutanixGuestTools', 'SUCCEEDED'])
  const off = await readExternTools(app)
  assert.deepEqual([off.isEnabled, off.isReachable, off.isVssSnapshotCapable], [false, false, true])
  assert.deepEqual(await refusal('uninstall'), notReady)
  await externToolsDone(app, 'PUT', { isEnabled: true })
  assert.equal((await readExternTools(app)).isReachable, false)
  await power('guest-reboot')
  await app.clock.advance(1000)
  const on = await readExternTools(app)
  assert.deepEqual([on.isReachable, on.capabilities, on.isVssSnapshotCapable], [true, undefined, false])
})

test('an installation is refused for a VM that is OFF, and for a body without credential or with a time in the past', async () => {
  const past = { scheduleType: 'LATER', schedule: { startTime: '2001-01-01T00:00:00Z' } }
  for (const body of [
    {},
    { credential: { username: 'root' } },
    { credential: { username: '', password: 'S3.guestlogin' } },
    { credential, rebootPreference: { scheduleType: 'LATER' } },
    { credential, rebootPreference: past },
    { credential, isConfigOnly: true },
    { credential, capabilities: ['UNHEARD_OF'] },
  ])
    assert.equal((await externTools(app, 'install', body)).status, 400, JSON.stringify(body))
  await power('power-off')
  assert.deepEqual(await refusal('install', install), [409, 'VMM-30100'])
})

test('a step that fails is undone: no ISO, no tools, and the password appears nowhere', async () => {
  const final = { error: 'CONFLICT', arguments: { fault: 'It fails on purpose.' } }
  for (const method of ['insertToolsIso', 'copyTools', 'setUpTools', 'changePower', 'ejectToolsIso']) {
    const match = { driverCall: { driver: 'externalHypervisor', method } }
    const rule = await aFault(app, match, final, { next: 1 })
    const answer = await externTools(app, 'install', install)
    const task = await app.task(answer)
    await removeFault(app, rule)
    // The guest may have been rebooted.
    await app.clock.advance(1000)
    assert.equal(task.status, 'FAILED', method)
    assert.ok(!JSON.stringify(task).includes(credential.password))
    const { isInstalled, isIsoInserted } = await readExternTools(app)
    assert.deepEqual([isInstalled, isIsoInserted], [false, false], method)
    assert.deepEqual([outside()?.tools, outside()?.toolsIso, outside()?.vm.cdRoms], [undefined, undefined, undefined])
  }
  assert.equal((await externToolsDone(app, 'install', install)).status, 'SUCCEEDED')
  assert.ok(!JSON.stringify(await readVm()).includes(credential.password))
})

test('a guest that refuses the login fails the installation, and the ISO is ejected', async () => {
  const refusesLogin = (value: boolean) =>
    happen(app, { type: 'FACT_CHANGES', kind: 'EXTERNAL_VM', of: erp, path: 'refusesLogin', value })
  const before = await readVm()
  await refusesLogin(true)
  const task = await externToolsDone(app, 'install', install)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30001'])
  assert.ok(!JSON.stringify(task).includes(credential.password))
  assert.deepEqual(await readVm(), before)
  await refusesLogin(false)
  assert.equal((await externToolsDone(app, 'install', install)).status, 'SUCCEEDED')
})

test('a failed upgrade leaves the tools reachable in their former version', async () => {
  await withExternTools(app, '4.0')
  const match = { driverCall: { driver: 'externalHypervisor', method: 'changePower' } }
  const rule = await aFault(app, match, { error: 'CONFLICT', arguments: { fault: 'It fails on purpose.' } })
  const task = await externToolsDone(app, 'upgrade', { rebootPreference: { scheduleType: 'IMMEDIATE' } })
  await removeFault(app, rule)
  assert.equal(task.status, 'FAILED')
  const { version, isReachable } = await readExternTools(app)
  assert.deepEqual([version, isReachable], ['4.0', true])
})

test('an installation that does not reach the management fails, and keeps an ISO that was inserted before', async () => {
  await anEmptyDrive(app)
  const faults = app.world.collection<ManagementFault>('extern.faults')
  await externToolsDone(app, 'insert-iso', {})
  await faults.put(cluster, { isAway: true, isUnnoticed: true })
  assert.equal((await externToolsDone(app, 'install', install)).status, 'FAILED')
  await faults.remove(cluster)
  const { isInstalled, isIsoInserted } = await readExternTools(app)
  assert.deepEqual([isInstalled, isIsoInserted], [false, true])
})

test('while the external management is unreachable, whether detected or not, changes fail and reads still work', async () => {
  await withExternTools(app)
  const faults = app.world.collection<ManagementFault>('extern.faults')
  await faults.put(cluster, { isAway: true, isUnnoticed: true })
  for (const [action, body] of [
    ['PUT', { isEnabled: false }],
    ['uninstall', undefined],
  ] as const) {
    const task = await externToolsDone(app, action, body)
    assert.equal(task.status, 'FAILED', action)
    assert.ok(task.errorMessages.length > 0)
  }
  await faults.remove(cluster)
  const { isEnabled, isInstalled } = await readExternTools(app)
  assert.deepEqual([isEnabled, isInstalled], [true, true])
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_FAILS', cluster })
  for (const [action, body] of [
    ['PUT', { isEnabled: false }],
    ['insert-iso', {}],
    ['install', install],
    ['upgrade', {}],
    ['uninstall', undefined],
  ] as const)
    assert.equal((await externTools(app, action, body)).status, 409, action)
  const away = await app.call('GET', externToolsPath(erp))
  assert.deepEqual([away.status, away.data.isInstalled, away.data.isReachable], [200, true, false])
})

test('every change needs the current tag, and a Virtual Machine Viewer reads but changes nothing', async () => {
  const as = await aUser(app, ['Virtual Machine Viewer'])
  const stale = (await app.call('GET', externToolsPath(erp))).etag as string
  await externToolsDone(app, 'PUT', { isEnabled: true })
  assert.equal((await app.call('GET', externToolsPath(erp), { as })).status, 200)
  for (const [action, body] of [
    ['PUT', { isEnabled: false }],
    ['insert-iso', {}],
    ['install', install],
    ['upgrade', {}],
    ['uninstall', undefined],
  ] as const) {
    assert.equal((await externTools(app, action, body, { as })).status, 403, action)
    assert.deepEqual(await refusal(action, body, { ifMatch: stale }), [412, 'VMM-30303'], action)
    assert.equal((await externTools(app, action, body, { ifMatch: '' })).status, 428, action)
  }
})
