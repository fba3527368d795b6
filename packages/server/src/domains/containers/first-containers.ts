/** The containers that every new cluster has. Source: behaviour clustermgmt.md 1.2, 1.9. */
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { derivedId } from '../../core/ids/named-id.ts'
import { storagePoolOf } from '../storage-space/capacity.ts'

interface FirstContainer {
  readonly extId: string
  readonly name: string
  readonly ownerExtId: string
}

export const containerRow = (cluster: Cluster, { extId, name, ownerExtId }: FirstContainer): StorageContainer => ({
  extId,
  tenantId: cluster.tenantId,
  name,
  containerExtId: extId,
  clusterExtId: cluster.extId,
  clusterName: cluster.name,
  storagePoolExtId: storagePoolOf(cluster.extId),
  ownerExtId,
  replicationFactor: cluster.config?.redundancyFactor ?? 2,
  logicalExplicitReservedCapacityBytes: 0,
  erasureCode: 'OFF',
  isCompressionEnabled: false,
  compressionDelaySecs: 0,
  onDiskDedup: 'OFF',
  cacheDeduplication: 'OFF',
  isSoftwareEncryptionEnabled: false,
  isEncrypted: false,
  isNfsWhitelistInherited: true,
  isInternal: false,
  isMarkedForRemoval: false,
})

export function firstContainers(
  cluster: Cluster,
  ownerExtId: string,
  name = `default-container-${digitsOf(cluster.extId)}`,
): StorageContainer[] {
  const row = (key: string, own: string): StorageContainer =>
    containerRow(cluster, { extId: derivedId('container', cluster.extId, key), name: own, ownerExtId })
  return [
    row('default', name),
    row('SelfServiceContainer', 'SelfServiceContainer'),
    { ...row('ManagementShare', 'ManagementShare'), isInternal: true },
  ]
}

/** Fourteen digits that differ from cluster to cluster. */
const digitsOf = (extId: string): string =>
  BigInt(`0x${extId.replaceAll('-', '')}`)
    .toString()
    .padStart(14, '0')
    .slice(-14)
