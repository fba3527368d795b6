/** Requests by which suites that cover every kind reach legacy anti-affinity policies. */
import { happen } from '../../support/events.ts'
import { aNativeCluster, aVm } from '../../support/native-cluster.ts'
import { legacyPolicies } from '../../support/policies.ts'
import type { FactOwner, RestartScenario } from '../kind.ts'

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.delete-legacy-vm-anti-affinity-policy': async (app) => {
    const cluster = await aNativeCluster(app)
    const vm = await aVm(app, cluster)
    await happen(app, { type: 'VM_JOINS_LEGACY_POLICY', vm: vm.extId })
    const [policy] = (await app.call('GET', legacyPolicies)).data
    return { method: 'DELETE', path: `${legacyPolicies}/${policy.extId}` }
  },
}

export const factOwners: Readonly<Record<string, FactOwner>> = { vmGroups: 'nobody' }
