/** Source: behaviour clustermgmt.md 1.2, 3. */
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { isManager } from '../containers/storage-containers.ts'
import type { ReadContext } from '../context.ts'
import {
  faultTolerantCapacity,
  hostCapacity,
  hostsOf,
  isInService,
  reservedBytes,
  storesData,
} from '../storage-space/capacity.ts'
import { currentFaultTolerance, defaultAwareness } from '../storage-space/fault-tolerance.ts'
import { defaultCopies, toleranceWord } from './cluster-rules.ts'

/** A cluster whose pool has a smaller unreserved part has no room for backups. */
const roomForBackupsPercent = 10

export async function withState(
  ctx: ReadContext,
  clusters: readonly Cluster[],
  wanted: { readonly expand: ReadonlySet<string> } = { expand: new Set() },
): Promise<readonly Cluster[]> {
  const managers = await ctx.store.find(DomainManager)
  const hosting = new Set(managers.map(({ hostingClusterExtId }) => hostingClusterExtId))
  const shown: Cluster[] = []
  for (const cluster of clusters) {
    // With `$apply` the rows are groups, which have no extId.
    if (cluster.extId === undefined) return clusters
    const config = { ...cluster.config, isAvailable: ctx.drivers.hardware.isReachable(cluster.extId) }
    if (isManager(cluster)) shown.push({ ...cluster, config, backupEligibilityScore: 0 })
    else shown.push(await withHosts(ctx, { ...cluster, config }, hosting.has(cluster.extId), wanted.expand))
  }
  return shown
}

async function withHosts(
  ctx: ReadContext,
  cluster: Cluster,
  hostsManager: boolean,
  expand: ReadonlySet<string>,
): Promise<Cluster> {
  const hosts = await hostsOf(ctx.store, cluster.extId)
  const storing = hosts.filter(storesData)
  const capacity = hosts.reduce((sum, host) => sum + hostCapacity(host, ctx.drivers.hardware), 0)
  const unreserved = capacity - (await reservedBytes(ctx, cluster.extId))
  const desired = (cluster.config?.redundancyFactor ?? defaultCopies(storing)) - 1
  const current = Math.min(desired, await currentFaultTolerance(ctx, cluster, storing))
  const inService = storing.filter((host) => isInService(host, ctx.drivers.hardware)).length
  const hasRoom = unreserved * 100 >= capacity * roomForBackupsPercent
  const conditions = [hasRoom, hosts.length >= 3, current >= 1, !hostsManager]
  return {
    ...cluster,
    config: {
      ...cluster.config,
      faultToleranceState: {
        domainAwarenessLevel: defaultAwareness(storing),
        desiredClusterFaultTolerance: toleranceWord(desired),
        ...cluster.config?.faultToleranceState,
        desiredMaxFaultTolerance: desired,
        currentMaxFaultTolerance: current,
        currentClusterFaultTolerance: toleranceWord(current),
        redundancyStatus: {
          // Both rings of metadata are complete when each has the copies that the redundancy factor asks for.
          isCassandraPreparationDone: current >= desired,
          isZookeeperPreparationDone: inService >= Math.min(storing.length, 2 * desired + 1),
        },
      },
    },
    nodes: {
      numberOfNodes: hosts.length,
      nodeList: hosts.map((host) => ({
        nodeUuid: host.extId,
        controllerVmIp: host.controllerVm?.externalAddress,
        hostIp: host.hypervisor?.externalAddress,
      })),
    },
    vmCount: await ctx.store.count(Vm, { filter: equals(pathOf(Vm, 'cluster/extId'), cluster.extId) }),
    backupEligibilityScore: 1 + conditions.filter((met) => met).length,
    ...(expand.has('storageSummary')
      ? {
          storageSummaryProjection: {
            clusterFaultTolerantCapacityInBytes: faultTolerantCapacity(cluster, storing, ctx.drivers.hardware),
          },
        }
      : {}),
  }
}
