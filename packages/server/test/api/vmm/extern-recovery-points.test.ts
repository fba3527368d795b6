import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { poolUsage } from '../../../src/domains/storage-space/capacity.ts'
import { outsideVms } from '../../../src/drivers/simulated/external-hypervisor.ts'
import { happen } from '../../support/events.ts'
import { erp, externPath, externToolsDone, withExternTools } from '../../support/extern-tools.ts'
import { install } from '../../support/guest-tools.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
const spare = seedId('extern-vm/legacy-test')
const cluster = seedId('cluster/hp-extern-01')
const store = seedId('container/hp-extern-01/extern-store')
const GiB = 1024 ** 3

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const creating = (vmExtId: string, body: object = {}, on = app) =>
  on.call('POST', points, { requestId: randomUUID(), body: { vmExtId, ...body } })
async function aPoint(vmExtId: string, body: object = {}, on = app): Promise<string> {
  const task = await on.task(await creating(vmExtId, body, on))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected[0].extId
}
const pointOf = async (extId: string, on = app) => (await on.call('GET', `${points}/${extId}`)).data
const vmOf = async (extId: string, on = app) => (await on.call('GET', externPath(extId))).data
const removing = (extId: string, on = app) => on.call('DELETE', `${points}/${extId}`, { requestId: randomUUID() })
async function reverting(vm: string, vmRecoveryPointExtId: string, on = app) {
  const { etag } = await on.call('GET', externPath(vm))
  const options = { ifMatch: etag as string, requestId: randomUUID(), body: { vmRecoveryPointExtId } }
  return on.call('POST', `${externPath(vm)}/$actions/revert`, options)
}
async function acting(vm: string, action: string, on = app) {
  const { etag } = await on.call('GET', externPath(vm))
  return on.task(
    await on.call('POST', `${externPath(vm)}/$actions/${action}`, { ifMatch: etag as string, requestId: randomUUID() }),
  )
}
const change = (vm: string, path: string, value: unknown, on = app) =>
  happen(on, { type: 'FACT_CHANGES', kind: 'EXTERNAL_VM', of: vm, path, value })
async function polled(on = app): Promise<void> {
  await on.clock.advance(31_000)
  await on.store.transaction(async () => undefined)
}
const usedBytes = async (on = app): Promise<number> =>
  (await poolUsage(on, cluster)).containers.get(store)?.logicalBytes as number

describe('createVmRecoveryPoint of an external VM', () => {
  test('keeps its configuration and a layer of each disk, and affects recovery point and VM', async () => {
    const task = await app.task(await creating(erp))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    assert.deepEqual(
      task.entitiesAffected.map(({ rel }: any) => rel),
      ['dataprotection:config:vm-recovery-point', 'vmm:extern:config:vm'],
    )
    const extId = task.entitiesAffected[0].extId
    assert.deepEqual(task.completionDetails, [{ name: 'recoveryPointExtId', value: extId }])
    const point = await pointOf(extId)
    assert.match(point.name, /^legacy-erp-\d{4}-/)
    assert.deepEqual(
      [point.vmExtId, point.status, point.recoveryPointType, point.diskRecoveryPoints.length],
      [erp, 'COMPLETE', 'CRASH_CONSISTENT', 2],
    )
    const { name, memorySizeBytes, numSockets, powerState } = point.vm
    assert.deepEqual([name, memorySizeBytes, numSockets, powerState], ['legacy-erp', 16 * GiB, 1, 'ON'])
    const listed = await app.call('GET', `${points}?$filter=vmExtId eq '${erp}'`)
    assert.equal(listed.total, 1)
  })

  test('a VM that is neither native nor external is 404', async () => {
    assert.equal((await creating(randomUUID())).status, 404)
  })

  test('an application-consistent recovery point needs tools that can freeze the running guest', async () => {
    const own = await startApp()
    try {
      const kind = { recoveryPointType: 'APPLICATION_CONSISTENT' }
      assert.equal((await creating(erp, kind, own)).errors[0]?.code, 'VMM-30103')
      await aPoint(spare, kind, own)
      await withExternTools(own)
      assert.equal((await creating(erp, kind, own)).errors[0]?.code, 'VMM-30103')
      await externToolsDone(own, 'PUT', { isEnabled: true, capabilities: ['VSS_SNAPSHOT'] })
      await own.clock.advance(60_000)
      await aPoint(erp, kind, own)
    } finally {
      await own.close()
    }
  })

  test('a recovery point is refused while the management is known to be unreachable, and its task fails when the management does not answer', async () => {
    const own = await startApp()
    try {
      const extId = await aPoint(erp, {}, own)
      const faults = own.world.collection<object>('extern.faults')
      await faults.put(cluster, { isAway: true, isUnnoticed: true })
      const task = await own.task(await creating(erp, {}, own))
      assert.equal(task.status, 'FAILED')
      assert.equal((await own.call('GET', points + `?$filter=vmExtId eq '${erp}'`)).total, 1)
      const removal = await own.task(await removing(extId, own))
      assert.equal(removal.status, 'FAILED')
      await faults.put(cluster, { isAway: true })
      await polled(own)
      for (const answer of [await creating(erp, {}, own), await removing(extId, own), await reverting(erp, extId, own)])
        assert.equal(answer.status, 409, JSON.stringify(answer.errors))
      assert.equal((await pointOf(extId, own)).extId, extId)
      await faults.remove(cluster)
      await polled(own)
      assert.equal((await own.task(await removing(extId, own))).status, 'SUCCEEDED')
      assert.equal(outsideVms(own.world).get(erp)?.history, undefined)
    } finally {
      await own.close()
    }
  })

  test('a recovery point expires only while its management can delete it', async () => {
    const own = await startApp()
    try {
      const expirationTime = new Date(own.clock.now() + 120_000).toISOString()
      const extId = await aPoint(spare, { expirationTime }, own)
      const faults = own.world.collection<object>('extern.faults')
      await faults.put(cluster, { isAway: true })
      await own.clock.advance(300_000)
      assert.equal((await own.call('GET', `${points}/${extId}`)).status, 200)
      await faults.remove(cluster)
      await own.clock.advance(60_000)
      while (own.runner.size() > 0) await new Promise(setImmediate)
      assert.equal((await own.call('GET', `${points}/${extId}`)).status, 404)
    } finally {
      await own.close()
    }
  })
})

