import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { ExternVmStatsTuple } from '@hyperplane/contract/vmm/extern/vm-stats'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { OutsideVmFact } from '../../../src/drivers/simulated/external-facts.ts'
import type { ManagementFault } from '../../../src/drivers/simulated/external-hypervisor.ts'
import { happen } from '../../support/events.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import { beginning, startApp, type TestApp } from '../../support/start-app.ts'

const vms = '/vmm/v4.2/extern/config/vms'
const stats = '/vmm/v4.2/extern/stats/vms'
const cluster = seedId('cluster/hp-extern-01')
const [erp, print, spare] = ['legacy-erp', 'legacy-print', 'legacy-test'].map((name) =>
  seedId(`extern-vm/${name}`),
) as [string, string, string]

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const stateOf = async (extId: string, of = app): Promise<string> =>
  (await of.call('GET', `${vms}/${extId}`)).data.powerState
async function act(extId: string, action: string, of = app) {
  const { etag } = await of.call('GET', `${vms}/${extId}`)
  return of.call('POST', `${vms}/${extId}/$actions/${action}`, { ifMatch: etag as string, requestId: randomUUID() })
}
const outside = (of = app) => of.world.collection<OutsideVmFact>('extern.vms')
const faults = (of = app) => of.world.collection<ManagementFault>('extern.faults')
const iso = (secondsAgo: number): string => new Date(beginning - 1000 * secondsAgo).toISOString()
const during = (secondsAgo: number): string => `$startTime=${iso(secondsAgo)}&$endTime=${iso(0)}`

/** Sets the state outside, as the management's own users do, and waits for the poll. */
async function setOutside(extId: string, powerState: 'ON' | 'OFF' | 'SUSPENDED', of = app): Promise<void> {
  await happen(of, { type: 'FACT_CHANGES', kind: 'EXTERNAL_VM', of: extId, path: 'powerState', value: powerState })
  await polled(of)
}
async function polled(of = app): Promise<void> {
  await of.clock.advance(30_000)
  // The poll writes in a transaction of its own; another one waits for it.
  await of.store.transaction(async () => undefined)
  await new Promise(setImmediate)
  await of.store.transaction(async () => undefined)
}

describe('external VMs of the demo seed', () => {
  test('three VMs are listed, filtered and selected', async () => {
    const { data, total } = await app.call('GET', `${vms}?$orderby=name&$select=name,powerState`)
    assert.equal(total, 3)
    assert.deepEqual(
      data.map(({ name, powerState }: any) => `${name} ${powerState}`),
      ['legacy-erp ON', 'legacy-print SUSPENDED', 'legacy-test OFF'],
    )
    const on = await app.call('GET', `${vms}?$filter=powerState eq 'ON' and cluster/extId eq '${cluster}'`)
    assert.deepEqual(
      on.data.map(({ extId }: any) => extId),
      [erp],
    )
    assert.equal((await app.call('GET', `${vms}/${randomUUID()}`)).errors[0]?.code, 'VMM-20005')
  })
})

