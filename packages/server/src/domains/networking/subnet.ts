/** Subnets. Source: behaviour networking.md 1.1, 1.2. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Subnet, subnetOperations } from '@hyperplane/contract/networking/subnet'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import type { AffectedEntity } from '../../core/tasks/define-task.ts'
import { families, hostsOf, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { addressRules } from '../addressing/invariants.ts'
import { formatAddress, overlap } from '../addressing/ip-address.ts'
import { addressOf, isManaged, leasesOutside, ownAddresses, stateOf, syncOwnLeases } from '../addressing/leases.ts'
import { requireController } from '../admission/network-controllers.ts'
import { implement, type WriteContext } from '../context.ts'
import { limit, limitOf } from '../limits.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import { refuseUnlessStanding, refuseWhileChanging } from './busy.ts'
import { inUse } from './in-use.ts'
import { ownedBy, ownerOf } from './metadata.ts'
import {
  configurationOf,
  type SubnetBody,
  type Surroundings,
  subnetFaults,
  surroundingFaults,
  surroundingsOf,
} from './subnet-rules.ts'
import { createSubnetTask, deleteSubnetTask, programmingOf, updateSubnetTask } from './subnet-tasks.ts'
import { refuseWhileAttached, refuseWhileConnected, refuseWhileUsed } from './subnet-users.ts'
import { presentSubnets } from './subnet-view.ts'

const networkIdentifiers = { minimum: 4096, maximum: 16777215 }

/** Source: behaviour networking.md 3.5. */
const maximumSubnets = limit('subnets', 5000)

export const subnet = implement(
  subnetOperations,
  {
    async createSubnet(ctx, { body }) {
      const around = await surroundingsOf(ctx.store, body)
      refuseAll(surroundingFaults(body, around))
      if (around.vpc !== undefined) refuseUnlessStanding('VPC', around.vpc)
      await requireClusterReachable(ctx, around.virtualSwitch?.clusterExtId)
      if (around.isAdvanced === true) await requireAdvanced(ctx, around.virtualSwitch?.clusterExtId)
      const entity: SubnetEntity = {
        extId: ctx.ids.uuid(),
        tenantId: ctx.tenantId,
        ...configurationOf(body, around, ownedBy(ctx.caller)),
        ...(body.subnetType === 'OVERLAY' ? { vni: await freeNetworkIdentifier(ctx) } : {}),
      }
      await refuseOverlap(ctx, entity)
      const maximum = limitOf(ctx, maximumSubnets)
      const found = (await ctx.store.count(Subnet)) + 1
      if (found > maximum) throw new ApiError('NETWORKING_LIMIT_EXCEEDED', { limit: 'Subnets', maximum, found })
      const programming = await programmingOf(ctx.store, entity)
      const task = await ctx.startTask(createSubnetTask, programming, taskOf('Create', entity))
      await ctx.store.insert(Subnet, { ...entity, change: { taskExtId: task.extId, verb: 'create' } })
      await syncOwnLeases(ctx, entity, planOf(entity.ipConfig))
      return { ...task, created: entity.extId }
    },

    async updateSubnetById(ctx, { body }) {
      const stored = ctx.target
      const around = await surroundingsOf(ctx.store, body, stored)
      refuseAll([...stackFaults(body, stored), ...surroundingFaults(body, around)])
      refuseWhileChanging('Subnet', stored)
      await requireClusterReachable(ctx, stored.clusterReference)
      const next = replacementOf(stored, body, around)
      await refuseChangesInUse(ctx, stored, next)
      await refuseOverlap(ctx, next)
      const [before, after] = [await programmingOf(ctx.store, stored), await programmingOf(ctx.store, next)]
      const task = await ctx.startTask(updateSubnetTask, { before, after, entity: next }, taskOf('Update', stored))
      // Lease a new gateway now; the task releases the old one when the update succeeds.
      await syncOwnLeases(ctx, next, planOf(next.ipConfig), true)
      const change = { taskExtId: task.extId, verb: 'update' as const, ipConfig: next.ipConfig ?? [] }
      await ctx.store.update(Subnet, stored.extId, { change })
      return task
    },

    async deleteSubnetById(ctx) {
      const stored = ctx.target
      refuseWhileChanging('Subnet', stored)
      await requireClusterReachable(ctx, stored.clusterReference)
      await refuseWhileUsed(ctx, stored)
      const task = await ctx.startTask(deleteSubnetTask, { extId: stored.extId }, taskOf('Delete', stored))
      await ctx.store.update(Subnet, stored.extId, { change: { taskExtId: task.extId, verb: 'delete' } })
      return task
    },
  },
  {
    rules: {
      createSubnet: ({ body }) => subnetFaults(body),
      updateSubnetById: ({ body }) => subnetFaults(body),
    },
    tasks: [createSubnetTask, updateSubnetTask, deleteSubnetTask],
    present: [[Subnet, presentSubnets]],
    limits: [maximumSubnets],
    invariants: addressRules,
  },
)

