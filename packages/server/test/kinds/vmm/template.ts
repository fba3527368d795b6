/** Requests by which suites that cover every kind reach templates and their versions. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, completed, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, named, once } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { act, addedVersion, fromVersion, fromVm, readTemplate, templates, vanish } from '../../support/templates.ts'
import { nicsWithFunctions } from '../../support/virtual-functions.ts'
import {
  type Creation,
  type FieldBase,
  GiB,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'
import { aFullVm } from './vm.ts'
import { profileConfigs, templateValues } from './vm-guest-customization-profile.ts'

const source = seedId('vm/template-source')
const named2 = { versionName: 'second', versionDescription: 'patched' }

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createTemplate': {
    path: templates,
    body: (templateName) => ({ templateName, templateVersionSpec: fromVm(source) }),
  },
}

const made = (app: TestApp, body: object = {}): Promise<string> =>
  createdPath(app, templates, { templateName: named(), templateVersionSpec: fromVm(source), ...body })
const aPlainVm = (app: TestApp): Promise<string> =>
  completed(app, 'POST', '/vmm/v4.2/ahv/config/vms', {
    body: { name: 'plain', memorySizeBytes: GiB, cluster: { extId: nativeCluster } },
  })
/** Its VMs take no address. */
const shared = (app: TestApp): Promise<string> =>
  once(app, 'template', async () => made(app, { templateVersionSpec: fromVm(await aPlainVm(app)) }))
const idOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** A template of a VM with a disk, a NIC and a category. @returns its id */
async function aFullTemplate(app: TestApp): Promise<string> {
  const vm = await aFullVm(app)
  return completed(app, 'POST', templates, {
    body: {
      templateName: 'killed',
      templateVersionSpec: fromVm(vm, { guestCustomization }),
      categoryExtIds: [seedId('category/Environment/Dev')],
    },
  })
}
const guestCustomization = {
  config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from('instance-id: x').toString('base64') },
}
const activeOf = async (app: TestApp, extId: string): Promise<string> =>
  (await readTemplate(app, extId)).templateVersionSpec.extId

async function withOpenUpdate(app: TestApp): Promise<string> {
  const extId = await aFullTemplate(app)
  await app.task(await act(app, extId, 'initiate-guest-update', {}))
  return extId
}

const target = async (app: TestApp): Promise<string> => (await shared(app)).slice('/vmm/v4.2'.length)
const onTarget =
  (action: string) =>
  async (app: TestApp): Promise<string> =>
    `${await target(app)}/$actions/${action}`

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createTemplate': {
    path: '/content/templates',
    body: { templateName: 'by-order', templateVersionSpec: fromVm(unknown) },
    broken: { templateName: '../by-order' },
  },
  'vmm.updateTemplateById': {
    path: target,
    body: { templateVersionSpec: { ...named2, ...fromVm(unknown) } },
    broken: { templateName: '../by-order' },
  },
  'vmm.deployTemplate': {
    path: onTarget('deploy'),
    body: { clusterReference: unknown, numberOfVms: 1 },
    broken: { overrideVmConfigMap: { 1: {} } },
  },
}