describe('power actions on external VMs', () => {
  /** Which actions each state takes, and where they lead. */
  const table: Record<string, Record<string, string>> = {
    OFF: { 'power-on': 'ON' },
    ON: { 'power-off': 'OFF', reset: 'ON', suspend: 'SUSPENDED', 'guest-shutdown': 'OFF', 'guest-reboot': 'ON' },
    SUSPENDED: { 'power-on': 'ON', 'power-off': 'OFF' },
  }
  for (const [state, leadsTo] of Object.entries(table)) {
    for (const action of ['power-on', 'power-off', 'reset', 'suspend', 'guest-shutdown', 'guest-reboot']) {
      const to = leadsTo[action]
      test(`${action} of a VM that is ${state} ${to === undefined ? 'is refused with 409' : `makes it ${to}`}`, async () => {
        await setOutside(erp, state as 'ON')
        assert.equal(await stateOf(erp), state)
        const answer = await act(erp, action)
        if (to === undefined) {
          assert.equal(answer.status, 409)
          assert.equal(answer.errors[0]?.code, 'VMM-30100')
          assert.equal(await stateOf(erp), state)
          return
        }
        const task = await app.task(answer)
        assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
        assert.deepEqual(
          task.entitiesAffected.map(({ extId, rel }: any) => [extId, rel]),
          [[erp, 'vmm:extern:config:vm']],
        )
        assert.equal(await stateOf(erp), to)
        assert.equal(outside().get(erp)?.vm.powerState, to)
      })
    }
  }

  test('a suspended VM resumes without restarting its guest', async () => {
    await setOutside(erp, 'OFF')
    await app.task(await act(erp, 'power-on'))
    const before = outside().get(erp)?.now?.startedAt
    await app.clock.advance(60_000)
    await app.task(await act(erp, 'suspend'))
    await app.clock.advance(60_000)
    assert.equal((await app.task(await act(erp, 'power-on'))).operation, 'PowerOnVm')
    assert.equal(outside().get(erp)?.now?.startedAt, before)
  })

  test('guest-shutdown without running tools is 409 and the VM stays ON', async () => {
    await setOutside(print, 'ON')
    await outside().put(print, { ...(outside().get(print) as OutsideVmFact), hasOwnTools: false })
    const answer = await act(print, 'guest-shutdown')
    assert.equal(answer.status, 409)
    assert.equal(answer.errors[0]?.code, 'VMM-30103')
    assert.equal(await stateOf(print), 'ON')
  })

  test('an action needs the current ETag, and changes it', async () => {
    await setOutside(spare, 'OFF')
    const path = `${vms}/${spare}/$actions/power-on`
    assert.equal((await app.call('POST', path, { requestId: randomUUID() })).status, 428)
    const { etag } = await app.call('GET', `${vms}/${spare}`)
    await app.task(await app.call('POST', path, { ifMatch: etag as string, requestId: randomUUID() }))
    const stale = await app.call('POST', `${vms}/${spare}/$actions/power-off`, {
      ifMatch: etag as string,
      requestId: randomUUID(),
    })
    assert.equal(stale.status, 412)
    assert.equal(stale.errors[0]?.code, 'VMM-30303')
  })
})

