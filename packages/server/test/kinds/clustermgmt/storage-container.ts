/** Requests by which suites that cover every kind reach storage containers. */

import { randomUUID } from 'node:crypto'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { completed, requestOf, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { createdPath, creating, named, once, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { aGroup, GiB, groups, onContainer } from '../../support/volumes.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const containers = `${clustermgmt}/storage-containers`
const aContainer = (app: TestApp, name: string): Promise<string> =>
  completed(app, 'POST', containers, { body: { name }, clusterId: nativeCluster })
const aContainerToMount = (app: TestApp): Promise<string> =>
  completed(app, 'POST', containers, { body: { name: 'mounted' }, clusterId: ids.extern })
async function aMountedContainer(app: TestApp): Promise<string> {
  const extId = await aContainerToMount(app)
  await completed(app, 'POST', `${containers}/${extId}/$actions/mount`, { body: { containerName: 'mounted' } })
  return extId
}

/** A container whose NFS allowlist is its own. */
export const withOwnAllowlist =
  (collection: string): FieldBase =>
  async (app) => ({
    path: await once(app, collection, () => createdPath(app, collection, { name: named() }, nativeCluster)),
    body: { name: named(), isNfsWhitelistInherited: false },
  })
/** A new container of the ESX cluster, which is mounted already before an `unmount`. */
export const mounting =
  (interfacePath: string, verb: 'mount' | 'unmount', more: object): FieldBase =>
  async (app) => {
    const containerName = named()
    const container = await createdPath(app, containers, { name: containerName }, ids.extern)
    const body = { containerName, datastoreName: containerName }
    if (verb === 'unmount')
      await app.task(await app.call('POST', `${container}/$actions/mount`, { body, requestId: randomUUID() }))
    return {
      path: `${container.replace(clustermgmt, interfacePath)}/$actions/${verb}`,
      readPath: container,
      body: verb === 'mount' ? { ...body, ...more } : { datastoreName: containerName },
    }
  }

const container = { name: 'by-order', replicationFactor: 1 }

export const creations = {
  'clustermgmt.createStorageContainer': {
    path: '/clustermgmt/v4.2/config/storage-containers',
    body: (name) => ({ name }),
    clusterId: nativeCluster,
  },
} satisfies Record<string, Creation>

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'clustermgmt.createStorageContainer': {
    path: '/config/storage-containers',
    body: { ...container, affinityHostExtId: unknown },
    broken: { isInternal: true },
  },
  'clustermgmt.updateStorageContainerById': {
    path: `/config/storage-containers/${seedId('container/hp-native-01/db-gold')}`,
    body: { name: 'db-gold', externalStorageExtId: unknown },
    broken: { logicalAdvertisedCapacityBytes: 1, logicalExplicitReservedCapacityBytes: 2 },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.createStorageContainer': [
    creating(
      `${clustermgmt}/storage-containers`,
      () => ({ name: named(), clusterExtId: nativeCluster }),
      nativeCluster,
    ),
    creating(
      `${clustermgmt}/storage-containers`,
      () => ({ name: named(), replicationFactor: 1, affinityHostExtId: hostId('hp-n01-a') }),
      nativeCluster,
    ),
  ],
  'clustermgmt.mountStorageContainer': [mounting(clustermgmt, 'mount', { isReadOnly: true })],
  'clustermgmt.unmountStorageContainer': [mounting(clustermgmt, 'unmount', {})],
  'clustermgmt.updateStorageContainerById': [
    updating(`${clustermgmt}/storage-containers`, () => ({ name: named() }), nativeCluster),
    withOwnAllowlist(`${clustermgmt}/storage-containers`),
  ],
}

/** @returns the id of a container that holds one */
async function aThickDisk(app: TestApp): Promise<string> {
  const container = await aContainer(app, 'thick')
  const group = await aGroup(app, { disks: [{ diskSizeBytes: GiB, ...onContainer(container) }] })
  const [disk] = (await app.call('GET', `${groups}/${group.extId}/disks`)).data
  await happen(app, { type: 'FACT_CHANGES', kind: 'VOLUME_DISK', of: disk.extId, path: 'isThick', value: true })
  return container
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.clear-thick-provisioned-space': async (app) => {
    const disk = await aThickDisk(app)
    return { method: 'POST', path: `${containers}/${disk}/$actions/clear-thick-provisioned-space` }
  },
  'clustermgmt.create-storage-container': async () => requestOf(creations['clustermgmt.createStorageContainer']),
  'clustermgmt.delete-storage-container': async (app) => ({
    method: 'DELETE',
    path: `${containers}/${await aContainer(app, 'gone')}`,
  }),
  'clustermgmt.mount-storage-container': async (app) => ({
    method: 'POST',
    path: `${containers}/${await aContainerToMount(app)}/$actions/mount`,
    body: { containerName: 'mounted' },
  }),
  'clustermgmt.unmount-storage-container': async (app) => ({
    method: 'POST',
    path: `${containers}/${await aMountedContainer(app)}/$actions/unmount`,
    body: { datastoreName: 'mounted' },
  }),
  'clustermgmt.update-storage-container': async (app) =>
    tagged(app, 'PUT', `${containers}/${await aContainer(app, 'renamed')}`, {
      name: 'killed',
    }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.containers': ({ ids }) => ids('StorageContainer'),
  'storage.full': 'nobody',
  'storage.stalls': 'nobody',
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createContainer: (asking) => ({
    ...walk.post(walk.collections.containers, { name: walk.name(asking, 'ctr') }),
    clusterId: walk.nativeCluster,
  }),
  renameContainer: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.containers), { name: walk.name(asking, 'ctr') }, [
      'isCompressionEnabled',
    ]),
  deleteContainer: walk.removing(walk.collections.containers),
}

export const walkEntities = {
  [walk.collections.containers]: ['container/hp-native-01/default', 'container/hp-native-01/db-gold'],
}
