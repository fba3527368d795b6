/** Source: behaviour networking.md 1.1 (life of an entity row), 1.5, 1.22. */
import type { EntityOf } from '@hyperplane/contract'
import { Route } from '@hyperplane/contract/networking/route'
import { RouteTable } from '@hyperplane/contract/networking/route-table'
import { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { formatPrefix, textOf, type WireAddress } from '../../core/ip-address.ts'
import { pathOf } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { RouterPort, RouterProgram } from '../../drivers/virtual-routing.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { releaseHolder } from '../addressing/leases.ts'
import { defineTask } from '../context.ts'
import type { Attachment, VpcEntity } from './gateway-nodes.ts'
import { prefixOfSubnet } from './ip-subnet.ts'
import { policyProgramOf } from './policy-program.ts'
import { keepPorts } from './vpc-attachments.ts'

interface Creation {
  readonly entity: VpcEntity
  readonly routeTable: EntityOf<typeof RouteTable>
  readonly defaultPolicy: EntityOf<typeof RoutingPolicy>
}

interface Update {
  readonly before: VpcEntity
  readonly after: VpcEntity
}

export function routerOf({ extId, externallyRoutablePrefixes = [], commonDhcpOptions }: VpcEntity): RouterProgram {
  return {
    vpcExtId: extId,
    externallyRoutablePrefixes: externallyRoutablePrefixes.map((each) => formatPrefix(prefixOfSubnet(each))),
    domainNameServers: textsOf(commonDhcpOptions?.domainNameServers ?? []),
  }
}

export const portOf = ({ subnetReference, externalIps = [], activeGatewayNodes = [] }: Attachment): RouterPort => ({
  subnetExtId: subnetReference,
  addresses: textsOf(externalIps),
  gatewayHostExtIds: activeGatewayNodes.flatMap(({ nodeId }) => nodeId ?? []),
})

const textsOf = (given: readonly WireAddress[]): string[] => given.flatMap((each) => textOf(each) ?? [])

/** Addresses through which guests leave the VPC by NAT. */
export async function translatedBy(
  store: Reader,
  { externalSubnets = [] }: VpcEntity,
): Promise<Attachment['externalIps'] & {}> {
  const subnets = await store.getMany(
    Subnet,
    externalSubnets.map(({ subnetReference }) => subnetReference),
  )
  const translating = new Set(subnets.flatMap(({ extId, isNatEnabled }) => (isNatEnabled === true ? extId : [])))
  return externalSubnets.flatMap((each) => (translating.has(each.subnetReference) ? (each.externalIps ?? []) : []))
}

const attach = async (
  { networkFabric }: Drivers,
  vpcExtId: string,
  attachments: readonly Attachment[],
): Promise<void> => {
  for (const each of attachments) await networkFabric.attachRouter(vpcExtId, portOf(each))
}
const detach = async (
  { networkFabric }: Drivers,
  vpcExtId: string,
  attachments: readonly Attachment[],
): Promise<void> => {
  for (const each of attachments) await networkFabric.detachRouter(vpcExtId, each.subnetReference)
}
const translate = async (ctx: { readonly drivers: Drivers; readonly store: Reader }, vpc: VpcEntity): Promise<void> =>
  ctx.drivers.networkFabric.translateSources(vpc.extId, textsOf(await translatedBy(ctx.store, vpc)))

const attachmentsOnlyIn = (these: VpcEntity, other: VpcEntity): readonly Attachment[] =>
  (these.externalSubnets ?? []).filter(
    (each) => !other.externalSubnets?.some(({ subnetReference }) => subnetReference === each.subnetReference),
  )

export const createVpcTask = defineTask<Creation>({
  name: 'networking.create-vpc',
  steps: [
    {
      name: 'create router',
      progress: 40,
      seconds: [0.4, 1.5],
      run: (ctx, { entity }) => ctx.drivers.networkFabric.programRouter(routerOf(entity)),
      undo: (ctx, { entity }) => ctx.drivers.networkFabric.removeRouter(entity.extId),
    },
    {
      name: 'make route table and default policy',
      progress: 60,
      seconds: [0.2, 0.8],
      run: (ctx, { defaultPolicy }) => ctx.drivers.networkFabric.installPolicy(policyProgramOf(defaultPolicy)),
      undo: (ctx, { defaultPolicy }) => ctx.drivers.networkFabric.removePolicy(defaultPolicy.extId),
      record: async (ctx, { routeTable, defaultPolicy }) => {
        await ctx.store.insert(RouteTable, routeTable)
        await ctx.store.insert(RoutingPolicy, defaultPolicy)
      },
      unrecord: async (ctx, { routeTable, defaultPolicy }) => {
        await ctx.store.remove(RouteTable, routeTable.extId)
        await ctx.store.remove(RoutingPolicy, defaultPolicy.extId)
      },
    },
    {
      name: 'attach external subnets',
      progress: 80,
      seconds: [0.2, 1],
      run: (ctx, { entity }) => attach(ctx.drivers, entity.extId, entity.externalSubnets ?? []),
      undo: (ctx, { entity }) => detach(ctx.drivers, entity.extId, entity.externalSubnets ?? []),
    },
    {
      name: 'translate sources',
      seconds: [0.2, 0.7],
      run: (ctx, { entity }) => translate(ctx, entity),
      undo: (ctx, { entity }) => ctx.drivers.networkFabric.translateSources(entity.extId, []),
      record: async (ctx, { entity }) => {
        await ctx.store.update(Vpc, entity.extId, { change: undefined })
      },
    },
  ],
  async onUndone(ctx, { entity }) {
    await releaseHolder(ctx.store, entity.extId)
    await ctx.store.remove(Vpc, entity.extId)
  },
})

export const updateVpcTask = defineTask<Update>({
  name: 'networking.update-vpc',
  steps: [
    {
      name: 'attach external subnets',
      progress: 40,
      seconds: [0.4, 1.5],
      run: (ctx, { after }) => attach(ctx.drivers, after.extId, after.externalSubnets ?? []),
      undo: async (ctx, { before, after }) => {
        await detach(ctx.drivers, after.extId, attachmentsOnlyIn(after, before))
        await attach(ctx.drivers, before.extId, before.externalSubnets ?? [])
      },
    },
    {
      name: 'configure router',
      progress: 70,
      seconds: [0.3, 1],
      run: async (ctx, { after }) => {
        await ctx.drivers.networkFabric.programRouter(routerOf(after))
        await translate(ctx, after)
      },
      undo: async (ctx, { before }) => {
        await ctx.drivers.networkFabric.programRouter(routerOf(before))
        await translate(ctx, before)
      },
    },
    {
      name: 'detach external subnets',
      seconds: [0.3, 1],
      run: (ctx, { before, after }) => detach(ctx.drivers, after.extId, attachmentsOnlyIn(before, after)),
      undo: (ctx, { before, after }) => attach(ctx.drivers, before.extId, attachmentsOnlyIn(before, after)),
      record: async (ctx, { after }) => {
        await keepPorts(ctx.store, after.extId, after.externalSubnets ?? [])
        await ctx.store.replace(Vpc, after)
        await followDomain(ctx.store, after)
      },
    },
  ],
  async onUndone(ctx, { before }) {
    await keepPorts(ctx.store, before.extId, before.externalSubnets ?? [])
    await ctx.store.update(Vpc, before.extId, { change: undefined })
  },
})

export const deleteVpcTask = defineTask<{ readonly entity: VpcEntity }>({
  name: 'networking.delete-vpc',
  steps: [
    {
      name: 'detach external subnets',
      progress: 50,
      seconds: [0.5, 1.5],
      run: async (ctx, { entity }) => {
        await ctx.drivers.networkFabric.translateSources(entity.extId, [])
        await detach(ctx.drivers, entity.extId, entity.externalSubnets ?? [])
      },
    },
    {
      name: 'remove router',
      seconds: [0.5, 2],
      run: (ctx, { entity }) => ctx.drivers.networkFabric.removeRouter(entity.extId),
      record: async (ctx, { entity: { extId } }) => {
        await ctx.store.removeWhere(RoutingPolicy, equals(pathOf(RoutingPolicy, 'vpcExtId'), extId))
        await ctx.store.removeWhere(Route, equals(pathOf(Route, 'vpcReference'), extId))
        await ctx.store.removeWhere(RouteTable, equals(pathOf(RouteTable, 'vpcReference'), extId))
        await releaseHolder(ctx.store, extId)
        await ctx.store.remove(Vpc, extId)
      },
    },
  ],
  pointOfNoReturn: 'detach external subnets',
})

/** Clients filter route tables by the VPC's routing domain. */
async function followDomain(store: Transaction, { extId, externalRoutingDomainReference }: VpcEntity): Promise<void> {
  const table = await store.findOne(RouteTable, { vpcReference: extId })
  if (table === undefined || table.externalRoutingDomainReference === externalRoutingDomainReference) return
  await store.update(RouteTable, table.extId, { externalRoutingDomainReference } as Partial<typeof table>)
}
