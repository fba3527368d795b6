/** VM host affinity policies: placement, compliance, enforcement. Source: behaviour vmm.md 1.0, 1.12, 1.16, 2, 3.2, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { VmHostAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { advance } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  changed,
  GiB,
  type NativeCluster,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import {
  aCategory,
  act,
  aPolicy,
  aRunningVm,
  categorise,
  countsAddUp,
  hostAffinityPolicies,
  hostOf,
  hostPolicyBody,
  made,
  post,
  setMaintenance,
  statesOf,
} from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())
afterEach(async () => {
  await noFaults(app)
  await countsAddUp(app)
  await checkInvariants(app)
})

const seconds = (number: number): Promise<void> => advance(app, number / 60)
const settled = (): Promise<void> => seconds(6)
const enforced = (): Promise<void> => seconds(130)
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const words = async (path: string): Promise<string[]> => [...(await statesOf(app, path)).values()]
const counts = async (path: string): Promise<number[]> => {
  const { numVms, numHosts, numCompliantVms, numNonCompliantVms } = await read(path)
  return [numVms, numHosts, numCompliantVms, numNonCompliantVms]
}
const compliant = 'CompliantVmHostAffinityPolicy'
const pending = 'PendingVmHostAffinityPolicy'
const noHosts = 'NoHostsForVmHostAffinityPolicy'
const noRoom = 'NotEnoughResourcesForVmHostAffinityPolicy'
const other = 'OtherVmHostAffinityPolicyVmNonComplianceReason'
const conflicting = 'ConflictingVmHostAffinityPolicy'

/** A policy that allows its VMs the second host of a cluster. */
async function affine(
  cluster: NativeCluster,
  hosts = cluster.hostExtIds.slice(1, 2),
): Promise<{ own: string; rack: string; path: string; body: ReturnType<typeof hostPolicyBody> }> {
  const [own, rack] = [await aCategory(app), await aCategory(app)]
  await categorise(app, hosts, rack)
  const body = hostPolicyBody([own], [rack])
  return { own, rack, body, path: await made(app, hostAffinityPolicies, body) }
}
const lastTask = async (operation: string, extId: string): Promise<any> => {
  const filter = `operation eq '${operation}' and entitiesAffected/any(e: e/extId eq '${extId}')`
  return (await app.call('GET', `/platform/v4.3/config/tasks?$filter=${filter}`)).data?.[0]
}

test('a policy is created with its users, times and counts, is listed by name, and a PUT replaces its categories', async () => {
  const [vms, hosts, next] = [await aCategory(app), await aCategory(app), await aCategory(app)]
  const body = { ...hostPolicyBody([vms], [hosts]), description: 'rack 1' }
  const task = await app.task(await post(app, hostAffinityPolicies, body))
  assert.deepEqual(
    [task.status, task.operation, task.entitiesAffected[0].rel],
    ['SUCCEEDED', 'CreateVmHostAffinityPolicy', 'vmm:ahv:policies:vm-host-affinity-policy'],
  )
  const path = `${hostAffinityPolicies}/${task.entitiesAffected[0].extId}`
  const policy = await read(path)
  assert.deepEqual(
    [policy.createdBy.extId, policy.lastUpdatedBy.extId, policy.createTime],
    [task.ownedBy.extId, task.ownedBy.extId, policy.updateTime],
  )
  assert.deepEqual(await counts(path), [0, 0, 0, 0])
  const listed = await app.call('GET', `${hostAffinityPolicies}?$filter=name eq '${body.name}'&$orderby=updateTime`)
  assert.deepEqual(
    listed.data.map((each: any) => each.extId),
    [policy.extId],
  )
  assert.equal((await app.task(await act(app, path, { hostCategories: [{ extId: next }] }))).status, 'SUCCEEDED')
  assert.deepEqual(
    (await read(path)).hostCategories.map((each: any) => each.extId),
    [next],
  )
})

