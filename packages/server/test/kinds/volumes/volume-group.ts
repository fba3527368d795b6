/** Requests by which suites that cover every kind reach volume groups. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { completed, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, once, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { act, aGroup, chap, groups, onContainer } from '../../support/volumes.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  GiB,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'
import { aRevert } from './recovery-point.ts'

/** @returns its id */
export const aGroupWithDisk = async (app: TestApp, more: object = {}): Promise<string> =>
  (await aGroup(app, { disks: [{ diskSizeBytes: GiB }], ...more })).extId
/** An action on a new group. */
export const onGroup =
  (action: string, body: (app: TestApp) => object | Promise<object>): FieldBase =>
  async (app) => {
    const created = await aGroup(app)
    return { path: `${groups}/${created.extId}/$actions/${action}`, body: await body(app) }
  }
const categories = (): object => ({ categories: [{ extId: seedId('category/Environment/Production') }] })

const group = `/config/volume-groups/${seedId('volume-group/vg-unused')}`

export const creations: Readonly<Record<string, Creation>> = {
  'volumes.createVolumeGroup': {
    path: '/volumes/v4.2/config/volume-groups',
    body: (name) => ({ name, clusterReference: nativeCluster }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'volumes.associateCategory': {
    path: `${group}/$actions/associate-category`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{ extId: unknown, entityType: 'VM' }] },
  },
  'volumes.createVolumeGroup': {
    path: '/config/volume-groups',
    body: { name: 'by-order', clusterReference: unknown },
    broken: { targetPrefix: 'prefix-of-it', targetName: 'name-of-the-target' },
  },
  'volumes.disassociateCategory': {
    path: `${group}/$actions/disassociate-category`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{ extId: unknown, entityType: 'VM' }] },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'volumes.associateCategory': [onGroup('associate-category', categories)],
  'volumes.createVolumeGroup': [
    creating(groups, () => ({
      name: named(),
      clusterReference: nativeCluster,
      sharingStatus: 'SHARED',
      disks: [{ diskSizeBytes: GiB, ...onContainer() }],
    })),
    creating(groups, () => ({ name: named(), clusterReference: nativeCluster, ...chap })),
  ],
  'volumes.disassociateCategory': [
    async (app) => {
      const group = await aGroup(app)
      await act(app, group.extId, 'associate-category', categories())
      return { path: `${groups}/${group.extId}/$actions/disassociate-category`, body: categories() }
    },
  ],
  'volumes.revertVolumeGroup': [aRevert],
  'volumes.updateVolumeGroupById': [
    updating(groups, () => ({ name: named(), clusterReference: nativeCluster })),
    async (app) => {
      const path = await once(app, 'group without CHAP', async () => `${groups}/${(await aGroup(app)).extId}`)
      return { path, body: chap }
    },
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'volumes.associate-category': async (app) => ({
    method: 'POST',
    path: `${groups}/${(await aGroup(app)).extId}/$actions/associate-category`,
    body: { categories: [{ extId: seedId('category/Environment/Dev') }] },
  }),
  'volumes.create-volume-group': async () => ({
    method: 'POST',
    path: groups,
    body: {
      name: 'killed',
      clusterReference: nativeCluster,
      disks: [{ diskSizeBytes: GiB }, { diskSizeBytes: 2 * GiB }],
    },
  }),
  'volumes.delete-volume-group': async (app) => ({ method: 'DELETE', path: `${groups}/${await aGroupWithDisk(app)}` }),
  'volumes.disassociate-category': async (app) => {
    const categories = { categories: [{ extId: seedId('category/Environment/Dev') }] }
    const group = (await aGroup(app)).extId
    await completed(app, 'POST', `${groups}/${group}/$actions/associate-category`, { body: categories })
    return { method: 'POST', path: `${groups}/${group}/$actions/disassociate-category`, body: categories }
  },
  'volumes.update-volume-group': async (app) =>
    tagged(app, 'PUT', `${groups}/${await aGroupWithDisk(app)}`, { name: 'killed' }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'blockStorage.targets': ({ ids }) => ids('VolumeGroup'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVolumeGroup: (asking) =>
    walk.post(walk.collections.groups, {
      name: walk.name(asking, 'vg'),
      clusterReference: walk.nativeCluster,
      ...(asking.draw.isOneIn(2) ? { sharingStatus: 'SHARED' } : {}),
      ...(asking.draw.isOneIn(3) ? chap : {}),
      ...(asking.draw.isOneIn(2) ? { disks: [{ diskSizeBytes: GiB }] } : {}),
    }),
  renameVolumeGroup: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.groups), { name: walk.name(asking, 'vg') }, [
      'sharingStatus',
    ]),
  deleteVolumeGroup: ({ model, draw }) => ({ method: 'DELETE', path: model.path(draw, walk.collections.groups) }),
  categorizeVolumeGroup: walk.acting(walk.collections.groups, 'associate-category', walk.someCategory),
  uncategorizeVolumeGroup: walk.acting(walk.collections.groups, 'disassociate-category', walk.someCategory),
}

export const walkEntities = { [walk.collections.groups]: ['volume-group/vg-unused'] }
