/** GPUs and PCIe devices of VMs. Source: behaviour vmm.md 1.0, 1.1, 1.5, 1.16, 2, 3.2, 3.8, 5; clustermgmt.md 1.7. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { brokenInvariants } from '../../../src/domains/invariants/invariants.ts'
import { DeviceClaim } from '../../../src/domains/scheduling/device-claim.ts'
import type { HostDevice, PassthroughGpu, SharedGpu } from '../../../src/drivers/hardware.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { bodyOf, install } from '../../kinds/vmm/gpu.ts'
import { deviceOf } from '../../kinds/vmm/pcie-device.ts'
import { aFault, noFaults, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  act,
  aNativeCluster,
  aVm,
  change,
  changed,
  GiB,
  type NativeCluster,
  postVm,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
/** No step of a task begins before this is resolved. */
let gate: Promise<void> | undefined
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep: () => gate })
})
after(() => app.close())

async function whileTasksWait<T>(work: () => Promise<T>): Promise<T> {
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  try {
    return await work()
  } finally {
    gate = undefined
    open()
  }
}

const vms = '/vmm/v4.2/ahv/config/vms'
type Parts = 'gpus' | 'pcie-devices'
const pathOf = (vm: string, parts: Parts, part = ''): string => `${vms}/${vm}/${parts}${part === '' ? '' : `/${part}`}`
const post = async (vm: string, parts: Parts, body: object, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', pathOf(vm, parts), { requestId: randomUUID(), ifMatch: await tagOf(app, vm), body, ...options })
const remove = async (vm: string, parts: Parts, part: string, options: CallOptions = {}): Promise<CallResult> =>
  app.call('DELETE', pathOf(vm, parts, part), { requestId: randomUUID(), ifMatch: await tagOf(app, vm), ...options })
async function succeeded(sent: CallResult | Promise<CallResult>): Promise<any> {
  const task = await app.task(await sent)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}
const made = async (vm: string, parts: Parts, body: object): Promise<string> =>
  (await succeeded(post(vm, parts, body))).entitiesAffected[0].extId
const read = async (vm: string, parts: Parts, part = ''): Promise<any> =>
  (await app.call('GET', pathOf(vm, parts, part))).data
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.code]
const failure = ({ status, errorMessages }: any): unknown[] => [status, errorMessages?.[0]?.code]
const claimedFor = async (vm: string): Promise<string[]> =>
  (await app.store.findWhere(DeviceClaim, { vmExtId: vm })).map(({ deviceExtId }) => deviceExtId).sort()
const stateOf = async (vm: string) => ({
  vm: { ...(await readVm(app, vm)), updateTime: undefined },
  real: domainFacts(app.world).get(vm)?.domain,
  claims: await claimedFor(vm),
})

/** Two hosts; the first has three GPUs for one VM each, the second has cards that VMs share. Both have a PCIe device. */
async function aWorld({ usableGiB = 100 } = {}) {
  const cluster = await aNativeCluster(app, { usableGiB })
  const [first = '', second = ''] = cluster.hostExtIds
  const names = ['Compute GPU 24 GiB', 'Compute GPU 24 GiB', 'AMD graphics GPU 8 GiB']
  const here = await install(app, cluster.extId, first, names, ['accelerator'])
  const there = await install(
    app,
    cluster.extId,
    second,
    ['Virtual card 16 GiB', 'Virtual card 16 GiB'],
    ['accelerator'],
  )
  const [compute, , graphics] = here as PassthroughGpu[]
  const [card] = there as SharedGpu[]
  return {
    cluster,
    first,
    second,
    here,
    there,
    compute: bodyOf(compute as PassthroughGpu),
    graphics: bodyOf(graphics as PassthroughGpu),
    share: (fraction: number) => ({
      mode: 'VIRTUAL',
      vendor: (card as SharedGpu).vendor,
      deviceId: (card as SharedGpu).types.find((type) => type.fraction === fraction)?.deviceId,
    }),
    accelerators: [here, there].map((devices) => deviceOf((devices.at(-1) as HostDevice).extId)) as [object, object],
  }
}
const idsOf = (devices: readonly HostDevice[]): string[] => devices.map(({ extId }) => extId)
const turned = (cluster: NativeCluster, body: object = {}): Promise<any> =>
  aVm(app, cluster, body).then(async (vm) => ({ vm, task: await changed(app, vm.extId, 'power-on') }))