test('bodies with no, too many, equal or nameless categories are 400 with every path, unknown categories 404', async () => {
  const own = await aCategory(app)
  const many = Array.from({ length: 51 }, () => randomUUID())
  for (const body of [
    hostPolicyBody([], [own]),
    hostPolicyBody([own], []),
    hostPolicyBody(many, [own]),
    hostPolicyBody([own], many),
    hostPolicyBody([own, own], [own]),
    { ...hostPolicyBody([own], [own]), name: 'n'.repeat(81) },
  ])
    assert.equal((await post(app, hostAffinityPolicies, body)).status, 400, JSON.stringify(body).slice(0, 90))
  const nameless = await post(app, hostAffinityPolicies, {
    name: '../up',
    vmCategories: [{}],
    hostCategories: [{ extId: own }, {}],
  })
  assert.deepEqual(
    nameless.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath']),
    ['name', 'vmCategories[0]/extId', 'hostCategories[1]/extId'],
  )
  const unknown = await post(app, hostAffinityPolicies, hostPolicyBody([own], [randomUUID()]))
  assert.deepEqual([unknown.status, unknown.errors[0]?.errorGroup], [404, 'ENTITY_NOT_FOUND'])
})

test('PUT, DELETE and re-enforce need the current tag; names are unique without regard to case', async () => {
  const [own, rack] = [await aCategory(app), await aCategory(app)]
  const body = hostPolicyBody([own], [rack])
  const path = await made(app, hostAffinityPolicies, body)
  for (const what of [{ description: 'new' }, 'delete', 're-enforce'] as const) {
    assert.equal((await act(app, path, what, { ifMatch: '' })).status, 428)
    assert.equal((await act(app, path, what, { ifMatch: '"stale"' })).status, 412)
  }
  const twin = await post(app, hostAffinityPolicies, { ...body, name: body.name.toUpperCase() })
  assert.deepEqual([twin.status, twin.errors[0]?.code], [409, 'VMM-30105'])
  const another = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
  assert.equal((await act(app, another, { name: body.name.toUpperCase() })).status, 409)
})

test('a VM starts only on allowed hosts, although another host is emptier', async () => {
  const cluster = await aNativeCluster(app)
  const { own } = await affine(cluster)
  await aRunningVm(app, cluster, { host: cluster.hostExtIds[1], memorySizeBytes: 50 * GiB })
  const vm = await aRunningVm(app, cluster, { categories: [own] })
  assert.equal(vm.host.extId, cluster.hostExtIds[1])
})

test('while the only allowed host is in maintenance a power-on fails with one reason per host and the policy; afterwards it succeeds', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const { own, body } = await affine(cluster)
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], categories: [{ extId: own }] })
  await setMaintenance(app, [cluster.hostExtIds[1] as string], 'in_maintenance')
  const failed = await changed(app, vm.extId, 'power-on')
  assert.equal(failed.status, 'FAILED')
  const [error] = failed.errorMessages
  assert.equal(error.code, 'VMM-40001')
  assert.match(error.message, /-1: maintenance/)
  for (const index of [0, 2])
    assert.ok(
      error.message.includes(`-${index}: host affinity: the policy "${body.name}" does not allow the host`),
      error.message,
    )
  assert.equal((await readVm(app, vm.extId)).powerState, 'OFF')
  await setMaintenance(app, [cluster.hostExtIds[1] as string], 'normal')
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal(await hostOf(app, vm.extId), cluster.hostExtIds[1])
})

test('without an allowed host in the cluster every VM has no hosts, ON or OFF, and a power-on fails', async () => {
  const cluster = await aNativeCluster(app)
  const { own, path } = await affine(cluster, [])
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], categories: [{ extId: own }] })
  await settled()
  assert.deepEqual(await words(path), [noHosts])
  const failed = await changed(app, vm.extId, 'power-on')
  assert.deepEqual([failed.status, failed.errorMessages[0].code], ['FAILED', 'VMM-40001'])
})

