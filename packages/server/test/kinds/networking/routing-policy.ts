/** Requests by which suites that cover every kind reach routing policies. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, creating, named, once } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { aVpc, made, prefix, routingPolicies } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

let priority = 200
const numberedPolicy = (match: object, action: object = { actionType: 'PERMIT' }) => ({
  name: named(),
  priority: 10 + (++priority % 990),
  vpcExtId: seedId('vpc/prod'),
  policies: [
    {
      policyMatch: {
        source: { addressType: 'ANY' },
        destination: { addressType: 'ANY' },
        protocolType: 'ANY',
        ...match,
      },
      policyAction: action,
    },
  ],
})
const parameters = (name: string, fields: object = {}): object => ({
  protocolParameters: { $objectType: `networking.v4.config.${name}`, ...fields },
})
const side = { addressType: 'SUBNET', subnetPrefix: prefix('10.77.0.0/16') }
const address = (value: string): object => ({ ipv4: { value } })
const policyBodies: readonly (() => object)[] = [
  () => numberedPolicy({ source: side, destination: side }),
  () => numberedPolicy({ protocolType: 'ICMP', ...parameters('ICMPObject') }),
  () => numberedPolicy({ protocolType: 'TCP', ...parameters('LayerFourProtocolObject') }),
  () =>
    numberedPolicy({ protocolType: 'PROTOCOL_NUMBER', ...parameters('ProtocolNumberObject', { protocolNumber: 47 }) }),
  () => numberedPolicy({}, { actionType: 'FORWARD', nexthopIpAddress: address('10.50.0.9') }),
  () => numberedPolicy({}, { actionType: 'REROUTE', rerouteParams: [{ serviceIp: address('10.50.0.9') }] }),
  () =>
    numberedPolicy(
      {},
      {
        actionType: 'REROUTE',
        rerouteParams: [{ ingressServiceIp: address('10.50.0.9'), egressServiceIp: address('10.50.0.10') }],
      },
    ),
]

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
    isRandom: true,
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

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.clearRoutingPolicyCounters': [
    async (app) => ({
      path: '/networking/v4.3/stats/routing-policies/$actions/clear',
      body: {
        vpcExtId: seedId('vpc/prod'),
        routingPolicyExtId: (
          await once(app, 'cleared policy', () => createdPath(app, routingPolicies, numberedPolicy({})))
        ).slice(-36),
      },
    }),
  ],
  'networking.createRoutingPolicy': policyBodies.map((body) => creating(routingPolicies, body)),
  'networking.updateRoutingPolicyById': policyBodies.map((body) => async (app) => ({
    path: await once(app, 'routing policy', () => createdPath(app, routingPolicies, numberedPolicy({}))),
    body: body(),
  })),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.policy': ({ ids }) => ids('RoutingPolicy'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createRoutingPolicy: ({ model, draw }) =>
    walk.post(routingPolicies, {
      name: `policy-${model.number()}`,
      priority: 200 + draw.below(20),
      vpcExtId: model.extId(draw, walk.collections.vpcs),
      policies: [
        {
          policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
          policyAction: { actionType: 'PERMIT' },
        },
      ],
    }),
  deleteRoutingPolicy: walk.removing(routingPolicies),
}

export const walkEntities = { [routingPolicies]: [] }