test('a passthrough GPU is a free device of the cluster, with its facts; it is free again after the removal', async () => {
  const { cluster, compute, graphics, here } = await aWorld()
  const { extId: vm, name } = await aVm(app, cluster)
  const task = await succeeded(post(vm, 'gpus', compute))
  const gpu = task.entitiesAffected[0].extId
  assert.deepEqual(
    [task.operation, task.entitiesAffected.map(({ extId, rel, name }: any) => [extId, rel, name])],
    [
      'CreateGpu',
      [
        [gpu, 'vmm:ahv:config:vm:gpu', undefined],
        [vm, 'vmm:ahv:config:vm', name],
      ],
    ],
  )
  assert.deepEqual(
    task.subSteps.map((step: any) => step.name),
    ['claim', 'define', 'store'],
  )
  const [device] = here as PassthroughGpu[]
  const { links: _, ...shown } = await read(vm, 'gpus', gpu)
  assert.deepEqual(shown, {
    extId: gpu,
    ...compute,
    name: 'Compute GPU 24 GiB',
    frameBufferSizeBytes: 24 * GiB,
    pciAddress: device?.address,
  })
  assert.deepEqual([(await read(vm, 'gpus')).length, (await readVm(app, vm)).gpus.length], [1, 1])
  assert.deepEqual(domainFacts(app.world).get(vm)?.domain.deviceExtIds, [device?.extId])
  await made(vm, 'gpus', graphics)
  const removal = await succeeded(remove(vm, 'gpus', gpu))
  assert.deepEqual(
    removal.subSteps.map((step: any) => step.name),
    ['undefine', 'free'],
  )
  assert.deepEqual(await claimedFor(vm), [here[2]?.extId])
  await succeeded(remove(vm, 'gpus', (await read(vm, 'gpus'))[0].extId))
  assert.deepEqual([await read(vm, 'gpus'), (await readVm(app, vm)).gpus, await claimedFor(vm)], [[], undefined, []])
  const { data } = await app.call('GET', `${pathOf(vm, 'gpus')}?$filter=mode eq Vmm.Ahv.Config.GpuMode'VIRTUAL'`)
  assert.deepEqual(data, [])
})

test('a VM with a passthrough device runs only on the host of the device, and cannot migrate', async () => {
  const { cluster, compute, first, second, accelerators } = await aWorld()
  for (const [body, host] of [
    [{ gpus: [compute] }, first],
    [{ pcieDevices: [accelerators[1]] }, second],
  ] as const) {
    const { vm, task } = await turned(cluster, body)
    assert.equal(task.status, 'SUCCEEDED')
    const running = await readVm(app, vm.extId)
    assert.deepEqual([running.host.extId, running.isLiveMigrateCapable], [host, false])
    await changed(app, vm.extId, 'power-off')
    assert.equal((await readVm(app, vm.extId)).isLiveMigrateCapable, undefined)
    await changed(app, vm.extId, 'delete')
    assert.deepEqual(await claimedFor(vm.extId), [])
  }
  await checkInvariants(app)
})

test('power-on fails with a reason for each host when the host of the device is full, and works once it has room', async () => {
  const { cluster, compute, first } = await aWorld({ usableGiB: 10 })
  const { extId: vm } = await aVm(app, cluster, { memorySizeBytes: 4 * GiB, gpus: [compute] })
  const others = []
  for (const _ of [1, 2]) others.push((await turned(cluster, { memorySizeBytes: 8 * GiB })).vm.extId)
  const task = await changed(app, vm, 'power-on')
  assert.deepEqual(failure(task), ['FAILED', 'VMM-40001'])
  assert.match(
    task.errorMessages[0].message,
    /memory: .*GPU or PCIe device: .*another host|GPU or PCIe device: .*another host.*memory: /,
  )
  assert.equal((await readVm(app, vm)).powerState, 'OFF')
  const blocking = []
  for (const extId of others) if ((await readVm(app, extId)).host.extId === first) blocking.push(extId)
  await changed(app, blocking[0] as string, 'power-off')
  assert.equal((await changed(app, vm, 'power-on')).status, 'SUCCEEDED')
})

