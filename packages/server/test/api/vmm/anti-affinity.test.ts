/** VM anti-affinity policies, their compliance and their enforcement. Source: behaviour vmm.md 1.0, 1.12, 2, 3.2, 3.9, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { powerHistory } from '../../../src/domains/virtual-machines/power-journal.ts'
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
  change,
  changed,
  GiB,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import {
  aCategory,
  antiAffinityPolicies,
  aPolicy,
  aRunningVm,
  changePolicy,
  compliance,
  countsAddUp,
  hostOf,
  policyBody,
  postPolicy,
  readPolicy,
  setMaintenance,
} from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

/** Runs once, just before a phase of a step of a task. */
let atStep: { readonly of: string; readonly step: string; readonly work: () => Promise<unknown> } | undefined
const beforeStep = async (definition: string, step: string): Promise<void> => {
  if (atStep?.of !== definition || atStep.step !== step) return
  const { work } = atStep
  atStep = undefined
  await work()
}

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep })
})
after(() => app.close())
afterEach(async () => {
  assert.equal(atStep, undefined, 'the step came')
  await noFaults(app)
  await countsAddUp(app)
  await checkInvariants(app)
})

const seconds = (number: number): Promise<void> => advance(app, number / 60)
/** The time in which states are pending. */
const settled = (): Promise<void> => seconds(6)
/** At least one run of the enforcement, and the time until the states of what it moved have settled. */
const enforced = (): Promise<void> => seconds(130)
const wordsOf = async (policy: string): Promise<string[]> => [...(await compliance(app, policy)).values()]
const countsOf = async (policy: string): Promise<number[]> => {
  const { numCompliantVms, numNonCompliantVms, numPendingVms } = (await readPolicy(app, policy)).data
  return [numCompliantVms, numNonCompliantVms, numPendingVms]
}
const hostsHolding = async (vmExtId: string): Promise<string[]> =>
  (await app.store.findWhere(HostAllocation, { vmExtId })).map(({ hostExtId }) => hostExtId)
/** Newest first. */
const migrations = async (vmExtId: string): Promise<any[]> => {
  const filter = `operation eq 'VmLiveMigrate' and entitiesAffected/any(e: e/extId eq '${vmExtId}')`
  return (await app.call('GET', `/platform/v4.3/config/tasks?$filter=${filter}`)).data
}
/** The first migration of the VM, at its end. */
async function firstMigration(vmExtId: string): Promise<any> {
  for (let waited = 0; waited <= 70; waited += 5) {
    await seconds(5)
    await app.runner.idle()
    const [task] = await migrations(vmExtId)
    if (task !== undefined) return task
  }
  throw new Error('expected a migration within 70 s')
}
const category = (extId: string, expand = '?$expand=associations') =>
  app.call('GET', `/platform/v4.3/config/categories/${extId}${expand}`)
const firstHost = (cluster: NativeCluster): string => cluster.hostExtIds[0] as string

/** Running VMs of one category, together on the first host of the cluster; the oldest first. */
async function crowded(
  cluster: NativeCluster,
  number: number,
  body: object = {},
): Promise<{ own: string; vms: any[] }> {
  const own = await aCategory(app)
  const vms = []
  for (let index = 0; index < number; index++)
    vms.push(await aRunningVm(app, cluster, { categories: [own], host: firstHost(cluster), ...body }))
  return { own, vms }
}

test('a policy is created with its times, its users and no VMs, and is found by its name', async () => {
  const own = await aCategory(app)
  const body = { ...policyBody(own), description: 'apart' }
  const task = await app.task(await postPolicy(app, body))
  assert.deepEqual(
    [task.status, task.operation, task.entitiesAffected[0].rel],
    ['SUCCEEDED', 'CreateVmAntiAffinityPolicy', 'vmm:ahv:policies:vm-anti-affinity-policy'],
  )
  const { extId, createTime, updateTime, createdBy, updatedBy, ...rest } = (
    await readPolicy(app, task.entitiesAffected[0].extId)
  ).data
  assert.deepEqual(
    [rest.name, rest.description, rest.categories.map((each: any) => each.extId)],
    [body.name, 'apart', [own]],
  )
  assert.deepEqual([createTime, createdBy.extId, updatedBy.extId], [updateTime, task.ownedBy.extId, task.ownedBy.extId])
  assert.deepEqual(await countsOf(extId), [0, 0, 0])
  const listed = await app.call(
    'GET',
    `${antiAffinityPolicies}?$filter=name eq '${body.name}'&$orderby=updateTime desc`,
  )
  assert.deepEqual(
    listed.data.map((each: any) => [each.extId, each.numPendingVms]),
    [[extId, 0]],
  )
})

