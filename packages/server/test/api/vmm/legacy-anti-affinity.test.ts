/** Legacy anti-affinity policies, which clusters hold. Source: behaviour vmm.md 1.12. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { advance } from '../../support/clustermgmt.ts'
import { happen, postEvent } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, changed, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { aCategory, aPolicy, aRunningVm, compliance, legacyPolicies } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())
afterEach(() => checkInvariants(app))

const appears = (cluster: NativeCluster, name: string, vms: readonly string[]) =>
  happen(app, { type: 'LEGACY_POLICY_APPEARS', cluster: cluster.extId, name, vms })
const listed = async (name: string, options = {}): Promise<any[]> =>
  (await app.call('GET', `${legacyPolicies}?$filter=name eq '${name}'`, options)).data ?? []
const remove = (extId: string, options = {}) =>
  app.call('DELETE', `${legacyPolicies}/${extId}`, { requestId: randomUUID(), ...options })

test('a legacy policy is listed with its VMs, is deleted by its id, and no request creates one', async () => {
  const cluster = await aNativeCluster(app)
  const vms = [await aRunningVm(app, cluster, { name: 'left' }), await aRunningVm(app, cluster, { name: 'right' })]
  await appears(cluster, 'pair', ['left', vms[1].extId])
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
  await appears(cluster, 'old', [vms[1].extId])
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
  await appears(cluster, 'apart', ['one', 'two'])
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

test('an event that names no VM of the cluster, or several, is 409 and changes nothing', async () => {
  const cluster = await aNativeCluster(app)
  await aRunningVm(app, cluster, { name: 'twin' })
  await aRunningVm(app, cluster, { name: 'twin' })
  for (const vm of ['nobody', 'twin']) {
    const event = { type: 'LEGACY_POLICY_APPEARS', cluster: cluster.extId, name: 'none', vms: [vm] }
    const refused = await postEvent(app, event)
    assert.ok([400, 409].includes(refused.status), JSON.stringify(refused.errors))
    assert.ok(refused.errors[0]?.message.includes(`"${vm}"`), refused.errors[0]?.message)
  }
  assert.deepEqual(await listed('none'), [])
})

test('a viewer reads legacy policies and deletes none', async () => {
  const cluster = await aNativeCluster(app)
  await aRunningVm(app, cluster, { name: 'seen' })
  await appears(cluster, 'viewed', ['seen'])
  const viewer = await aUser(app, ['Virtual Machine Viewer'])
  const [policy] = await listed('viewed', { as: viewer })
  assert.equal(policy.vms.length, 1)
  assert.equal((await remove(policy.extId, { as: viewer })).status, 403)
})
