/** Power of VMs through the API: placement, states, guests. Source: behaviour vmm.md 1.0, 1.1, 3.2, 3.3, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import fc from 'fast-check'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { happen } from '../../support/events.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
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

const vms = '/vmm/v4.2/ahv/config/vms'
const vmsOn = async (of: NativeCluster, hostExtId: string): Promise<number> =>
  (await app.call('GET', `/clustermgmt/v4.2/config/clusters/${of.extId}/hosts/${hostExtId}`)).data.hypervisor
    ?.numberOfVms ?? 0

test('power-on places the VM on a host of its cluster, whose number of VMs grows by one', async () => {
  const own = await aNativeCluster(app)
  const vm = await aVm(app, own)
  const task = await changed(app, vm.extId, 'power-on')
  assert.deepEqual([task.operation, task.status], ['PowerOnVm', 'SUCCEEDED'])
  const { powerState, host, isLiveMigrateCapable } = await readVm(app, vm.extId)
  assert.equal(powerState, 'ON')
  assert.ok(own.hostExtIds.includes(host.extId))
  assert.equal(isLiveMigrateCapable, true)
  assert.equal(await vmsOn(own, host.extId), 1)
})

test('each power operation succeeds or is refused as documented for each state', async () => {
  const vm = await aVm(app, cluster)
  const refusals = async (actions: readonly Parameters<typeof change>[2][]): Promise<unknown[]> =>
    Promise.all(actions.map(async (action) => (await change(app, vm.extId, action)).errors[0]?.code))
  assert.deepEqual(await refusals(['power-off', 'shutdown', 'reset']), ['VMM-30100', 'VMM-30100', 'VMM-30100'])
  await changed(app, vm.extId, 'power-on')
  assert.deepEqual(await refusals(['power-on']), ['VMM-30100'])
  const { host } = await readVm(app, vm.extId)
  assert.equal((await changed(app, vm.extId, 'reset')).status, 'SUCCEEDED')
  assert.deepEqual((await readVm(app, vm.extId)).host, host)
  assert.equal((await changed(app, vm.extId, 'power-off')).status, 'SUCCEEDED')
  const off = await readVm(app, vm.extId)
  assert.deepEqual([off.powerState, off.host, off.isLiveMigrateCapable], ['OFF', undefined, undefined])
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await changed(app, vm.extId, 'delete')).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', `${vms}/${vm.extId}`)).status, 404)
})

test('every operation on an UNDETERMINED VM is refused', async () => {
  const vm = await aVm(app, cluster)
  await app.store.transaction((store) => store.observe(Vm, vm.extId, { powerState: 'UNDETERMINED' }))
  for (const action of ['power-on', 'power-off', 'shutdown', 'reset', 'delete'] as const) {
    assert.equal((await change(app, vm.extId, action)).errors[0]?.code, 'VMM-30100', action)
  }
  await app.store.transaction((store) => store.observe(Vm, vm.extId, { powerState: 'OFF' }))
})

test('power operations that are sent without waiting run in order', async () => {
  const vm = await aVm(app, cluster)
  const started = []
  for (const action of ['power-on', 'reset', 'power-off', 'power-on'] as const)
    started.push(await change(app, vm.extId, action))
  const ends = []
  for (const each of started) ends.push((await app.task(each)).status)
  assert.deepEqual(ends, ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])
  assert.deepEqual(
    (await powerHistory(app.store, vm.extId)).map((event) => event.change),
    ['ON', 'RESET', 'OFF', 'ON'],
  )
})

test('a queued operation that an earlier one made impossible fails in its task with the code of an immediate refusal', async () => {
  const vm = await aVm(app, cluster)
  const [first, second] = [await change(app, vm.extId, 'power-on'), await change(app.atOnce, vm.extId, 'power-on')]
  assert.equal((await app.task(first)).status, 'SUCCEEDED')
  const task = await app.task(second)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-30100'])
  assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
})

test('repeating a power-on with the same request id returns the same task and starts the VM once', async () => {
  const vm = await aVm(app, cluster)
  const sent = { requestId: randomUUID(), ifMatch: await tagOf(app, vm.extId) }
  const [first, second] = [await change(app, vm.extId, 'power-on', sent), await change(app, vm.extId, 'power-on', sent)]
  assert.equal(first.data.extId, second.data.extId)
  await app.task(first)
  assert.equal((await powerHistory(app.store, vm.extId)).length, 1)
})

test('a disk, a NIC and a CD-ROM have the ETag of their VM, which is stale after any power action', async () => {
  const subnet = await aSubnet(app, cluster)
  const vm = await aVm(app, cluster, { disks: [emptyDisk()], nics: [nicOn(subnet)], cdRoms: [{}] })
  const of = async (path: string): Promise<string | undefined> =>
    (await app.call('GET', `${vms}/${vm.extId}${path}`)).etag
  const tags = [
    await of(''),
    await of(`/disks/${vm.disks[0].extId}`),
    await of(`/nics/${vm.nics[0].extId}`),
    await of(`/cd-roms/${vm.cdRoms[0].extId}`),
  ]
  assert.deepEqual(new Set(tags).size, 1)
  const ifMatch = tags[1] as string
  const started = await change(app, vm.extId, 'power-on', { ifMatch })
  assert.equal(started.status, 202)
  // Between admission and end, and after it.
  assert.equal((await change(app.atOnce, vm.extId, 'power-off', { ifMatch })).errors[0]?.code, 'VMM-30303')
  const between = await tagOf(app.atOnce, vm.extId)
  await app.task(started)
  assert.notEqual(await tagOf(app, vm.extId), between)
  const stale = await change(app, vm.extId, 'power-off', { ifMatch })
  assert.equal(stale.status, 412)
  assert.match(stale.errors[0]?.message ?? '', /^If-Match header value passed/)
  assert.equal(
    (await app.call('POST', `${vms}/${vm.extId}/$actions/power-off`, { requestId: randomUUID() })).status,
    428,
  )
})

test('every operation accepts the ETag of the VM or of any part of it, and refuses it after a power action', async () => {
  const subnet = await aSubnet(app, cluster)
  const parts = { disks: [bootDisk(cluster)], nics: [nicOn(subnet)], cdRoms: [{}] }
  const vm = await aVm(app, cluster, parts)
  const paths = ['', `/disks/${vm.disks[0].extId}`, `/nics/${vm.nics[0].extId}`, `/cd-roms/${vm.cdRoms[0].extId}`]
  const tagAt = async (path: string): Promise<string> =>
    (await app.call('GET', `${vms}/${vm.extId}${path}`)).etag as string
  let at = 0
  for (const action of ['power-on', 'reset', 'shutdown', 'power-on', 'power-off'] as const) {
    await app.clock.advance(1000)
    const ifMatch = await tagAt(paths[at++ % paths.length] as string)
    assert.equal((await changed(app, vm.extId, action, { ifMatch })).status, 'SUCCEEDED', action)
    for (const path of paths) assert.notEqual(await tagAt(path), ifMatch, `${action} ${path}`)
    for (const what of ['power-on', 'power-off', 'reset', 'shutdown', 'delete', { put: vm }] as const)
      assert.equal((await change(app, vm.extId, what, { ifMatch })).status, 412, `${what} after ${action}`)
  }
  // The same for a change and a removal, each with the tag of a part.
  const put = { put: { ...vm, description: 'by the tag of a disk' } }
  assert.equal((await changed(app, vm.extId, put, { ifMatch: await tagAt(paths[1] as string) })).status, 'SUCCEEDED')
  assert.equal(
    (await changed(app, vm.extId, 'delete', { ifMatch: await tagAt(paths[2] as string) })).status,
    'SUCCEEDED',
  )
})

test('two hundred mutations of one VM in a loop each get 202, 409, 412 or 429, and the last accepted one decides the final state', async () => {
  const vm = await aVm(app, cluster)
  const accepted: { task: any; name: string }[] = []
  const statuses = new Set<number>()
  let ifMatch = await tagOf(app, vm.extId)
  for (let n = 0; n < 200; n++) {
    // Every third is sent with a tag that is old by now.
    if (n % 3 !== 0) ifMatch = await tagOf(app, vm.extId)
    const name = `name-${n}`
    const result = await change(app, vm.extId, { put: { ...vm, name } }, { ifMatch })
    statuses.add(result.status)
    if (result.status === 202) accepted.push({ task: result, name })
    else if (result.status === 409) assert.equal(result.errors[0]?.code, 'VMM-30102')
  }
  for (const status of statuses) assert.ok([202, 409, 412, 429].includes(status), String(status))
  assert.ok(statuses.has(412))
  for (const { task } of accepted) assert.equal((await app.task(task)).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm.extId)).name, accepted.at(-1)?.name)
})

test('the learned address appears within a second of server time, equals the reserved one, and does not change the ETag', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })
  const { value } = vm.nics[0].networkInfo.ipv4Config.ipAddress
  await changed(app, vm.extId, 'power-on')
  const tag = await tagOf(app, vm.extId)
  assert.equal((await readVm(app, vm.extId)).nics[0].networkInfo.ipv4Info, undefined)
  await app.clock.advance(1000)
  const [nic] = (await readVm(app, vm.extId)).nics
  assert.equal(nic.networkInfo.ipv4Info.learnedIpAddresses[0].value, value)
  assert.deepEqual(nic.nicNetworkInfo.ipv4Info, nic.networkInfo.ipv4Info)
  const single = (await app.call('GET', `${vms}/${vm.extId}/nics/${nic.extId}`)).data
  assert.equal(single.networkInfo.ipv4Info.learnedIpAddresses[0].value, value)
  assert.equal(await tagOf(app, vm.extId), tag)
  await changed(app, vm.extId, 'power-off')
  assert.equal((await readVm(app, vm.extId)).nics[0].networkInfo.ipv4Info, undefined)
})

test('a disconnected NIC keeps its reserved address and learns none, and a reset keeps learned addresses', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const loose = { ...nicOn(subnet), backingInfo: { isConnected: false } }
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], nics: [loose, nicOn(subnet)] })
  await changed(app, vm.extId, 'power-on')
  await app.clock.advance(1000)
  const learned = async (): Promise<unknown[]> =>
    (await readVm(app, vm.extId)).nics.map(({ networkInfo }: any) => [
      networkInfo.ipv4Config.ipAddress.value,
      networkInfo.ipv4Info?.learnedIpAddresses[0].value,
    ])
  assert.deepEqual(await learned(), [
    ['10.0.0.10', undefined],
    ['10.0.0.11', '10.0.0.11'],
  ])
  await changed(app, vm.extId, 'reset')
  await app.clock.advance(1000)
  assert.equal((await learned()).length, 2)
  assert.deepEqual((await learned())[1], ['10.0.0.11', '10.0.0.11'])
})

test('a VM without a bootable device learns no address', async () => {
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const vm = await aVm(app, cluster, { disks: [emptyDisk()], nics: [nicOn(subnet)] })
  await changed(app, vm.extId, 'power-on')
  await app.clock.advance(60_000)
  assert.equal((await readVm(app, vm.extId)).nics[0].networkInfo.ipv4Info, undefined)
})

test('a booted guest obeys a shutdown; when a guest ignores it, the task fails, the VM stays ON and power-off works', async () => {
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)] })
  await changed(app, vm.extId, 'power-on')
  const early = await changed(app, vm.extId, 'shutdown')
  assert.equal(early.status, 'FAILED')
  assert.match(early.errorMessages[0].message, /did not respond/)
  assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
  await app.clock.advance(1000)
  assert.equal((await changed(app, vm.extId, 'shutdown')).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm.extId)).powerState, 'OFF')

  await changed(app, vm.extId, 'power-on')
  await app.clock.advance(1000)
  await happen(app, { type: 'GUEST_HANGS', vm: vm.extId })
  assert.equal((await changed(app, vm.extId, 'shutdown')).status, 'FAILED')
  assert.equal((await readVm(app, vm.extId)).powerState, 'ON')
  assert.equal((await changed(app, vm.extId, 'power-off')).status, 'SUCCEEDED')
})

test('the next boot runs a staged customisation once', async () => {
  const cloudInit = { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from('x').toString('base64') }
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], guestCustomization: { config: cloudInit } })
  await changed(app, vm.extId, 'power-on')
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, 'PENDING')
  await app.clock.advance(1000)
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
  await changed(app, vm.extId, 'power-off')
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
})

test('of four VMs of 60 GiB on three hosts of 100 GiB, three run on one host each and the fourth fails with one reason for each host', async () => {
  const three = await aNativeCluster(app, { hosts: 3, usableGiB: 100 })
  const made = await Promise.all(
    [1, 2, 3, 4].map((n) => aVm(app, three, { name: `big-${n}`, memorySizeBytes: 60 * GiB })),
  )
  const tasks = await Promise.all(made.map(({ extId }) => changed(app, extId, 'power-on')))
  const [failed, ...others] = tasks.filter(({ status }) => status === 'FAILED')
  assert.equal(others.length, 0)
  assert.equal(failed.errorMessages[0].code, 'VMM-40001')
  assert.equal(failed.errorMessages[0].message.match(/memory:/g).length, 3)
  const after = await Promise.all(made.map(({ extId }) => readVm(app, extId)))
  const on = after.filter(({ powerState }) => powerState === 'ON')
  assert.equal(new Set(on.map(({ host }) => host.extId)).size, 3)
  assert.equal(after.find(({ powerState }) => powerState === 'OFF').host, undefined)
})

/** The truth about a host: what VMs hold, what domains run there, what rows say. */
async function checkHosts(of: NativeCluster, usableGiB: number): Promise<void> {
  const allocations = await app.store.findWhere(HostAllocation, { clusterExtId: of.extId })
  for (const hostExtId of of.hostExtIds) {
    const held = allocations.filter((each) => each.hostExtId === hostExtId)
    assert.ok(held.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) <= usableGiB * GiB)
    const running = [...domainFacts(app.world).all()]
      .filter(([, fact]) => fact.hostExtId === hostExtId)
      .map(([extId]) => extId)
    for (const extId of running) assert.ok(held.some(({ vmExtId }) => vmExtId === extId))
  }
}

