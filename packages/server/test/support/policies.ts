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
