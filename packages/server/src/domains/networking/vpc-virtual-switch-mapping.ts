/** Source: behaviour networking.md 1.20, 1.22. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import {
  VpcVirtualSwitchMapping,
  vpcVirtualSwitchMappingOperations,
} from '@hyperplane/contract/networking/vpc-virtual-switch-mapping'
import { refuseAll } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { created } from '../../core/updates.ts'
import type { Reader } from '../../store/store.ts'
import { requireCapability } from '../admission/cluster-capabilities.ts'
import {
  type Broken,
  defineTask,
  implement,
  type RecordContext,
  type StepContext,
  type WriteContext,
} from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import type { MappingEntity } from '../scheduling/overlay-switches.ts'
import { refuseWhileChanging } from './busy.ts'
import { invalidField } from './ip-config.ts'
import { metadataOf, ownerMetadata, ownerOf } from './metadata.ts'
import { refuseReservingForVpcs } from './reserved-switches.ts'
import { programOverlaySubnets } from './subnet-tasks.ts'

type SwitchEntity = EntityOf<typeof VirtualSwitch>

/** `before`: absent when the cluster has no mapping yet. */
interface Mapped {
  readonly after: MappingEntity
  readonly before?: MappingEntity
}

interface Mapping {
  readonly mappings: readonly Mapped[]
}

const reroute = defineTask<Mapping>({
  name: 'networking.map-vpc-switches',
  steps: [
    {
      name: 're-route tunnels',
      progress: 80,
      seconds: [1.6, 2.8],
      times: async (_, { mappings }) => mappings.length,
      async run(ctx, { mappings }) {
        for (const [index, { after }] of mappings.entries()) {
          await carry(ctx, after)
          await ctx.progress(Math.floor((80 * (index + 1)) / mappings.length))
        }
      },
      async record({ store }, { mappings }) {
        for (const { after } of mappings) await store.replace(VpcVirtualSwitchMapping, after)
      },
      async undo(ctx, { mappings }) {
        for (const { after, before } of mappings.toReversed())
          await (before === undefined
            ? ctx.drivers.networkFabric.carryOverlayByDefault(after.clusterExtId!)
            : carry(ctx, before))
      },
      async unrecord({ store }, { mappings }) {
        for (const { before } of mappings)
          if (before !== undefined) await store.replace(VpcVirtualSwitchMapping, before)
      },
    },
    { name: 'program overlay subnets', run: programOverlaySubnets },
  ],
  onUndone: endUnmapped,
})

export const vpcVirtualSwitchMapping = implement(
  vpcVirtualSwitchMappingOperations,
  {
    async createVpcVirtualSwitchMapping(ctx, { body }) {
      const mappings = await plannedFor(ctx, body)
      for (const { after, before } of mappings) {
        await requireClusterReachable(ctx, after.clusterExtId)
        await requireCapability(ctx.store, after.clusterExtId, 'SUPPORTS_OVERLAY')
        if (before !== undefined) refuseWhileChanging('VPC virtual switch mapping', { ...before, name: before.extId })
      }
      const ids = mappings.map(({ after }) => after.extId)
      const task = await ctx.startTask(
        reroute,
        { mappings },
        {
          operation: 'kVpcVirtualSwitchMappingUpdate',
          description: 'Map VPC traffic to virtual switches',
          affected: ids.map((extId) => ({ extId, rel: VpcVirtualSwitchMapping.rel })),
          locks: ids,
          clusterExtIds: mappings.map(({ after }) => after.clusterExtId!),
        },
      )
      for (const mapped of mappings) await markChanging(ctx, mapped, task.extId)
      return { ...task, created: ids[0]! }
    },
  },
  {
    tasks: [reroute],
    invariants: [{ promise: 'VPC traffic of a cluster is mapped to a switch of that cluster', look }],
  },
)

type Body = readonly BodyOf<typeof VpcVirtualSwitchMapping>[]

