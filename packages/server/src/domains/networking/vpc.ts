/** Source: behaviour networking.md 1.1, 1.5. */
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { FloatingIp } from '@hyperplane/contract/networking/floating-ip'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Route } from '@hyperplane/contract/networking/route'
import { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc, vpcOperations } from '@hyperplane/contract/networking/vpc'
import { ApiError } from '../../core/api-error.ts'
import { created, replaced } from '../../core/updates.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { floatingIpsInVpc } from '../addressing/floating-ips.ts'
import { leasesOf } from '../addressing/leases.ts'
import { requireController } from '../admission/network-controllers.ts'
import { type AffectedEntity, bodyRules, implement, type ReadContext, type WriteContext } from '../context.ts'
import { limit, limitOf } from '../limits.ts'
import { refuseWhileChanging } from './busy.ts'
import { followGateways } from './follow-gateways.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { inUse, nameFor, namesOf, shownUsers, type User, visibleReferrers } from './in-use.ts'
import { metadataOf, ownerMetadata, ownerOf } from './metadata.ts'
import { defaultPolicyOf } from './policy-program.ts'
import { attachingOf, connectExternalSubnets, subnetsBetween } from './vpc-attachments.ts'
import { clashesOf } from './vpc-prefixes.ts'
import { vpcConfigurationOf, vpcFaults } from './vpc-rules.ts'
import { createVpcTask, deleteVpcTask, translatedBy, updateVpcTask } from './vpc-tasks.ts'

/** Source: behaviour networking.md 3.5. */
const maximumVpcs = limit('vpcs', 500)

/** Kinds that are deleted together with their VPC. */
const parts: ReadonlySet<string> = new Set(['Route', 'RouteTable', 'RoutingPolicy'])

export const vpc = implement(
  vpcOperations,
  {
    async createVpc(ctx, { body }) {
      const extId = ctx.ids.uuid()
      const attaching = await attachingOf(ctx, extId, body)
      await requireController(ctx.store, 'VPCs')
      await refuseBeyondLimit(ctx)
      const owner = ownerMetadata(ctx.caller)
      const entity: VpcEntity = created(ctx, Vpc, body, {
        ...vpcConfigurationOf(body),
        extId,
        metadata: metadataOf(body.metadata, owner),
        externalSubnets: await connectExternalSubnets(ctx, extId, attaching, []),
      })
      await refuseClashes(ctx, entity)
      const { tenantId, externalRoutingDomainReference } = entity
      const routeTable = {
        extId: ctx.ids.uuid(),
        tenantId: ctx.tenantId,
        vpcReference: extId,
        metadata: owner,
        ...(externalRoutingDomainReference === undefined ? {} : { externalRoutingDomainReference }),
      }
      const defaultPolicy = defaultPolicyOf({ extId, ...(tenantId && { tenantId }) }, ctx.ids.uuid(), owner)
      const input = { entity, routeTable, defaultPolicy }
      const task = await ctx.startTask(createVpcTask, input, await taskOf(ctx, 'Create', entity, undefined))
      await ctx.store.insert(Vpc, { ...entity, change: { taskExtId: task.extId, verb: 'create' } })
      return { ...task, created: extId }
    },

    async updateVpcById(ctx, { body }) {
      const stored = ctx.target
      const attaching = await attachingOf(ctx, stored.extId, body)
      refuseWhileChanging('VPC', stored)
      const { change: _, ...before } = stored
      const after: VpcEntity = {
        ...replaced(Vpc, before, body, ctx.version),
        ...vpcConfigurationOf(body),
        metadata: metadataOf(body.metadata, ownerOf(stored)),
        externalSubnets: await connectExternalSubnets(ctx, stored.extId, attaching, before.externalSubnets ?? []),
      }
      await refuseDetaching(ctx, before, after)
      await refuseClashes(ctx, after)
      const task = await ctx.startTask(updateVpcTask, { before, after }, await taskOf(ctx, 'Update', before, after))
      const { externalSubnets = [], externallyRoutablePrefixes = [] } = after
      const held = { externalSubnets, externallyRoutablePrefixes }
      await ctx.store.update(Vpc, stored.extId, { change: { taskExtId: task.extId, verb: 'update', ...held } })
      return task
    },

    async deleteVpcById(ctx) {
      const stored = ctx.target
      refuseWhileChanging('VPC', stored)
      const users = await visibleReferrers(ctx, 'Vpc', stored.extId, (kind) => !parts.has(kind))
      if (users.length > 0) throw inUse('VPC', stored.name, await namesOf(ctx, users))
      // Policies and routes are deleted with the VPC, but not while a task is changing one of them.
      const policies = await ctx.store.findWhere(RoutingPolicy, { vpcExtId: stored.extId })
      for (const policy of policies) refuseWhileChanging('Routing policy', policy)
      const routes = await ctx.store.findWhere(Route, { vpcReference: stored.extId })
      for (const route of routes) refuseWhileChanging('Route', { ...route, name: nameOfRoute(route) })
      const task = await ctx.startTask(
        deleteVpcTask,
        { entity: stored },
        await taskOf(ctx, 'Delete', stored, undefined),
      )
      await ctx.store.update(Vpc, stored.extId, { change: { taskExtId: task.extId, verb: 'delete' } })
      return task
    },
  },
  {
    rules: bodyRules('createVpc, updateVpcById', vpcFaults),
    tasks: [createVpcTask, updateVpcTask, deleteVpcTask],
    present: [[Vpc, presentVpcs]],
    schedules: [followGateways],
    limits: [maximumVpcs],
  },
)