describe('layers of external VMs', () => {
  test('a deleted recovery point gives its bytes to the next one, and the last one leaves the disks as before the first', async () => {
    const own = await startApp()
    try {
      const first = await aPoint(erp, {}, own)
      await own.clock.advance(24 * 3600_000)
      const second = await aPoint(erp, {}, own)
      const bytes = async (extId: string): Promise<number> => (await pointOf(extId, own)).totalExclusiveUsageBytes
      const [base, written] = [await bytes(first), await bytes(second)]
      assert.ok(base > 100 * GiB && written > 0 && written < base, `${base} ${written}`)
      assert.equal((await own.task(await removing(first, own))).status, 'SUCCEEDED')
      assert.ok((await bytes(second)) >= base)
      assert.equal((await own.task(await removing(second, own))).status, 'SUCCEEDED')
      assert.equal('history' in (outsideVms(own.world).get(erp) ?? {}), false)
    } finally {
      await own.close()
    }
  })

  test('a layer below those of other recovery points stays when its own recovery point is deleted', async () => {
    const own = await startApp()
    try {
      const root = await aPoint(spare, {}, own)
      await aPoint(spare, {}, own)
      assert.equal((await own.task(await reverting(spare, root, own))).status, 'SUCCEEDED')
      const branch = await aPoint(spare, {}, own)
      assert.equal((await own.task(await removing(root, own))).status, 'SUCCEEDED')
      const layers = () => Object.keys((outsideVms(own.world).get(spare) as any).history.layers).length
      assert.equal(layers(), 4)
      assert.equal((await own.task(await removing(branch, own))).status, 'SUCCEEDED')
      assert.equal(layers(), 3)
    } finally {
      await own.close()
    }
  })

  test('their container counts the used bytes of all layers', async () => {
    const own = await startApp()
    try {
      const before = await usedBytes(own)
      await aPoint(erp, {}, own)
      await own.clock.advance(24 * 3600_000)
      assert.ok((await usedBytes(own)) > before)
    } finally {
      await own.close()
    }
  })
})