test('a body without, with too many, with equal or with nameless categories is 400, with an unknown one 404', async () => {
  const [own, many] = [await aCategory(app), Array.from({ length: 21 }, () => randomUUID())]
  for (const body of [
    policyBody(),
    policyBody(...many),
    policyBody(own, own),
    { ...policyBody(own), name: 'n'.repeat(81) },
    { categories: [{ extId: own }] },
  ])
    assert.equal((await postPolicy(app, body)).status, 400, JSON.stringify(body).slice(0, 80))
  const nameless = await postPolicy(app, { name: '../up', categories: [{ extId: own }, {}] })
  assert.deepEqual(
    [nameless.status, nameless.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])],
    [400, ['name', 'categories[1]/extId']],
  )
  const unknown = await postPolicy(app, policyBody(randomUUID()))
  assert.deepEqual([unknown.status, unknown.errors[0]?.errorGroup], [404, 'ENTITY_NOT_FOUND'])
})

test('a creation or update with the name of another policy, in any case, is refused; of two concurrent creations one succeeds', async () => {
  const own = await aCategory(app)
  const bodies = [policyBody(own), policyBody(own)].map((body, index) => ({ ...body, name: index ? 'TWICE' : 'twice' }))
  const both = await Promise.all(bodies.map((body) => postPolicy(app, body)))
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 409])
  const refused = both.find(({ status }) => status === 409)
  assert.deepEqual([refused?.errors[0]?.code, refused?.errors[0]?.errorGroup], ['VMM-30105', 'NAME_IN_USE'])
  const other = await aPolicy(app, own)
  const renamed = await changePolicy(app, other, { name: 'Twice' })
  assert.deepEqual([renamed.status, renamed.errors[0]?.code], [409, 'VMM-30105'])
  assert.equal((await app.task(await changePolicy(app, other, { name: 'once' }))).status, 'SUCCEEDED')
  assert.equal((await app.task(await changePolicy(app, other, { name: 'ONCE' }))).status, 'SUCCEEDED')
})

test('when two updates give two policies the same name, the later update fails and changes nothing', async () => {
  const own = await aCategory(app)
  const [first, second] = [await aPolicy(app, own), await aPolicy(app, own)]
  const admitted: Promise<any>[] = []
  const send = async () => void admitted.push(changePolicy(app, second, { name: 'contested' }))
  atStep = {
    of: 'vmm.update-vm-anti-affinity-policy',
    step: 'store',
    work: async () => {
      await send()
      assert.equal((await admitted[0])?.status, 202)
    },
  }
  const winner = await app.task(await changePolicy(app, first, { name: 'contested' }))
  const loser = await app.task(await admitted[0])
  assert.deepEqual([winner.status, loser.status].sort(), ['FAILED', 'SUCCEEDED'])
  const failed = [winner, loser].find(({ status }) => status === 'FAILED')
  assert.equal(failed.errorMessages[0].code, 'VMM-30105')
  const names = await Promise.all([first, second].map(async (extId) => (await readPolicy(app, extId)).data.name))
  assert.equal(names.filter((name) => name === 'contested').length, 1)
})

test('a category counts its policies, cannot be deleted while one names it, and can once a PUT has replaced it', async () => {
  const [former, next] = [await aCategory(app), await aCategory(app)]
  const policy = await aPolicy(app, former)
  const path = `/platform/v4.3/config/categories/${former}`
  assert.deepEqual(
    (await category(former)).data.associations.map((each: any) => [each.resourceType, each.resourceGroup, each.count]),
    [['VM_VM_ANTI_AFFINITY_POLICY', 'POLICY', 1]],
  )
  assert.deepEqual((await app.call('DELETE', path)).errors[0]?.code, 'CAT-10002')
  await app.task(await changePolicy(app, policy, { categories: [{ extId: next }] }))
  assert.deepEqual((await category(former)).data.associations ?? [], [])
  assert.equal((await app.call('DELETE', path)).status, 204)
})