const maximumShown = 2

async function presentVpcs(ctx: ReadContext, vpcs: readonly VpcEntity[]): Promise<readonly VpcEntity[]> {
  ctx.followsStore()
  return Promise.all(
    vpcs.map(async (each) => {
      const snatIps = (await translatedBy(ctx.store, each)).slice(0, maximumShown)
      return snatIps.length === 0 ? each : { ...each, snatIps }
    }),
  )
}

/** Locks only the VPC, so that tasks of its subnets and of other VPCs do not wait. */
async function taskOf(
  ctx: WriteContext,
  verb: 'Create' | 'Update' | 'Delete',
  vpc: VpcEntity,
  after: VpcEntity | undefined,
) {
  const changed = await ctx.store.getMany(Subnet, subnetsBetween(vpc, after))
  const affected: AffectedEntity[] = [
    { extId: vpc.extId, name: vpc.name, rel: 'networking:config:vpc' },
    ...changed.map(({ extId, name }) => ({ extId, name, rel: 'networking:config:subnet' })),
  ]
  return { operation: `kVpc${verb}`, description: `${verb} VPC ${vpc.name}`, affected, locks: [vpc.extId] }
}

async function refuseBeyondLimit(ctx: WriteContext): Promise<void> {
  const maximum = limitOf(ctx, maximumVpcs)
  const found = (await ctx.store.count(Vpc)) + 1
  if (found > maximum) throw new ApiError('NETWORKING_LIMIT_EXCEEDED', { limit: 'VPCs', maximum, found })
}

/** @throws ApiError 409 for prefixes that overlap those of another VPC on the same external subnet */
async function refuseClashes(ctx: WriteContext, vpc: VpcEntity): Promise<void> {
  const { vpcGlobalConfig } = await requireController(ctx.store, 'VPCs')
  if (vpcGlobalConfig?.isOverlappingErpsEnabled === true) return
  const [clash] = await clashesOf(ctx.store, vpc)
  if (clash === undefined) return
  const fields = `externally routable prefix on the external subnet (${await nameFor(ctx, Vpc, clash.vpc)} overlaps ${clash.prefix})`
  throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: 'VPC', fields })
}

/** @throws ApiError 409 that names the routes, BGP sessions and floating IPs on a subnet that the update detaches */
async function refuseDetaching(ctx: WriteContext, before: VpcEntity, after: VpcEntity): Promise<void> {
  const staying = new Set((after.externalSubnets ?? []).map(({ subnetReference }) => subnetReference))
  const detached = (before.externalSubnets ?? []).flatMap((each) =>
    staying.has(each.subnetReference) ? [] : each.subnetReference,
  )
  for (const subnet of await ctx.store.getMany(Subnet, detached)) {
    const users = [...(await gatewayUsersOf(ctx, before.extId, subnet))]
    for (const route of await ctx.store.find(Route, { refersTo: { kind: Subnet.kind, extId: subnet.extId } }))
      if (route.vpcReference === before.extId) users.push({ kind: Route, entity: route })
    for (const entity of await floatingIpsInVpc(ctx.store, before.extId))
      if (entity.externalSubnetReference === subnet.extId) users.push({ kind: FloatingIp, entity })
    if (users.length > 0) throw inUse('attachment to the subnet', subnet.name, await shownUsers(ctx, users))
  }
}

const nameOfRoute = ({ name, extId }: { readonly name?: string; readonly extId: string }): string => name ?? extId

/** Gateways with an address in the subnet, and the BGP sessions of gateways if the subnet is without NAT. */
async function gatewayUsersOf(
  ctx: WriteContext,
  vpcExtId: string,
  { extId: subnetExtId, isNatEnabled }: SubnetEntity,
): Promise<readonly User[]> {
  const users: User[] = []
  for (const entity of await ctx.store.find(Gateway, { refersTo: { kind: 'Vpc', extId: vpcExtId } })) {
    const { extId } = entity
    const leases = await leasesOf(ctx.store, extId)
    if (leases.some((lease) => lease.subnetExtId === subnetExtId)) users.push({ kind: Gateway, entity })
    if (isNatEnabled === true) continue
    const sessions = await ctx.store.find(BgpSession, { refersTo: { kind: 'Gateway', extId } })
    users.push(...sessions.map((session) => ({ kind: BgpSession, entity: session })))
  }
  return users
}
