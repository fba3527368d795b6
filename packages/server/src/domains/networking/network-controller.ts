/** Source: behaviour networking.md 1.1, 1.20. */
import type { BodyOf } from '@hyperplane/contract'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { NetworkController, networkControllerOperations } from '@hyperplane/contract/networking/network-controller'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { Tier } from '../../core/access/rate-limit.ts'
import { ApiError } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import type { ControllerEntity } from '../admission/network-controllers.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { growNodes, growthShortfall, type NodeSize } from '../scheduling/manager-nodes.ts'
import { agentHosts, controllerPhases } from './controller-tasks.ts'
import { vpcOf } from './gateway/entity.ts'
import { inUse, shownUsers, type User } from './in-use.ts'
import { lifecycle } from './lifecycle.ts'
import { clashesOf } from './vpc-prefixes.ts'

type ControllerBody = BodyOf<typeof NetworkController>

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

const controllers = lifecycle<ControllerEntity, ControllerBody, undefined>(NetworkController, {
  phases: controllerPhases,
  resolve: async () => undefined,
  configure: (ctx, { entity, stored }) => (stored === undefined ? deployed(ctx) : reconfigured(ctx, entity, stored)),
  async task({ store }) {
    const clusterExtIds = [...new Set((await agentHosts(store)).map((host) => host.cluster.uuid))]
    return { affected: clusterExtIds.map((extId) => ({ extId, rel: 'clustermgmt:config:cluster' })), clusterExtIds }
  },
  async refuseRemoval(ctx, { extId }) {
    const users = await usersOf(ctx.store)
    if (users.length > 0) throw inUse('network controller', extId, await shownUsers(ctx, users))
  },
  async release({ store }, { growth }) {
    if (growth === undefined) return
    const { vcpus, memoryBytes } = growth
    await growNodes(store, await ownNodes(store), { vcpus: -vcpus, memoryBytes: -memoryBytes })
  },
})

export const networkController = implement(
  networkControllerOperations,
  {
    createNetworkController: controllers.create,
    updateNetworkControllerById: controllers.update,
    deleteNetworkControllerById: controllers.remove,
  },
  { tasks: controllers.tasks, present: [[NetworkController, presentControllers]] },
)

/** The first controller, which enlarges the nodes of the manager. @throws ApiError 409 */
async function deployed(ctx: WriteContext) {
  const [present] = await ctx.store.find(NetworkController, { limit: 1 })
  if (present !== undefined) throw new ApiError('NETWORK_CONTROLLER_EXISTS', { extId: present.extId })
  const nodes = await ownNodes(ctx.store)
  const growth = sizes[ctx.services.tier]
  const shortfall = await growthShortfall(ctx, nodes, growth)
  if (shortfall !== undefined) throw new ApiError('NETWORK_CONTROLLER_DOES_NOT_FIT', { shortfall })
  await growNodes(ctx.store, nodes, growth)
  return { growth }
}

async function reconfigured(ctx: WriteContext, next: ControllerEntity, stored: ControllerEntity) {
  if (allowsOverlaps(stored) && !allowsOverlaps(next)) await refuseWhileOverlapping(ctx, stored)
  const { defaultVlanStack = 'LEGACY', vpcGlobalConfig = { isOverlappingErpsEnabled: false } } = next
  return { defaultVlanStack, vpcGlobalConfig }
}

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

const allowsOverlaps = ({ vpcGlobalConfig }: ControllerEntity): boolean =>
  vpcGlobalConfig?.isOverlappingErpsEnabled === true

async function ownNodes(store: Reader): Promise<readonly string[]> {
  return (await store.findOne(DomainManager, { isOwn: true }))?.nodeExtIds ?? []
}

async function usersOf(store: Reader): Promise<readonly User[]> {
  const overlay = { filter: equals(pathOf(Subnet, 'subnetType'), 'OVERLAY') }
  const advanced = { filter: equals(pathOf(Subnet, 'isAdvancedNetworking'), true), limit: 6 }
  const subnets = [...(await store.find(Subnet, { ...overlay, limit: 6 })), ...(await store.find(Subnet, advanced))]
  // Gateways of VPCs are deleted before their VPC.
  const gateways = (await store.find(Gateway)).filter(
    (each) => each.vmReference !== undefined && vpcOf(each) === undefined,
  )
  return [
    ...(await store.find(Vpc, { limit: 6 })).map((entity) => ({ kind: Vpc, entity })),
    ...new Map(subnets.map((entity) => [entity.extId, { kind: Subnet, entity }])).values(),
    ...gateways.map((entity) => ({ kind: Gateway, entity })),
  ]
}

async function refuseWhileOverlapping(ctx: WriteContext, controller: ControllerEntity): Promise<void> {
  const clashes: User[] = []
  for (const vpc of await ctx.store.find(Vpc)) {
    if ((await clashesOf(ctx.store, vpc)).length > 0)
      clashes.push({ kind: Vpc, entity: vpc, text: `VPC ${vpc.name}, whose prefixes overlap` })
  }
  if (clashes.length === 0) return
  const users = await shownUsers(ctx, clashes)
  throw inUse('setting isOverlappingErpsEnabled of the controller', controller.extId, users)
}
