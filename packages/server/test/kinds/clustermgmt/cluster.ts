/** Requests by which suites that cover every kind reach clusters. */

import { randomUUID } from 'node:crypto'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { completed, deleting, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { address, at, createdPath, named } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ip } from '../../support/vpcs.ts'
import type { Creation, FactOwner, FieldBase, RestartScenario } from '../kind.ts'

const aCategory = async (app: TestApp): Promise<string> =>
  (await createdPath(app, '/platform/v4.3/config/categories', { key: named('key'), value: named('value') })).slice(-36)

const pair = {
  name: 'branch-01',
  nodes: { nodeList: [{ controllerVmIp: ip('10.44.1.61') }, { controllerVmIp: ip('10.44.1.62') }] },
  config: { clusterFunction: ['TWO_NODE'] },
}

const single = {
  name: 'field-by-field',
  nodes: { nodeList: [{ controllerVmIp: ip('10.44.1.63') }] },
  config: { clusterFunction: ['ONE_NODE'] },
  network: {
    backplane: {
      isSegmentationEnabled: true,
      subnet: { value: '172.16.4.0' },
      netmask: { value: '255.255.255.0' },
      vlanTag: 7,
    },
  },
}

/** The node can be in one cluster only. */
async function destroyEarlier(app: TestApp): Promise<void> {
  const { data = [] } = await app.call('GET', `${clustermgmt}/clusters?$limit=100`)
  for (const { extId, nodes } of data)
    if (JSON.stringify(nodes ?? {}).includes('"10.44.1.63"'))
      await completed(app, 'DELETE', `${clustermgmt}/clusters/${extId}`)
}

export const creations: Readonly<Record<string, Creation>> = {
  'clustermgmt.createCluster': {
    path: `${clustermgmt}/clusters`,
    body: (name) => ({ ...single, name }),
    prepare: destroyEarlier,
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.associateCategoriesToCluster': [
    async (app) => ({
      path: `${clustermgmt}/clusters/${ids.native}/$actions/associate-categories`,
      body: { categories: [await aCategory(app)] },
    }),
  ],
  'clustermgmt.disassociateCategoriesFromCluster': [
    async (app) => {
      const categories = [await aCategory(app)]
      const cluster = `${clustermgmt}/clusters/${ids.native}`
      const body = { categories }
      await app.task(
        await app.call('POST', `${cluster}/$actions/associate-categories`, { body, requestId: randomUUID() }),
      )
      return { path: `${cluster}/$actions/disassociate-categories`, body }
    },
  ],
  'clustermgmt.createCluster': [
    async (app) => {
      await destroyEarlier(app)
      return { path: `${clustermgmt}/clusters`, body: single }
    },
  ],
  'clustermgmt.updateClusterById': [at(`${clustermgmt}/clusters/${ids.native}`, {})],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* externalDataServiceIp': [address('10.44.1.201')],
  '* externalIps': [address('10.44.3.205')],
  '* fqdn': ['cluster.example.com'],
  'clustermgmt.createCluster network/externalAddress': [address('10.44.1.202')],
  'clustermgmt.createCluster nodes/nodeList/hostIp': [address('10.44.1.66')],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.copy-data': async (app) => {
    // Three copies need five hosts: two join the three of the demo.
    await app.store.transaction(async (store) => {
      const host = await store.get(Host, hostId('hp-c01-a'))
      for (const hostName of ['hp-c01-d', 'hp-c01-e'])
        await store.insert(Host, { ...host, extId: hostId(hostName), hostName } as never)
    })
    const config = { faultToleranceState: { desiredClusterFaultTolerance: 'CFT_2N_OR_2D' } }
    return tagged(app, 'PUT', `${clustermgmt}/clusters/${ids.cloud}`, { config })
  },
  'clustermgmt.create-cluster': async () => ({ method: 'POST', path: `${clustermgmt}/clusters`, body: pair }),
  'clustermgmt.destroy-cluster': async (app) => {
    const extId = await completed(app, 'POST', `${clustermgmt}/clusters`, { body: pair })
    return deleting(`${clustermgmt}/clusters/${extId}`)
  },
  'clustermgmt.update-category-associations': async () => ({
    method: 'POST',
    path: `${clustermgmt}/clusters/${ids.native}/$actions/associate-categories`,
    body: { categories: [seedId('category/Environment/Dev')] },
  }),
  'clustermgmt.update-cluster': (app) =>
    tagged(app, 'PUT', `${clustermgmt}/clusters/${ids.native}`, { network: { nameServerIpList: [ip('10.8.8.8')] } }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.clusters': ({ ids }) => ids('Cluster'),
  'hardware.stops': ({ ids }) => ids('Cluster'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  categorizeCluster: walk.acting(walk.collections.clusters, 'associate-categories', ({ model, draw }) => ({
    categories: [model.extId(draw, walk.collections.categories)],
  })),
  uncategorizeCluster: walk.acting(walk.collections.clusters, 'disassociate-categories', ({ model, draw }) => ({
    categories: [model.extId(draw, walk.collections.categories)],
  })),
}

export const walkEntities = {
  [walk.collections.clusters]: ['cluster/hp-native-01', 'cluster/hp-extern-01', 'cluster/cloud-1'],
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'clustermgmt.copy-data': 'the change of the cluster that started it has ended before',
}
