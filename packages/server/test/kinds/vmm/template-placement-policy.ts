/** Requests by which suites that cover every kind reach template placement policies. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { ids } from '../../support/clustermgmt.ts'
import { anyOf, made, post, templatePlacementBody, templatePlacementPolicies } from '../../support/content-policies.ts'
import { updating } from '../../support/field-bases.ts'
import { aCategory } from '../../support/policies.ts'
import type { TestApp } from '../../support/start-app.ts'
import { fromVm, templates } from '../../support/templates.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'
import { aFullVm } from './vm.ts'

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
  // A template with a disk is copied to another cluster within the next seconds.
  'vmm.place-template': async (app) => {
    const [ofTemplate, ofCluster] = [await aCategory(app), await aCategory(app)]
    const associate = `/clustermgmt/v4.2/config/clusters/${ids.cloud}/$actions/associate-categories`
    await app.task(await post(app, associate, { categories: [ofCluster] }))
    const templateVersionSpec = fromVm(await aFullVm(app))
    await made(app, templates, { templateName: 'placed', templateVersionSpec, categoryExtIds: [ofTemplate] })
    await made(app, templatePlacementPolicies, templatePlacementBody(ofTemplate, ofCluster))
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT10S' } }
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateTemplatePlacementPolicyById': [updating(templatePlacementPolicies, body)],
}

export const walkEntities = { [templatePlacementPolicies]: [] }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createTemplatePlacementPolicy: (asking) =>
    walk.post(templatePlacementPolicies, {
      name: walk.name(asking, 'templates'),
      contentFilter: anyOf(asking.model.extId(asking.draw, walk.collections.categories)),
      clusterFilter: anyOf(asking.model.extId(asking.draw, walk.collections.categories)),
    }),
  renameTemplatePlacementPolicy: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, templatePlacementPolicies), {
      name: walk.name(asking, 'templates'),
    }),
  deleteTemplatePlacementPolicy: walk.removing(templatePlacementPolicies),
}