test('an update fails when its new category is deleted before its task runs, and the policy keeps its categories', async () => {
  const [own, gone] = [await aCategory(app), await aCategory(app)]
  const policy = await aPolicy(app, own)
  const path = `/platform/v4.3/config/categories/${gone}`
  const work = async () => assert.equal((await app.call('DELETE', path)).status, 204)
  atStep = { of: 'vmm.update-vm-anti-affinity-policy', step: 'store', work }
  const task = await app.task(await changePolicy(app, policy, { categories: [{ extId: own }, { extId: gone }] }))
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'ENTITY_NOT_FOUND'])
  assert.deepEqual(
    (await readPolicy(app, policy)).data.categories.map((each: any) => each.extId),
    [own],
  )
})

test('a PUT and a DELETE need the current ETag, and each accepted PUT changes it', async () => {
  const policy = await aPolicy(app, await aCategory(app))
  const { etag } = await readPolicy(app, policy)
  for (const what of [{ description: 'second' }, 'delete'] as const)
    assert.equal((await changePolicy(app, policy, what, { ifMatch: '' })).status, 428)
  const both = await Promise.all(
    ['left', 'right'].map((description) => changePolicy(app, policy, { description }, { ifMatch: etag as string })),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 412])
  const stale = await changePolicy(app, policy, 'delete', { ifMatch: etag as string })
  assert.deepEqual([stale.status, stale.errors[0]?.code], [412, 'PLAT-10005'])
  assert.equal((await app.task(await changePolicy(app, policy, 'delete'))).status, 'SUCCEEDED')
  const gone = await readPolicy(app, policy)
  assert.deepEqual([gone.status, gone.errors[0]?.code], [404, 'VMM-20005'])
  assert.equal((await app.call('GET', `${antiAffinityPolicies}/${policy}/vm-compliance-states`)).status, 404)
})

test('two running VMs on one host are pending, then not compliant, and within a minute separated and compliant', async () => {
  const cluster = await aNativeCluster(app)
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.20'])
  const { own, vms } = await crowded(cluster, 2, { nics: [nicOn(subnet)] })
  await seconds(30)
  const policy = await aPolicy(app, own)
  assert.deepEqual(await countsOf(policy), [0, 0, 2])
  await settled()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Other'])
  assert.deepEqual(await countsOf(policy), [1, 1, 0])
  const [state] = (await app.call('GET', `${antiAffinityPolicies}/${policy}/vm-compliance-states?$limit=1&$page=1`))
    .data
  assert.deepEqual(
    [state.extId, state.cluster.extId, state.host.extId, state.associatedCategories.map((each: any) => each.extId)],
    [vms[1].extId, cluster.extId, firstHost(cluster), [own]],
  )
  const before = await readVm(app, vms[1].extId)
  const etag = await tagOf(app, vms[1].extId)
  const guest = domainFacts(app.world).get(vms[1].extId)

  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant'])
  const moved = await readVm(app, vms[1].extId)
  assert.equal(await hostOf(app, vms[0].extId), firstHost(cluster))
  assert.equal(moved.host.extId, cluster.hostExtIds[1])
  assert.deepEqual(await hostsHolding(moved.extId), [moved.host.extId])
  assert.deepEqual([moved.nics, await tagOf(app, moved.extId)], [before.nics, etag])
  assert.deepEqual(
    { ...domainFacts(app.world).get(moved.extId), hostExtId: undefined },
    { ...guest, hostExtId: undefined },
    'the guest ran on',
  )
  assert.equal((await powerHistory(app.store, moved.extId)).at(-1)?.change, 'MOVED')
  const [task, ...more] = await migrations(moved.extId)
  assert.deepEqual(more, [])
  assert.deepEqual(
    [task.status, task.isBackgroundTask, task.ownedBy.name, task.clusterExtIds],
    ['SUCCEEDED', true, 'system', [cluster.extId]],
  )
})

test('with three VMs on two hosts the third is not compliant because hosts are missing, and keeps running', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 3)
  const policy = await aPolicy(app, own)
  await settled()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'NotEnoughHosts', 'NotEnoughHosts'])
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant', 'NotEnoughHosts'])
  assert.equal((await readVm(app, vms[2].extId)).powerState, 'ON')
  assert.deepEqual(await migrations(vms[2].extId), [])
  await changed(app, vms[0].extId, 'power-off')
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant', 'Compliant'], 'a VM that is OFF complies')
  assert.equal((await readVm(app, vms[0].extId)).powerState, 'OFF')
})