test('a violator is pending, then not compliant, and is live-migrated within a minute while its guest runs on', async () => {
  const cluster = await aNativeCluster(app)
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const own = await aCategory(app)
  const rack = await aCategory(app)
  const [first, second] = cluster.hostExtIds as [string, string]
  const vm = await aRunningVm(app, cluster, { categories: [own], host: first, nics: [nicOn(subnet)] })
  const off = await aVm(app, cluster, { categories: [{ extId: own }] })
  await categorise(app, [second], rack)
  await seconds(30)
  const path = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
  assert.deepEqual(await words(path), [pending, pending])
  assert.deepEqual(await counts(path), [2, 1, 0, 0], 'pending VMs count in numVms only')
  await settled()
  assert.deepEqual(
    await statesOf(app, path),
    new Map([
      [vm.extId, other],
      [off.extId, compliant],
    ]),
  )
  assert.deepEqual(await counts(path), [2, 1, 1, 1])
  const [state] = (await app.call('GET', `${path}/vm-compliance-states`)).data
  assert.deepEqual(
    [state.cluster.extId, state.host.extId, state.associatedCategories.map((each: any) => each.extId)],
    [cluster.extId, first, [own]],
  )

  const { nics } = await readVm(app, vm.extId)
  const guest = domainFacts(app.world).get(vm.extId)
  await enforced()
  assert.deepEqual(await words(path), [compliant, compliant])
  const moved = await readVm(app, vm.extId)
  assert.deepEqual([moved.host.extId, moved.powerState, moved.nics], [second, 'ON', nics])
  assert.deepEqual({ ...domainFacts(app.world).get(vm.extId), hostExtId: first }, guest, 'the guest ran on')
  const task = await lastTask('VmLiveMigrate', vm.extId)
  assert.deepEqual([task.status, task.ownedBy.name, task.isBackgroundTask], ['SUCCEEDED', 'system', true])
})

test('violators stay and run while the allowed hosts have no room, and move once there is room', async () => {
  const cluster = await aNativeCluster(app, { usableGiB: 10 })
  const [first, second] = cluster.hostExtIds as [string, string]
  const [own, rack] = [await aCategory(app), await aCategory(app)]
  const filler = await aRunningVm(app, cluster, { host: second, memorySizeBytes: 6 * GiB })
  for (let number = 0; number < 2; number++)
    await aRunningVm(app, cluster, { categories: [own], host: first, memorySizeBytes: 3 * GiB })
  await categorise(app, [second], rack)
  const path = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
  await settled()
  // A planned move counts as made: there is room for one of the two.
  assert.deepEqual(await words(path), [other, noRoom])
  await enforced()
  assert.deepEqual(await words(path), [compliant, noRoom])
  await changed(app, filler.extId, 'power-off')
  await enforced()
  assert.deepEqual(await words(path), [compliant, compliant])
})

test('the oldest policy governs a VM; the younger one shows the conflict with its id, until the older one is deleted', async () => {
  const cluster = await aNativeCluster(app)
  const { own, path: older } = await affine(cluster)
  const rack = await aCategory(app)
  await categorise(app, cluster.hostExtIds.slice(0, 1), rack)
  const younger = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
  const vm = await aRunningVm(app, cluster, { categories: [own] })
  assert.equal(vm.host.extId, cluster.hostExtIds[1])
  await settled()
  assert.deepEqual([await words(older), await words(younger)], [[compliant], [conflicting]])
  const [state] = (await app.call('GET', `${younger}/vm-compliance-states`)).data
  assert.equal(state.complianceStatus.nonComplianceReason.extId, older.split('/').at(-1))
  assert.equal((await app.task(await act(app, older, 'delete'))).status, 'SUCCEEDED')
  assert.equal(await hostOf(app, vm.extId), cluster.hostExtIds[1], 'a deletion moves no VM')
  assert.deepEqual(await words(younger), [other])
  await enforced()
  assert.deepEqual([await words(younger), await hostOf(app, vm.extId)], [[compliant], cluster.hostExtIds[0]])
})

