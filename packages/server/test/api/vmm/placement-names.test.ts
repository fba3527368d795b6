/** Errors of placements name only what the owner of the task may see. Source: behaviour vmm.md 1.0 (VMM-40001). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aUser } from '../../support/identities.ts'
import { aNativeCluster, aVm, changed, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { aCategory, hostAffinityPolicies, hostPolicyBody, made } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app, { hosts: 2, usableGiB: 10 })
})
after(() => app.close())

const startedBy = async (vm: string, as?: string): Promise<string> => {
  const task = await changed(app, vm, 'power-on', as === undefined ? {} : { as })
  assert.equal(task.errorMessages?.[0].code, 'VMM-40001', JSON.stringify(task))
  return task.errorMessages[0].message
}
const nameOf = async (host = ''): Promise<string> =>
  (await app.call('GET', `/clustermgmt/v4.2/config/clusters/${cluster.extId}/hosts/${host}`)).data.hostName

test('an administrator reads the name of each host that refused a VM, and its owner a number', async () => {
  const developer = await aUser(app, ['Developer'])
  const large = await aVm(app, cluster, { memorySizeBytes: 20 * GiB })
  const names = await Promise.all(cluster.hostExtIds.map(nameOf))
  const seen = await startedBy(large.extId)
  for (const name of names) assert.match(seen, new RegExp(`${name}: memory: `))
  const hidden = await startedBy(large.extId, developer)
  for (const name of names) assert.doesNotMatch(hidden, new RegExp(name))
  assert.match(hidden, /host 1: memory: .*; host 2: memory: /)
})

test('a policy that the owner of a VM may not see is not named', async () => {
  const developer = await aUser(app, ['Developer'])
  const [forVms, forHosts] = [await aCategory(app), await aCategory(app)]
  const body = { ...hostPolicyBody([forVms], [forHosts]), name: 'racks-of-finance' }
  await made(app, hostAffinityPolicies, body)
  const vm = await aVm(app, cluster, { categories: [{ extId: forVms }] })
  assert.match(await startedBy(vm.extId), /racks-of-finance/)
  assert.match(await startedBy(vm.extId, developer), /host affinity: a policy does not allow the host/)
})
