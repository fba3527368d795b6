/** Requests by which suites that cover every kind reach VM host affinity policies. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { updating } from '../../support/field-bases.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import {
  aCategory,
  aRunningVm,
  categorise,
  hostAffinityPolicies,
  hostPolicyBody,
  made,
} from '../../support/policies.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const category = seedId('category/Environment/Production')
const body = () => hostPolicyBody([category], [category])
const aPolicy = (app: TestApp): Promise<string> => made(app, hostAffinityPolicies, body())

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createVmHostAffinityPolicy': { path: hostAffinityPolicies, body: (name) => ({ ...body(), name }) },
}

const named = hostPolicyBody([unknown], [unknown])
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createVmHostAffinityPolicy': {
    path: '/ahv/policies/vm-host-affinity-policies',
    body: named,
    broken: { name: '../by-order' },
  },
  'vmm.updateVmHostAffinityPolicyById': {
    path: async (app) => (await aPolicy(app)).slice('/vmm/v4.2'.length),
    body: named,
    broken: { name: '../by-order' },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-vm-host-affinity-policy': async () => ({ method: 'POST', path: hostAffinityPolicies, body: body() }),
  'vmm.update-vm-host-affinity-policy': async (app) => changing(app, await aPolicy(app), { description: 'killed' }),
  'vmm.delete-vm-host-affinity-policy': async (app) => ({
    ...(await changing(app, await aPolicy(app), {})),
    method: 'DELETE',
  }),
  // A VM runs on a host that its new policy does not allow.
  'vmm.re-enforce-vm-host-affinity-policy': async (app) => {
    const cluster = await aNativeCluster(app)
    const [own, rack] = [await aCategory(app), await aCategory(app)]
    await aRunningVm(app, cluster, { categories: [own], host: cluster.hostExtIds[0] })
    await categorise(app, cluster.hostExtIds.slice(1), rack)
    const path = await made(app, hostAffinityPolicies, hostPolicyBody([own], [rack]))
    const { body: _, ...asked } = await changing(app, path, {})
    return { ...asked, method: 'POST', path: `${path}/$actions/re-enforce` }
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateVmHostAffinityPolicyById': [updating(hostAffinityPolicies, body)],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVmHostAffinityPolicy: (asking) => {
    const category = (): object => walk.refer(asking.model.extId(asking.draw, walk.collections.categories))
    const body = { name: walk.name(asking, 'racks'), vmCategories: category(), hostCategories: category() }
    return walk.post(hostAffinityPolicies, body)
  },
  deleteVmHostAffinityPolicy: walk.removing(hostAffinityPolicies),
  renameVmHostAffinityPolicy: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, hostAffinityPolicies), { name: walk.name(asking, 'racks') }),
  reEnforceVmHostAffinityPolicyById: walk.acting(hostAffinityPolicies, 're-enforce'),
}

export const walkEntities = { [hostAffinityPolicies]: [] }