describe('revertVm of an external VM', () => {
  test('returns configuration, disks and name; the VM is OFF, owner and categories stay', async () => {
    const extId = await aPoint(erp)
    const before = await vmOf(erp)
    await change(erp, 'name', 'renamed')
    await change(erp, 'memorySizeBytes', GiB)
    await change(
      erp,
      'disks',
      before.disks.slice(0, 1).map(({ extId, diskAddress, backingInfo }: any) => ({ extId, diskAddress, backingInfo })),
    )
    await polled()
    const category = { categories: [{ extId: seedId('category/Environment/Dev') }] }
    await app.task(
      await app.call('POST', `${externPath(erp)}/$actions/associate-categories`, {
        requestId: randomUUID(),
        body: category,
      }),
    )
    const { etag } = await app.call('GET', externPath(erp))
    const task = await app.task(await reverting(erp, extId))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    assert.equal(task.operation, 'RevertVm')
    assert.deepEqual(
      task.entitiesAffected.map((one: any) => [one.extId, one.rel]),
      [
        [erp, 'vmm:extern:config:vm'],
        [extId, 'dataprotection:config:vm-recovery-point'],
      ],
    )
    assert.deepEqual(task.completionDetails, [{ name: 'VM Recovery Point UUID', value: extId }])
    const after = await vmOf(erp)
    assert.deepEqual(
      [after.name, after.memorySizeBytes, after.powerState, after.disks.length],
      ['legacy-erp', before.memorySizeBytes, 'OFF', before.disks.length],
    )
    assert.deepEqual(after.ownershipInfo, before.ownershipInfo)
    assert.equal(after.categories[0].extId, category.categories[0]?.extId)
    assert.notEqual((await app.call('GET', externPath(erp))).etag, etag)
    assert.equal((await acting(erp, 'power-on')).status, 'SUCCEEDED')
    assert.equal((await removing(extId)).status, 202)
  })

  test('brings back the guest tools that the captured disks had', async () => {
    const own = await startApp()
    try {
      const without = await aPoint(erp, {}, own)
      assert.equal((await externToolsDone(own, 'install', install)).status, 'SUCCEEDED')
      const withTools = await aPoint(erp, {}, own)
      assert.equal((await own.task(await reverting(erp, without, own))).status, 'SUCCEEDED')
      assert.equal((await vmOf(erp, own)).nutanixGuestTools, undefined)
      assert.equal(outsideVms(own.world).get(erp)?.tools, undefined)
      assert.equal((await own.task(await reverting(erp, withTools, own))).status, 'SUCCEEDED')
      assert.equal((await vmOf(erp, own)).nutanixGuestTools.isInstalled, true)
      await acting(erp, 'power-on', own)
      await own.clock.advance(120_000)
      assert.equal((await vmOf(erp, own)).nutanixGuestTools.isReachable, true)
    } finally {
      await own.close()
    }
  })

  test('a MAC address that another VM has taken is replaced with a warning', async () => {
    const own = await startApp()
    try {
      const extId = await aPoint(spare, {}, own)
      const { nics } = await vmOf(spare, own)
      const fact = outsideVms(own.world).get(erp) as any
      await outsideVms(own.world).put(erp, { ...fact, vm: { ...fact.vm, nics: [{ ...nics[0], extId: randomUUID() }] } })
      const task = await own.task(await reverting(spare, extId, own))
      assert.equal(task.status, 'SUCCEEDED')
      assert.equal(task.warnings.length, 1)
      const macs = (await vmOf(spare, own)).nics.map((nic: any) => nic.backingInfo.macAddress)
      assert.notDeepEqual(macs, [nics[0].backingInfo.macAddress])
    } finally {
      await own.close()
    }
  })

  test('a recovery point of another VM is refused, native or external', async () => {
    const own = await startApp()
    try {
      const [erps, natives] = [await aPoint(erp, {}, own), await aPoint(seedId('vm/template-source'), {}, own)]
      for (const extId of [erps, natives]) assert.equal((await reverting(spare, extId, own)).status, 409)
      assert.equal((await reverting(spare, randomUUID(), own)).status, 404)
    } finally {
      await own.close()
    }
  })

  test('fails and changes nothing when the management does not answer', async () => {
    const own = await startApp()
    try {
      const extId = await aPoint(erp, {}, own)
      await own.world.collection<object>('extern.faults').put(cluster, { isAway: true, isUnnoticed: true })
      const task = await own.task(await reverting(erp, extId, own))
      assert.equal(task.status, 'FAILED')
      assert.equal(outsideVms(own.world).get(erp)?.vm.powerState, 'ON')
      const stored = await own.store.get(ExternVm, erp)
      assert.equal(stored?.name, 'legacy-erp')
    } finally {
      await own.close()
    }
  })
})

test('a recovery point outlives an external VM that vanishes, and can be deleted', async () => {
  const own = await startApp()
  try {
    const extId = await aPoint(spare, {}, own)
    await happen(own, { type: 'EXTERNAL_VM_VANISHES', vm: spare })
    await polled(own)
    assert.equal((await own.call('GET', externPath(spare))).status, 404)
    assert.equal((await pointOf(extId, own)).totalExclusiveUsageBytes, 0)
    assert.equal((await own.task(await removing(extId, own))).status, 'SUCCEEDED')
    assert.equal(await own.store.get(VmRecoveryPoint, extId), undefined)
  } finally {
    await own.close()
  }
})

test('no VM and no disk can be made from a recovery point of an external VM', async () => {
  const extId = await aPoint(spare)
  const answer = await app.call('POST', `${points}/${extId}/$actions/restore`, { requestId: randomUUID(), body: {} })
  assert.equal(answer.status, 409)
  assert.match(answer.errors[0]?.message ?? '', /Revert that VM/)
  const reference = {
    $objectType: 'vmm.v4.ahv.config.VmDiskRecoveryPointReference',
    diskRecoveryPointExtId: (await pointOf(extId)).diskRecoveryPoints[0].diskRecoveryPointExtId,
  }
  const disk = { backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', dataSource: { reference } } }
  const source = { entityType: 'VM_RECOVERY_POINT', extId }
  for (const body of [
    { name: 'of a point', source },
    { name: 'of a layer', cluster: { extId: seedId('cluster/hp-native-01') }, disks: [disk] },
  ]) {
    const made = await app.call('POST', '/vmm/v4.2/ahv/config/vms', { requestId: randomUUID(), body })
    assert.deepEqual([made.status, made.errors[0]?.code], [409, answer.errors[0]?.code], JSON.stringify(made.errors))
  }
})

test("an external VM that was OFF runs the hypervisor's tools after its boot", async () => {
  const own = await startApp()
  try {
    assert.equal((await acting(spare, 'power-on', own)).status, 'SUCCEEDED')
    await own.clock.advance(60_000)
    assert.equal((await acting(spare, 'guest-shutdown', own)).status, 'SUCCEEDED')
  } finally {
    await own.close()
  }
})