test('two VMs that violate the policy on one host migrate to two different hosts', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const { own, vms } = await crowded(cluster, 3)
  const policy = await aPolicy(app, own)
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant', 'Compliant'])
  const hosts = await Promise.all(vms.map(({ extId }) => hostOf(app, extId)))
  assert.deepEqual(hosts.toSorted(), [...cluster.hostExtIds].sort())
})

test('a VM starts on the host with fewer peers, although another host is emptier; a VM without the category does not', async () => {
  const cluster = await aNativeCluster(app, { usableGiB: 20 })
  const [own, other] = [await aCategory(app), await aCategory(app)]
  await aPolicy(app, own)
  await aRunningVm(app, cluster, { categories: [own], host: firstHost(cluster) })
  await aRunningVm(app, cluster, { host: cluster.hostExtIds[1], memorySizeBytes: 8 * GiB })
  const apart = await aRunningVm(app, cluster, { categories: [own] })
  assert.equal(apart.host.extId, cluster.hostExtIds[1])
  const free = await aRunningVm(app, cluster, { categories: [other] })
  assert.equal(free.host.extId, firstHost(cluster))
  const third = await aRunningVm(app, cluster, { categories: [own], memorySizeBytes: 12 * GiB })
  assert.equal(third.powerState, 'ON', 'a policy never blocks a power-on')
})

test('a violating VM stays while no other host has memory for it, and migrates once one has', async () => {
  const cluster = await aNativeCluster(app, { usableGiB: 10 })
  const { own, vms } = await crowded(cluster, 2, { memorySizeBytes: 4 * GiB })
  const big = await aRunningVm(app, cluster, { host: cluster.hostExtIds[1], memorySizeBytes: 8 * GiB })
  const policy = await aPolicy(app, own)
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'NotEnoughResources'])
  assert.deepEqual(await migrations(vms[1].extId), [])
  await changed(app, big.extId, 'power-off')
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant'])
})

test('a VM that cannot migrate stays and the other one migrates; when neither can, the later one stays not compliant', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 1)
  const pinned = { categories: [own], host: firstHost(cluster), isVcpuHardPinningEnabled: true }
  const fixed = await aRunningVm(app, cluster, pinned)
  const policy = await aPolicy(app, own)
  await enforced()
  assert.deepEqual([await hostOf(app, fixed.extId), await hostOf(app, vms[0].extId)], [...cluster.hostExtIds])
  await changed(app, vms[0].extId, 'delete')
  await aRunningVm(app, cluster, pinned)
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Other'])
})

test('the oldest policy governs a VM, and a younger policy reports the conflict until the older one is deleted', async () => {
  const cluster = await aNativeCluster(app)
  const [shared, own] = [await aCategory(app), await aCategory(app)]
  const older = await aPolicy(app, shared)
  const younger = await aPolicy(app, own)
  const both = await aRunningVm(app, cluster, { categories: [own, shared], host: firstHost(cluster) })
  const alone = await aRunningVm(app, cluster, { categories: [own], host: firstHost(cluster) })
  await enforced()
  assert.deepEqual([await wordsOf(older), await wordsOf(younger)], [['Compliant'], ['Conflicting', 'Compliant']])
  const { data } = await app.call('GET', `${antiAffinityPolicies}/${younger}/vm-compliance-states`)
  assert.equal(data[0].complianceStatus.nonComplianceReason.conflictingVmAntiAffinityPolicyExtId, older)
  assert.equal(await hostOf(app, alone.extId), firstHost(cluster), 'the younger policy does not separate them')
  const started = await aRunningVm(app, cluster, { categories: [own] })
  assert.notEqual(started.host.extId, firstHost(cluster))
  await changed(app, started.extId, 'delete')

  await app.task(await changePolicy(app, older, 'delete'))
  assert.equal((await wordsOf(younger)).length, 2)
  await enforced()
  assert.deepEqual(await wordsOf(younger), ['Compliant', 'Compliant'])
  assert.notEqual(await hostOf(app, both.extId), await hostOf(app, alone.extId))
})

test('a PUT with other categories changes which VMs the policy covers, and a deleted VM is no longer covered', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2, { isVcpuHardPinningEnabled: true })
  const other = await aCategory(app)
  const policy = await aPolicy(app, own, other)
  await settled()
  assert.deepEqual(await countsOf(policy), [1, 1, 0])
  await app.task(await changePolicy(app, policy, { categories: [{ extId: other }] }))
  assert.deepEqual(await countsOf(policy), [0, 0, 0])
  await app.task(await changePolicy(app, policy, { categories: [{ extId: own }] }))
  assert.deepEqual(await countsOf(policy), [0, 0, 2])
  await settled()
  await changed(app, vms[0].extId, 'delete')
  assert.deepEqual(await countsOf(policy), [1, 0, 0])
})

