/** The order in which VMs start after a loss of hosts. Source: behaviour vmm.md 1.13, 3.2 (HA), 5. */

import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { advance } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, change, changed, GiB, type NativeCluster, readVm } from '../../support/native-cluster.ts'
import { aCategory, aRunningVm, bootCondition, made, startupBody, startupPolicies } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())
afterEach(async () => {
  await advance(app, 1)
  await checkInvariants(app)
})

const seconds = (number: number): Promise<void> => advance(app, number / 60)
/** The host has been silent long enough for its VMs to be UNDETERMINED. */
async function lose(host: string): Promise<void> {
  await fail(host)
  await seconds(45)
}
const fail = (host: string) => happen(app, { type: 'HOST_FAILS', host })
const back = (host: string) => happen(app, { type: 'HOST_RETURNS', host })
const stateOf = async (extId: string): Promise<string> => (await readVm(app, extId)).powerState
const states = (vms: readonly any[]): Promise<string[]> => Promise.all(vms.map(({ extId }) => stateOf(extId)))
const lastStart = async (extId: string): Promise<number> =>
  Date.parse((await powerHistory(app.store, extId)).findLast(({ change }) => change === 'ON')?.time ?? '')
/** Advances in steps of the schedules. @returns how many seconds passed until the VM was ON */
async function untilOn(extId: string, most = 600): Promise<number> {
  for (let passed = 0; passed <= most; passed += 10) {
    if ((await stateOf(extId)) === 'ON') return passed
    await seconds(10)
  }
  throw new Error(`the VM is ${await stateOf(extId)} after ${most} s`)
}
const categoryOf = (vm: any): string => vm.categories[0].extId
const withTools = (extId: string) =>
  app.store.transaction((store) =>
    store.update(Vm, extId, { guestTools: { isInstalled: true, isEnabled: true } } as never),
  )

/** A small dependee and a large dependent, both on the first host. */
async function pair(
  cluster: NativeCluster,
  condition?: object,
): Promise<{ dependee: any; dependent: any; host: string; path: string }> {
  const [first, second] = [await aCategory(app), await aCategory(app)]
  const host = cluster.hostExtIds[0] as string
  const path = await made(app, startupPolicies, startupBody([[first], [second]], condition && [condition]))
  const dependee = await aRunningVm(app, cluster, { name: 'dependee', categories: [first], host })
  const dependent = await aRunningVm(app, cluster, {
    name: 'dependent',
    categories: [second],
    host,
    memorySizeBytes: 8 * GiB,
  })
  await seconds(20)
  return { dependee, dependent, host, path }
}

test('after the loss of a host the dependee group is ON before the dependent group is placed, although it is smaller', async () => {
  const cluster = await aNativeCluster(app)
  const { dependee, dependent, host } = await pair(cluster)
  await lose(host)
  assert.deepEqual(await states([dependee, dependent]), ['UNDETERMINED', 'UNDETERMINED'])
  await untilOn(dependee.extId)
  assert.equal(await stateOf(dependent.extId), 'UNDETERMINED')
  await untilOn(dependent.extId)
  assert.ok((await lastStart(dependee.extId)) < (await lastStart(dependent.extId)))
  for (const { extId } of [dependee, dependent])
    assert.equal((await readVm(app, extId)).host.extId, cluster.hostExtIds[1])
  await back(host)
})

test('a delay counts from the moment at which the dependee is ON', async () => {
  const cluster = await aNativeCluster(app)
  const { dependee, dependent, host } = await pair(cluster, { delayDurationSecs: 120 })
  await lose(host)
  await untilOn(dependee.extId)
  await untilOn(dependent.extId)
  const waited = ((await lastStart(dependent.extId)) - (await lastStart(dependee.extId))) / 1000
  assert.ok(waited >= 120 && waited <= 140, `${waited} s`)
  await back(host)
})

test('a boot condition waits for the guest, or for its time-out if the guest hangs; without tools it does not wait', async () => {
  const cluster = await aNativeCluster(app)
  const { dependee, dependent, host } = await pair(cluster, bootCondition(300))
  await lose(host)
  await untilOn(dependee.extId)
  assert.ok((await untilOn(dependent.extId)) <= 20, 'no tools, no wait')
  await back(host)

  await withTools(dependee.extId)
  const [, second] = cluster.hostExtIds as [string, string]
  await lose(second)
  await untilOn(dependee.extId)
  await happen(app, { type: 'GUEST_HANGS', vm: dependee.extId })
  await untilOn(dependent.extId)
  const waited = ((await lastStart(dependent.extId)) - (await lastStart(dependee.extId))) / 1000
  assert.ok(waited >= 300 && waited <= 320, `the guest hangs: ${waited} s`)
  await back(second)
  await happen(app, { type: 'GUEST_RECOVERS', vm: dependee.extId })

  await lose(host)
  await untilOn(dependee.extId)
  await untilOn(dependent.extId)
  const booted = ((await lastStart(dependent.extId)) - (await lastStart(dependee.extId))) / 1000
  assert.ok(booted <= 30, `the guest booted: ${booted} s`)
  await back(host)
})

