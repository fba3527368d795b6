/** VM startup policies: bodies, conflicts, compliance. Source: behaviour vmm.md 1.0, 1.13, 2, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { advance } from '../../support/clustermgmt.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm } from '../../support/native-cluster.ts'
import {
  aCategory,
  act,
  bootCondition,
  countsAddUp,
  made,
  post,
  startupBody,
  startupPolicies,
  statesOf,
} from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())
afterEach(async () => {
  await countsAddUp(app)
  await checkInvariants(app)
})

const settled = (): Promise<void> => advance(app, 0.1)
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data ?? []
const categories = (count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => aCategory(app)))
const ids = (items: readonly any[]): string[] => items.map(({ extId }) => extId)
const counts = async (path: string): Promise<number[]> => {
  const { numCompliantVms, numNonCompliantVms, numPendingVms } = await read(path)
  return [numCompliantVms, numNonCompliantVms, numPendingVms]
}

test('a policy is created without a tag or a request id, is found by its name, and is deleted without a tag', async () => {
  const [first, second] = (await categories(2)) as [string, string]
  const body = startupBody([[first], [second]], [bootCondition(60, 5)])
  const task = await app.task(await app.call('POST', startupPolicies, { body }))
  assert.deepEqual(
    [task.status, task.operation, task.entitiesAffected[0].rel],
    ['SUCCEEDED', 'CreateVmStartupPolicy', 'vmm:ahv:policies:vm-startup-policy'],
  )
  const path = `${startupPolicies}/${task.entitiesAffected[0].extId}`
  const policy = await read(path)
  assert.deepEqual(
    policy.groups.map((group: any) => ids(group.categories)),
    [[first], [second]],
  )
  assert.equal(policy.startConditions[0].powerStateCriteria.timeoutDurationSecs, 60)
  assert.deepEqual(
    [policy.createdBy.extId, policy.updatedBy.extId, policy.numDependencyConflicts, policy.numStartConditionConflicts],
    [task.ownedBy.extId, task.ownedBy.extId, 0, 0],
  )
  const listed = await read(`${startupPolicies}?$filter=name eq '${body.name}'&$orderby=createTime desc`)
  assert.deepEqual(ids(listed), [policy.extId])
  assert.equal((await act(app, path, { description: 'new' }, { ifMatch: '' })).status, 428)
  assert.equal((await app.task(await act(app, path, { description: 'new' }))).status, 'SUCCEEDED')
  assert.equal((await app.task(await app.call('DELETE', path))).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', path)).errors[0]?.code, 'VMM-20005')
})

test('groups, conditions and times outside their limits are 400, and all faults of a body are reported together', async () => {
  const [a, b, c] = (await categories(3)) as [string, string, string]
  const many = Array.from({ length: 21 }, () => randomUUID())
  for (const body of [
    startupBody([[a]]),
    startupBody(Array.from({ length: 11 }, () => [randomUUID()])),
    startupBody([[a], []]),
    startupBody([[a], many]),
    startupBody([[a, a], [b]]),
    startupBody([[a], [b]], [bootCondition(0)]),
    startupBody([[a], [b]], [bootCondition(3601)]),
    startupBody([[a], [b]], [{ delayDurationSecs: 3601 }]),
    { ...startupBody([[a], [b]]), name: '' },
  ])
    assert.equal((await post(app, startupPolicies, body)).status, 400, JSON.stringify(body).slice(0, 120))
  const faulty = { ...startupBody([[a], [b], [c, a]], [{ delayDurationSecs: 1 }]), name: '../up' }
  const refused = await post(app, startupPolicies, faulty)
  assert.deepEqual(
    refused.errors.map(({ argumentsMap }) => argumentsMap?.['attributePath']),
    ['name', 'groups[2]/categories[1]/extId', 'startConditions'],
  )
  const unknown = await post(app, startupPolicies, startupBody([[a], [randomUUID()]]))
  assert.deepEqual([unknown.status, unknown.errors[0]?.errorGroup], [404, 'ENTITY_NOT_FOUND'])
  const path = await made(app, startupPolicies, startupBody([[a], [b]]))
  const twin = await post(app, startupPolicies, { ...startupBody([[a], [b]]), name: (await read(path)).name })
  assert.deepEqual([twin.status, twin.errors[0]?.code], [409, 'VMM-30105'])
  const changed = await act(app, path, startupBody([[a], [b], [c, a]]))
  assert.deepEqual(
    [changed.status, changed.errors[0]?.argumentsMap?.['attributePath']],
    [400, 'groups[2]/categories[1]/extId'],
  )
})

test('A before B and B before A is a dependency conflict with a chain of two; deleting one policy clears it', async () => {
  const [a, b] = (await categories(2)) as [string, string]
  const cluster = await aNativeCluster(app)
  const [left, right] = [
    await aVm(app, cluster, { categories: [{ extId: a }] }),
    await aVm(app, cluster, { categories: [{ extId: b }] }),
  ]
  const older = await made(app, startupPolicies, startupBody([[a], [b]]))
  const younger = await made(app, startupPolicies, startupBody([[b], [a]]))
  assert.deepEqual(await read(`${older}/dependency-conflicts`), [])
  const [conflict, ...more] = await read(`${younger}/dependency-conflicts`)
  assert.deepEqual(more, [])
  assert.deepEqual([conflict.dependeeCategory.extId, conflict.dependentCategory.extId], [b, a])
  const policyIds = [younger, older].map((path) => path.split('/').at(-1))
  assert.deepEqual(
    conflict.categoryDependencyChain.map(({ dependentCategory, dependeeCategory, policy }: any) => [
      dependentCategory.extId,
      dependeeCategory.extId,
      policy.extId,
    ]),
    [
      [a, b, policyIds[0]],
      [b, a, policyIds[1]],
    ],
  )
  const path = `${younger}/dependency-conflicts/${conflict.extId}`
  assert.deepEqual(await read(path), conflict, 'the id is stable')
  assert.deepEqual(ids(await read(`${path}/dependee-vms`)), [right.extId])
  assert.deepEqual(ids(await read(`${path}/dependent-vms`)), [left.extId])
  assert.deepEqual([(await read(older)).numDependencyConflicts, (await read(younger)).numDependencyConflicts], [0, 1])
  assert.equal((await app.task(await act(app, older, 'delete'))).status, 'SUCCEEDED')
  assert.deepEqual(await read(`${younger}/dependency-conflicts`), [])
  assert.equal((await read(younger)).numDependencyConflicts, 0)
  for (const gone of [path, `${path}/dependee-vms`, `${path}/dependent-vms`])
    assert.equal((await app.call('GET', gone)).status, 404)
})

test('the same dependency with another condition is a conflict that names the older policy and both conditions', async () => {
  const [a, b] = (await categories(2)) as [string, string]
  const cluster = await aNativeCluster(app)
  const vm = await aVm(app, cluster, { categories: [{ extId: b }] })
  const older = await made(app, startupPolicies, startupBody([[a], [b]], [bootCondition(60)]))
  const same = await made(app, startupPolicies, startupBody([[a], [b]], [bootCondition(60)]))
  const other = await made(app, startupPolicies, startupBody([[a], [b]], [{ delayDurationSecs: 30 }]))
  for (const path of [older, same]) assert.deepEqual(await read(`${path}/start-condition-conflicts`), [])
  const [conflict] = await read(`${other}/start-condition-conflicts`)
  assert.deepEqual(
    [
      conflict.conflictingPolicy.extId,
      conflict.startCondition.delayDurationSecs,
      conflict.conflictingStartCondition.powerStateCriteria.timeoutDurationSecs,
    ],
    [older.split('/').at(-1), 30, 60],
  )
  const path = `${other}/start-condition-conflicts/${conflict.extId}`
  assert.deepEqual(await read(path), conflict)
  assert.deepEqual(ids(await read(`${path}/dependent-vms`)), [vm.extId])
  assert.deepEqual(await read(`${path}/dependee-vms`), [])
  await app.task(await act(app, other, { startConditions: [bootCondition(60)] }))
  assert.deepEqual(await read(`${other}/start-condition-conflicts`), [])
  assert.equal((await read(other)).numStartConditionConflicts, 0)
})

test('VMs that high availability cannot restart, and awaited VMs without guest tools, are not compliant, with reasons', async () => {
  const [a, b] = (await categories(2)) as [string, string]
  const cluster = await aNativeCluster(app)
  const make = async (category: string, changes: object = {}): Promise<string> => {
    const { extId } = await aVm(app, cluster, { categories: [{ extId: category }] })
    await app.store.transaction((store) => store.update(Vm, extId, changes as never))
    return extId
  }
  const tools = { guestTools: { isInstalled: true, isEnabled: true } }
  const vms = [
    await make(a, tools),
    await make(a),
    await make(b),
    await make(b, { isAgentVm: true, gpus: [{ mode: 'PASSTHROUGH_COMPUTE' }], pcieDevices: [{}] }),
  ]
  const path = await made(app, startupPolicies, startupBody([[a], [b]], [bootCondition(60)]))
  assert.deepEqual(await counts(path), [0, 0, 4])
  await settled()
  assert.deepEqual(
    [...(await statesOf(app, path))],
    [
      [vms[0], 'VmStartupPolicyCompliantVm'],
      [vms[1], 'VmStartupPolicyNgtNotEnabled'],
      [vms[2], 'VmStartupPolicyCompliantVm'],
      [vms[3], 'VmStartupPolicyHaNotSupported'],
    ],
  )
  assert.deepEqual(await counts(path), [2, 2, 0])
  const bound = (await read(`${path}/vm-compliance-states`)).find(({ extId }: any) => extId === vms[3])
  assert.deepEqual(bound.complianceStatus.nonComplianceReason.haNotSupportedReasons, [
    'HA_NOT_SUPPORTED_REASON_PASSTHROUGH_GPU',
    'HA_NOT_SUPPORTED_REASON_PASSTHROUGH_SINGLE_AFFINED_HOST',
    'HA_NOT_SUPPORTED_REASON_AGENT_VM',
  ])
  await app.store.transaction(async (store) => {
    const { config } = (await store.get(Cluster, cluster.extId)) as any
    await store.update(Cluster, cluster.extId, { config: { ...config, hypervisorTypes: ['ESX'] } })
    await store.update(Vm, vms[3] as string, { gpus: undefined, pcieDevices: undefined } as never)
  })
  assert.deepEqual(new Set((await statesOf(app, path)).values()), new Set(['VmStartupPolicyClusterNotSupported']))
})

test('a category counts its startup policies, and cannot be deleted while one names it', async () => {
  const [a, b] = (await categories(2)) as [string, string]
  const path = await made(app, startupPolicies, startupBody([[a], [b]]))
  const category = `/platform/v4.3/config/categories/${a}`
  const [{ resourceType, resourceGroup, count }] = (await read(`${category}?$expand=associations`)).associations
  assert.deepEqual([resourceType, resourceGroup, count], ['VM_DEPENDENCY_POLICY', 'POLICY', 1])
  assert.equal((await app.call('DELETE', category)).errors[0]?.code, 'CAT-10002')
  await app.task(await act(app, path, 'delete'))
  assert.equal((await app.call('DELETE', category)).status, 204)
})

test('viewers read policies, conflicts and states, and only administrators of VMs change them; a policy beyond the limit is 422', async (t) => {
  const [a, b] = (await categories(2)) as [string, string]
  const path = await made(app, startupPolicies, startupBody([[a], [b]]))
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  for (const part of ['', '/vm-compliance-states', '/dependency-conflicts', '/start-condition-conflicts'])
    assert.equal((await app.call('GET', `${path}${part}`, { as: viewer })).status, 200, part)
  assert.equal((await post(app, startupPolicies, startupBody([[a], [b]]), { as: viewer })).status, 403)
  for (const what of [{ description: 'no' }, 'delete'] as const)
    assert.equal((await act(app, path, what, { as: viewer })).status, 403)
  const small = await startApp({ config: { seed: 'empty' }, limits: { vmStartupPolicies: 1 } })
  t.after(() => small.close())
  const [x, y] = [await aCategory(small), await aCategory(small)]
  await made(small, startupPolicies, startupBody([[x], [y]]))
  assert.equal((await post(small, startupPolicies, startupBody([[x], [y]]))).errors[0]?.code, 'VMM-40004')
})