test('deleting a policy migrates no VM, and its VMs are no longer kept apart', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  const policy = await aPolicy(app, own)
  await app.task(await changePolicy(app, policy, 'delete'))
  await enforced()
  for (const { extId } of vms) assert.equal(await hostOf(app, extId), firstHost(cluster))
})

test('a VM on a cluster of another hypervisor is not compliant, because the cluster is not supported', async () => {
  const cluster = await aNativeCluster(app)
  const { own } = await crowded(cluster, 1)
  const policy = await aPolicy(app, own)
  await settled()
  const setTypes = (hypervisorTypes: string[]) =>
    app.store.transaction(async (store) => {
      const { config } = (await store.get(Cluster, cluster.extId)) as any
      await store.update(Cluster, cluster.extId, { config: { ...config, hypervisorTypes } })
    })
  await setTypes(['ESX'])
  assert.deepEqual(await wordsOf(policy), ['ClusterNotSupported'])
  await setTypes(['AHV'])
})

test('a failed migration leaves the VM on its host with one reservation and not compliant, and the next enforcement run retries', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  const policy = await aPolicy(app, own)
  const final = { error: 'CONFLICT', arguments: { fault: 'The memory did not converge.' } }
  await aFault(app, { driverCall: { driver: 'hypervisor', method: 'migrateVm' } }, final, { next: 1 })
  const failed = await firstMigration(vms[1].extId)
  assert.equal(failed.status, 'FAILED')
  assert.match(failed.errorMessages[0].message, /did not converge/)
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Other'])
  assert.deepEqual(
    [await hostOf(app, vms[1].extId), await hostsHolding(vms[1].extId)],
    [firstHost(cluster), [firstHost(cluster)]],
  )
  await checkInvariants(app)
  await noFaults(app)
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant'])
})

test('when the target host fails before the migration starts, the VM stays on its old host with no reservation elsewhere', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  const policy = await aPolicy(app, own)
  const target = cluster.hostExtIds[1] as string
  atStep = { of: 'vmm.live-migrate-vm', step: 'move', work: () => happen(app, { type: 'HOST_FAILS', host: target }) }
  assert.equal((await firstMigration(vms[1].extId)).status, 'FAILED')
  assert.deepEqual(
    [await hostOf(app, vms[1].extId), await hostsHolding(vms[1].extId)],
    [firstHost(cluster), [firstHost(cluster)]],
  )
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'NotEnoughHosts'])
  await happen(app, { type: 'HOST_RETURNS', host: target })
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant'])
})

test('a queued migration moves nothing when the violation has ended in the meantime', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  await aPolicy(app, own)
  const work = async () => assert.equal((await changed(app, vms[0].extId, 'power-off')).status, 'SUCCEEDED')
  atStep = { of: 'vmm.live-migrate-vm', step: 'reserve', work }
  assert.equal((await firstMigration(vms[1].extId)).status, 'SUCCEEDED')
  assert.deepEqual(
    [await hostOf(app, vms[1].extId), await hostsHolding(vms[1].extId)],
    [firstHost(cluster), [firstHost(cluster)]],
  )
})

test('a power-off sent during a migration runs after the migration and frees all reservations', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  await aPolicy(app, own)
  const sent: Promise<any>[] = []
  const work = async () => {
    const started = await change(app, vms[1].extId, 'power-off')
    assert.equal(started.status, 202)
    sent.push(app.runner.untilEnded(started.data.extId))
  }
  atStep = { of: 'vmm.live-migrate-vm', step: 'move', work }
  assert.equal((await firstMigration(vms[1].extId)).status, 'SUCCEEDED')
  await sent[0]
  assert.equal((await readVm(app, vms[1].extId)).powerState, 'OFF')
  assert.deepEqual(await hostsHolding(vms[1].extId), [])
})

test('the policy migrates no VM that has a running task', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  await aPolicy(app, own)
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  atStep = { of: 'vmm.update-vm', step: 'store', work: () => held }
  const started = await change(app, vms[1].extId, { put: { ...vms[1], name: 'renamed' } })
  const waiting = seconds(70)
  await app.store.transaction(async () => undefined)
  release()
  await app.task(started)
  await waiting
  await enforced()
  const moved = await readVm(app, vms[1].extId)
  assert.deepEqual([moved.name, moved.host.extId], ['renamed', cluster.hostExtIds[1]])
})

