/** Requests by which suites that cover every kind reach cluster profiles. */

import { completed, requestOf, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { createdPath, named, once, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ip } from '../../support/vpcs.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const profiles = `${clustermgmt}/cluster-profiles`
const refer = (...uuids: string[]): object => ({ clusters: uuids.map((uuid) => ({ uuid })) })
const aProfile = (app: TestApp): Promise<string> =>
  completed(app, 'POST', profiles, {
    body: { name: 'followed', nameServerIpList: [ip('10.8.8.8')], ntpServerIpList: [ip('10.8.8.9')] },
  })
async function anAppliedProfile(app: TestApp): Promise<string> {
  const profile = await aProfile(app)
  await completed(app, 'POST', `${profiles}/${profile}/$actions/apply`, { body: refer(ids.native) })
  return profile
}
const apply: RestartScenario = async (app) => ({
  method: 'POST',
  path: `${profiles}/${await aProfile(app)}/$actions/apply`,
  body: refer(ids.native),
})

const profile = (action: string) => async (app: TestApp) =>
  `/config/cluster-profiles/${await firstOf(app, '/clustermgmt/v4.2/config/cluster-profiles')}/$actions/${action}`
async function firstOf(app: TestApp, list: string): Promise<string> {
  return (await app.call('GET', list)).data[0].extId
}

export const creations = {
  'clustermgmt.createClusterProfile': { path: '/clustermgmt/v4.2/config/cluster-profiles', body: (name) => ({ name }) },
} satisfies Record<string, Creation>

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'clustermgmt.applyClusterProfile': {
    path: profile('apply'),
    body: { clusters: [{ uuid: unknown }] },
    broken: { clusters: [{ uuid: unknown }, {}] },
  },
  'clustermgmt.disassociateClusterFromClusterProfile': {
    path: profile('disassociate-cluster'),
    body: { clusters: [{ uuid: unknown }] },
    broken: { clusters: [{ uuid: unknown }, {}] },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.applyClusterProfile': [
    async (app) => ({
      path: `${await once(app, 'profile', () => createdPath(app, `${clustermgmt}/cluster-profiles`, { name: named() }))}/$actions/apply`,
      body: { clusters: [{ uuid: ids.native, name: 'hp-native-01' }] },
    }),
  ],
  'clustermgmt.disassociateClusterFromClusterProfile': [
    async () => ({
      path: `${clustermgmt}/cluster-profiles/${ids.baseline}/$actions/disassociate-cluster`,
      body: { clusters: [{ uuid: ids.extern, name: 'hp-extern-01' }] },
    }),
  ],
  'clustermgmt.updateClusterProfileById': [updating(`${clustermgmt}/cluster-profiles`, () => ({ name: named() }))],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.apply-cluster-profile': apply,
  'clustermgmt.apply-profile-section': apply,
  'clustermgmt.create-cluster-profile': async () => requestOf(creations['clustermgmt.createClusterProfile']),
  'clustermgmt.delete-cluster-profile': async (app) => ({
    method: 'DELETE',
    path: `${profiles}/${await aProfile(app)}`,
  }),
  'clustermgmt.disassociate-cluster-profile': async (app) => ({
    method: 'POST',
    path: `${profiles}/${await anAppliedProfile(app)}/$actions/disassociate-cluster`,
    body: refer(ids.native),
  }),
  'clustermgmt.update-cluster-profile': async (app) =>
    tagged(app, 'PUT', `${profiles}/${await anAppliedProfile(app)}`, { nameServerIpList: [ip('10.8.8.7')] }),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createProfile: (asking) =>
    walk.post(profiles, {
      name: walk.name(asking, 'profile'),
      nameServerIpList: [{ ipv4: { value: '10.8.8.8' } }],
    }),
  applyProfile: ({ model, draw }) =>
    walk.post(`${model.path(draw, profiles)}/$actions/apply`, {
      clusters: [{ uuid: model.extId(draw, walk.collections.clusters) }],
    }),
  deleteProfile: walk.removing(profiles),
}

export const walkEntities = { [profiles]: ['cluster-profile/baseline'] }

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'clustermgmt.apply-cluster-profile': 'clusters that were done stay members',
  'clustermgmt.update-cluster-profile': 'what is desired stays desired, also when a cluster does not follow',
}