test('fifty small VMs powered on at once oversubscribe no host', async () => {
  const small = await aNativeCluster(app, { hosts: 2, usableGiB: 20 })
  const made = await Promise.all(Array.from({ length: 50 }, () => aVm(app, small, { memorySizeBytes: GiB })))
  const tasks = await Promise.all(made.map(({ extId }) => changed(app, extId, 'power-on')))
  assert.equal(tasks.filter(({ status }) => status === 'SUCCEEDED').length, 40)
  await checkHosts(small, 20)
})

test('concurrent power operations never oversubscribe memory, and VMs that are OFF reserve none', async () => {
  const own = await aNativeCluster(app, { hosts: 2, usableGiB: 8 })
  const made = await Promise.all([1, 2, 3, 3, 4, 5].map((n) => aVm(app, own, { memorySizeBytes: n * GiB })))
  const actions = fc.constantFrom('power-on' as const, 'power-off' as const, 'reset' as const)
  const moves = fc.array(fc.tuple(fc.nat(made.length - 1), actions), { minLength: 5, maxLength: 15 })
  await fc.assert(
    fc.asyncProperty(moves, async (sequence) => {
      const started = await Promise.all(sequence.map(([index, action]) => change(app, made[index].extId, action)))
      await checkHosts(own, 8)
      for (const each of started) if (each.status === 202) await app.task(each)
      await checkHosts(own, 8)
      for (const { extId } of made) {
        const { powerState, host } = await readVm(app, extId)
        const held = await app.store.findWhere(HostAllocation, { vmExtId: extId })
        assert.deepEqual(
          held.map(({ hostExtId }) => hostExtId),
          powerState === 'ON' ? [host.extId] : [],
        )
      }
    }),
    { numRuns: 10 },
  )
})

