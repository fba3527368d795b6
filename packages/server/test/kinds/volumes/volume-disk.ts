/** Requests by which suites that cover every kind reach disks of volume groups. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { once } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { aDisk, aGroup, groups, onContainer } from '../../support/volumes.ts'
import { type Creation, type FactOwner, type FieldBase, GiB, type RestartScenario } from '../kind.ts'
import { aGroupWithDisk } from './volume-group.ts'

export const aDiskPath = async (app: TestApp): Promise<string> => {
  const group = await aGroup(app)
  return `${groups}/${group.extId}/disks/${(await aDisk(app, group.extId)).extId}`
}
const diskOf = async (app: TestApp, group: string): Promise<string> =>
  `${groups}/${group}/disks/${(await app.call('GET', `${groups}/${group}/disks`)).data[0].extId}`

export const creations: Readonly<Record<string, Creation>> = {
  'volumes.createVolumeDisk': {
    path: `/volumes/v4.2/config/volume-groups/${seedId('volume-group/vg-unused')}/disks`,
    body: () => ({ diskSizeBytes: GiB }),
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'volumes.createVolumeDisk': [
    async (app) => ({
      path: `${groups}/${(await aGroup(app)).extId}/disks`,
      body: { diskSizeBytes: GiB, ...onContainer() },
    }),
  ],
  'volumes.updateVolumeDiskById': [async (app) => ({ path: await once(app, 'disk', () => aDiskPath(app)) })],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* diskSizeBytes': [3 * GiB],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'volumes.create-volume-disk': async (app) => ({
    method: 'POST',
    path: `${groups}/${(await aGroup(app)).extId}/disks`,
    body: { diskSizeBytes: GiB },
  }),
  'volumes.delete-volume-disk': async (app) => ({
    method: 'DELETE',
    path: await diskOf(app, await aGroupWithDisk(app)),
  }),
  'volumes.update-volume-disk': async (app) =>
    tagged(app, 'PUT', await diskOf(app, await aGroupWithDisk(app)), { diskSizeBytes: 2 * GiB }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'blockStorage.disks': ({ ids }) => ids('VolumeDisk'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVolumeDisk: ({ model, draw }) =>
    walk.post(`${model.path(draw, walk.collections.groups)}/disks`, { diskSizeBytes: GiB }),
  growVolumeDisk: (asking) => {
    const path = asking.model.part(asking.draw, 'disks')
    return path === undefined
      ? undefined
      : walk.put(asking, path, { diskSizeBytes: GiB * asking.draw.of([2, 3]) }, ['index'])
  },
  deleteVolumeDisk: ({ model, draw }) => {
    const path = model.part(draw, 'disks')
    return path === undefined ? undefined : { method: 'DELETE', path }
  },
}
