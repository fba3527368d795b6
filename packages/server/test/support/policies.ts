/** Builders for tests of policies that select VMs by category. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { aVm, bootDisk, changed, type NativeCluster, readVm } from './native-cluster.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const antiAffinityPolicies = '/vmm/v4.2/ahv/policies/vm-anti-affinity-policies'

export async function aCategory(app: TestApp): Promise<string> {
  const body = { key: 'policies', value: randomUUID() }
  return (await app.call('POST', '/platform/v4.3/config/categories', { body })).data.extId
}

export const policyBody = (...categories: readonly string[]) => ({
  name: `policy-${randomUUID().slice(0, 8)}`,
  categories: categories.map((extId) => ({ extId })),
})

export const postPolicy = (app: TestApp, body: object, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', antiAffinityPolicies, { body, requestId: randomUUID(), ...options })

/** The id of a policy that exists. */
export async function aPolicy(app: TestApp, ...categories: readonly string[]): Promise<string> {
  const task = await app.task(await postPolicy(app, policyBody(...categories)))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected[0].extId
}

export const readPolicy = (app: TestApp, extId: string): Promise<CallResult> =>
  app.call('GET', `${antiAffinityPolicies}/${extId}`)

/** Sends a PUT with these changes, or a DELETE, with the current tag. */
export async function changePolicy(
  app: TestApp,
  extId: string,
  what: 'delete' | object,
  options: CallOptions = {},
): Promise<CallResult> {
  const { data, etag } = await readPolicy(app, extId)
  const sent = { requestId: randomUUID(), ifMatch: etag as string, ...options }
  const path = `${antiAffinityPolicies}/${extId}`
  if (what === 'delete') return app.call('DELETE', path, sent)
  return app.call('PUT', path, { ...sent, body: { ...data, ...what } })
}

/** Compliance of each VM, in words: `Pending`, `Compliant`, or the reason for non-compliance. */
export async function compliance(app: TestApp, extId: string, options: CallOptions = {}): Promise<Map<string, string>> {
  const { data, status, errors } = await app.call(
    'GET',
    `${antiAffinityPolicies}/${extId}/vm-compliance-states`,
    options,
  )
  assert.equal(status, 200, JSON.stringify(errors))
  return new Map(data.map((state: any) => [state.extId, wordOf(state.complianceStatus)]))
}

const wordOf = ({ $objectType, nonComplianceReason }: any): string =>
  /v4\.ahv\.policies\.(Pending|Compliant|ConflictingLegacy|Conflicting|NotEnoughHosts|NotEnoughResources|Other|ClusterNotSupported)/.exec(
    (nonComplianceReason ?? { $objectType }).$objectType,
  )?.[1] ?? `unknown: ${$objectType}`

/** A VM that carries the categories and runs; `host`: on this host of its cluster, because all others are closed. */
export async function aRunningVm(
  app: TestApp,
  cluster: NativeCluster,
  { categories = [], host, ...body }: { categories?: readonly string[]; host?: string } & Record<string, unknown> = {},
): Promise<any> {
  const carried = categories.map((extId) => ({ extId }))
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], categories: carried, ...body })
  const others = host === undefined ? [] : cluster.hostExtIds.filter((extId) => extId !== host)
  await setMaintenance(app, others, 'in_maintenance')
  const task = await changed(app, vm.extId, 'power-on')
  await setMaintenance(app, others, 'normal')
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return readVm(app, vm.extId)
}

export async function setMaintenance(app: TestApp, hosts: readonly string[], state: string): Promise<void> {
  await app.store.transaction(async (store) => {
    for (const extId of hosts) await store.update(Host, extId, { maintenanceState: state })
  })
}

export const hostOf = async (app: TestApp, vmExtId: string): Promise<string> => (await readVm(app, vmExtId)).host?.extId

