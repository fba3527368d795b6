/** Legacy anti-affinity policies, which clusters hold. Source: behaviour vmm.md 1.12. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { advance } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, changed, GiB } from '../../support/native-cluster.ts'
import { aCategory, aPolicy, aRunningVm, compliance, legacyPolicies } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())
afterEach(() => checkInvariants(app))

const join = async (name: string, ...vms: readonly string[]): Promise<void> => {
  for (const vm of vms) await happen(app, { type: 'VM_JOINS_LEGACY_POLICY', name, vm })
}
const listed = async (name: string, options = {}): Promise<any[]> =>
  (await app.call('GET', `${legacyPolicies}?$filter=name eq '${name}'`, options)).data ?? []
const remove = (extId: string, options = {}) =>
  app.call('DELETE', `${legacyPolicies}/${extId}`, { requestId: randomUUID(), ...options })

test('a legacy policy is listed with its VMs, is deleted by its id, and no request creates one', async () => {
  const cluster = await aNativeCluster(app)
  const vms = [await aRunningVm(app, cluster, { name: 'left' }), await aRunningVm(app, cluster, { name: 'right' })]
  await join('pair', 'left', vms[1].extId)
  const [policy, ...more] = await listed('pair')
  assert.deepEqual(more, [])
  assert.deepEqual(
    [policy.cluster.extId, policy.vms.map(({ extId }: any) => extId)],
    [cluster.extId, vms.map(({ extId }) => extId)],
  )
  assert.equal((await app.call('POST', legacyPolicies, { body: { name: 'new' }, requestId: randomUUID() })).status, 405)
  const task = await app.task(await remove(policy.extId))
  assert.deepEqual(
    [task.status, task.operation, task.entitiesAffected[0].name],
    ['SUCCEEDED', 'DeleteLegacyVmAntiAffinityPolicy', 'pair'],
  )
  assert.deepEqual(await listed('pair'), [])
  const gone = await remove(policy.extId)
  assert.deepEqual([gone.status, gone.errors[0]?.code], [404, 'VMM-20005'])
})

test('a VM of a legacy policy is not compliant with a policy that selects it, until the legacy policy is deleted', async () => {
  const cluster = await aNativeCluster(app)
  const own = await aCategory(app)
  const host = cluster.hostExtIds[0] as string
  const vms = []
  for (const name of ['a', 'b']) vms.push(await aRunningVm(app, cluster, { name, categories: [own], host }))
  await join('old', vms[1].extId)
  const policy = await aPolicy(app, own)
  await advance(app, 0.1)
  assert.deepEqual([...(await compliance(app, policy)).values()], ['Compliant', 'ConflictingLegacy'])
  await advance(app, 2)
  assert.deepEqual([...(await compliance(app, policy)).values()], ['Compliant', 'ConflictingLegacy'], 'no VM moved')
  const [{ extId }] = await listed('old')
  await app.task(await remove(extId))
  assert.deepEqual([...(await compliance(app, policy)).values()], ['Compliant', 'Other'])
  await advance(app, 2.2)
  assert.deepEqual([...(await compliance(app, policy)).values()], ['Compliant', 'Compliant'])
})

test('a VM starts away from the VMs of its legacy policy, although that host is emptier; a deleted VM leaves the policy', async () => {
  const cluster = await aNativeCluster(app)
  const [first, second] = cluster.hostExtIds as [string, string]
  const one = await aRunningVm(app, cluster, { name: 'one', host: first })
  const two = await aRunningVm(app, cluster, { name: 'two', host: first })
  await changed(app, two.extId, 'power-off')
  await aRunningVm(app, cluster, { name: 'filler', host: second, memorySizeBytes: 50 * GiB })
  await join('apart', 'one', 'two')
  await changed(app, two.extId, 'power-on')
  const { data } = await app.call('GET', `/vmm/v4.2/ahv/config/vms/${two.extId}`)
  assert.equal(data.host.extId, second)
  await changed(app, one.extId, 'power-off')
  await changed(app, one.extId, 'delete')
  assert.deepEqual(
    (await listed('apart'))[0].vms.map(({ extId }: any) => extId),
    [two.extId],
  )
})

test('each cluster has its own legacy policy of a name, and a VM that joins again changes nothing', async () => {
  const vms = []
  for (const name of ['here', 'there']) vms.push(await aRunningVm(app, await aNativeCluster(app), { name }))
  await join('same name', 'here', 'there')
  const policies = await listed('same name')
  assert.deepEqual(
    policies.map((policy) => [policy.cluster.extId, policy.vms[0].extId]).sort(),
    vms.map(({ cluster, extId }) => [cluster.extId, extId]).sort(),
  )
  const again = await happen(app, { type: 'VM_JOINS_LEGACY_POLICY', name: 'same name', vm: 'here' })
  assert.deepEqual([again.status, again.effects], ['OVER', []])
})

test('a viewer reads legacy policies and deletes none', async () => {
  const cluster = await aNativeCluster(app)
  await aRunningVm(app, cluster, { name: 'seen' })
  await join('viewed', 'seen')
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  const [policy] = await listed('viewed', { as: viewer })
  assert.equal(policy.vms.length, 1)
  assert.equal((await remove(policy.extId, { as: viewer })).status, 403)
})
