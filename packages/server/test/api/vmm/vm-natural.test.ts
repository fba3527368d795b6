/**
 * What takes its time: a service with natural durations, whose clock is moved from event to event.
 * Source: behaviour vmm.md 1.1 (Power), 3.3, 3.7; volumes-storage.md 1.4.
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { driven } from '../../support/driven.ts'
import { happen } from '../../support/events.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  change,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { act, aGroup, entriesOf } from '../../support/volumes.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty', durations: 'natural' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

/** Moves the time from event to event until the task has ended: its end, and how many seconds it ran. */
async function ended(started: CallResult | Promise<CallResult>): Promise<{ task: any; seconds: number }> {
  let isOver = false
  const waited = app.task(await started).finally(() => (isOver = true))
  while (!isOver) {
    await app.clock.runToNextEvent()
    await new Promise(setImmediate)
  }
  const task = await waited
  return { task, seconds: (Date.parse(task.completedTime) - Date.parse(task.startedTime)) / 1000 }
}
const on = async (body: object = {}): Promise<any> => {
  const vm = await driven(app, aVm(app, cluster, { disks: [bootDisk(cluster)], ...body }))
  assert.equal((await ended(change(app, vm.extId, 'power-on'))).task.status, 'SUCCEEDED')
  return vm
}
const booted = 60_000

test('a booted guest shuts down 2 to 20 s after the power button is pressed', async () => {
  const vm = await on()
  await app.clock.advance(booted)
  const { task, seconds } = await ended(change(app, vm.extId, 'shutdown'))
  assert.equal(task.status, 'SUCCEEDED')
  assert.ok(seconds >= 2 && seconds <= 20, String(seconds))
  assert.equal((await readVm(app, vm.extId)).powerState, 'OFF')
})

for (const [guest, prepare] of [
  ['that has not booted yet', async () => undefined],
  ['without anything to boot', async () => app.clock.advance(booted)],
  [
    'that ignores the button',
    async (extId: string) => {
      await app.clock.advance(booted)
      await happen(app, { type: 'GUEST_HANGS', vm: extId })
    },
  ],
] as const) {
  test(`a shutdown of a guest ${guest} fails after 60 s; the VM stays ON, and power-off works`, async () => {
    const vm = await on(guest === 'without anything to boot' ? { disks: [] } : {})
    await prepare(vm.extId)
    const { task, seconds } = await ended(change(app, vm.extId, 'shutdown'))
    assert.equal(task.status, 'FAILED')
    assert.match(task.errorMessages[0].message, /did not respond/)
    assert.ok(seconds >= 60 && seconds < 62, String(seconds))
    assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
    assert.equal((await ended(change(app, vm.extId, 'power-off'))).task.status, 'SUCCEEDED')
    assert.equal((await readVm(app, vm.extId)).powerState, 'OFF')
  })
}

test('a linux guest is up 8 to 25 s after its start: firmware, loader, kernel, network', async () => {
  const vm = await on()
  await app.clock.advance(booted)
  const { upSince = 0 } = (await app.drivers.hypervisor.observeGuests([vm.extId])).get(vm.extId) ?? {}
  const seconds = (upSince - (domainFacts(app.world).get(vm.extId)?.startedAt ?? 0)) / 1000
  assert.ok(seconds >= 8 && seconds <= 25, String(seconds))
})

test('detaching a volume group waits 60 s for a guest that still uses it, then forces the detach', async () => {
  const vm = await on()
  const group = await driven(app, aGroup(app, { clusterReference: cluster.extId }))
  await ended(act(app, group.extId, 'attach-vm', { extId: vm.extId }))
  await happen(app, { type: 'GUEST_HANGS', vm: vm.extId })
  const { task, seconds } = await ended(act(app, group.extId, 'detach-vm', { extId: vm.extId }))
  assert.equal(task.status, 'SUCCEEDED')
  assert.match(task.warnings[0].message, /60 s/)
  assert.ok(seconds >= 60, String(seconds))
  assert.deepEqual(await entriesOf(app, vm.extId, group.extId), [])
})

test('a guest forgets its address 10 s after its NIC is disconnected, and learns one 5 s after it is connected or has a new address', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.99'])
  const { extId, nics } = await on({ nics: [nicOn(subnet)] })
  await app.clock.advance(booted)
  const path = `/vmm/v4.2/ahv/config/vms/${extId}/nics/${nics[0].extId}`
  const learned = async (): Promise<string | undefined> =>
    (await app.call('GET', path)).data.nicNetworkInfo.ipv4Info?.learnedIpAddresses[0].value
  const sent = async (method: string, at: string, body: object) =>
    app.call(method, at, { body, ifMatch: await tagOf(app, extId), requestId: randomUUID() })
  const connect = (isConnected: boolean) => sent('PUT', path, { ...nicOn(subnet), backingInfo: { isConnected } })
  const assign = (value: string) => sent('POST', `${path}/$actions/assign-ip`, { ipAddress: { value } })
  for (const [change, before, millis, after] of [
    [() => connect(false), '10.0.0.10', 10_000, undefined],
    [() => connect(true), undefined, 5000, '10.0.0.10'],
    [() => assign('10.0.0.70'), '10.0.0.10', 5000, '10.0.0.70'],
  ] as const) {
    assert.equal((await ended(change())).task.status, 'SUCCEEDED')
    assert.equal(await learned(), before)
    await app.clock.advance(millis)
    assert.equal(await learned(), after)
  }
})
