/** Source: behaviour networking.md 1.6, 1.22. */
import { Route, routeOperations } from '@hyperplane/contract/networking/route'
import { RouteTable } from '@hyperplane/contract/networking/route-table'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { ApiError } from '../../core/api-error.ts'
import { formatPrefix } from '../../core/ip-address.ts'
import { listOf } from '../../core/standard.ts'
import type { RouteProgram } from '../../drivers/virtual-routing.ts'
import { affected, implement, mayRefer, parentOf, type ReadContext, type WriteContext } from '../context.ts'
import { limit } from '../limits.ts'
import { refuseDuringCreationOrDeletion } from './busy.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { invalidField } from './ip-config.ts'
import { prefixOfSubnet, writeSubnetAsGiven } from './ip-subnet.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'
import {
  connectionTowards,
  coveringSubnet,
  fabricNexthop,
  type Reach,
  type RouteBody,
  type RouteEntity,
  reachOf,
  requireVisibleNexthop,
  routeFaults,
  storedNexthop,
  subnetTowards,
} from './route-nexthop.ts'
import { comparable, routesOfTable } from './route-table-view.ts'

/** Static routes of a table. Source: behaviour networking.md 3.5. */
const maximumRoutes = limit('routesOfTable', 1000)
export const staticPriority = 32768

interface RouteReferences {
  readonly vpc: VpcEntity
  readonly reach: Reach
}

const routes = lifecycle<RouteEntity, RouteBody, RouteReferences>(Route, {
  phases: [
    {
      create: ['install route', 100, [0.2, 0.45]],
      update: ['replace route', 100, [0.2, 0.45]],
      delete: ['remove route', 100, [0.2, 0.45]],
      program: (ctx, route) => ctx.drivers.networkFabric.installRoute(routeProgramOf(route)),
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeRoute(extId),
    },
  ],
  async resolve(ctx, body, stored) {
    if (stored !== undefined) refuseDerived(stored)
    await requireVisibleNexthop(ctx, body)
    const vpc = await vpcOf(ctx)
    const { vpcReference } = body
    if (vpcReference !== undefined && vpcReference !== vpc.extId)
      throw invalidField('vpcReference', `expected the VPC of the route table, ${vpc.extId}, found ${vpcReference}`)
    return { vpc, reach: await reachOf(ctx.store, vpc) }
  },
  async configure(ctx, { body, references: { vpc, reach }, stored }) {
    const table = tableOf(ctx)
    const destination = prefixOfSubnet(body.destination!)
    const isTunneled = body.nexthop?.nexthopType === 'VPN_CONNECTION'
    const through = isTunneled
      ? { connectionReference: (await connectionTowards(ctx.store, body, vpc)).extId }
      : { subnetReference: subnetTowards(body, reach).extId }
    const covering = coveringSubnet(destination, reach)
    if (covering !== undefined) {
      const name = (await mayRefer(ctx, Subnet, covering)) ? `the subnet ${covering.name}` : 'a subnet of the VPC'
      const fields = `destination (${formatPrefix(destination)} belongs to ${name})`
      throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: 'route', fields })
    }
    if (stored === undefined) {
      const found = (await ctx.store.findWhere(Route, { routeTableReference: table.extId })).length + 1
      refuseBeyond(ctx, maximumRoutes, `Static routes of VPC ${vpc.name}`, found)
    }
    const nexthop = storedNexthop(body.nexthop!)
    const { subnetExtId, connectionExtId, address } = fabricNexthop(nexthop)
    return {
      destination: writeSubnetAsGiven(body.destination!),
      nexthop,
      priority: staticPriority,
      routeTableReference: table.extId,
      vpcReference: vpc.extId,
      subnetReference: undefined,
      connectionReference: undefined,
      ...through,
      destinationAndNexthop: `${formatPrefix(destination)} ${subnetExtId ?? connectionExtId ?? address}`,
    }
  },
  // Public clients expect the VPC as the owner.
  owner: ({ references: { vpc } }) => ({ ownerReferenceId: vpc.extId }),
  async task(ctx) {
    return { affected: [affected(Vpc, await vpcOf(ctx))] }
  },
  unique: {
    fields: ['destinationAndNexthop'],
    among: (ctx, { routeTableReference }) => ctx.store.findWhere(Route, { routeTableReference: routeTableReference! }),
    text: () => 'destination and nexthop in the route table',
  },
  refuseRemoval: async (_, stored) => refuseDerived(stored),
})

export const route = implement(
  routeOperations,
  {
    async listRoutesByRouteTableId(ctx, request) {
      return listOf((await routesOfTable(ctx, tableOf(ctx))).map(comparable), request)
    },
    async getRouteForRouteTableById(ctx, { path }) {
      // The pipeline found it already.
      return (await routesOfTable(ctx, tableOf(ctx))).find(({ extId }) => extId === path.extId) as RouteEntity
    },
    createRouteForRouteTable: routes.create,
    updateRouteForRouteTableById: routes.update,
    deleteRouteForRouteTableById: routes.remove,
  },
  {
    rules: {
      createRouteForRouteTable: ({ body, path }) => [
        ...(body.routeType === 'STATIC' ? [] : [invalidField('routeType', `expected STATIC, found ${body.routeType}`)]),
        ...tableFaults(body, path.routeTableExtId),
        ...routeFaults(body),
      ],
      updateRouteForRouteTableById: ({ body }) => routeFaults(body),
    },
    tasks: routes.tasks,
    computed: [
      [
        Route,
        async (ctx, extId) => {
          const table = ctx.parents['routeTableExtId'] as Parameters<typeof routesOfTable>[1]
          return (await routesOfTable(ctx, table)).find((each) => each.extId === extId)
        },
      ],
    ],
    limits: [maximumRoutes],
  },
)

export const routeProgramOf = ({ extId, vpcReference, destination, nexthop }: RouteEntity): RouteProgram => ({
  extId,
  vpcExtId: vpcReference as string,
  prefix: formatPrefix(prefixOfSubnet(destination!)),
  nexthop: fabricNexthop(nexthop!),
})

const tableFaults = ({ routeTableReference }: RouteBody, expected: string): readonly ApiError[] =>
  routeTableReference === undefined || routeTableReference === expected
    ? []
    : [invalidField('routeTableReference', `expected the table of the path, ${expected}, found ${routeTableReference}`)]

const tableOf = (ctx: Pick<ReadContext, 'operation' | 'parents'>) => parentOf(ctx, 'routeTableExtId', RouteTable)

/** @throws ApiError 409 while the VPC is being created or deleted */
async function vpcOf(ctx: WriteContext): Promise<VpcEntity> {
  const vpc = (await ctx.store.get(Vpc, tableOf(ctx).vpcReference as string)) as VpcEntity
  refuseDuringCreationOrDeletion('VPC', vpc)
  return vpc
}

/** @throws ApiError 409 for LOCAL and DYNAMIC routes */
function refuseDerived({ routeType, destination, nexthop }: RouteEntity): void {
  if (routeType === 'STATIC') return
  const source = nexthop?.nexthopType === 'VPN_CONNECTION' ? 'VPN connection' : 'BGP session'
  throw new ApiError('ROUTE_OF_THE_SYSTEM', {
    destination: formatPrefix(prefixOfSubnet(destination!)),
    routeType,
    source: routeType === 'LOCAL' ? 'subnet' : source,
  })
}
