/** Requests by which suites that cover every kind reach network controllers. */

import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { routingFacts } from '../../../src/drivers/simulated/virtual-routing.ts'
import { changing, deleting } from '../../restart/asked.ts'
import { at, deleteEntity } from '../../support/field-bases.ts'
import { forgetVpcs } from '../../support/forget-vpcs.ts'
import type { TestApp } from '../../support/start-app.ts'
import { controllers, demoController, made } from '../../support/vpcs.ts'
import type { Creation, FactOwner, FieldBase, RestartScenario } from '../kind.ts'

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

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createNetworkController': {
    path: '/networking/v4.3/config/controllers',
    body: () => ({}),
    seed: 'empty',
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-network-controller': async (app) => {
    await withoutController(app)
    return { method: 'POST', path: controllers, body: { defaultVlanStack: 'ADVANCED' } }
  },
  'networking.delete-network-controller': async (app) => deleting(await aLonelyController(app)),
  'networking.update-network-controller': (app) => changing(app, demoController, { defaultVlanStack: 'ADVANCED' }),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createNetworkController': [
    async (app) => {
      const collection = '/networking/v4.3/config/controllers'
      for (const { extId } of (await app.call('GET', collection)).data)
        await deleteEntity(app, `${collection}/${extId}`)
      return { path: collection, body: {} }
    },
  ],
  'networking.updateNetworkControllerById': [at(`/networking/v4.3/config/controllers/${seedId('network-controller')}`)],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.controller': ({ ids }) => ids('NetworkController'),
  'fabric.controller-fault': ({ ids }) => ids('NetworkController'),
}