test('a power-on that only a host in maintenance could take fails and names the maintenance', async () => {
  const one = await aNativeCluster(app, { hosts: 1 })
  await app.store.transaction((store) =>
    store.observe(Host, one.hostExtIds[0] as string, { maintenanceState: 'in_maintenance' }),
  )
  const vm = await aVm(app, one)
  const task = await changed(app, vm.extId, 'power-on')
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /maintenance/)
})

test('an agent VM runs on the host that its body names', async () => {
  const pair = await aNativeCluster(app, { hosts: 2 })
  const host = { extId: pair.hostExtIds[1] }
  const vm = await aVm(app, pair, { isAgentVm: true, host })
  assert.equal(vm.host, undefined)
  await changed(app, vm.extId, 'power-on')
  const on = await readVm(app, vm.extId)
  assert.deepEqual(on.host, host)
  assert.equal(on.isLiveMigrateCapable, false)
})

/** A service whose tasks of one definition stand at their first step until `open`. */
async function standing(definition: string) {
  let open = (): void => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const hung = await startApp({
    config: { seed: 'empty' },
    beforeStep: (name) => (name === definition ? gate : undefined),
  })
  return { hung, open: () => open() }
}

test('a failed operation changes the ETag when it ends, as it did when it was accepted', async () => {
  const { hung, open } = await standing('vmm.reset-vm')
  const vm = await aVm(hung, await aNativeCluster(hung))
  await changed(hung, vm.extId, 'power-on')
  const before = await tagOf(hung, vm.extId)
  const reset = await change(hung, vm.extId, 'reset')
  const accepted = await tagOf(hung, vm.extId)
  await hung.store.transaction((store) => store.observe(Vm, vm.extId, { powerState: 'UNDETERMINED' }))
  assert.equal(await tagOf(hung, vm.extId), accepted, 'what the world does raises no tag')
  open()
  assert.equal((await hung.task(reset)).status, 'FAILED')
  assert.equal(new Set([before, accepted, await tagOf(hung, vm.extId)]).size, 3)
  await hung.close()
})