test('a VM of a lost host restarts on an allowed host only; without one it stays OFF and its task names the policy', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [first, second, third] = cluster.hostExtIds as [string, string, string]
  const { own, body } = await affine(cluster, [first, second])
  await aRunningVm(app, cluster, { host: second, memorySizeBytes: 50 * GiB })
  const vm = await aRunningVm(app, cluster, { categories: [own], host: first })
  await happen(app, { type: 'HOST_FAILS', host: first })
  await advance(app, 2)
  assert.equal(await hostOf(app, vm.extId), second)
  await happen(app, { type: 'HOST_FAILS', host: second })
  await advance(app, 2)
  assert.equal((await readVm(app, vm.extId)).powerState, 'OFF')
  const { warnings } = await lastTask('VmHaRestart', vm.extId)
  assert.ok(warnings[0].message.includes(`the policy "${body.name}" does not allow the host`), warnings[0].message)
  assert.equal(await hostOf(app, vm.extId), undefined)
  for (const host of [first, second]) await happen(app, { type: 'HOST_RETURNS', host })
  assert.ok(third)
})

test('anti-affinity never moves a VM to a host that host affinity forbids', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [first, second] = cluster.hostExtIds as [string, string]
  const { own, path } = await affine(cluster, [first, second])
  for (let number = 0; number < 3; number++) await aRunningVm(app, cluster, { categories: [own], host: first })
  await aPolicy(app, own)
  await enforced()
  await enforced()
  assert.deepEqual(await words(path), [compliant, compliant, compliant])
  const used = (await app.store.findWhere(HostAllocation, { clusterExtId: cluster.extId })).map(
    (held) => held.hostExtId,
  )
  assert.deepEqual(used.toSorted(), [first, first, second].sort())
})

test('re-enforce moves violators at once, with a subtask for each; a warning counts the VMs that stay, without names', async () => {
  const cluster = await aNativeCluster(app, { usableGiB: 10 })
  const [first, second] = cluster.hostExtIds as [string, string]
  const [own, rack] = [await aCategory(app), await aCategory(app)]
  const vms = []
  for (const name of ['one', 'two', 'three'])
    vms.push(await aRunningVm(app, cluster, { name, categories: [own], host: first, memorySizeBytes: 3 * GiB }))
  await aRunningVm(app, cluster, { host: second, memorySizeBytes: 3 * GiB })
  await categorise(app, [second], rack)
  const path = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
  const task = await app.task(await act(app, path, 're-enforce'))
  assert.deepEqual(
    [task.status, task.operation, task.numberOfSubtasks, task.progressPercentage],
    ['SUCCEEDED', 'ReEnforceVmHostAffinityPolicy', 2, 100],
  )
  const subtasks = await Promise.all(
    task.subTasks.map(async ({ extId }: any) => (await app.call('GET', `/platform/v4.3/config/tasks/${extId}`)).data),
  )
  assert.deepEqual(
    subtasks.map(({ operation, status, entitiesAffected }) => [operation, status, entitiesAffected[0].extId]).sort(),
    vms
      .slice(0, 2)
      .map(({ extId }) => ['VmLiveMigrate', 'SUCCEEDED', extId])
      .sort(),
  )
  assert.equal(task.warnings.length, 1)
  assert.ok(task.warnings[0].message.includes(`1 ${noRoom}`), task.warnings[0].message)
  assert.ok(!task.warnings[0].message.includes('three'), task.warnings[0].message)
  assert.deepEqual(await Promise.all(vms.map(({ extId }) => hostOf(app, extId))), [second, second, first])
  const again = await app.task(await act(app, path, 're-enforce'))
  assert.deepEqual([again.status, again.numberOfSubtasks ?? 0], ['SUCCEEDED', 0])
})