const vlan = { subnet: { extId: seedId('subnet/vlan-100-app') } }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateTemplateById': [
    // First, because most of their fields are refused without a profile.
    ...profileConfigs.map(
      (config): FieldBase =>
        async (app) => {
          const path = await made(app)
          const version = fromVersion(await activeOf(app, idOf(path)), await config(app))
          return { path, body: { templateVersionSpec: { ...named2, ...version } } }
        },
    ),
    async (app) => ({ path: await shared(app), body: { templateName: named() } }),
    async (app) => ({
      path: await made(app),
      body: { templateVersionSpec: { ...named2, ...fromVm(source, { guestCustomization }) } },
    }),
    ...[
      async () => ({ networkInfo: vlan }),
      async () => ({ nicNetworkInfo: { $objectType: 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo', ...vlan } }),
      ...nicsWithFunctions(vlan.subnet.extId),
    ].map(
      (nicFor): FieldBase =>
        async (app) => {
          const path = await made(app)
          const nics = [await nicFor(app)]
          const version = await activeOf(app, idOf(path))
          return { path, body: { templateVersionSpec: { ...named2, ...fromVersion(version, { nics }) } } }
        },
    ),
  ],
  'vmm.deployTemplate': [
    async (app) => {
      const path = await shared(app)
      const overrideVmConfigMap = { 0: { memorySizeBytes: GiB } }
      const versionId = await activeOf(app, idOf(path))
      const body = { clusterReference: nativeCluster, numberOfVms: 1, versionId, overrideVmConfigMap }
      return { path: `${path}/$actions/deploy`, body }
    },
  ],
  'vmm.publishTemplate': [
    async (app) => {
      const path = await shared(app)
      const versionId = await activeOf(app, idOf(path))
      return { path: `${path}/$actions/publish`, readPath: path, body: { versionId } }
    },
  ],
  'vmm.initiateGuestUpdate': [
    async (app) => {
      const path = await made(app)
      return { path: `${path}/$actions/initiate-guest-update`, body: { versionId: await activeOf(app, idOf(path)) } }
    },
  ],
  'vmm.completeGuestUpdate': [
    async (app) => ({ path: `${templates}/${await withOpenUpdate(app)}/$actions/complete-guest-update`, body: named2 }),
  ],
}

const acting = (extId: string, action: string, body?: object): Asked => ({
  method: 'POST',
  path: `${templates}/${extId}/$actions/${action}`,
  ...(body === undefined ? {} : { body }),
})

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'vmm.updateTemplateById templateVersionSpec/versionSource<TemplateVersionReference>/overrideVmConfig/nics/nicNetworkInfo<DpOffloadNicNetworkInfo>/ipv4Config/ipAddress':
    [{ value: '10.10.100.84' }],
  ...templateValues,
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-template': async (app) => ({
    method: 'POST',
    path: templates,
    body: { templateName: 'killed', templateVersionSpec: fromVm(await aFullVm(app), { guestCustomization }) },
  }),
  'vmm.update-template': async (app) =>
    tagged(app, 'PUT', `${templates}/${await aFullTemplate(app)}`, { templateName: 'renamed' }),
  'vmm.add-template-version': async (app) => {
    const extId = await aFullTemplate(app)
    const templateVersionSpec = { ...named2, ...fromVersion(await activeOf(app, extId), { memorySizeBytes: GiB }) }
    return tagged(app, 'PUT', `${templates}/${extId}`, { templateVersionSpec })
  },
  'vmm.publish-template': async (app) => {
    const extId = await aFullTemplate(app)
    const versionId = await addedVersion(app, extId, source, { isActiveVersion: false })
    return tagged(app, 'POST', `${templates}/${extId}/$actions/publish`, { versionId }, `${templates}/${extId}`)
  },
  'vmm.delete-template-version': async (app) => {
    const extId = await aFullTemplate(app)
    const version = await addedVersion(app, extId, source, { isActiveVersion: false })
    return { method: 'DELETE', path: `${templates}/${extId}/versions/${version}` }
  },
  'vmm.delete-template': async (app) => ({ method: 'DELETE', path: `${templates}/${await aFullTemplate(app)}` }),
  'vmm.deploy-template': async (app) =>
    acting(await aFullTemplate(app), 'deploy', { clusterReference: nativeCluster, numberOfVms: 2 }),
  'vmm.deploy-vm': async (app) =>
    acting(await aFullTemplate(app), 'deploy', { clusterReference: nativeCluster, numberOfVms: 1 }),
  'vmm.initiate-guest-update': async (app) => acting(await aFullTemplate(app), 'initiate-guest-update', {}),
  'vmm.complete-guest-update': async (app) => acting(await withOpenUpdate(app), 'complete-guest-update', named2),
  'vmm.cancel-guest-update-without-vm': async (app) => {
    const extId = idOf(await made(app, { templateVersionSpec: fromVm(await aPlainVm(app)) }))
    const task = await app.task(await act(app, extId, 'initiate-guest-update', {}))
    await vanish(app, task.entitiesAffected[1].extId)
    return acting(extId, 'cancel-guest-update')
  },
  'vmm.cancel-guest-update': async (app) => acting(await withOpenUpdate(app), 'cancel-guest-update'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createTemplate: ({ model, draw, ...asking }) =>
    walk.post(templates, {
      templateName: walk.name({ model, draw, ...asking }, 'template'),
      categoryExtIds: draw.some([0, 1], 1).map(() => model.extId(draw, walk.collections.categories)),
      templateVersionSpec: {
        versionSource: {
          $objectType: 'vmm.v4.content.TemplateVmReference',
          extId: model.extId(draw, walk.collections.vms),
        },
      },
    }),
  deployTemplate: walk.acting(templates, 'deploy', ({ draw }) => ({
    clusterReference: walk.nativeCluster,
    numberOfVms: draw.of([1, 2, 3]),
  })),
  deleteTemplate: walk.removing(templates),
  addTemplateVersion: (asking) => {
    const version = { versionName: walk.name(asking, 'version'), versionDescription: 'walked' }
    const source = fromVm(asking.model.extId(asking.draw, walk.collections.vms))
    const path = asking.model.path(asking.draw, templates)
    return walk.tagged(asking, 'PUT', path, { templateVersionSpec: { ...version, ...source } })
  },
  initiateGuestUpdate: walk.acting(templates, 'initiate-guest-update', () => ({})),
  completeGuestUpdate: walk.acting(templates, 'complete-guest-update', (asking) => ({
    versionName: walk.name(asking, 'version'),
    versionDescription: 'patched',
    isActiveVersion: !asking.draw.isOneIn(3),
  })),
  cancelGuestUpdate: walk.acting(templates, 'cancel-guest-update'),
}

export const walkEntities = { [templates]: [] }

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.deploy-template': 'VMs that were made stay when another one fails',
}