describe('changes made by the external management', () => {
  test('a VM that moves to another cluster and back keeps its owner', async () => {
    const own = await startApp()
    try {
      const { extId: other } = await aNativeCluster(own)
      await own.world.collection<object>('extern.clusters').put(other, {})
      const ownershipInfo = { owner: { extId: seedId('user/admin') } }
      await own.store.transaction((store) => store.update(ExternVm, erp, { ownershipInfo }))
      for (const extId of [other, cluster]) {
        const fact = outside(own).get(erp) as OutsideVmFact
        await outside(own).put(erp, { ...fact, vm: { ...fact.vm, cluster: { extId } } })
        await polled(own)
        const moved = await own.store.get(ExternVm, erp)
        assert.deepEqual([moved?.cluster?.extId, moved?.ownershipInfo], [extId, ownershipInfo])
      }
    } finally {
      await own.close()
    }
  })

  test('VMs that the external management creates, changes or removes are up to date here within 30 s', async () => {
    await setOutside(spare, 'SUSPENDED')
    assert.equal(await stateOf(spare), 'SUSPENDED')
    const extId = randomUUID()
    const fact = outside().get(spare) as OutsideVmFact
    await outside().put(extId, { ...fact, vm: { ...fact.vm, extId, name: 'found' } })
    await polled()
    assert.equal((await app.call('GET', `${vms}/${extId}`)).data.name, 'found')
    await outside().remove(extId)
    await polled()
    assert.equal((await app.call('GET', `${vms}/${extId}`)).status, 404)
    assert.equal((await app.call('GET', `${vms}/${spare}`)).data.ownershipInfo.owner.entityType, 'USER')
  })

  test('a category of an external VM counts as MH_VM, cannot be deleted, can be filtered by, and is released when the VM is removed', async () => {
    const category = (
      await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'extern', value: randomUUID() } })
    ).data.extId
    const path = `/platform/v4.3/config/categories/${category}`
    const count = async (): Promise<number> =>
      (await app.call('GET', `${path}?$expand=associations`)).data.associations?.find(
        ({ resourceType }: any) => resourceType === 'MH_VM',
      )?.count ?? 0
    const extId = randomUUID()
    const fact = outside().get(spare) as OutsideVmFact
    await outside().put(extId, { ...fact, vm: { ...fact.vm, extId, name: 'carrier' } })
    await polled()
    await app.store.transaction((store) => store.update(ExternVm, extId, { categories: [{ extId: category }] }))
    assert.equal(await count(), 1)
    assert.equal((await app.call('DELETE', path)).status, 409)
    const found = await app.call('GET', `${vms}?$filter=categories/any(c:c/extId eq '${category}')&$select=name`)
    assert.deepEqual(
      found.data.map(({ name }: any) => name),
      ['carrier'],
    )
    // The outside knows nothing of it: what it shows next does not take it away.
    const now = outside().get(extId) as OutsideVmFact
    await outside().put(extId, { ...now, vm: { ...now.vm, description: 'changed outside' } })
    await polled()
    assert.equal(await count(), 1)
    await outside().remove(extId)
    await polled()
    assert.equal(await count(), 0)
    assert.equal((await app.call('DELETE', path)).status, 204)
  })

  test('while the external management is unreachable, actions are 409 and reads still answer, and both work once it is back', async () => {
    await setOutside(erp, 'ON')
    await happen(app, { type: 'EXTERNAL_MANAGEMENT_FAILS', cluster })
    assert.equal((await act(erp, 'power-off')).status, 409)
    await polled()
    assert.equal(await stateOf(erp), 'UNDETERMINED')
    assert.equal((await app.call('GET', vms)).total, 3)
    for (const action of ['power-on', 'power-off', 'reset', 'suspend'])
      assert.equal((await act(erp, action)).status, 409)
    await happen(app, { type: 'EXTERNAL_MANAGEMENT_RETURNS', cluster })
    await polled()
    assert.equal(await stateOf(erp), 'ON')
  })

  test('a task fails and changes nothing when the external management becomes unreachable before the next poll', async () => {
    await setOutside(erp, 'ON')
    await faults().put(cluster, { isAway: true, isUnnoticed: true })
    const task = await app.task(await act(erp, 'power-off'))
    await faults().remove(cluster)
    assert.equal(task.status, 'FAILED')
    assert.ok(task.errorMessages.length > 0)
    assert.equal(await stateOf(erp), 'ON')
    assert.equal(outside().get(erp)?.vm.powerState, 'ON')
  })
})

