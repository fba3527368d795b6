/** VMs that are bound to a CPU model. Source: behaviour vmm.md 1.1 (APC), 3.2. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import {
  aNativeCluster,
  aVm,
  change,
  changed,
  type NativeCluster,
  postVm,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app, { hosts: 3 })
  await app.store.transaction(async (store) => {
    for (const [index, [cpuModel, gigahertz]] of (
      [
        ['Newer', 3],
        ['Older', 2],
        ['Newer', 3],
      ] as const
    ).entries()) {
      const changes = { cpuModel, cpuFrequencyHz: gigahertz * 1_000_000_000 }
      await store.observe(Host, cluster.hostExtIds[index] as string, changes)
    }
  })
})
after(() => app.close())

const apc = (cpuModel?: object) => ({ apcConfig: { isApcEnabled: true, ...(cpuModel && { cpuModel }) } })
const [first, older, third] = [0, 1, 2]
const hostsOf = (indexes: readonly number[]) => indexes.map((index) => cluster.hostExtIds[index])

test('without a requested CPU model a VM gets that of the oldest host generation, and runs on any host', async () => {
  const { apcConfig } = await aVm(app, cluster, apc())
  assert.equal(apcConfig.cpuModel.name, 'Older')
  const vms = await Promise.all([1, 2, 3].map(() => aVm(app, cluster, apc())))
  for (const { extId } of vms) await changed(app, extId, 'power-on')
  const hosts = await Promise.all(vms.map(async ({ extId }) => (await readVm(app, extId)).host.extId))
  assert.deepEqual([...hosts].sort(), [...cluster.hostExtIds].sort())
  for (const { extId } of vms) await changed(app, extId, 'delete')
})

test('a VM with a requested CPU model, by name or id, is not placed on a host with an older model', async () => {
  const named = await aVm(app, cluster, apc({ name: 'Newer' }))
  const byId = await aVm(app, cluster, apc({ extId: named.apcConfig.cpuModel.extId }))
  assert.deepEqual(byId.apcConfig, named.apcConfig)
  const vms = [named, byId, await aVm(app, cluster, apc({ name: 'Newer' }))]
  for (const { extId } of vms) {
    await changed(app, extId, 'power-on')
    assert.ok(hostsOf([first, third]).includes((await readVm(app, extId)).host.extId))
  }
  for (const index of [first, third]) {
    await app.store.transaction((store) =>
      store.observe(Host, cluster.hostExtIds[index] as string, { maintenanceState: 'in_maintenance' }),
    )
  }
  const last = await aVm(app, cluster, apc({ name: 'Newer' }))
  const task = await changed(app, last.extId, 'power-on')
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'VMM-40001'])
  assert.match(task.errorMessages[0].message, /CPU model: below the baseline of the VM, Newer/)
  const free = await aVm(app, cluster)
  await changed(app, free.extId, 'power-on')
  assert.equal((await readVm(app, free.extId)).host.extId, cluster.hostExtIds[older])
  for (const index of [first, third]) {
    await app.store.transaction((store) =>
      store.observe(Host, cluster.hostExtIds[index] as string, { maintenanceState: 'normal' }),
    )
  }
})

test('a CPU model that no host of the cluster has is 404', async () => {
  for (const cpuModel of [{ name: 'Newest' }, { extId: randomUUID() }]) {
    const refused = await postVm(app, cluster, apc(cpuModel))
    assert.deepEqual([refused.status, refused.errors[0]?.code], [404, 'VMM-20005'])
    assert.equal(refused.errors[0]?.argumentsMap?.['attributePath'], 'apcConfig/cpuModel')
  }
})

test('the CPU model can be changed while the VM is OFF and is refused while it is ON', async () => {
  const vm = await aVm(app, cluster)
  assert.deepEqual(vm.apcConfig, { isApcEnabled: false })
  const put = { put: { ...vm, ...apc({ name: 'Newer' }) } }
  assert.equal((await changed(app, vm.extId, put)).status, 'SUCCEEDED')
  const bound = await readVm(app, vm.extId)
  assert.equal(bound.apcConfig.cpuModel.name, 'Newer')
  await changed(app, vm.extId, 'power-on')
  assert.equal((await changed(app, vm.extId, { put: bound })).status, 'SUCCEEDED')
  const refused = await change(app, vm.extId, { put: { ...bound, apcConfig: { isApcEnabled: false } } })
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'VMM-30101'])
})