test('a failed migration of a re-enforcement is a warning; the VM stays on its host with one reservation', async () => {
  const cluster = await aNativeCluster(app)
  const [first, second] = cluster.hostExtIds as [string, string]
  const [own, rack] = [await aCategory(app), await aCategory(app)]
  const vm = await aRunningVm(app, cluster, { name: 'stuck', categories: [own], host: first })
  await categorise(app, [second], rack)
  const path = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
  await aFault(
    app,
    { driverCall: { driver: 'hypervisor', method: 'migrateVm' } },
    { error: 'CONFLICT', arguments: { fault: 'The memory did not converge.' } },
    { next: 1 },
  )
  const task = await app.task(await act(app, path, 're-enforce'))
  assert.deepEqual([task.status, task.numberOfSubtasks, task.warnings.length], ['SUCCEEDED', 1, 1])
  assert.ok(task.warnings[0].message.includes(`1 ${other}`), task.warnings[0].message)
  const held = await app.store.findWhere(HostAllocation, { vmExtId: vm.extId })
  assert.deepEqual(
    held.map(({ hostExtId }) => hostExtId),
    [first],
  )
})

test('a VM on a cluster of another hypervisor is not compliant, because the cluster is not capable', async () => {
  const cluster = await aNativeCluster(app)
  const { own, path } = await affine(cluster)
  await aVm(app, cluster, { categories: [{ extId: own }] })
  await app.store.transaction(async (store) => {
    const { config } = (await store.get(Cluster, cluster.extId)) as any
    await store.update(Cluster, cluster.extId, { config: { ...config, hypervisorTypes: ['ESX'] } })
  })
  await settled()
  assert.deepEqual(await words(path), ['PeNotCapableForVmHostAffinityPolicy'])
})

test('categories count their policies once for VMs and once for hosts, and cannot be deleted while one names them', async () => {
  const [own, rack] = [await aCategory(app), await aCategory(app)]
  const path = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
  for (const extId of [own, rack]) {
    const category = `/platform/v4.3/config/categories/${extId}`
    const { associations } = (await app.call('GET', `${category}?$expand=associations`)).data
    assert.deepEqual(
      associations.map((each: any) => [each.resourceType, each.resourceGroup, each.count]),
      [['VM_HOST_AFFINITY_POLICY', 'POLICY', 1]],
    )
    assert.equal((await app.call('DELETE', category)).errors[0]?.code, 'CAT-10002')
  }
  await app.task(await act(app, path, 'delete'))
  for (const extId of [own, rack])
    assert.equal((await app.call('DELETE', `/platform/v4.3/config/categories/${extId}`)).status, 204)
})

test('viewers read states and counts, only administrators of VMs change or re-enforce', async () => {
  const cluster = await aNativeCluster(app)
  const { own, path } = await affine(cluster)
  await aRunningVm(app, cluster, { categories: [own] })
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  assert.equal((await statesOf(app, path, { as: viewer })).size, 1)
  for (const what of [{ description: 'no' }, 'delete', 're-enforce'] as const)
    assert.equal((await act(app, path, what, { as: viewer })).status, 403)
  const admin = await aUser(app, ['Virtual Machine Admin'])
  assert.equal((await app.task(await act(app, path, 're-enforce', { as: admin }))).status, 'SUCCEEDED')
})

test('a policy beyond the limit is refused with 422', async (t) => {
  const small = await startApp({ config: { seed: 'empty' }, limits: { vmHostAffinityPolicies: 1 } })
  t.after(() => small.close())
  const own = await aCategory(small)
  await made(small, hostAffinityPolicies, hostPolicyBody([own], [own]))
  const refused = await post(small, hostAffinityPolicies, hostPolicyBody([own], [own]))
  assert.deepEqual([refused.status, refused.errors[0]?.code], [422, 'VMM-40004'])
  assert.equal(await small.store.count(VmHostAffinityPolicy), 1)
})
