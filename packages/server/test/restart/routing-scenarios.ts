/** Stories of controllers, VPCs and what is a part of them. */

import assert from 'node:assert/strict'
import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { seedId } from '../../src/core/ids/named-id.ts'
import { routingFacts } from '../../src/drivers/simulated/virtual-routing.ts'
import { forgetVpcs } from '../support/forget-vpcs.ts'
import type { TestApp } from '../support/start-app.ts'
import {
  attachedTo,
  aVpc,
  controllers,
  demoController,
  ip,
  made,
  prefix,
  routingPolicies,
  vpcs,
} from '../support/vpcs.ts'
import type { Asked } from './asked.ts'

/** The entity as it is, with changes and its tag. */
async function changing(app: TestApp, path: string, changes: object): Promise<Asked> {
  const { data, etag, status } = await app.call('GET', path)
  assert.equal(status, 200, path)
  return { method: 'PUT', path, body: { ...data, ...changes }, ifMatch: etag as string }
}
const deleting = (path: string): Asked => ({ method: 'DELETE', path })

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

/** Not through the interface: what the demo has needs its controller. */
async function withoutController(app: TestApp): Promise<void> {
  await app.store.transaction((store) => store.remove(NetworkController, seedId('network-controller')))
  await routingFacts(app.world).controllers.remove(seedId('network-controller'))
}
/** Nor can what needs it be deleted: it is moved out of sight, with the VPCs of the demo. */
async function aLonelyController(app: TestApp): Promise<string> {
  await forgetVpcs(app)
  await withoutController(app)
  return made(app, controllers, {})
}

export const routingScenarios: Readonly<Record<string, (app: TestApp) => Promise<Asked>>> = {
  'networking.clear-routing-policy-counters': async (app) => ({
    method: 'POST',
    path: '/networking/v4.3/stats/routing-policies/$actions/clear',
    body: { vpcExtId: (await aVpc(app)).slice(-36) },
  }),
  'networking.create-network-controller': async (app) => {
    await withoutController(app)
    return { method: 'POST', path: controllers, body: { defaultVlanStack: 'ADVANCED' } }
  },
  'networking.create-routing-policy': async (app) => ({
    method: 'POST',
    path: routingPolicies,
    body: policyOf(await aVpc(app)),
  }),
  'networking.create-vpc': async () => ({
    method: 'POST',
    path: vpcs,
    body: {
      name: 'killed',
      externalSubnets: [attachedTo('ext-nat'), attachedTo('ext-routed')],
      externallyRoutablePrefixes: [prefix('192.168.99.0/24')],
      commonDhcpOptions: { domainNameServers: [ip('10.8.8.8')] },
    },
  }),
  'networking.delete-network-controller': async (app) => deleting(await aLonelyController(app)),
  'networking.delete-routing-policy': async (app) => deleting(await aPolicy(app)),
  'networking.delete-vpc': async (app) =>
    deleting(await aVpc(app, { externalSubnets: [attachedTo('ext-nat'), attachedTo('ext-routed')] })),
  'networking.update-network-controller': (app) => changing(app, demoController, { defaultVlanStack: 'ADVANCED' }),
  'networking.update-routing-policy': async (app) => changing(app, await aPolicy(app), { priority: 101 }),
  // One attachment goes, one comes.
  'networking.update-vpc': async (app) =>
    changing(app, await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] }), {
      externalSubnets: [attachedTo('ext-routed')],
      externallyRoutablePrefixes: [prefix('192.168.98.0/24')],
    }),
}
