/** Reboots, power cycles, and power through the guest tools. Source: behaviour vmm.md 1.1 (states, Power), 1.16, 3.8, 5. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { happen } from '../../support/events.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import {
  act,
  aNativeCluster,
  aSubnet,
  aVm,
  aVmWithTools,
  bootDisk,
  booted,
  change,
  changed,
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

const journal = async (extId: string): Promise<string[]> =>
  (await powerHistory(app.store, extId)).map((event) => event.change)
const codeOf = (result: { errors: readonly any[] }): unknown => result.errors[0]?.code
const script = { shouldEnableScriptExec: true }
const done = async (extId: string, action: string, body: object = {}): Promise<any> =>
  app.task(await act(app, extId, action, body))
/** With an address that its guest has learned. */
async function aBootedVm(body: object = {}): Promise<any> {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.200'])
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)], ...body })
  await booted(app, vm.extId)
  return readVm(app, vm.extId)
}

test('a reboot keeps the host and the address, and the guest boots again', async () => {
  const vm = await aBootedVm()
  const task = await changed(app, vm.extId, 'reboot')
  assert.deepEqual([task.operation, task.operationDescription, task.status], ['RebootVm', 'Reboot VM', 'SUCCEEDED'])
  const rebooted = await readVm(app, vm.extId)
  assert.deepEqual([rebooted.powerState, rebooted.host], ['ON', vm.host])
  assert.equal(rebooted.nics[0].networkInfo.ipv4Info, undefined)
  await app.clock.advance(1000)
  assert.deepEqual((await readVm(app, vm.extId)).nics, vm.nics)
  assert.deepEqual(await journal(vm.extId), ['ON', 'RESET'])
})

test('a guest that ignores ACPI stays ON after a shutdown and a reboot, which fail; power-off works', async () => {
  const vm = await aBootedVm()
  await happen(app, { type: 'GUEST_FAILS', vm: vm.extId })
  for (const action of ['shutdown', 'reboot'] as const) {
    const task = await changed(app, vm.extId, action)
    assert.equal(task.status, 'FAILED')
    assert.match(task.errorMessages[0].message, /did not respond/)
    assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
  }
  assert.equal((await changed(app, vm.extId, 'power-off')).status, 'SUCCEEDED')
  // The fault lasts until the guest recovers.
  await booted(app, vm.extId)
  assert.equal((await changed(app, vm.extId, 'shutdown')).status, 'FAILED')
  await happen(app, { type: 'GUEST_RECOVERS', vm: vm.extId })
  assert.equal((await changed(app, vm.extId, 'shutdown')).status, 'SUCCEEDED')
})

test('a power cycle starts the VM again, on the host with the best placement', async () => {
  const own = await aNativeCluster(app, { usableGiB: 4 })
  const vm = await aVm(app, own, { memorySizeBytes: 2 * GiB })
  await booted(app, vm.extId)
  const { host } = await readVm(app, vm.extId)
  const started = domainFacts(app.world).get(vm.extId)?.startedAt as number
  await app.clock.advance(1000)
  const task = await changed(app, vm.extId, 'power-cycle')
  assert.deepEqual([task.operation, task.status], ['PowerCycleVm', 'SUCCEEDED'])
  const cycled = await readVm(app, vm.extId)
  assert.equal(cycled.powerState, 'ON')
  assert.deepEqual(cycled.host, host)
  assert.ok((domainFacts(app.world).get(vm.extId)?.startedAt as number) > started)
  assert.deepEqual(await journal(vm.extId), ['ON', 'OFF', 'ON'])
})

test('a power cycle leaves the VM OFF when no host can start it', async () => {
  const own = await aNativeCluster(app, { hosts: 1 })
  const vm = await aVm(app, own)
  await booted(app, vm.extId)
  const final = { error: 'CONFLICT', arguments: { fault: 'The host refuses.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'startVm' } }, final)
  const task = await changed(app, vm.extId, 'power-cycle')
  await removeFault(app, fault)
  assert.equal(task.status, 'FAILED')
  const { powerState, host } = await readVm(app, vm.extId)
  assert.deepEqual([powerState, host], ['OFF', undefined])
  assert.equal(domainFacts(app.world).get(vm.extId)?.state, 'OFF')
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
})

test('a VM whose stop succeeds without an answer fails its task, and is OFF once the control plane observes its domain', async () => {
  const lost = { error: 'BACKEND_TIMEOUT', arguments: { fault: 'The answer was lost.' }, moment: 'AFTER' }
  for (const [action, method] of [
    ['power-off', 'stopVm'],
    ['power-cycle', 'stopVm'],
    ['shutdown', 'requestShutdown'],
  ] as const) {
    const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
    await booted(app, vm.extId)
    const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method } }, lost)
    const task = await changed(app, vm.extId, action)
    await removeFault(app, fault)
    assert.equal(task.status, 'FAILED', action)
    await app.clock.advance(10_000)
    const { powerState, host } = await readVm(app, vm.extId)
    assert.deepEqual([powerState, host], ['OFF', undefined], action)
    assert.deepEqual(await journal(vm.extId), ['ON', 'OFF'], action)
    assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED', action)
  }
})

