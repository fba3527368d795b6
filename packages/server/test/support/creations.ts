/** The smallest body of every operation that creates an entity with a task. */

import { randomUUID } from 'node:crypto'
import { contract } from '@hyperplane/contract'
import { seedId } from '../../src/core/ids/named-id.ts'
import { inBucket, targets } from './backups.ts'
import type { CallResult, TestApp } from './start-app.ts'

/** The demo's native cluster. */
export const nativeCluster = seedId('cluster/hp-native-01')
const GiB = 1024 ** 3

export interface Creation {
  readonly path: string
  readonly body: (name: string) => object
  readonly clusterId?: string
  /** The world in which it succeeds, if not in the demo. */
  readonly seed?: 'empty'
}

/** By operation: `vmm.createVm`. */
export const creations: Readonly<Record<string, Creation>> = {
  'clustermgmt.createClusterProfile': { path: '/clustermgmt/v4.2/config/cluster-profiles', body: (name) => ({ name }) },
  'clustermgmt.createStorageContainer': {
    path: '/clustermgmt/v4.2/config/storage-containers',
    body: (name) => ({ name }),
    clusterId: nativeCluster,
  },
  'networking.createNetworkController': {
    path: '/networking/v4.3/config/controllers',
    body: () => ({}),
    seed: 'empty',
  },
  'networking.createRoutingPolicy': {
    path: '/networking/v4.3/config/routing-policies',
    body: (name) => ({
      name,
      priority: 200 + Math.floor(Math.random() * 800),
      vpcExtId: seedId('vpc/prod'),
      policies: [
        {
          policyMatch: { source: { addressType: 'ANY' }, destination: { addressType: 'ANY' }, protocolType: 'ANY' },
          policyAction: { actionType: 'PERMIT' },
        },
      ],
    }),
  },
  'networking.createSubnet': {
    path: '/networking/v4.3/config/subnets',
    body: (name) => ({
      name,
      subnetType: 'VLAN',
      networkId: 3100 + Math.floor(Math.random() * 900),
      clusterReference: nativeCluster,
    }),
  },
  'networking.createVpc': { path: '/networking/v4.3/config/vpcs', body: (name) => ({ name }) },
  'platform.createBackupTarget': { path: targets, body: () => ({ location: inBucket() }) },
  'platform.createDomainManager': {
    path: '/platform/v4.3/config/domain-managers',
    body: (name) => ({
      config: { name, size: 'STARTER', buildInfo: { version: '0.1.0' } },
      network: {
        nameServers: [{ ipv4: { value: '10.44.1.2' } }],
        ntpServers: [{ fqdn: { value: 'ntp.example.com' } }],
        externalNetworks: [
          {
            networkExtId: seedId('subnet/vlan-100-app'),
            defaultGateway: { ipv4: { value: '10.10.100.1' } },
            subnetMask: { ipv4: { value: '255.255.255.0' } },
            ipRanges: [{ begin: { ipv4: { value: '10.10.100.210' } }, end: { ipv4: { value: '10.10.100.250' } } }],
          },
        ],
      },
    }),
  },
  'storage.addStorageContainerForCluster': {
    path: '/storage/v4.0.a3/config/storage-containers',
    body: (name) => ({ name }),
    clusterId: nativeCluster,
  },
  'vmm.createImage': {
    path: '/vmm/v4.2/content/images',
    body: (name) => ({
      name,
      type: 'DISK_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url: `https://images.example.com/${name}.qcow2` },
    }),
  },
  'vmm.createVm': {
    path: '/vmm/v4.2/ahv/config/vms',
    body: (name) => ({ name, memorySizeBytes: GiB, cluster: { extId: nativeCluster } }),
  },
  'volumes.createVolumeDisk': {
    path: `/volumes/v4.2/config/volume-groups/${seedId('volume-group/vg-unused')}/disks`,
    body: () => ({ diskSizeBytes: GiB }),
  },
  'volumes.createVolumeGroup': {
    path: '/volumes/v4.2/config/volume-groups',
    body: (name) => ({ name, clusterReference: nativeCluster }),
  },
}

/** Sends each creation that this world allows; fails for an operation that is missing in the table. */
export function asyncCreations(
  app: TestApp,
  seed: 'demo' | 'empty' = 'demo',
): readonly (readonly [operation: string, send: () => Promise<CallResult>])[] {
  const operations = contract
    .flatMap((namespace) => namespace.operations)
    .filter(({ verb, runs }) => verb === 'create' && runs === 'async')
  return operations.flatMap(({ key }) => {
    const creation = creations[key]
    if (creation === undefined) throw new Error(`no body for ${key}`)
    return (creation.seed ?? 'demo') === seed ? [[key, () => create(app, creation)] as const] : []
  })
}

export const create = (
  app: TestApp,
  { path, body, clusterId }: Creation,
  name = `made-${randomUUID().slice(0, 8)}`,
): Promise<CallResult> =>
  app.call('POST', path, {
    body: body(name),
    requestId: randomUUID(),
    ...(clusterId === undefined ? {} : { clusterId }),
  })
