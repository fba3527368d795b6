/** Requests by which suites that cover every kind reach network functions. */
import { randomUUID } from 'node:crypto'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { named, once } from '../../support/field-bases.ts'
import { type Appliance, anAppliance, functionBody, networkFunctions, pairOf } from '../../support/network-functions.ts'
import type { TestApp } from '../../support/start-app.ts'
import { made } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const appliances = async (app: TestApp): Promise<readonly Appliance[]> => [
  await anAppliance(app, named()),
  await anAppliance(app, named()),
]
const aFunction = async (app: TestApp): Promise<string> =>
  made(app, networkFunctions, functionBody(named(), await appliances(app)))

const vtap = { trafficForwardingMode: 'VTAP', failureHandling: 'FAIL_OPEN' }
const unmade = [{ ingressNicReference: randomUUID(), egressNicReference: randomUUID() }]

let ready: readonly Appliance[] = []

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createNetworkFunction': {
    path: networkFunctions,
    body: (name) => functionBody(name, ready),
    prepare: async (app) => {
      ready = [await anAppliance(app, named())]
    },
  },
}

/** Traffic is copied to one NIC, which a new VM has. */
const asVtap = async (app: TestApp): Promise<object> => {
  const { ingress } = await anAppliance(app, named())
  const nicPairs = [{ ingressNicReference: ingress }]
  return functionBody(named(), [], { nicPairs, trafficForwardingMode: 'VTAP' })
}
/** Through a new VM, which is named. */
const asInline = async (app: TestApp): Promise<object> => {
  const one = await anAppliance(app, named())
  return functionBody(named(), [], { nicPairs: [pairOf(one, { vmReference: one.vm })], failureHandling: 'FAIL_OPEN' })
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createNetworkFunction': {
    path: '/config/network-functions',
    body: functionBody('by-order', [], { nicPairs: unmade, metadata: { categoryIds: [unknown] } }),
    broken: vtap,
  },
  'networking.updateNetworkFunctionById': {
    path: async (app) => (await once(app, 'network function', () => aFunction(app))).slice('/networking/v4.3'.length),
    body: functionBody('by-order', [], { nicPairs: unmade, metadata: { categoryIds: [unknown] } }),
    broken: vtap,
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-network-function': async (app) => ({
    method: 'POST',
    path: networkFunctions,
    body: functionBody('killed', await appliances(app)),
  }),
  'networking.delete-network-function': async (app) => deleting(await aFunction(app)),
  'networking.update-network-function': async (app) =>
    changing(app, await aFunction(app), {
      nicPairs: [pairOf(await anAppliance(app, 'killed'))],
      failureHandling: 'FAIL_OPEN',
    }),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createNetworkFunction': [
    async (app) => ({ path: networkFunctions, body: functionBody(named(), await appliances(app)) }),
    async (app) => ({ path: networkFunctions, body: await asVtap(app) }),
    async (app) => ({ path: networkFunctions, body: await asInline(app) }),
  ],
  'networking.updateNetworkFunctionById': [
    async (app) => ({ path: await once(app, 'network function that is written anew', () => aFunction(app)) }),
    async (app) => ({ path: await aFunction(app), body: await asVtap(app) }),
    async (app) => ({ path: await aFunction(app), body: await asInline(app) }),
  ],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'networking.createNetworkFunction failureHandling': ['FAIL_OPEN'],
  'networking.updateNetworkFunctionById failureHandling': ['FAIL_OPEN'],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.network-function': ({ ids }) => ids('NetworkFunction'),
  'fabric.network-function-health': ({ ids }) => ids('NetworkFunction'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  // Its NICs are not there: the task fails and leaves nothing behind.
  createNetworkFunction: (asking) =>
    walk.post(networkFunctions, functionBody(walk.name(asking, 'function'), [], { nicPairs: unmade })),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'networking.update-network-function': 'the health checks remember what they found meanwhile',
}