test('a device has one owner: a GPU or PCIe device that is taken is 409 at once, for another VM and for the same', async () => {
  const { cluster, compute, accelerators } = await aWorld()
  const { extId: owner } = await aVm(app, cluster, { gpus: [compute, compute], pcieDevices: [accelerators[0]] })
  const { extId: other } = await aVm(app, cluster)
  const before = await stateOf(owner)
  for (const vm of [owner, other]) {
    assert.deepEqual(refusal(await post(vm, 'gpus', compute)), [409, 'VMM-30106'])
    assert.deepEqual(refusal(await post(vm, 'pcie-devices', accelerators[0])), [409, 'VMM-30106'])
  }
  assert.deepEqual(refusal(await postVm(app, cluster, { gpus: [compute] })), [409, 'VMM-30106'])
  assert.deepEqual(refusal(await postVm(app, cluster, { pcieDevices: [accelerators[0]] })), [409, 'VMM-30106'])
  // Free, but in the other host.
  assert.deepEqual(refusal(await post(owner, 'pcie-devices', accelerators[1])), [409, 'VMM-30106'])
  assert.deepEqual(await stateOf(owner), before)
})

test('of two VMs that request the last device concurrently, one gets it', async () => {
  const { cluster, graphics, accelerators } = await aWorld()
  const machines = [(await aVm(app, cluster)).extId, (await aVm(app, cluster)).extId]
  for (const [parts, body] of [
    ['gpus', graphics],
    ['pcie-devices', accelerators[0]],
  ] as const) {
    const sent = await whileTasksWait(() => Promise.all(machines.map((vm) => post(vm, parts, body))))
    const tasks = []
    for (const each of sent) tasks.push(await app.task(each))
    assert.deepEqual(tasks.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED'])
    assert.deepEqual(failure(tasks.find(({ status }) => status === 'FAILED')), ['FAILED', 'VMM-30106'])
  }
  await checkInvariants(app)
})

test('of two creations of a VM with the last device one succeeds, and the other leaves nothing', async () => {
  const { cluster, graphics } = await aWorld()
  const sent = await whileTasksWait(() => Promise.all([1, 2].map(() => postVm(app, cluster, { gpus: [graphics] }))))
  const tasks = []
  for (const each of sent) tasks.push(await app.task(each))
  assert.deepEqual(tasks.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED'])
  const lost = tasks.find(({ status }) => status === 'FAILED').entitiesAffected[0].extId
  assert.deepEqual(await claimedFor(lost), [])
  assert.equal((await app.call('GET', `${vms}/${lost}`)).status, 404)
  await checkInvariants(app)
})

test('a GPU without a profile of the cluster, and a device that is not there, are 404; an incomplete body is 400', async () => {
  const { cluster, compute } = await aWorld()
  const { share } = await aWorld()
  const { extId: vm } = await aVm(app, cluster)
  for (const gpu of [
    { ...compute, deviceId: 1 },
    { ...compute, vendor: 'INTEL' },
    { ...share(50), deviceId: 2 },
  ]) {
    assert.deepEqual(refusal(await post(vm, 'gpus', gpu)), [404, 'VMM-20005'])
    assert.deepEqual(refusal(await postVm(app, cluster, { gpus: [gpu] })), [404, 'VMM-20005'])
  }
  const away = deviceOf(randomUUID())
  assert.deepEqual(refusal(await post(vm, 'pcie-devices', away)), [404, 'VMM-20005'])
  assert.deepEqual(refusal(await postVm(app, cluster, { pcieDevices: [away] })), [404, 'VMM-20005'])
  const paths = ({ status, errors }: CallResult) => [
    status,
    errors.map((error) => error.argumentsMap?.['attributePath']),
  ]
  assert.deepEqual(paths(await post(vm, 'gpus', {})), [400, ['mode', 'vendor', 'deviceId']])
  assert.deepEqual(paths(await post(vm, 'pcie-devices', {})), [400, ['backingInfo/deviceExtId']])
  assert.deepEqual(paths(await postVm(app, cluster, { gpus: [{}], pcieDevices: [{}] })), [
    400,
    ['gpus[0]/mode', 'gpus[0]/vendor', 'gpus[0]/deviceId', 'pcieDevices[0]/backingInfo/deviceExtId'],
  ])
})

test('GPUs of a VM are all virtual or all passthrough, and exclude memory overcommitment', async () => {
  const { cluster, compute, share, accelerators } = await aWorld()
  assert.equal((await postVm(app, cluster, { gpus: [compute, share(50)] })).status, 400)
  for (const devices of [{ gpus: [compute] }, { pcieDevices: [accelerators[0]] }])
    assert.equal((await postVm(app, cluster, { isMemoryOvercommitEnabled: true, ...devices })).status, 400)
  const { extId: vm } = await aVm(app, cluster, { gpus: [compute] })
  assert.equal((await post(vm, 'gpus', share(50))).status, 409)
  const put = { ...(await readVm(app, vm)), isMemoryOvercommitEnabled: true }
  assert.equal((await change(app, vm, { put })).status, 400)
  const { extId: overcommitted } = await aVm(app, cluster, { isMemoryOvercommitEnabled: true })
  for (const [parts, body] of [
    ['gpus', share(50)],
    ['pcie-devices', accelerators[0]],
  ] as const)
    assert.equal((await post(overcommitted, parts, body)).status, 409)
})

test('a revert to memory overcommitment fails while the VM has a device, and leaves the VM running as it was', async () => {
  const { cluster, compute } = await aWorld()
  const { extId: vm } = await aVm(app, cluster, { isMemoryOvercommitEnabled: true })
  const body = { vmExtId: vm }
  const point = await succeeded(app.call('POST', '/vmm/v4.2/ahv/config/vm-recovery-points', { body }))
  const vmRecoveryPointExtId = point.entitiesAffected[0].extId
  const put = { ...(await readVm(app, vm)), isMemoryOvercommitEnabled: false }
  await succeeded(change(app, vm, { put }))
  await made(vm, 'gpus', compute)
  await changed(app, vm, 'power-on')
  const task = await app.task(await act(app, vm, 'revert', { vmRecoveryPointExtId }))
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /isMemoryOvercommitEnabled/)
  const { isMemoryOvercommitEnabled, powerState } = await readVm(app, vm)
  assert.deepEqual([isMemoryOvercommitEnabled, powerState], [false, 'ON'])
})

test('a virtual GPU shows the facts of its type; VMs share a card until it is full, one type for each card', async () => {
  const { cluster, share, second } = await aWorld()
  const { extId: vm } = await aVm(app, cluster)
  const { links: _, ...shown } = await read(vm, 'gpus', await made(vm, 'gpus', share(50)))
  const { extId: __, guestDriverVersion, ...facts } = shown
  assert.deepEqual(facts, {
    ...share(50),
    name: 'Virtual card 16 GiB, 50 %',
    fraction: 50,
    frameBufferSizeBytes: 8 * GiB,
    numVirtualDisplayHeads: 4,
  })
  assert.equal(typeof guestDriverVersion, 'string')
  assert.deepEqual(domainFacts(app.world).get(vm)?.domain.virtualGpus, [share(50).deviceId])
  assert.equal((await changed(app, vm, 'power-on')).status, 'SUCCEEDED')
  const running = await readVm(app, vm)
  assert.deepEqual([running.host.extId, running.isLiveMigrateCapable], [second, true])
  // The second card carries quarters, the first one has room for one more half.
  for (const fraction of [25, 25, 25, 25, 50])
    assert.equal((await turned(cluster, { gpus: [share(fraction)] })).task.status, 'SUCCEEDED')
  for (const fraction of [10, 25, 50, 100]) {
    const { vm: late, task } = await turned(cluster, { gpus: [share(fraction)] })
    assert.deepEqual(failure(task), ['FAILED', 'VMM-40001'])
    assert.match(task.errorMessages[0].message, /GPU: no capacity/)
    assert.equal((await readVm(app, late.extId)).powerState, 'OFF')
  }
  await changed(app, vm, 'power-off')
  assert.equal((await turned(cluster, { gpus: [share(50)] })).task.status, 'SUCCEEDED')
  await checkInvariants(app)
})

test('a VM that runs with a virtual GPU grows in place when its card is full', async () => {
  const { cluster, share, second } = await aWorld()
  const { vm } = await turned(cluster, { gpus: [share(100), share(100)] })
  const put = { ...(await readVm(app, vm.extId)), memorySizeBytes: 2 * GiB }
  assert.equal((await changed(app, vm.extId, { put })).status, 'SUCCEEDED')
  assert.equal((await readVm(app, vm.extId)).host.extId, second)
})

test('devices change only while the VM is OFF', async () => {
  const { cluster, compute, accelerators } = await aWorld()
  const { vm } = await turned(cluster, { gpus: [compute], pcieDevices: [accelerators[0]] })
  const bare = await turned(cluster)
  const { gpus, pcieDevices } = await readVm(app, vm.extId)
  for (const [sent, named] of [
    [await post(vm.extId, 'gpus', compute), /gpus/],
    [await remove(vm.extId, 'gpus', gpus[0].extId), /gpus/],
    [await post(bare.vm.extId, 'pcie-devices', accelerators[1]), /pcieDevices/],
    [await remove(vm.extId, 'pcie-devices', pcieDevices[0].extId), /pcieDevices/],
  ] as const) {
    assert.deepEqual(refusal(sent), [409, 'VMM-30101'])
    assert.match(sent.errors[0]!.message, named)
  }
  await changed(app, vm.extId, 'power-off')
  await succeeded(remove(vm.extId, 'gpus', gpus[0].extId))
})

test('a PCIe device of a VM shows its device of the host, and releases it when removed', async () => {
  const { cluster, accelerators, here } = await aWorld()
  const { extId: vm } = await aVm(app, cluster)
  const task = await succeeded(post(vm, 'pcie-devices', accelerators[0]))
  const part = task.entitiesAffected[0].extId
  assert.deepEqual([task.operation, task.entitiesAffected[0].rel], ['CreatePcieDevice', 'vmm:ahv:config:vm:pciedevice'])
  const shown = await read(vm, 'pcie-devices', part)
  const deviceExtId = here.at(-1)?.extId
  assert.deepEqual(
    [shown.backingInfo.deviceExtId, shown.assignedDeviceInfo.device.deviceExtId],
    [deviceExtId, deviceExtId],
  )
  assert.deepEqual((await readVm(app, vm)).pcieDevices, [shown])
  assert.equal((await succeeded(remove(vm, 'pcie-devices', part))).operation, 'DeletePcieDevice')
  assert.deepEqual([await read(vm, 'pcie-devices'), await claimedFor(vm)], [[], []])
  await succeeded(post((await aVm(app, cluster)).extId, 'pcie-devices', accelerators[0]))
})

test('a VM whose body names no cluster is created on one that has its devices', async () => {
  const { cluster } = await aWorld()
  const { cluster: wanted } = await aWorld()
  const devices = await install(app, wanted.extId, wanted.hostExtIds[1] as string, ['Rare GPU'])
  const gpus = [bodyOf(devices[0] as PassthroughGpu)]
  const vm = await aVm(app, cluster, { cluster: undefined, gpus })
  assert.equal(vm.cluster.extId, wanted.extId)
  assert.deepEqual(await claimedFor(vm.extId), idsOf(devices))
})

test('a clone claims devices of its own, and is refused when none is free', async () => {
  const { cluster, compute, here } = await aWorld()
  const { extId } = await aVm(app, cluster, { gpus: [compute] })
  const clone = async () => {
    const ifMatch = await tagOf(app, extId)
    return app.call('POST', `${vms}/${extId}/$actions/clone`, { body: {}, ifMatch, requestId: randomUUID() })
  }
  const copy = (await succeeded(clone())).entitiesAffected[1].extId
  assert.deepEqual([await claimedFor(extId), await claimedFor(copy)], [[here[0]?.extId], [here[1]?.extId]])
  assert.deepEqual(refusal(await clone()), [409, 'VMM-30106'])
  await checkInvariants(app)
})

test('a task that fails leaves devices and hypervisor unchanged with a new ETag, and the request can be repeated', async () => {
  const { cluster, compute, accelerators } = await aWorld()
  const { extId: vm } = await aVm(app, cluster, { gpus: [compute], pcieDevices: [accelerators[0]] })
  const { gpus, pcieDevices } = await readVm(app, vm)
  const before = await stateOf(vm)
  const requests = {
    'create-gpu store': () => post(vm, 'gpus', compute),
    'delete-gpu free': () => remove(vm, 'gpus', gpus[0].extId),
    'delete-pcie-device free': () => remove(vm, 'pcie-devices', pcieDevices[0].extId),
  }
  for (const [name, request] of Object.entries(requests)) {
    const [task, step] = name.split(' ')
    for (const match of [
      { driverCall: { driver: 'hypervisor', method: 'defineVm' } },
      { taskStep: { task: `vmm.${task}`, step } },
    ]) {
      await aFault(app, match, unavailable, { next: 1 })
      const tag = await tagOf(app, vm)
      assert.equal((await app.task(await request())).status, 'FAILED', name)
      await noFaults(app)
      assert.deepEqual(await stateOf(vm), before, name)
      assert.notEqual(tag, await tagOf(app, vm))
    }
  }
  await checkInvariants(app)
  for (const request of Object.values(requests)) await succeeded(request())
})

test('a creation that fails after the claim frees its devices', async () => {
  const { cluster, compute, accelerators } = await aWorld()
  await aFault(app, { taskStep: { task: 'vmm.create-vm', step: 'store' } }, unavailable, { next: 1 })
  const body = { gpus: [compute], pcieDevices: [accelerators[0]] }
  const task = await app.task(await postVm(app, cluster, body))
  await noFaults(app)
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(await claimedFor(task.entitiesAffected[0].extId), [])
  await succeeded(postVm(app, cluster, body))
})

test('a device has the ETag of its VM, which is required; a stale one is 412', async () => {
  const { cluster, compute, accelerators } = await aWorld()
  const { extId: vm, gpus } = await aVm(app, cluster, { gpus: [compute], pcieDevices: [accelerators[0]] })
  const { etag } = await app.call('GET', pathOf(vm, 'gpus', gpus[0].extId))
  assert.equal(etag, await tagOf(app, vm))
  const [device] = await read(vm, 'pcie-devices')
  assert.equal((await app.call('GET', pathOf(vm, 'pcie-devices', device.extId))).etag, etag)
  const requests = (options: CallOptions) => [
    () => post(vm, 'gpus', compute, options),
    () => remove(vm, 'gpus', gpus[0].extId, options),
    () => post(vm, 'pcie-devices', accelerators[0], options),
    () => remove(vm, 'pcie-devices', device.extId, options),
  ]
  for (const request of requests({ ifMatch: '' })) assert.deepEqual(refusal(await request()), [428, 'PLAT-10004'])
  await succeeded(post(vm, 'gpus', compute, { ifMatch: etag as string }))
  for (const request of requests({ ifMatch: etag as string }))
    assert.deepEqual(refusal(await request()), [412, 'VMM-30303'])
})

test('a device that does not exist, or belongs to another VM, is 404; viewers read and change nothing', async () => {
  const { cluster, compute } = await aWorld()
  const { extId: vm, gpus } = await aVm(app, cluster, { gpus: [compute] })
  const { extId: other } = await aVm(app, cluster)
  for (const extId of [gpus[0].extId, randomUUID()])
    for (const parts of ['gpus', 'pcie-devices'] as const) {
      assert.deepEqual(refusal(await remove(other, parts, extId)), [404, 'VMM-20005'])
      assert.equal((await app.call('GET', pathOf(other, parts, extId))).status, 404)
    }
  const as = await aUser(app, ['Virtual Machine Viewer'])
  for (const parts of ['gpus', 'pcie-devices'] as const)
    assert.equal((await app.call('GET', pathOf(vm, parts), { as })).status, 200)
  for (const sent of [await post(vm, 'gpus', compute, { as }), await remove(vm, 'gpus', gpus[0].extId, { as })])
    assert.equal(sent.status, 403)
})

test('creation, power and deletion in a loop leave devices and memory unchanged', async () => {
  const { cluster, compute, accelerators, share } = await aWorld()
  for (let round = 0; round < 10; round++) {
    const gpus = round % 2 === 0 ? [compute, compute] : [share(100), share(100)]
    const { vm, task } = await turned(cluster, { gpus, pcieDevices: round % 2 === 0 ? [accelerators[0]] : [] })
    assert.equal(task.status, 'SUCCEEDED')
    assert.equal((await changed(app, vm.extId, 'delete')).status, 'SUCCEEDED')
  }
  assert.deepEqual(await app.store.findWhere(DeviceClaim, { clusterExtId: cluster.extId }), [])
  await checkInvariants(app)
})

test('a VM that lists a GPU without a device, and a device claimed by no VM, violate an invariant', async () => {
  const { cluster, compute } = await aWorld()
  const { extId, gpus } = await aVm(app, cluster, { gpus: [compute] })
  assert.deepEqual(await brokenInvariants(app.store), [])
  await app.store.transaction((store) => store.observe(Vm, extId, { gpus: undefined } as never))
  assert.match((await brokenInvariants(app.store)).join(), /is claimed for .* which its VM does not list/)
  await app.store.transaction((store) =>
    store.observe(Vm, extId, { gpus: [gpus[0], { ...gpus[0], extId: randomUUID() }] } as never),
  )
  assert.match((await brokenInvariants(app.store)).join(), /"vm" lists .* without a device/)
  await app.store.transaction((store) => store.observe(Vm, extId, { gpus }))
})
