/** All routes of a VPC: rows of static routes, and what the fabric derives. Source: behaviour networking.md 1.6. */
import type { EntityOf } from '@hyperplane/contract'
import { Route } from '@hyperplane/contract/networking/route'
import type { RouteTable } from '@hyperplane/contract/networking/route-table'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { matchesScope } from '../../core/access/scope.ts'
import { routeId } from '../../core/ids/named-id.ts'
import { formatPrefix, parseHost, parsePrefix, writeAddress } from '../../core/ip-address.ts'
import type { TableRoute } from '../../drivers/virtual-routing.ts'
import type { ReadContext } from '../context.ts'
import { prefixOfSubnet, writeSubnet } from './ip-subnet.ts'
import { type Named, type RouteEntity, shownNexthop } from './route-nexthop.ts'

type Table = EntityOf<typeof RouteTable>
/** Without `scopeOf` everything is seen. */
type Viewing = Pick<ReadContext, 'store' | 'drivers'> & Partial<Pick<ReadContext, 'scopeOf'>>

export async function routesOfTable(ctx: Viewing, table: Table): Promise<readonly RouteEntity[]> {
  const programmed = await ctx.drivers.networkFabric.routesOf(table.vpcReference as string)
  const rows = await ctx.store.findWhere(Route, { routeTableReference: table.extId })
  const active = new Set(programmed.flatMap(({ sourceExtId, isActive }) => (isActive ? sourceExtId : [])))
  const named = await namedOf(ctx, rows, programmed)
  const fixed = rows.map((row) => ({
    ...row,
    nexthop: shownNexthop(row.nexthop!, prefixOfSubnet(row.destination!), named.get(row.nexthop!.nexthopReference!)),
    isActive: active.has(row.extId),
  }))
  return [...fixed, ...programmed.flatMap((route) => derived(table, route, named))]
}

/** Only visible subnets and connections: nexthops repeat their names and gateways. */
async function namedOf(
  { store, scopeOf }: Viewing,
  rows: readonly RouteEntity[],
  programmed: readonly TableRoute[],
): Promise<ReadonlyMap<string, Named>> {
  const extIds = [
    ...rows.map(({ nexthop }) => nexthop?.nexthopReference),
    ...programmed.map(({ nexthop }) => nexthop.subnetExtId ?? nexthop.connectionExtId),
  ]
  const referred = [...new Set(extIds.flatMap((extId) => extId ?? []))]
  const found = new Map<string, Named>()
  const [ofSubnets, ofConnections] = [await scopeOf?.(Subnet.kind), await scopeOf?.(VpnConnection.kind)]
  for (const subnet of await store.getMany(Subnet, referred))
    if (matchesScope(ofSubnets, subnet)) found.set(subnet.extId, { subnet })
  for (const connection of await store.getMany(VpnConnection, referred))
    if (matchesScope(ofConnections, connection)) found.set(connection.extId, { connection })
  return found
}

/** LOCAL and DYNAMIC routes have no rows. Their ids survive restarts and sessions that flap. */
function derived(table: Table, route: TableRoute, named: ReadonlyMap<string, Named>): readonly RouteEntity[] {
  const { type, sourceExtId, prefix: name, nexthop, priority, isActive } = route
  const prefix = parsePrefix(name)
  if (type === 'STATIC' || prefix === undefined) return []
  const { subnetExtId, connectionExtId, address = '' } = nexthop
  const nexthopReference = subnetExtId ?? connectionExtId
  const nexthopType = subnetExtId === undefined ? 'VPN_CONNECTION' : 'LOCAL_SUBNET'
  const host = parseHost(address)
  const { externalRoutingDomainReference } = table
  return [
    {
      extId: routeId(`route/${table.extId}/${sourceExtId}/${name}/${address}`),
      tenantId: table.tenantId,
      name,
      routeType: type,
      destination: writeSubnet(prefix),
      nexthop:
        nexthopReference === undefined
          ? { nexthopType: 'IP_ADDRESS', nexthopName: address, ...(host && { nexthopIpAddress: writeAddress(host) }) }
          : shownNexthop({ nexthopType, nexthopReference }, prefix, named.get(nexthopReference)),
      priority,
      isActive,
      routeTableReference: table.extId,
      vpcReference: table.vpcReference,
      ...(externalRoutingDomainReference !== undefined && { externalRoutingDomainReference }),
      metadata: { ownerReferenceId: table.vpcReference },
    },
  ]
}

/** With the CIDR text by which a filter compares destinations. */
export const comparable = (route: RouteEntity): RouteEntity =>
  ({
    ...route,
    destination: { ...route.destination, cidr: formatPrefix(prefixOfSubnet(route.destination!)) },
  }) as RouteEntity