/** One for each cluster that the body names. @throws ApiError 400, 409 while a switch changes */
async function plannedFor(ctx: WriteContext, body: Body): Promise<readonly Mapped[]> {
  const seen = new Set<string>()
  const faults: ReturnType<typeof invalidField>[] = []
  const planned: Mapped[] = []
  for (const [index, item] of body.entries()) {
    const virtualSwitch = (await ctx.store.get(VirtualSwitch, item.virtualSwitchUuid))!
    refuseWhileChanging('Virtual switch', virtualSwitch)
    const own = clustersOf(virtualSwitch)
    for (const [at, clusterExtId] of (item.clusterUuids ?? own).entries()) {
      const path = item.clusterUuids === undefined ? `[${index}]/virtualSwitchUuid` : `[${index}]/clusterUuids[${at}]`
      if (!own.includes(clusterExtId))
        faults.push(
          invalidField(path, `expected a cluster of the virtual switch, ${own.join(', ')}, found ${clusterExtId}`),
        )
      else if (seen.has(clusterExtId))
        faults.push(invalidField(path, `expected each cluster once, found ${clusterExtId} again`))
      seen.add(clusterExtId)
      const mapped = await mappedOf(ctx, item, clusterExtId)
      if (own.includes(clusterExtId)) await refuseReservingForVpcs(ctx, mapped.after, virtualSwitch)
      planned.push(mapped)
    }
  }
  refuseAll(faults)
  return planned
}

async function mappedOf(ctx: WriteContext, item: Body[number], clusterExtId: string): Promise<Mapped> {
  const before = await ctx.store.findOne(VpcVirtualSwitchMapping, { clusterExtId })
  const fresh = created(ctx, VpcVirtualSwitchMapping, item)
  const owner = before === undefined ? ownerMetadata(ctx.caller) : ownerOf(before)
  const after: MappingEntity = {
    ...fresh,
    ...(before !== undefined && { extId: before.extId, tenantId: before.tenantId }),
    clusterUuids: [clusterExtId],
    clusterExtId,
    metadata: metadataOf(fresh.metadata, owner),
  }
  return defined({ after, before })
}

async function markChanging(ctx: WriteContext, { after, before }: Mapped, taskExtId: string): Promise<void> {
  const { extId, virtualSwitchUuid } = after
  if (before === undefined)
    await ctx.store.insert(VpcVirtualSwitchMapping, { ...after, change: { taskExtId, verb: 'create' } })
  else
    await ctx.store.update(VpcVirtualSwitchMapping, extId, { change: { taskExtId, verb: 'update', virtualSwitchUuid } })
}

const clustersOf = ({ clusters }: SwitchEntity): readonly string[] => clusters.map(({ extId }) => extId)

async function carry(ctx: StepContext, mapping: MappingEntity): Promise<void> {
  const { virtualSwitchUuid, isAllTrafficPermitted = false } = mapping
  const clusterExtId = mapping.clusterExtId!
  const found = await ctx.store.get(VirtualSwitch, virtualSwitchUuid)
  const hosts = found?.clusters.find(({ extId }) => extId === clusterExtId)?.hosts ?? []
  await ctx.drivers.networkFabric.carryOverlay({
    clusterExtId,
    virtualSwitchExtId: virtualSwitchUuid,
    hostExtIds: hosts.map(({ extId }) => extId),
    isAllTrafficPermitted,
  })
}

async function endUnmapped({ store }: RecordContext, { mappings }: Mapping): Promise<void> {
  for (const { after, before } of mappings) {
    if (!(await store.has(VpcVirtualSwitchMapping, after.extId))) continue
    if (before === undefined) await store.remove(VpcVirtualSwitchMapping, after.extId)
    else await store.update(VpcVirtualSwitchMapping, after.extId, { change: undefined })
  }
}

async function* look(store: Reader): AsyncGenerator<Broken> {
  for await (const { extId, clusterExtId, virtualSwitchUuid } of rowsOf(store, VpcVirtualSwitchMapping)) {
    const found = await store.get(VirtualSwitch, virtualSwitchUuid)
    if (found !== undefined && clustersOf(found).includes(clusterExtId!)) continue
    const cluster = await store.get(Cluster, clusterExtId!)
    yield { about: [extId, virtualSwitchUuid], fault: `the switch of the mapping of "${cluster?.name}" is elsewhere` }
  }
}