export const hostAffinityPolicies = '/vmm/v4.2/ahv/policies/vm-host-affinity-policies'
export const startupPolicies = '/vmm/v4.2/ahv/policies/vm-startup-policies'
export const legacyPolicies = '/vmm/v4.2/ahv/policies/legacy-vm-anti-affinity-policies'

const references = (extIds: readonly string[]) => extIds.map((extId) => ({ extId }))

export const hostPolicyBody = (vmCategories: readonly string[], hostCategories: readonly string[]) => ({
  name: `policy-${randomUUID().slice(0, 8)}`,
  vmCategories: references(vmCategories),
  hostCategories: references(hostCategories),
})

/** Groups in the order of their start, and the conditions between them. */
export const startupBody = (groups: readonly (readonly string[])[], startConditions?: readonly object[]) => ({
  name: `policy-${randomUUID().slice(0, 8)}`,
  groups: groups.map((categories) => ({ categories: references(categories) })),
  ...(startConditions && { startConditions }),
})
/** Waits for the boot of the guests of a group. */
export const bootCondition = (timeoutDurationSecs: number, delayDurationSecs = 0) => ({
  powerStateCriteria: { $objectType: 'vmm.v4.ahv.policies.PowerStateCriteriaGuestBootup', timeoutDurationSecs },
  delayDurationSecs,
})

export const post = (app: TestApp, path: string, body?: object, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', path, { ...(body && { body }), requestId: randomUUID(), ...options })

/** Sends a PUT with these changes, a DELETE or an action, with the current tag. */
export async function act(
  app: TestApp,
  path: string,
  what: 'delete' | 're-enforce' | object,
  options: CallOptions = {},
): Promise<CallResult> {
  const { data, etag } = await app.call('GET', path)
  const sent = { requestId: randomUUID(), ifMatch: etag as string, ...options }
  if (what === 'delete') return app.call('DELETE', path, sent)
  if (what === 're-enforce') return app.call('POST', `${path}/$actions/re-enforce`, sent)
  return app.call('PUT', path, { ...sent, body: { ...data, ...what } })
}

/** The path of a new policy. */
export async function made(app: TestApp, path: string, body: object): Promise<string> {
  const task = await app.task(await post(app, path, body))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return `${path}/${task.entitiesAffected[0].extId}`
}

/** The compliance of each VM of the policy: the last part of the type of the reason, or of the status. */
export async function statesOf(app: TestApp, path: string, options: CallOptions = {}): Promise<Map<string, string>> {
  const { data, status, errors } = await app.call('GET', `${path}/vm-compliance-states?$limit=100`, options)
  assert.equal(status, 200, JSON.stringify(errors))
  const wordOf = ({ $objectType, nonComplianceReason }: any): string =>
    (nonComplianceReason?.$objectType ?? $objectType).split('.').at(-1)
  return new Map((data ?? []).map((state: any) => [state.extId, wordOf(state.complianceStatus)]))
}

export async function categorise(app: TestApp, hostExtIds: readonly string[], ...categories: string[]): Promise<void> {
  await app.store.transaction(async (store) => {
    for (const extId of hostExtIds) await store.update(Host, extId, { categories })
  })
}

/** The numbers of every policy add up to the number of VMs that it selects. */
export async function countsAddUp(app: TestApp): Promise<void> {
  for (const path of [antiAffinityPolicies, hostAffinityPolicies, startupPolicies]) {
    for (const policy of (await app.call('GET', `${path}?$limit=100`)).data ?? []) {
      const { numVms, numCompliantVms, numNonCompliantVms, numPendingVms } = policy
      const states = (await app.call('GET', `${path}/${policy.extId}/vm-compliance-states?$limit=100`)).data ?? []
      const pending = states.filter(({ complianceStatus }: any) => /Pending/.test(complianceStatus.$objectType)).length
      assert.deepEqual(
        [numVms ?? states.length, numCompliantVms + numNonCompliantVms, numPendingVms ?? pending],
        [states.length, states.length - pending, pending],
        `${path}/${policy.extId}`,
      )
    }
  }
}
