/** Requests by which suites that cover every kind reach VM startup policies. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { advance } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { updating } from '../../support/field-bases.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import { aCategory, aRunningVm, made, startupBody, startupPolicies } from '../../support/policies.ts'
import type { TestApp } from '../../support/start-app.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const [production, web] = [seedId('category/Environment/Production'), seedId('category/AppTier/Web')]
const body = () => startupBody([[production], [web]])
const aPolicy = (app: TestApp): Promise<string> => made(app, startupPolicies, body())

/** Policies that conflict with the one of `creations`, in both ways. */
export async function makeConflicts(app: TestApp): Promise<void> {
  await made(app, startupPolicies, startupBody([[web], [production]]))
  await made(app, startupPolicies, startupBody([[production], [web]], [{ delayDurationSecs: 5 }]))
}

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createVmStartupPolicy': { path: startupPolicies, body: (name) => ({ ...body(), name }) },
}

const named = startupBody([[unknown], ['5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e12']])
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createVmStartupPolicy': {
    path: '/ahv/policies/vm-startup-policies',
    body: named,
    broken: { name: '../by-order' },
  },
  'vmm.updateVmStartupPolicyById': {
    path: async (app) => (await aPolicy(app)).slice('/vmm/v4.2'.length),
    body: named,
    broken: { name: '../by-order' },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-vm-startup-policy': async () => ({ method: 'POST', path: startupPolicies, body: body() }),
  'vmm.update-vm-startup-policy': async (app) => changing(app, await aPolicy(app), { description: 'killed' }),
  'vmm.delete-vm-startup-policy': async (app) => deleting(await aPolicy(app)),
  // The only host has lost its power; the delay after which the dependent VM starts has passed at the next start.
  'vmm.start-held-vm': async (app) => {
    const cluster = await aNativeCluster(app, { hosts: 1 })
    const [host] = cluster.hostExtIds as [string]
    const [first, second] = [await aCategory(app), await aCategory(app)]
    await made(app, startupPolicies, startupBody([[first], [second]], [{ delayDurationSecs: 600 }]))
    for (const category of [first, second]) await aRunningVm(app, cluster, { categories: [category] })
    await advance(app, 0.5)
    await happen(app, { type: 'HOST_FAILS', host })
    await advance(app, 0.75)
    await happen(app, { type: 'HOST_RETURNS', host })
    await advance(app, 0.5)
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT10S' } }
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateVmStartupPolicyById': [
    updating(startupPolicies, () => ({ ...body(), startConditions: [{ delayDurationSecs: 5 }] })),
  ],
}

const powerOn = 'vmm.v4.ahv.policies.PowerStateCriteriaPowerOn'
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* powerStateCriteria<PowerStateCriteriaPowerOn>': [{ $objectType: powerOn }],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  startHolds: async ({ all }) => new Set((await all(Vm)).map(({ extId }) => extId)),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVmStartupPolicy: (asking) =>
    walk.post(startupPolicies, {
      name: walk.name(asking, 'order'),
      groups: [walk.someCategory(asking), walk.someCategory(asking)],
    }),
  deleteVmStartupPolicy: walk.removing(startupPolicies),
  renameVmStartupPolicy: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, startupPolicies), { name: walk.name(asking, 'order') }),
}

export const walkEntities = { [startupPolicies]: [] }

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.start-held-vm': 'a VM that was started is to run',
}
