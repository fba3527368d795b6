/** Requests by which suites that cover every kind reach image placement policies. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, created, deleting, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { ids } from '../../support/clustermgmt.ts'
import { anyOf, imageBody, made, placementBody, placementPolicies, post } from '../../support/content-policies.ts'
import { updating } from '../../support/field-bases.ts'
import { aCategory } from '../../support/policies.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'
import { creations as imageCreations } from './image.ts'

/** No image and no cluster of the demo carries it. */
const category = seedId('category/Backup/Gold')
const body = () => placementBody(category, category)
const policy = async (app: TestApp): Promise<string> =>
  `${placementPolicies}/${await made(app, placementPolicies, body())}`

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createPlacementPolicy': { path: placementPolicies, body: (name) => ({ ...body(), name }) },
}

const named = placementBody(category, unknown)
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createPlacementPolicy': {
    path: '/images/config/placement-policies',
    body: named,
    broken: { name: '../by-order' },
  },
  'vmm.updatePlacementPolicyById': {
    path: async (app) => (await policy(app)).slice('/vmm/v4.2'.length),
    body: named,
    broken: { name: '../by-order' },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-image-placement-policy': async () => ({ method: 'POST', path: placementPolicies, body: body() }),
  'vmm.update-image-placement-policy': async (app) => changing(app, await policy(app), { description: 'killed' }),
  'vmm.delete-image-placement-policy': async (app) => deleting(await policy(app)),
  'vmm.switch-image-placement-policy': async (app) => {
    const path = await policy(app)
    return tagged(app, 'POST', `${path}/$actions/suspend`, { shouldCancelRunningTasks: true }, path)
  },
  // A HARD policy moves an image to another cluster within the next seconds.
  'vmm.place-image': async (app) => {
    const [imageCategory, clusterCategory] = [await aCategory(app), await aCategory(app)]
    const associate = `/clustermgmt/v4.2/config/clusters/${ids.cloud}/$actions/associate-categories`
    await app.task(await post(app, associate, { categories: [clusterCategory] }))
    const image = imageCreations['vmm.createImage']
    await created(
      app,
      { ...image, body: (name) => ({ ...imageBody(name), categoryExtIds: [imageCategory] }) },
      'placed',
    )
    await made(app, placementPolicies, placementBody(imageCategory, clusterCategory))
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT10S' } }
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.suspendPlacementPolicy': [
    async (app) => {
      const readPath = await policy(app)
      return { path: `${readPath}/$actions/suspend`, readPath, body: { shouldCancelRunningTasks: true } }
    },
  ],
  'vmm.updatePlacementPolicyById': [updating(placementPolicies, body)],
}

export const walkEntities = { [placementPolicies]: [] }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createPlacementPolicy: (asking) =>
    walk.post(placementPolicies, {
      name: walk.name(asking, 'placement'),
      placementType: asking.draw.of(['HARD', 'SOFT']),
      imageEntityFilter: anyOf(asking.model.extId(asking.draw, walk.collections.categories)),
      clusterEntityFilter: anyOf(asking.model.extId(asking.draw, walk.collections.categories)),
    }),
  renamePlacementPolicy: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, placementPolicies), { name: walk.name(asking, 'placement') }),
  suspendPlacementPolicy: walk.acting(placementPolicies, 'suspend', ({ draw }) => ({
    shouldCancelRunningTasks: draw.isOneIn(2),
  })),
  resumePlacementPolicy: walk.acting(placementPolicies, 'resume'),
  deletePlacementPolicy: walk.removing(placementPolicies),
}
