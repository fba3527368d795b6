/**
 * The process dies at each step of a VM's tasks; after a restart the task is done or undone. A copy of the data folder, taken
 * while the step stands, is what a killed process leaves behind. Source: behaviour vmm.md 1.0 (Crash), 5; conventions.md 18.3.
 */

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Category } from '@hyperplane/contract/platform/category'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../src/core/api-error.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { MacLease } from '../../../src/domains/virtual-machines/mac-lease.ts'
import { makeVm } from '../../../src/domains/vmm/vm/create/create.ts'
import { removeVm } from '../../../src/domains/vmm/vm/delete.ts'
import { powerTasks } from '../../../src/domains/vmm/vm/power/power.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  change,
  changed,
  nicOn,
  postVm,
  readVm,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const [switchOn, switchOff] = powerTasks as readonly (typeof makeVm)[]
type Start = (app: TestApp) => Promise<{ taskExtId: string; vmExtId: string }>

/** Runs `start` up to the step, copies what is on the disk then, and answers a service that began with the copy. */
async function diedAt(definition: string, step: string, phase: 'run' | 'record', start: Start) {
  let isReached = (): void => undefined
  let goOn = (): void => undefined
  const reached = new Promise<void>((resolve) => (isReached = resolve))
  const gate = new Promise<void>((resolve) => (goOn = resolve))
  const app = await startApp({
    config: { seed: 'empty' },
    beforeStep: (name, at, when) => {
      if (name !== definition || at !== step || when !== phase) return undefined
      isReached()
      return gate
    },
  })
  const started = await start(app)
  await reached
  const early = (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${started.vmExtId}`)).status
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-crash-'))
  cpSync(app.folder, folder, { recursive: true, filter: (path) => !path.endsWith('lock') })
  goOn()
  await app.runner.idle()
  await app.close()
  const again = await startApp({ config: { seed: 'empty' }, folder })
  const task = await again.task(started.taskExtId)
  return {
    app: again,
    task,
    early,
    ...started,
    end: () => again.close().then(() => rmSync(folder, { recursive: true })),
  }
}

const carried = 'c0ffee00-0000-4000-8000-000000000001'
const categoryCount = async (app: TestApp): Promise<number> => {
  const { data } = await app.call('GET', `/platform/v4.3/config/categories/${carried}?$expand=associations`)
  return data?.associations?.find(({ resourceType }: any) => resourceType === 'VM')?.count ?? 0
}

const creation: Start = async (app) => {
  const cluster = await aNativeCluster(app)
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  await app.store.transaction((store) =>
    store.insert(Category, { extId: carried, key: 'carried', value: 'yes', type: 'USER' } as never),
  )
  const parts = { disks: [bootDisk(cluster)], nics: [nicOn(subnet)], categories: [{ extId: carried }] }
  const started = await postVm(app, cluster, parts)
  const [pending] = (await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)).data.entitiesAffected
  return { taskExtId: started.data.extId, vmExtId: pending.extId }
}

async function checkMade(app: TestApp, vmExtId: string): Promise<void> {
  const vm = await readVm(app, vmExtId)
  assert.equal(vm.powerState, 'OFF')
  assert.equal(await categoryCount(app), 1)
  assert.equal(await app.store.count(AddressLease), 1)
  assert.equal(await app.store.count(MacLease), 1)
  assert.equal(diskFacts(app.world).all().size, 1)
  assert.equal(domainFacts(app.world).all().size, 1)
}

async function checkNothing(app: TestApp): Promise<void> {
  for (const kind of [Vm, AddressLease, MacLease, HostAllocation])
    assert.equal(await app.store.count(kind), 0, kind.kind)
  assert.equal(await categoryCount(app), 0)
  assert.equal((await app.store.referrerCounts('Category', carried)).size, 0)
  assert.equal(diskFacts(app.world).all().size, 0)
  assert.equal(domainFacts(app.world).all().size, 0)
}

for (const { name } of makeVm.steps) {
  for (const phase of ['run', 'record'] as const) {
    test(`CreateVm succeeds once after a crash at "${name}" (${phase})`, async () => {
      const { app, task, early, vmExtId, end } = await diedAt(makeVm.name, name, phase, creation)
      assert.equal(early, 404)
      assert.equal(task.status, 'SUCCEEDED')
      await checkMade(app, vmExtId)
      await end()
    })
  }
}

const deletion: Start = async (app) => {
  const { vmExtId, taskExtId } = await creation(app)
  await app.task(taskExtId)
  await changed(app, vmExtId, 'power-on')
  return { vmExtId, taskExtId: (await change(app, vmExtId, 'delete')).data.extId }
}

for (const { name } of removeVm.steps) {
  test(`DeleteVm succeeds after a crash at "${name}" and frees everything`, async () => {
    const { app, task, end } = await diedAt(removeVm.name, name, 'record', deletion)
    assert.equal(task.status, 'SUCCEEDED')
    await checkNothing(app)
    await end()
  })
}

const switching =
  (isOn: boolean): Start =>
  async (app) => {
    const vm = await aVm(app, await aNativeCluster(app))
    if (isOn) await changed(app, vm.extId, 'power-on')
    return { vmExtId: vm.extId, taskExtId: (await change(app, vm.extId, isOn ? 'power-off' : 'power-on')).data.extId }
  }

for (const { name } of switchOn?.steps ?? []) {
  test(`PowerOnVm succeeds after a crash at "${name}": the VM is ON with one host reservation`, async () => {
    const { app, task, vmExtId, end } = await diedAt('vmm.power-on-vm', name, 'record', switching(false))
    assert.equal(task.status, 'SUCCEEDED')
    const { host } = await readVm(app, vmExtId)
    assert.equal(domainFacts(app.world).get(vmExtId)?.hostExtId, host.extId)
    assert.deepEqual(
      (await app.store.find(HostAllocation)).map(({ hostExtId }) => hostExtId),
      [host.extId],
    )
    await end()
  })
}

for (const { name } of switchOff?.steps ?? []) {
  test(`PowerOffVm succeeds after a crash at "${name}": the VM is OFF and reserves nothing`, async () => {
    const { app, task, vmExtId, end } = await diedAt('vmm.power-off-vm', name, 'record', switching(true))
    assert.equal(task.status, 'SUCCEEDED')
    assert.equal((await readVm(app, vmExtId)).powerState, 'OFF')
    assert.equal(domainFacts(app.world).get(vmExtId)?.state, 'OFF')
    assert.equal(await app.store.count(HostAllocation), 0)
    await end()
  })
}

for (const { name: failing } of makeVm.steps) {
  test(`CreateVm that fails at "${failing}" leaves nothing and one error message`, async () => {
    const app = await startApp({
      config: { seed: 'empty' },
      beforeStep: (name, step, phase) => {
        if (name === makeVm.name && step === failing && phase === 'record')
          throw new ApiError('SERVICE_UNAVAILABLE', { fault: 'injected' })
      },
    })
    const { taskExtId, vmExtId } = await creation(app)
    const task = await app.task(taskExtId)
    assert.equal(task.status, 'FAILED')
    assert.equal(task.errorMessages.length, 1)
    assert.equal((await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vmExtId}`)).status, 404)
    await checkNothing(app)
    await app.close()
  })
}
