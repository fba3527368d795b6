/** Source: behaviour networking.md 1.18, 1.22. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { VirtualSwitch, virtualSwitchOperations } from '@hyperplane/contract/networking/virtual-switch'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import { both, pathOf, standardList } from '../../../core/standard.ts'
import { equals } from '../../../odata/index.ts'
import type { Reader } from '../../../store/store.ts'
import { type Broken, implement, type ReadContext, type StepContext, type WriteContext } from '../../context.ts'
import { rowsOf } from '../../invariants/rule.ts'
import { limit, limitOf } from '../../limits.ts'
import { requireClusterReachable, requireReachable } from '../../registrations/reachability.ts'
import { lockOfSwitches } from '../../scheduling/switch-bridges.ts'
import { inUse, namesOf } from '../in-use.ts'
import { invalidField } from '../ip-config.ts'
import { lifecycle, refuseBeyond } from '../lifecycle.ts'
import { configureHosts, removeFromHosts, restoreHosts } from './hosts.ts'
import { type SwitchBody, type SwitchCluster, type SwitchEntity, switchFaults } from './rules.ts'
import { programSubnets, refuseLeavingGuests } from './subnets.ts'
import { bridgeNameOf, freeBridgeName, refuseTaken, uplinkFaults, uplinksOf } from './uplinks.ts'

/** Source: behaviour networking.md 3.5. */
export const maximumSwitches = limit('virtualSwitchesOfCluster', 16)
const maximumUplinks = limit('uplinksOfBond', 10)

interface SwitchReferences {
  readonly cluster: EntityOf<typeof Cluster>
  readonly hosts: readonly EntityOf<typeof Host>[]
}

const switches = lifecycle<SwitchEntity, SwitchBody, SwitchReferences>(VirtualSwitch, {
  phases: [
    {
      create: ['configure hosts', 100],
      update: ['configure hosts', 90],
      delete: ['remove from hosts', 100],
      program: (ctx, entity, before) => configureHosts(ctx, before, entity, before === undefined ? 99 : 90),
      remove: removeOrRestore,
      restore: restoreHosts,
    },
    {
      update: ['program subnets', 100],
      program: programSubnets,
      restore: async (ctx, stored) => void (await programSubnets(ctx, stored)),
    },
  ],
  resolve: resolved,
  configure: async (ctx, { entity, stored, references }) => {
    const cluster = entity.clusters[0] as SwitchCluster
    const uplinks = uplinksOf(ctx, cluster)
    await refuseBeyondLimits(ctx, entity, stored)
    await refuseTaken(ctx, { extId: entity.extId, clusterExtId: cluster.extId }, uplinks)
    const hostExtIds = references.hosts.map(({ extId }) => extId)
    const internalBridgeName =
      stored === undefined ? await freeBridgeName(ctx, cluster.extId, hostExtIds) : bridgeNameOf(stored)
    return {
      clusters: [{ ...cluster, hosts: cluster.hosts.map((host) => ({ ...host, internalBridgeName })) }],
      clusterExtId: cluster.extId,
      uplinks: uplinks.length === 0 ? undefined : uplinks.map(({ key }) => key),
      isDefault: stored?.isDefault ?? false,
      ownerType: 'PC',
      hasDeploymentError: stored?.hasDeploymentError ?? false,
    } as Partial<SwitchEntity>
  },
  async task(_, entity, before) {
    const { extId, hosts } = entity.clusters[0] as SwitchCluster
    const hostExtIds = new Set([...hosts, ...(before?.clusters[0]?.hosts ?? [])].map((host) => host.extId))
    return {
      affected: [{ extId, rel: Cluster.rel }, ...[...hostExtIds].map((host) => ({ extId: host, rel: Host.rel }))],
      clusterExtIds: [extId],
      locks: [lockOfSwitches(extId)],
    }
  },
  held: ({ clusters }) => ({ hostExtIds: clusters[0]?.hosts.map(({ extId }) => extId) }),
  unique: {
    fields: ['name'],
    among: (ctx, { clusterExtId }) => ctx.store.findWhere(VirtualSwitch, { clusterExtId: clusterExtId as string }),
    text: () => 'name on the cluster',
  },
  async refuseRemoval(ctx, stored) {
    if (stored.isDefault === true) throw new ApiError('DEFAULT_VIRTUAL_SWITCH', { change: 'deleted' })
    const users = await ctx.store.referrers(VirtualSwitch.kind, stored.extId)
    if (users.length > 0) throw inUse('virtual switch', stored.name, await namesOf(ctx, users))
    await requireClusterReachable(ctx, stored.clusterExtId)
  },
  // The last phase has a result only if it succeeded.
  settle: async (ctx, { extId }, result) => {
    await ctx.store.observe(VirtualSwitch, extId, { hasDeploymentError: result === undefined })
  },
})

