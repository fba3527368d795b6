/** The network controller of the deployment. Source: behaviour networking.md 1.1, 1.20. */
import { NetworkController, networkControllerOperations } from '@hyperplane/contract/networking/network-controller'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { Tier } from '../../core/access/rate-limit.ts'
import { ApiError } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import type { AffectedEntity } from '../../core/tasks/define-task.ts'
import { replaced } from '../../core/updates.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import type { ControllerEntity } from '../admission/network-controllers.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { growNodes, growthShortfall, type NodeSize } from '../scheduling/manager-nodes.ts'
import { refuseWhileChanging } from './busy.ts'
import { agentHosts, createController, deleteController, updateController } from './controller-tasks.ts'
import { inUse } from './in-use.ts'
import { metadataOf, ownedBy, ownerOf } from './metadata.ts'
import { clashesOf } from './vpc-prefixes.ts'

/** Size of the controller on each node of the manager. */
const sizes: { readonly [tier in Tier]: NodeSize } = {
  xsmall: sizeOf(1),
  small: sizeOf(1),
  large: sizeOf(3),
  xlarge: sizeOf(3),
}
function sizeOf(number: number): NodeSize {
  return { vcpus: number, memoryBytes: number * 1024 ** 3 }
}

const controllerVersions = {
  controllerVersion: '7.6.0',
  minimumAHVVersion: '10.0',
  minimumNOSVersion: '7.0',
} as const

export const networkController = implement(
  networkControllerOperations,
  {
    async createNetworkController(ctx, { body }) {
      const [present] = await ctx.store.find(NetworkController, { limit: 1 })
      if (present !== undefined) throw new ApiError('NETWORK_CONTROLLER_EXISTS', { extId: present.extId })
      const nodes = await ownNodes(ctx.store)
      const growth = sizes[ctx.services.tier]
      const shortfall = await growthShortfall(ctx, nodes, growth)
      if (shortfall !== undefined) throw new ApiError('NETWORK_CONTROLLER_DOES_NOT_FIT', { shortfall })
      const entity: ControllerEntity = {
        ...body,
        extId: ctx.ids.uuid(),
        tenantId: ctx.tenantId,
        metadata: metadataOf(body.metadata, ownedBy(ctx.caller)),
        growth,
      }
      const task = await ctx.startTask(createController, { entity, nodes }, await taskOf(ctx, 'Create', entity))
      await ctx.store.insert(NetworkController, { ...entity, change: { taskExtId: task.extId, verb: 'create' } })
      await growNodes(ctx.store, nodes, growth)
      return { ...task, created: entity.extId }
    },

    async updateNetworkControllerById(ctx, { body }) {
      const stored = ctx.target
      refuseWhileChanging('Network controller', named(stored))
      const { change: _, ...kept } = stored
      const next: ControllerEntity = {
        ...replaced(NetworkController, kept, body, ctx.version),
        defaultVlanStack: body.defaultVlanStack ?? 'LEGACY',
        vpcGlobalConfig: body.vpcGlobalConfig ?? { isOverlappingErpsEnabled: false },
        metadata: metadataOf(body.metadata, ownerOf(stored)),
      }
      if (allowsOverlaps(stored) && !allowsOverlaps(next)) await refuseWhileOverlapping(ctx, stored)
      const input = { before: kept, after: next }
      const task = await ctx.startTask(updateController, input, await taskOf(ctx, 'Update', stored))
      await ctx.store.update(NetworkController, stored.extId, { change: { taskExtId: task.extId, verb: 'update' } })
      return task
    },

    async deleteNetworkControllerById(ctx) {
      const stored = ctx.target
      refuseWhileChanging('Network controller', named(stored))
      const users = await usersOf(ctx.store)
      if (users.length > 0) throw inUse('network controller', stored.extId, users)
      const { growth } = stored
      const input = {
        extId: stored.extId,
        nodes: await ownNodes(ctx.store),
        ...(growth === undefined ? {} : { growth }),
      }
      const task = await ctx.startTask(deleteController, input, await taskOf(ctx, 'Delete', stored))
      await ctx.store.update(NetworkController, stored.extId, { change: { taskExtId: task.extId, verb: 'delete' } })
      return task
    },
  },
  {
    tasks: [createController, updateController, deleteController],
    present: [[NetworkController, presentControllers]],
  },
)

async function presentControllers(
  { drivers }: ReadContext,
  controllers: readonly ControllerEntity[],
): Promise<readonly ControllerEntity[]> {
  const stateOf = (extId: string) => drivers.networkFabric.controllerState(extId)
  return Promise.all(
    controllers.map(async (each) => ({
      ...each,
      ...controllerVersions,
      controllerStatus: await stateOf(each.extId),
    })),
  )
}

/** Error messages show the id, because a controller has no name. */
const named = (controller: ControllerEntity) => ({ ...controller, name: controller.extId })

const allowsOverlaps = ({ vpcGlobalConfig }: ControllerEntity): boolean =>
  vpcGlobalConfig?.isOverlappingErpsEnabled === true

async function ownNodes(store: Reader): Promise<readonly string[]> {
  return (await store.findOne(DomainManager, { isOwn: true }))?.nodeExtIds ?? []
}

async function taskOf(ctx: WriteContext, verb: 'Create' | 'Update' | 'Delete', { extId }: ControllerEntity) {
  const clusters = [...new Set((await agentHosts(ctx.store)).map((host) => host.cluster.uuid))]
  const affected: AffectedEntity[] = [
    { extId, rel: 'networking:config:network-controller' },
    ...clusters.map((cluster) => ({ extId: cluster, rel: 'clustermgmt:config:cluster' })),
  ]
  return {
    operation: `kNetworkController${verb}`,
    description: `${verb} network controller`,
    affected,
    locks: [extId],
    clusterExtIds: clusters,
  }
}

async function usersOf(store: Reader): Promise<readonly string[]> {
  const overlay = { filter: equals(pathOf(Subnet, 'subnetType'), 'OVERLAY') }
  const advanced = { filter: equals(pathOf(Subnet, 'isAdvancedNetworking'), true), limit: 6 }
  const users = [...(await store.find(Vpc, { limit: 6 })).map(({ name }) => `VPC ${name}`)]
  for (const { name } of [
    ...(await store.find(Subnet, { ...overlay, limit: 6 })),
    ...(await store.find(Subnet, advanced)),
  ])
    users.push(`subnet ${name}`)
  return [...new Set(users)]
}

async function refuseWhileOverlapping(ctx: WriteContext, controller: ControllerEntity): Promise<void> {
  const clashes = new Set<string>()
  for (const vpc of await ctx.store.find(Vpc)) {
    if ((await clashesOf(ctx.store, vpc)).length > 0) clashes.add(`VPC ${vpc.name}, whose prefixes overlap`)
  }
  if (clashes.size > 0)
    throw inUse('setting isOverlappingErpsEnabled of the controller', controller.extId, [...clashes])
}