/** Locks only the subnet, so that tasks of other subnets of the same switch or VPC do not wait. */
function taskOf(verb: 'Create' | 'Update' | 'Delete', entity: SubnetEntity) {
  const { extId, name, virtualSwitchReference, vpcReference, clusterReference } = entity
  const affected: AffectedEntity[] = [{ extId, name, rel: 'networking:config:subnet' }]
  if (virtualSwitchReference !== undefined) {
    affected.push({ extId: virtualSwitchReference, rel: 'networking:config:virtual-switch' })
  }
  if (vpcReference !== undefined) affected.push({ extId: vpcReference, rel: 'networking:config:vpc' })
  return {
    operation: `kSubnet${verb}`,
    description: `${verb} subnet ${name}`,
    affected,
    locks: [extId],
    ...(entity.subnetType === 'VLAN' && clusterReference !== undefined ? { clusterExtIds: [clusterReference] } : {}),
  }
}

/** The row after this body: server-managed fields stay. */
function replacementOf(stored: SubnetEntity, body: SubnetBody, around: Surroundings): SubnetEntity {
  const { extId, tenantId, vni, isAdvancedNetworking, migrationState, layer2StretchReference } = stored
  const kept = { extId, tenantId, vni, isAdvancedNetworking, migrationState, layer2StretchReference }
  const next = { ...configurationOf(body, around, ownerOf(stored)), ...kept }
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== undefined)) as unknown as SubnetEntity
}

/** @throws ApiError 409 for changes that NICs, attached VPCs or leases prevent */
async function refuseChangesInUse(ctx: WriteContext, stored: SubnetEntity, next: SubnetEntity): Promise<void> {
  if (stored.networkId !== next.networkId || stored.virtualSwitchReference !== next.virtualSwitchReference) {
    await refuseWhileConnected(ctx, stored)
  }
  if (stored.isNatEnabled !== next.isNatEnabled) await refuseWhileAttached(ctx, stored)
  if (!isManaged(stored)) return
  const plan = planOf(next.ipConfig)
  const present = planOf(stored.ipConfig)
  const own = new Set(ownAddresses(present).map(([, address]) => formatAddress(address)))
  const homeless: string[] = []
  for (const family of families) {
    const prefix = plan[family]?.prefix
    // Seven: five for the error, and up to two (gateway, DHCP server) that are skipped because the update moves them.
    const outside = await leasesOutside(ctx.store, stored.extId, family, prefix && hostsOf(prefix), 7)
    for (const lease of outside) {
      const address = formatAddress(addressOf(lease))
      if (!own.has(address)) homeless.push(`${address} (${stateOf[lease.kind!]})`)
    }
  }
  if (homeless.length > 0) throw inUse('subnet', stored.name, homeless.slice(0, 5))
}

/** @throws ApiError 409: overlay subnets of one VPC do not overlap */
async function refuseOverlap(ctx: WriteContext, entity: SubnetEntity): Promise<void> {
  if (entity.vpcReference === undefined) return
  const plan = planOf(entity.ipConfig)
  for (const sibling of await ctx.store.findWhere(Subnet, { vpcReference: entity.vpcReference })) {
    if (sibling.extId === entity.extId) continue
    // A sibling that is being updated holds its old and its new range.
    for (const other of [planOf(sibling.ipConfig), planOf(sibling.change?.ipConfig)]) {
      for (const family of families) {
        const [a, b] = [plan[family]?.prefix, other[family]?.prefix]
        if (a !== undefined && b !== undefined && overlap(a, b)) {
          const fields = `range in the VPC (subnet ${sibling.name} overlaps it)`
          throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: 'subnet', fields })
        }
      }
    }
  }
}

/** A stored subnet without the field is in the basic stack. Only a migration changes the stack. */
function stackFaults(
  { isAdvancedNetworking: given }: SubnetBody,
  { isAdvancedNetworking = false }: SubnetEntity,
): ApiError[] {
  if (given === undefined || given === isAdvancedNetworking) return []
  const attributePath = 'isAdvancedNetworking'
  return [
    new ApiError('IMMUTABLE_ATTRIBUTE', {
      attributePath,
      expected: String(isAdvancedNetworking),
      found: String(given),
    }),
  ]
}

/** @throws ApiError 409 without a controller, or on a cluster without AHV */
async function requireAdvanced(ctx: WriteContext, clusterExtId: string | undefined): Promise<void> {
  const capability = 'SUPPORTS_VLAN_ADVANCED'
  await requireController(ctx.store, capability)
  const cluster = clusterExtId === undefined ? undefined : await ctx.store.get(Cluster, clusterExtId)
  if (cluster?.config?.hypervisorTypes?.includes('AHV') === true) return
  throw new ApiError('CAPABILITY_NOT_SUPPORTED', { capability })
}

/** Random tries: at most a few thousand of 16 million identifiers are in use. */
async function freeNetworkIdentifier(ctx: WriteContext): Promise<number> {
  const { minimum, maximum } = networkIdentifiers
  for (;;) {
    const vni = minimum + Math.floor(ctx.ids.random() * (maximum - minimum + 1))
    if ((await ctx.store.findOne(Subnet, { vni })) === undefined) return vni
  }
}
