/** Source: behaviour clustermgmt.md 1.9. */
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ApiError, invalid } from '../../core/api-error.ts'
import { notFound } from '../../core/standard.ts'
import { type CapacityContext, copiesOf, poolCapacity, poolUsage, storageHostsOf } from '../storage-space/capacity.ts'
import { canDeduplicate, smallestForDeduplication } from '../storage-space/controller-vm-memory.ts'
import { clusterLosesHost, isLeaving } from '../storage-space/leaving-hosts.ts'

export interface ContainerRules {
  readonly cluster: Cluster
  readonly container: StorageContainer
  readonly stored?: StorageContainer
}

type Asking = CapacityContext

const hostsForErasureCoding: Readonly<Record<number, number>> = { 2: 4, 3: 6 }

/** Checked on the request body, and again with the defaults of the cluster. */
export function containerFaults(container: Partial<StorageContainer>): ApiError[] {
  const { replicationFactor: copies, affinityHostExtId, nfsWhitelistAddress: addresses = [] } = container
  const advertised = container.logicalAdvertisedCapacityBytes
  const reserved = container.logicalExplicitReservedCapacityBytes ?? 0
  const faults: ApiError[] = []
  const fault = (attribute: string, text: string): void => void faults.push(invalid(attribute, text))
  if (copies !== undefined && copies > 1 && affinityHostExtId !== undefined) {
    fault('affinityHostExtId', `expected only with replication factor 1, found replication factor ${copies}`)
  }
  if (advertised !== undefined && advertised < reserved) {
    fault(
      'logicalAdvertisedCapacityBytes',
      `expected at least the explicit reservation, ${reserved}; found ${advertised}`,
    )
  }
  if (container.erasureCode === 'ON' && copies === 1) {
    fault('erasureCode', 'expected OFF with replication factor 1: there is no second copy to save')
  }
  if (container.isNfsWhitelistInherited === true && addresses.length > 0) {
    fault(
      'isNfsWhitelistInherited',
      `expected false beside nfsWhitelistAddress, found true and ${addresses.length} addresses`,
    )
  }
  addresses.forEach((address, index) => {
    if (address.ipv4 === undefined && address.ipv6 === undefined && address.fqdn === undefined) {
      fault(`nfsWhitelistAddress[${index}]`, 'expected ipv4, ipv6 or fqdn, found none')
    }
  })
  return faults
}

/** The cluster of the body must be absent or equal to that of the header. */
export function containerCreationFaults(body: Partial<StorageContainer>, clusterExtId: string): ApiError[] {
  const { clusterExtId: named = clusterExtId } = body
  const elsewhere = `expected the cluster of the header X-Cluster-Id, ${clusterExtId}; found ${named}`
  return [
    ...(named === clusterExtId ? [] : [invalid('clusterExtId', elsewhere)]),
    ...(body.isInternal === true
      ? [invalid('isInternal', 'expected false: internal containers are made by the system alone')]
      : []),
    ...containerFaults(body),
  ]
}

/** Faults of fields (400) before those of the state (404, 409). */
export async function containerRefusals(ctx: Asking, rules: ContainerRules): Promise<ApiError[]> {
  const { cluster, container, stored } = rules
  const hosts = await storageHostsOf(ctx.store, cluster.extId)
  const copies = copiesOf(container)
  const clusterCopies = cluster.config?.redundancyFactor ?? 2
  const pool = await poolCapacity(ctx, cluster.extId)
  const advertised = container.logicalAdvertisedCapacityBytes
  const host = hosts.find(({ extId }) => extId === container.affinityHostExtId)
  const faults = containerFaults({ ...container, replicationFactor: copies })
  const fault = (attribute: string, text: string): void => void faults.push(invalid(attribute, text))

  if (copies > clusterCopies) {
    fault('replicationFactor', `expected 1 to ${clusterCopies}, the redundancy factor of the cluster; found ${copies}`)
  }
  if (stored !== undefined && copies === 1 && hosts.length > 1 && container.affinityHostExtId === undefined) {
    fault('affinityHostExtId', 'is required with replication factor 1: the host that holds the only copy')
  }
  if (advertised !== undefined && advertised > Math.floor(pool / copies)) {
    fault(
      'logicalAdvertisedCapacityBytes',
      `expected at most ${Math.floor(pool / copies)}, what the pool holds; found ${advertised}`,
    )
  }
  if (advertised !== undefined && stored !== undefined) {
    const used = (await poolUsage(ctx, cluster.extId)).containers.get(container.extId)?.logicalBytes ?? 0
    if (advertised < used) {
      fault('logicalAdvertisedCapacityBytes', `expected at least ${used}, what is used now; found ${advertised}`)
    }
  }
  if (stored?.isSoftwareEncryptionEnabled === true && container.isSoftwareEncryptionEnabled !== true) {
    fault('isSoftwareEncryptionEnabled', 'Encryption cannot be disabled once enabled.')
  }
  if (stored !== undefined && (container.isInternal ?? false) !== (stored.isInternal ?? false)) {
    fault('isInternal', 'is set by the system alone')
  }
  if (container.affinityHostExtId !== undefined && host === undefined) {
    faults.push(notFound('host of this cluster', container.affinityHostExtId, 'affinityHostExtId'))
  }
  if (host !== undefined && isLeaving(host) && stored?.affinityHostExtId !== host.extId)
    faults.push(await clusterLosesHost(ctx.store, cluster))
  const needed = hostsForErasureCoding[copies]
  if (container.erasureCode === 'ON' && needed !== undefined && hosts.length < needed) {
    faults.push(
      new ApiError('TOO_FEW_NODES_FOR_ERASURE_CODING', { replicationFactor: copies, needed, found: hosts.length }),
    )
  }
  const lean = hosts.filter((each) => !canDeduplicate(each))
  if (container.onDiskDedup === 'POST_PROCESS' && lean.length > 0) faults.push(tooLeanForDeduplication(lean))
  return faults
}

function tooLeanForDeduplication(hosts: readonly Host[]): ApiError {
  const names = hosts.map(({ hostName }) => hostName).join(', ')
  const fault = `Deduplication needs controller VMs of ${smallestForDeduplication} bytes; those of ${names} are smaller. Reconfigure them first.`
  return new ApiError('CONFLICT', { fault })
}

/** @throws ApiError 409 if the pool has less free space than the container reserves */
export async function requireContainerRoom(ctx: Asking, container: StorageContainer): Promise<void> {
  const reserved = container.logicalExplicitReservedCapacityBytes ?? 0
  if (reserved === 0) return
  const pool = await poolUsage(ctx, container.clusterExtId as string)
  const own = pool.containers.get(container.extId)
  // The space that the container uses or reserves already is available to its update.
  const available = pool.freeBytes + Math.max(own?.physicalBytes ?? 0, own?.reservedBytes ?? 0)
  const requested = reserved * copiesOf(container)
  if (requested > available) {
    throw new ApiError('INSUFFICIENT_STORAGE', {
      attributePath: 'logicalExplicitReservedCapacityBytes',
      requested,
      available,
    })
  }
}