test('VMs do not wait for a dependee that is OFF or fits on no host', async () => {
  const cluster = await aNativeCluster(app, { usableGiB: 20 })
  const { dependee, dependent, host } = await pair(cluster, { delayDurationSecs: 600 })
  await changed(app, dependee.extId, 'power-off')
  await lose(host)
  assert.ok((await untilOn(dependent.extId)) <= 100)
  assert.equal(await stateOf(dependee.extId), 'OFF')
  await back(host)
})

test('when a whole cluster comes back, VMs wait for their dependees on hosts that come back later', async () => {
  const cluster = await aNativeCluster(app)
  const [first, second] = cluster.hostExtIds as [string, string]
  const [early, late] = [await aCategory(app), await aCategory(app)]
  await made(app, startupPolicies, startupBody([[early], [late]]))
  const dependee = await aRunningVm(app, cluster, { categories: [early], host: first })
  const dependent = await aRunningVm(app, cluster, { categories: [late], host: second })
  const other = await aRunningVm(app, cluster, { host: second })
  await seconds(20)
  for (const host of [first, second]) await fail(host)
  await seconds(40)
  const { effects } = await back(second)
  assert.match(effects.join(), /1 guest of it restarted; its startup policies hold 1 guest/)
  assert.equal(domainFacts(app.world).get(dependent.extId)?.state, 'OFF', 'it does not start with its host')
  await seconds(10)
  assert.deepEqual(await states([other, dependent]), ['ON', 'UNDETERMINED'])
  await back(first)
  await untilOn(dependent.extId)
  assert.equal(await stateOf(dependee.extId), 'ON')
  const restarted = await readVm(app, dependent.extId)
  assert.deepEqual(restarted.host, dependent.host)
  const task = (
    await app.call(
      'GET',
      `/platform/v4.3/config/tasks?$filter=entitiesAffected/any(e: e/extId eq '${dependent.extId}')`,
    )
  ).data[0]
  assert.deepEqual([task.operation, task.status, task.ownedBy.name], ['VmHaRestart', 'SUCCEEDED', 'system'])
})

test('after a short loss of power the dependents start once their dependees run; without a policy they start with the host', async () => {
  const cluster = await aNativeCluster(app, { hosts: 1 })
  const { dependee, dependent, host, path } = await pair(cluster)
  await fail(host)
  await seconds(5)
  await back(host)
  assert.equal(domainFacts(app.world).get(dependent.extId)?.state, 'OFF')
  await untilOn(dependent.extId)
  await seconds(10)
  assert.deepEqual(await states([dependee, dependent]), ['ON', 'ON'])
  assert.equal(domainFacts(app.world).get(dependent.extId)?.state, 'ON')

  await app.task(await app.call('DELETE', path))
  await seconds(20)
  await fail(host)
  await seconds(5)
  const { effects } = await back(host)
  assert.match(effects.join(), /2 guests of it restarted\.$/)
})

test('a waiting VM starts when its policy is deleted; user power operations ignore policies', async () => {
  const cluster = await aNativeCluster(app, { hosts: 1 })
  const { dependee, dependent, host, path } = await pair(cluster, { delayDurationSecs: 3000 })
  await lose(host)
  await back(host)
  await seconds(100)
  assert.deepEqual(await states([dependee, dependent]), ['ON', 'UNDETERMINED'])
  const refused = await change(app, dependent.extId, 'power-off')
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'INVALID_POWER_STATE'])
  await app.task(await app.call('DELETE', path))
  assert.ok((await untilOn(dependent.extId)) <= 20)

  await made(app, startupPolicies, startupBody([[categoryOf(dependee)], [categoryOf(dependent)]]))
  for (const { extId } of [dependee, dependent]) await changed(app, extId, 'power-off')
  assert.equal((await changed(app, dependent.extId, 'power-on')).status, 'SUCCEEDED')
})

test('a waiting VM whose host fails again restarts elsewhere, in the order of its policy', async () => {
  const cluster = await aNativeCluster(app)
  const { dependee, dependent, host } = await pair(cluster, { delayDurationSecs: 300 })
  await fail(host)
  await seconds(5)
  await back(host)
  await seconds(15)
  assert.deepEqual(await states([dependee, dependent]), ['ON', 'UNDETERMINED'])
  await lose(host)
  await untilOn(dependee.extId)
  await untilOn(dependent.extId)
  assert.equal((await readVm(app, dependent.extId)).host.extId, cluster.hostExtIds[1])
  assert.ok((await lastStart(dependent.extId)) >= (await lastStart(dependee.extId)) + 300_000)
  await back(host)
})

test('VMs that wait for each other, because they carry categories of both groups, start all the same', async () => {
  const cluster = await aNativeCluster(app)
  const [first, second] = [await aCategory(app), await aCategory(app)]
  const host = cluster.hostExtIds[0] as string
  await made(app, startupPolicies, startupBody([[first], [second]]))
  const vms = []
  for (let number = 0; number < 3; number++)
    vms.push(await aRunningVm(app, cluster, { categories: [first, second], host }))
  await lose(host)
  for (const { extId } of vms) await untilOn(extId)
  await back(host)
})
