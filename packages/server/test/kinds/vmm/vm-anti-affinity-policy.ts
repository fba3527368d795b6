/** Requests by which suites that cover every kind reach VM anti-affinity policies. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { updating } from '../../support/field-bases.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import { aCategory, antiAffinityPolicies, aPolicy, aRunningVm, policyBody } from '../../support/policies.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const category = seedId('category/Environment/Production')
const made = async (app: TestApp): Promise<string> => `${antiAffinityPolicies}/${await aPolicy(app, category)}`

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createVmAntiAffinityPolicy': {
    path: antiAffinityPolicies,
    body: (name) => ({ ...policyBody(category), name }),
  },
}

const named = policyBody(unknown)
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createVmAntiAffinityPolicy': {
    path: '/ahv/policies/vm-anti-affinity-policies',
    body: named,
    broken: { name: '../by-order' },
  },
  'vmm.updateVmAntiAffinityPolicyById': {
    path: async (app) => (await made(app)).slice('/vmm/v4.2'.length),
    body: named,
    broken: { name: '../by-order' },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-vm-anti-affinity-policy': async () => ({
    method: 'POST',
    path: antiAffinityPolicies,
    body: policyBody(category),
  }),
  // Two VMs that a policy wants apart run on one host: the enforcement of the next minute separates them.
  'vmm.live-migrate-vm': async (app) => {
    const cluster = await aNativeCluster(app)
    const [host] = cluster.hostExtIds
    const own = await aCategory(app)
    for (let number = 0; number < 2; number++) await aRunningVm(app, cluster, { categories: [own], host })
    await aPolicy(app, own)
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT70S' } }
  },
  'vmm.update-vm-anti-affinity-policy': async (app) => changing(app, await made(app), { description: 'killed' }),
  'vmm.delete-vm-anti-affinity-policy': async (app) => ({
    ...(await changing(app, await made(app), {})),
    method: 'DELETE',
  }),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateVmAntiAffinityPolicyById': [updating(antiAffinityPolicies, () => policyBody(category))],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVmAntiAffinityPolicy: (asking) =>
    walk.post(antiAffinityPolicies, {
      name: walk.name(asking, 'apart'),
      ...walk.someCategory(asking),
    }),
  deleteVmAntiAffinityPolicy: walk.removing(antiAffinityPolicies),
  renameVmAntiAffinityPolicy: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, antiAffinityPolicies), { name: walk.name(asking, 'apart') }),
}

export const walkEntities = { [antiAffinityPolicies]: [] }