test('an operation behind 20 queued ones of the same VM is refused with 409 VM_BUSY', async () => {
  const { hung, open } = await standing('vmm.reset-vm')
  const own = await aNativeCluster(hung)
  const vm = await aVm(hung, own)
  await changed(hung, vm.extId, 'power-on')
  const statuses = []
  for (let n = 0; n < 25; n++) statuses.push((await change(hung, vm.extId, 'reset')).status)
  open()
  assert.deepEqual([...new Set(statuses)], [202, 409])
  assert.equal(statuses.filter((status) => status === 202).length, 21)
  await hung.runner.idle()
  await hung.close()
})

test('tasks of one VM run one after another, tasks of two VMs at the same time', async () => {
  const { hung, open } = await standing('vmm.reset-vm')
  const own = await aNativeCluster(hung)
  const [slow, other] = [await aVm(hung, own), await aVm(hung, own)]
  await changed(hung, slow.extId, 'power-on')
  const first = await change(hung, slow.extId, 'reset')
  const second = await change(hung, slow.extId, 'power-off')
  assert.equal((await changed(hung, other.extId, 'power-on')).status, 'SUCCEEDED')
  const statusOf = async (task: { data: any }): Promise<string> =>
    (await hung.call('GET', `/platform/v4.3/config/tasks/${task.data.extId}`)).data.status
  assert.deepEqual([await statusOf(first), await statusOf(second)], ['RUNNING', 'QUEUED'])
  open()
  assert.deepEqual([(await hung.task(first)).status, (await hung.task(second)).status], ['SUCCEEDED', 'SUCCEEDED'])
  assert.equal((await readVm(hung, slow.extId)).powerState, 'OFF')
  await hung.close()
})
