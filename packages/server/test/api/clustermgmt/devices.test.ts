/** GPU profiles and PCIe devices of clusters. Source: behaviour clustermgmt.md 1.7, 2, 4. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { PassthroughGpu, SharedGpu } from '../../../src/drivers/hardware.ts'
import { bodyOf, install } from '../../kinds/vmm/gpu.ts'
import { deviceOf } from '../../kinds/vmm/pcie-device.ts'
import { aUser } from '../../support/identities.ts'
import { aNativeCluster, aVm, changed } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const clusters = '/clustermgmt/v4.2/config/clusters'
const pcieDevices = '/clustermgmt/v4.2/ahv/config/pcie-devices'
const profilesOf = async (cluster: string, sort: 'physical' | 'virtual', query = ''): Promise<any[]> => {
  const { status, data, errors } = await app.call('GET', `${clusters}/${cluster}/${sort}-gpu-profiles${query}`)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const assignableOf = async (cluster: string): Promise<number[]> =>
  (await profilesOf(cluster, 'virtual')).map(({ virtualGpuConfig }) => virtualGpuConfig.assignable)

test('the demo has a GPU for passthrough, a card with four virtual types, and two PCIe devices; all are free', async () => {
  const native = seedId('cluster/hp-native-01')
  assert.deepEqual(
    (await profilesOf(native, 'physical'))
      .map(({ physicalGpuConfig: { type, mode, assignable, isInUse } }) => [type, mode, assignable, isInUse])
      .sort(),
    [
      ['PASSTHROUGH_COMPUTE', 'UNUSED', 1, false],
      ['VIRTUAL', 'UNUSED', 1, false],
    ],
  )
  assert.deepEqual(
    (await profilesOf(native, 'virtual')).map(({ virtualGpuConfig: { fraction, assignable } }) => [
      fraction,
      assignable,
    ]),
    [
      [100, 1],
      [50, 2],
      [25, 4],
      [10, 10],
    ],
  )
  const { data } = await app.call('GET', `${pcieDevices}?$filter=clusterExtId eq '${native}'`)
  const accelerator = [
    'UVM_AVAILABLE',
    'Encryption accelerator',
    seedId('host/hp-n01-d'),
    'ENCRYPTION_DECRYPTION_CONTROLLER',
    undefined,
  ]
  assert.deepEqual(
    data.map(({ state, description, hostExtId, type, ownerVmExtId }: any) => [
      state,
      description,
      hostExtId,
      type,
      ownerVmExtId,
    ]),
    [accelerator, accelerator],
  )
})

test('a passthrough GPU counts as assigned from its creation until its removal, also while the VM is OFF', async () => {
  const cluster = await aNativeCluster(app)
  const [gpu] = await install(app, cluster.extId, cluster.hostExtIds[0] as string, ['Compute GPU', 'Compute GPU'])
  const vm = await aVm(app, cluster, { gpus: [bodyOf(gpu as PassthroughGpu)] })
  const [profile, ...others] = await profilesOf(cluster.extId, 'physical')
  assert.equal(others.length, 0)
  const { deviceId, vendorName, assignable, isInUse, mode } = profile.physicalGpuConfig
  assert.deepEqual(
    [deviceId, vendorName, assignable, isInUse, mode, profile.allocatedVmExtIds],
    [(gpu as PassthroughGpu).deviceId, 'NVIDIA', 1, true, 'USED_FOR_PASSTHROUGH', [vm.extId]],
  )
  const found = await profilesOf(cluster.extId, 'physical', '?$filter=physicalGpuConfig/isInUse eq true')
  assert.equal(found.length, 1)
  await changed(app, vm.extId, 'delete')
  const [free] = await profilesOf(cluster.extId, 'physical')
  assert.deepEqual([free.physicalGpuConfig.assignable, free.allocatedVmExtIds], [2, []])
})

test('virtual GPUs count while their VM runs; a card that carries one type has no room for another', async () => {
  const cluster = await aNativeCluster(app)
  const [card] = await install(app, cluster.extId, cluster.hostExtIds[0] as string, ['Virtual card', 'Virtual card'])
  const { types, vendor } = card as SharedGpu
  const half = { mode: 'VIRTUAL', vendor, deviceId: types.find(({ fraction }) => fraction === 50)?.deviceId }
  const vm = await aVm(app, cluster, { gpus: [half] })
  assert.deepEqual(await assignableOf(cluster.extId), [2, 4, 8, 20])
  await changed(app, vm.extId, 'power-on')
  assert.deepEqual(await assignableOf(cluster.extId), [1, 3, 4, 10])
  const used = (await profilesOf(cluster.extId, 'virtual')).filter(({ virtualGpuConfig }) => virtualGpuConfig.isInUse)
  assert.deepEqual(
    used.map(({ virtualGpuConfig, allocatedVmExtIds }) => [virtualGpuConfig.fraction, allocatedVmExtIds]),
    [[50, [vm.extId]]],
  )
  const [physical] = await profilesOf(cluster.extId, 'physical')
  assert.deepEqual(
    [physical.physicalGpuConfig.assignable, physical.physicalGpuConfig.mode, physical.allocatedVmExtIds],
    [1, 'USED_FOR_VIRTUAL', [vm.extId]],
  )
  await changed(app, vm.extId, 'power-off')
  assert.deepEqual(await assignableOf(cluster.extId), [2, 4, 8, 20])
})

test('a PCIe device is reserved while its VM is OFF, assigned while it runs, and available once it is removed', async () => {
  const cluster = await aNativeCluster(app)
  const [device] = await install(app, cluster.extId, cluster.hostExtIds[0] as string, [], ['accelerator'])
  const seen = async (): Promise<unknown[]> => {
    const { data } = await app.call('GET', `${pcieDevices}?$filter=extId eq '${device?.extId}'`)
    return data.map(({ state, ownerVmExtId }: any) => [state, ownerVmExtId])
  }
  assert.deepEqual(await seen(), [['UVM_AVAILABLE', undefined]])
  const { extId } = await aVm(app, cluster, { pcieDevices: [deviceOf(device?.extId as string)] })
  assert.deepEqual(await seen(), [['UVM_RESERVED', extId]])
  await changed(app, extId, 'power-on')
  assert.deepEqual(await seen(), [['UVM_ASSIGNED', extId]])
  await changed(app, extId, 'power-off')
  assert.deepEqual(await seen(), [['UVM_RESERVED', extId]])
  await changed(app, extId, 'delete')
  assert.deepEqual(await seen(), [['UVM_AVAILABLE', undefined]])
})

test('profiles of a cluster that does not exist are 404; a viewer of VMs reads them all, a storage viewer none', async () => {
  assert.equal((await app.call('GET', `${clusters}/${randomUUID()}/virtual-gpu-profiles`)).status, 404)
  const native = seedId('cluster/hp-native-01')
  for (const [role, status] of [
    ['Virtual Machine Viewer', 200],
    ['Storage Viewer', 403],
  ] as const) {
    const as = await aUser(app, [role])
    for (const path of [
      `${clusters}/${native}/physical-gpu-profiles`,
      `${clusters}/${native}/virtual-gpu-profiles`,
      pcieDevices,
    ])
      assert.equal((await app.call('GET', path, { as })).status, status, `${role} ${path}`)
  }
})

test('version 4.0 shows a PCIe device without its type', async () => {
  const [device] = (await app.call('GET', '/clustermgmt/v4.0/ahv/config/pcie-devices')).data
  assert.deepEqual([device.type, typeof device.description], [undefined, 'string'])
})
