/** Requests by which suites that cover every kind reach template placement policies. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import { made, templatePlacementBody, templatePlacementPolicies } from '../../support/content-policies.ts'
import { updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const category = seedId('category/Environment/Production')
const body = () => templatePlacementBody(category, category)
const policy = async (app: TestApp): Promise<string> =>
  `${templatePlacementPolicies}/${await made(app, templatePlacementPolicies, body())}`

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createTemplatePlacementPolicy': { path: templatePlacementPolicies, body: (name) => ({ ...body(), name }) },
}

const named = templatePlacementBody(unknown, category)
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createTemplatePlacementPolicy': {
    path: '/config/template-placement-policies',
    body: named,
    broken: { name: '../by-order' },
  },
  'vmm.updateTemplatePlacementPolicyById': {
    path: async (app) => (await policy(app)).slice('/vmm/v4.2'.length),
    body: named,
    broken: { name: '../by-order' },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-template-placement-policy': async () => ({
    method: 'POST',
    path: templatePlacementPolicies,
    body: body(),
  }),
  'vmm.update-template-placement-policy': async (app) => changing(app, await policy(app), { description: 'killed' }),
  'vmm.delete-template-placement-policy': async (app) => deleting(await policy(app)),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateTemplatePlacementPolicyById': [updating(templatePlacementPolicies, body)],
}