describe('statistics of external VMs', () => {
  let fresh: TestApp
  before(async () => {
    fresh = await startApp()
  })
  after(() => fresh.close())
  const read = (target: string, query: string) => fresh.call('GET', `${stats}${target}?${query}`)

  test('a running VM has every statistic, a stopped one only those of its storage', async () => {
    const on = (await read(`/${erp}`, during(3600))).data
    assert.equal(on.stats.length, 120)
    for (const point of on.stats) {
      assert.equal(point.controllerNumIops, point.controllerNumReadIops + point.controllerNumWriteIops)
      assert.ok([0, 1_000_000].includes(point.controllerReadIoPpm + point.controllerWriteIoPpm))
      assert.equal(point.hypervisorType, 'ESX')
      assert.equal(point.cluster, cluster)
    }
    assert.deepEqual(Object.keys(on.stats[0]).sort(), Object.keys(ExternVmStatsTuple.fields).sort())
    const off = (await read(`/${spare}`, during(60))).data.stats
    assert.ok(off.every((point: any) => point.controllerUserBytes > 0 && point.hypervisorCpuUsagePpm === undefined))
    assert.deepEqual((await read(`/${erp}`, during(3600))).data, on)
  })

  test('missing times, an interval below 1 and an unknown operator are 400', async () => {
    for (const query of [
      '',
      `$startTime=${iso(60)}`,
      `$endTime=${iso(0)}`,
      `${during(60)}&$samplingInterval=0`,
      `${during(60)}&$statType=P99`,
    ]) {
      for (const target of ['', `/${erp}`]) assert.equal((await read(target, query)).status, 400, query)
    }
    for (const type of ['AVG', 'SUM', 'COUNT', 'MIN', 'MAX', 'LAST']) {
      assert.equal((await read(`/${erp}`, `${during(60)}&$statType=${type}`)).status, 200)
    }
  })

  test('every statistic that the specification names is a filter of listVmStats', async () => {
    const named =
      `checkScore, cluster, controllerAvgIoLatencyMicros, controllerAvgReadIoLatencyMicros, controllerAvgReadIoSizeKb,
      controllerAvgWriteIoLatencyMicros, controllerAvgWriteIoSizeKb, controllerIoBandwidthKbps, controllerNumIo, controllerNumIops,
      controllerNumRandomIo, controllerNumReadIo, controllerNumReadIops, controllerNumSeqIo, controllerNumWriteIo,
      controllerNumWriteIops, controllerRandomIoPpm, controllerReadIoBandwidthKbps, controllerReadIoPpm, controllerSeqIoPpm,
      controllerStorageTierSsdUsageBytes, controllerTimespanMicros, controllerTotalIoSizeKb, controllerTotalIoTimeMicros,
      controllerTotalReadIoSizeKb, controllerTotalReadIoTimeMicros, controllerTotalTransformedUsageBytes, controllerUserBytes,
      controllerWriteIoBandwidthKbps, hypervisorNumIo, hypervisorCpuUsagePpm, guestMemoryUsagePpm`.split(/,\s*/)
    for (const name of named) {
      const literal = name === 'cluster' ? `'${cluster}'` : '0'
      const answer = await read('', `${during(300)}&$filter=stats/${name} ge ${literal}&$select=extId`)
      assert.equal(answer.status, 200, `${name} ${JSON.stringify(answer.errors)}`)
      assert.ok((answer.total as number) >= 1, name)
    }
  })

  test('a filter with two bounds selects the VMs whose aggregate lies between them', async () => {
    const { data } = await read(
      '',
      `${during(3600)}&$filter=stats/hypervisorCpuUsagePpm gt 0 and stats/hypervisorCpuUsagePpm lt 1000000&$select=stats/hypervisorCpuUsagePpm`,
    )
    assert.deepEqual(
      data.map(({ extId }: any) => extId),
      [erp],
    )
    assert.deepEqual(Object.keys(data[0].stats[0]).sort(), ['hypervisorCpuUsagePpm', 'timestamp'])
    const none = await read('', `${during(3600)}&$filter=stats/hypervisorCpuUsagePpm gt 1000000`)
    assert.equal(none.total, 0)
  })

  test('statistics of a NIC and a disk of the VM can be read, others are 404', async () => {
    const nic = await read(`/${erp}/nics/${seedId('extern-nic/legacy-erp/0')}`, `${during(60)}&$select=stats,vmExtId`)
    assert.equal(nic.data.vmExtId, erp)
    assert.equal(nic.data.stats.length, 2)
    assert.equal(nic.data.stats[0].networkDroppedReceivedPackets, 0)
    const ofDisks = await Promise.all(
      [0, 1].map((at) => read(`/${erp}/disks/${seedId(`extern-disk/legacy-erp/${at}`)}`, during(60))),
    )
    const whole = (await read(`/${erp}`, during(60))).data.stats
    for (const [index, point] of whole.entries()) {
      const parts = ofDisks.map(({ data }) => data.stats[index].controllerNumIops)
      assert.equal(point.controllerNumIops, parts[0] + parts[1])
    }
    for (const target of [
      `/${randomUUID()}`,
      `/${erp}/nics/${randomUUID()}`,
      `/${erp}/disks/${seedId('extern-disk/legacy-test/0')}`,
    ]) {
      const answer = await read(target, during(60))
      assert.equal(answer.status, 404)
      assert.equal(answer.errors[0]?.code, 'VMM-20005')
    }
  })
})