test('a pending customisation runs in the boot of a power cycle', async () => {
  const config = { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from('x').toString('base64') }
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], guestCustomization: { config } })
  await changed(app, vm.extId, 'power-on')
  assert.equal((await changed(app, vm.extId, 'power-cycle')).status, 'SUCCEEDED')
  const cycled = await readVm(app, vm.extId)
  assert.deepEqual([cycled.vmGuestCustomizationStatus, cycled.cdRoms?.[0].isoType], ['PENDING', 'GUEST_CUSTOMIZATION'])
  await app.clock.advance(1000)
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
})

test('an OFF VM refuses to reboot, power-cycle, and change its power through the guest', async () => {
  const { extId } = await aVm(app, cluster)
  for (const action of ['reboot', 'power-cycle'] as const)
    assert.equal(codeOf(await change(app, extId, action)), 'VMM-30100', action)
  for (const action of ['guest-shutdown', 'guest-reboot'])
    assert.equal(codeOf(await act(app, extId, action, {})), 'VMM-30100', action)
})

test('a shutdown through the guest needs its tools: without them, disabled, or crashed it is refused and the VM stays ON', async () => {
  const bare = await aBootedVm()
  const { extId } = await aVmWithTools(app, cluster)
  assert.equal(codeOf(await act(app, bare.extId, 'guest-shutdown', {})), 'VMM-30103')
  assert.equal((await readVm(app, bare.extId)).powerState, 'ON')
  await happen(app, { type: 'GUEST_FAILS', vm: extId, fault: 'TOOLS_CRASH' })
  assert.equal((await readVm(app, extId)).guestTools.isReachable, false)
  const tag = await tagOf(app, extId)
  assert.equal(codeOf(await act(app, extId, 'guest-shutdown', {})), 'VMM-30103')
  // A refusal changes nothing.
  assert.equal(await tagOf(app, extId), tag)
  await happen(app, { type: 'GUEST_RECOVERS', vm: extId })
  const task = await done(extId, 'guest-shutdown')
  assert.deepEqual([task.operation, task.status], ['ShutdownGuestVm', 'SUCCEEDED'])
  assert.equal((await readVm(app, extId)).powerState, 'OFF')
})

test('a guest that ignores ACPI obeys its tools', async () => {
  const { extId } = await aVmWithTools(app, cluster)
  await happen(app, { type: 'GUEST_FAILS', vm: extId })
  const task = await done(extId, 'guest-reboot')
  assert.deepEqual([task.operation, task.status], ['RebootGuestVm', 'SUCCEEDED'])
  assert.deepEqual(await journal(extId), ['ON', 'RESET'])
})

test('a failing script stops a shutdown only if the request says so; else the task has a warning', async () => {
  const { extId } = await aVmWithTools(app, cluster)
  await happen(app, { type: 'GUEST_FAILS', vm: extId, fault: 'SCRIPT_FAILS' })
  const strict = { guestPowerStateTransitionConfig: { ...script, shouldFailOnScriptFailure: true } }
  const failed = await done(extId, 'guest-shutdown', strict)
  assert.deepEqual([failed.status, failed.errorMessages[0].code], ['FAILED', 'VMM-30001'])
  assert.equal((await readVm(app, extId)).powerState, 'ON')
  const lax = await done(extId, 'guest-shutdown', { guestPowerStateTransitionConfig: script })
  assert.deepEqual([lax.status, lax.warnings?.length], ['SUCCEEDED', 1])
  assert.equal((await readVm(app, extId)).powerState, 'OFF')
  // A script that is not asked for does not run.
  await booted(app, extId)
  const without = await done(extId, 'guest-reboot', {
    guestPowerStateTransitionConfig: { shouldFailOnScriptFailure: true },
  })
  assert.deepEqual([without.status, without.warnings], ['SUCCEEDED', undefined])
})

test('a queued guest shutdown fails in its task with the code of an immediate refusal', async () => {
  const { extId } = await aVmWithTools(app, cluster)
  const first = await act(app, extId, 'guest-reboot', {})
  const second = await act(app.atOnce, extId, 'guest-shutdown', {})
  assert.equal((await app.task(first)).status, 'SUCCEEDED')
  const task = await app.task(second)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30103'])
  assert.equal((await readVm(app, extId)).powerState, 'ON')
})