export const virtualSwitch = implement(
  virtualSwitchOperations,
  {
    async listVirtualSwitches(ctx, request) {
      const scope = await ctx.scopeOf('VirtualSwitch')
      if (scope === 'none') return { entities: [], total: 0 }
      const { clusterId } = request.headers
      const ofCluster = clusterId === undefined ? undefined : equals(pathOf(VirtualSwitch, 'clusterExtId'), clusterId)
      const filter = both(request.query.filter, ofCluster)
      const query = { ...request.query, ...(filter === undefined ? {} : { filter }) }
      return standardList(ctx, { ...request, query }, scope ?? 'all')
    },
    createVirtualSwitch: switches.create,
    updateVirtualSwitchById: switches.update,
    deleteVirtualSwitchById: switches.remove,
  },
  {
    rules: {
      createVirtualSwitch: ({ body, headers }) => [
        ...switchFaults(body, headers.clusterId),
        ...(body.isDefault === true
          ? [invalidField('isDefault', 'expected false: the default switch comes with the cluster')]
          : []),
      ],
      updateVirtualSwitchById: ({ body, headers }) => switchFaults(body, headers.clusterId),
    },
    tasks: switches.tasks,
    present: [[VirtualSwitch, withProgress]],
    limits: [maximumSwitches, maximumUplinks],
    invariants: [{ promise: 'A NIC of a host is an uplink of one virtual switch at most', look: uplinksAreDistinct }],
  },
)

async function resolved(
  ctx: WriteContext,
  body: SwitchBody,
  stored: SwitchEntity | undefined,
): Promise<SwitchReferences> {
  const { extId: clusterExtId, hosts: named } = body.clusters[0] as SwitchCluster
  if (stored !== undefined && stored.clusterExtId !== clusterExtId)
    throw new ApiError('NETWORKING_IMMUTABLE_ATTRIBUTE', {
      attributePath: 'clusters[0]/extId',
      expected: stored.clusterExtId as string,
      found: clusterExtId,
    })
  const cluster = (await ctx.store.get(Cluster, clusterExtId)) as EntityOf<typeof Cluster>
  if (cluster.config?.hypervisorTypes?.includes('AHV') !== true)
    throw new ApiError('CAPABILITY_NOT_SUPPORTED', { capability: 'virtual switches' })
  const hosts = await ctx.store.findWhere(Host, { 'cluster/uuid': clusterExtId })
  const hostExtIds = new Set(hosts.map(({ extId }) => extId))
  refuseAll(
    named.flatMap(({ extId }, index) =>
      hostExtIds.has(extId)
        ? []
        : [
            invalidField(
              `clusters[0]/hosts[${index}]/extId`,
              `expected a host of the cluster ${cluster.name}, found ${extId}`,
            ),
          ],
    ),
  )
  refuseAll(uplinkFaults(ctx, body.clusters[0] as SwitchCluster))
  if (stored?.isDefault === true) refuseDefaultChange(body, stored)
  else if (stored !== undefined && body.isDefault === true)
    throw new ApiError('NETWORKING_IMMUTABLE_ATTRIBUTE', {
      attributePath: 'isDefault',
      expected: 'false',
      found: 'true',
    })
  requireReachable(ctx, cluster)
  if (stored !== undefined) await refuseLeavingGuests(ctx, body, stored, hosts)
  return { cluster, hosts }
}

function refuseDefaultChange({ name, clusters }: SwitchBody, stored: SwitchEntity): void {
  const refuse = (change: string): never => {
    throw new ApiError('DEFAULT_VIRTUAL_SWITCH', { change })
  }
  if (name !== stored.name) refuse('renamed')
  if (clusters[0]?.hosts.every(({ hostNics = [] }) => hostNics.length === 0)) refuse('left without uplinks')
}

async function refuseBeyondLimits(
  ctx: WriteContext,
  { clusters }: SwitchEntity,
  stored: SwitchEntity | undefined,
): Promise<void> {
  const { extId, hosts } = clusters[0] as SwitchCluster
  if (stored === undefined) await refuseFurtherSwitch(ctx, extId)
  const most = Math.max(...hosts.map(({ hostNics = [] }) => hostNics.length))
  if (most > limitOf(ctx, maximumUplinks)) refuseBeyond(ctx, maximumUplinks, 'Uplinks on a host', most)
}

export async function refuseFurtherSwitch(ctx: WriteContext, clusterExtId: string): Promise<void> {
  const present = await ctx.store.findWhere(VirtualSwitch, { clusterExtId })
  refuseBeyond(ctx, maximumSwitches, 'Virtual switches of the cluster', present.length + 1)
}

/** A deletion and the undo of a creation both call it. */
async function removeOrRestore(ctx: StepContext, entity: SwitchEntity): Promise<void> {
  if ((await ctx.store.get(VirtualSwitch, entity.extId))?.change?.verb === 'create')
    await restoreHosts(ctx, undefined, entity)
  else await removeFromHosts(ctx, entity)
}

async function withProgress(_: ReadContext, shown: readonly SwitchEntity[]): Promise<readonly SwitchEntity[]> {
  return shown.map((each) => ({
    ...each,
    hasUpdateInProgress: each.change?.verb === 'update',
    hasDeleteInProgress: each.change?.verb === 'delete',
  }))
}

async function* uplinksAreDistinct(store: Reader): AsyncGenerator<Broken> {
  const holders = new Map<string, SwitchEntity>()
  for await (const each of rowsOf(store, VirtualSwitch)) {
    for (const key of each.uplinks ?? []) {
      const holder = holders.get(key)
      if (holder !== undefined)
        yield { about: [holder.extId, each.extId], fault: `${key} is an uplink of ${holder.name} and of ${each.name}` }
      holders.set(key, each)
    }
  }
}
