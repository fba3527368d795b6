/** Checks the request to deploy another manager, and starts the task. Source: behaviour platform.md 4. */
import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { invalid, refuseAll } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { notFound, rowWithId } from '../../core/standard.ts'
import { created } from '../../core/updates.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import type { WriteContext } from '../context.ts'
import { requireReachable } from '../registrations/reachability.ts'
import { containerForNodes, doesNotFit, hostForNode } from '../scheduling/manager-nodes.ts'
import { hasRoom } from '../storage-space/capacity.ts'
import { addressCount, freeAddresses, networkFaults, nodeCount } from './deploy-plan.ts'
import { deployManager } from './deploy-task.ts'
import { resourcesOf, sizes } from './manager-size.ts'
import type { Manager } from './own-manager.ts'

type Body = BodyOf<typeof DomainManager>

export async function createDomainManager(ctx: WriteContext, body: Body): Promise<TaskStarted> {
  if (body.config.buildInfo.version === undefined) throw invalid('config/buildInfo/version', 'is required')
  const subnet = (await ctx.store.get(Subnet, body.network.externalNetworks[0]?.networkExtId ?? '')) as SubnetEntity
  const cluster = await hostingCluster(ctx, body, subnet)
  const containerExtId = await containerFor(ctx, body, cluster.extId)
  refuseAll(networkFaults(body.network, subnet))
  requireReachable(ctx, cluster)
  // Seeds choose the first id that a creation draws.
  const extId = ctx.ids.uuid()
  const manager: Manager = created(ctx, DomainManager, body, {
    extId,
    config: {
      ...body.config,
      resourceConfig: {
        ...resourcesOf(body.config.size, nodeCount(body)),
        containerExtIds: body.config.resourceConfig?.containerExtIds ?? [containerExtId],
      },
    },
    hostingClusterExtId: cluster.extId,
    isRegisteredWithHostingCluster: false,
    nodeExtIds: Array.from({ length: nodeCount(body) }, () => ctx.ids.uuid()),
    createdTime: ctx.clock.iso(),
  })
  await requireRoom(ctx, manager, subnet)
  await ctx.store.insert(DomainManager, manager, { pending: true })
  return ctx.startTask(
    deployManager,
    { extId: manager.extId },
    {
      operation: 'kDomainManagerDeploymentRequest',
      description: `Deploy the manager ${manager.config.name}`,
      affected: [
        { extId: cluster.extId, name: cluster.name, rel: 'clustermgmt:config:cluster' },
        { extId: manager.extId, name: manager.config.name, rel: 'platform:config:domain_manager' },
      ],
      clusterExtIds: [cluster.extId],
      locks: [manager.extId],
    },
  )
}

async function hostingCluster(ctx: WriteContext, body: Body, subnet: SubnetEntity) {
  const networkPath = 'network/externalNetworks[0]/networkExtId'
  const extId = body.hostingClusterExtId ?? subnet.clusterReference
  if (extId === undefined)
    throw invalid(networkPath, `expected a VLAN of a cluster; "${subnet.name}" is an overlay network`)
  if (subnet.clusterReference !== extId) throw notFound(Subnet, subnet.extId, networkPath)
  return rowWithId(ctx.store, Cluster, extId, 'hostingClusterExtId')
}

async function containerFor(ctx: WriteContext, body: Body, clusterExtId: string): Promise<string> {
  for (const [index, extId] of (body.config.resourceConfig?.containerExtIds ?? []).entries()) {
    const container = await ctx.store.get(StorageContainer, extId)
    if (container?.clusterExtId !== clusterExtId)
      throw notFound(StorageContainer, extId, `config/resourceConfig/containerExtIds[${index}]`)
  }
  return body.config.resourceConfig?.containerExtIds?.[0] ?? (await containerForNodes(ctx.store, clusterExtId))
}

/** @throws ApiError DOMAIN_MANAGER_DOES_NOT_FIT that lists everything that is missing */
async function requireRoom(ctx: WriteContext, manager: Manager, subnet: SubnetEntity): Promise<void> {
  const missing: string[] = []
  const size = sizes[manager.config.size]
  const hosts: string[] = []
  for (let node = 0; node < nodeCount(manager); node++) {
    const choice = await hostForNode(ctx, manager.hostingClusterExtId as string, size, hosts)
    if ('hostExtId' in choice) hosts.push(choice.hostExtId)
    else {
      missing.push(
        `a host for node ${node + 1} of ${nodeCount(manager)} (${choice.reasons.join('; ') || 'no other host'})`,
      )
      break
    }
  }
  const container = manager.config.resourceConfig?.containerExtIds?.[0] as string
  const bytes = manager.config.resourceConfig?.dataDiskSizeBytes ?? 0
  if (!(await hasRoom(ctx, container, bytes))) missing.push(`${bytes} bytes in the storage container`)
  const free = await freeAddresses(ctx.store, subnet, manager, addressCount(manager))
  if (free.length < addressCount(manager))
    missing.push(`${addressCount(manager)} free addresses of the ranges, of which ${free.length} are there`)
  if (missing.length > 0) throw doesNotFit(missing.join('; '))
}