test('a VM of a failed host restarts away from its peer, although the host of the peer is emptier', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, usableGiB: 20 })
  const own = await aCategory(app)
  const [first, second, third] = cluster.hostExtIds as [string, string, string]
  await aRunningVm(app, cluster, { categories: [own], host: second })
  await aRunningVm(app, cluster, { host: third, memorySizeBytes: 8 * GiB })
  const lost = await aRunningVm(app, cluster, { categories: [own], host: first })
  const policy = await aPolicy(app, own)
  await happen(app, { type: 'HOST_FAILS', host: first })
  await advance(app, 2)
  assert.deepEqual([(await readVm(app, lost.extId)).powerState, await hostOf(app, lost.extId)], ['ON', third])
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant'])
  await happen(app, { type: 'HOST_RETURNS', host: first })
})

test('a host in maintenance receives no violating VM, and does not count as a host for any VM', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  const policy = await aPolicy(app, own)
  await setMaintenance(app, [cluster.hostExtIds[1] as string], 'in_maintenance')
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'NotEnoughHosts'])
  await setMaintenance(app, [cluster.hostExtIds[1] as string], 'normal')
  await enforced()
  assert.deepEqual(await wordsOf(policy), ['Compliant', 'Compliant'])
  assert.equal(await hostOf(app, vms[1].extId), cluster.hostExtIds[1])
})

test('viewers read policies, only VM administrators change them, and a caller sees the states of only those VMs that it may view', async () => {
  const cluster = await aNativeCluster(app)
  const { own, vms } = await crowded(cluster, 2)
  const policy = await aPolicy(app, own)
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  assert.equal((await compliance(app, policy, { as: viewer })).size, 2)
  assert.equal((await postPolicy(app, policyBody(own), { as: viewer })).status, 403)
  for (const what of [{ description: 'no' }, 'delete'] as const)
    assert.equal((await changePolicy(app, policy, what, { as: viewer })).status, 403)
  const admin = await aUser(app, ['Virtual Machine Admin'])
  assert.equal(
    (await app.task(await changePolicy(app, policy, { description: 'yes' }, { as: admin }))).status,
    'SUCCEEDED',
  )

  const username = `scoped-${randomUUID().slice(0, 8)}`
  const user = await app.call('POST', '/iam/v4.1.b2/authn/users', {
    body: { userType: 'LOCAL', username, password: 'S0me.Other.Passw0rd!', firstName: 'Some', lastName: 'One' },
    requestId: randomUUID(),
  })
  const role = (await app.call('GET', `/iam/v4.1.b2/authz/roles?$filter=displayName eq 'Virtual Machine Viewer'`))
    .data[0]
  const grant = await app.call('POST', '/iam/v4.1.b2/authz/authorization-policies', {
    body: {
      displayName: username,
      role: role.extId,
      identities: [{ identityFilter: { user: { uuid: { anyof: [user.data.extId] } } } }],
      entities: [
        { entityFilter: { vm_anti_affinity_policy: { '*': { eq: '*' } } } },
        { entityFilter: { virtual_machine: { uuid: { eq: vms[1].extId } } } },
      ],
    },
    requestId: randomUUID(),
  })
  assert.equal(grant.status, 201, JSON.stringify(grant.errors))
  const seen = await compliance(app, policy, { as: `${username}:S0me.Other.Passw0rd!` })
  assert.deepEqual([...seen.keys()], [vms[1].extId])
})

test('a policy beyond the limit is refused with 422', async (t) => {
  const small = await startApp({ config: { seed: 'empty' }, limits: { vmAntiAffinityPolicies: 1 } })
  t.after(() => small.close())
  const own = await aCategory(small)
  await aPolicy(small, own)
  const refused = await postPolicy(small, policyBody(own))
  assert.deepEqual([refused.status, refused.errors[0]?.code], [422, 'VMM-40004'])
})

test('VMs without a policy are placed as before policies existed', async () => {
  const cluster = await aNativeCluster(app)
  const vm = await aVm(app, cluster)
  await changed(app, vm.extId, 'power-on')
  assert.equal((await app.store.get(Vm, vm.extId))?.host?.extId, firstHost(cluster))
})
