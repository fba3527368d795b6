/** Requests by which suites that cover every kind reach routing policies. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import type { TestApp } from '../../support/start-app.ts'
import { aVpc, made, routingPolicies } from '../../support/vpcs.ts'
import { type Creation, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const routing = {
  name: 'by-order',
  priority: 10,
  vpcExtId: unknown,
  policies: [
    {
      policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
      policyAction: { actionType: 'PERMIT' },
    },
  ],
}
const policyOf = (vpc: string, more: object = {}): object => ({
  name: 'killed',
  priority: 100,
  vpcExtId: vpc.slice(-36),
  policies: [
    {
      policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'EXTERNAL' }, protocolType: 'ANY' },
      policyAction: { actionType: 'DENY' },
    },
  ],
  ...more,
})
const aPolicy = async (app: TestApp): Promise<string> => made(app, routingPolicies, policyOf(await aVpc(app)))

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createRoutingPolicy': {
    path: '/networking/v4.3/config/routing-policies',
    body: (name) => ({
      name,
      priority: 200 + Math.floor(Math.random() * 800),
      vpcExtId: seedId('vpc/prod'),
      policies: [
        {
          policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
          policyAction: { actionType: 'PERMIT' },
        },
      ],
    }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createRoutingPolicy': { path: '/config/routing-policies', body: routing, broken: { priority: 9 } },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.clear-routing-policy-counters': async (app) => ({
    method: 'POST',
    path: '/networking/v4.3/stats/routing-policies/$actions/clear',
    body: { vpcExtId: (await aVpc(app)).slice(-36) },
  }),
  'networking.create-routing-policy': async (app) => ({
    method: 'POST',
    path: routingPolicies,
    body: policyOf(await aVpc(app)),
  }),
  'networking.delete-routing-policy': async (app) => deleting(await aPolicy(app)),
  'networking.update-routing-policy': async (app) => changing(app, await aPolicy(app), { priority: 101 }),
}
