/** Requests by which suites that cover every kind reach image rate limit policies. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { allOf, anyOf, made, rateLimitBody, rateLimitPolicies } from '../../support/content-policies.ts'
import { updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const category = seedId('category/Environment/Production')
const policy = async (app: TestApp): Promise<string> =>
  `${rateLimitPolicies}/${await made(app, rateLimitPolicies, rateLimitBody(category))}`

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createRateLimitPolicy': { path: rateLimitPolicies, body: (name) => ({ ...rateLimitBody(category), name }) },
}

const named = { ...rateLimitBody(unknown), clusterEntityFilter: allOf(unknown) }
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createRateLimitPolicy': {
    path: '/images/config/rate-limit-policies',
    body: named,
    broken: { name: '../by-order' },
  },
  'vmm.updateRateLimitPolicyById': {
    path: async (app) => (await policy(app)).slice('/vmm/v4.2'.length),
    body: named,
    broken: { name: '../by-order' },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-image-rate-limit-policy': async () => ({
    method: 'POST',
    path: rateLimitPolicies,
    body: rateLimitBody(category),
  }),
  'vmm.update-image-rate-limit-policy': async (app) => changing(app, await policy(app), { description: 'killed' }),
  'vmm.delete-image-rate-limit-policy': async (app) => deleting(await policy(app)),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateRateLimitPolicyById': [updating(rateLimitPolicies, () => rateLimitBody(category))],
}

export const walkEntities = { [rateLimitPolicies]: [] }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createRateLimitPolicy: (asking) =>
    walk.post(rateLimitPolicies, {
      name: walk.name(asking, 'limit'),
      rateLimitKbps: asking.draw.of([1000, 1_000_000]),
      clusterEntityFilter: anyOf(asking.model.extId(asking.draw, walk.collections.categories)),
    }),
  renameRateLimitPolicy: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, rateLimitPolicies), { name: walk.name(asking, 'limit') }),
  deleteRateLimitPolicy: walk.removing(rateLimitPolicies),
}
