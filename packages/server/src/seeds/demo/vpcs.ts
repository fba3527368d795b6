/** Network controller and VPCs of the demo, as if they had been created. Source: behaviour networking.md 4. */

import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { Route } from '@hyperplane/contract/networking/route'
import { RouteTable } from '@hyperplane/contract/networking/route-table'
import { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { type Prefix, parseAddress, prefixOf, writeAddress } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../../domains/addressing/address-plan.ts'
import { leaseAddress } from '../../domains/addressing/leases.ts'
import { agentHosts, controllerProgram } from '../../domains/networking/controller-tasks.ts'
import {
  type Attachment,
  gatewayNodesFor,
  portsByHost,
  type VpcEntity,
} from '../../domains/networking/gateway-nodes.ts'
import { writeSubnet } from '../../domains/networking/ip-subnet.ts'
import { defaultPolicyOf, type PolicyEntity, policyProgramOf } from '../../domains/networking/policy-program.ts'
import { routeProgramOf, staticPriority } from '../../domains/networking/route.ts'
import type { RouteEntity } from '../../domains/networking/route-nexthop.ts'
import { portOf, routerOf } from '../../domains/networking/vpc-tasks.ts'
import { routeFacts } from '../../drivers/simulated/router-facts.ts'
import { policyFacts } from '../../drivers/simulated/routing-policies.ts'
import { routingFacts } from '../../drivers/simulated/virtual-routing.ts'
import type { SeedContext } from '../context.ts'

const owned = (ctx: SeedContext) => ({
  tenantId: ctx.tenantId,
  metadata: { ownerReferenceId: ctx.adminId, ownerUserName: 'admin' },
})

/** The controller was installed with the manager, and needs no further resources. */
export async function seedController(ctx: SeedContext): Promise<void> {
  const controller = {
    ...owned(ctx),
    extId: seedId('network-controller'),
    defaultVlanStack: 'LEGACY' as const,
    vpcGlobalConfig: { isOverlappingErpsEnabled: false },
  }
  await ctx.store.insert(NetworkController, controller)
  const hostExtIds = (await agentHosts(ctx.store)).map(({ extId }) => extId)
  await routingFacts(ctx.world).controllers.put(controller.extId, { ...controllerProgram(controller), hostExtIds })
}

export async function seedVpcs(ctx: SeedContext, subnets: ReadonlyMap<string, SubnetEntity>): Promise<void> {
  const described = [
    { name: 'prod', vpcType: 'REGULAR', external: ['ext-nat', 'ext-routed'], routable: [['192.168.20.0', 24]] },
    { name: 'transit', vpcType: 'TRANSIT', external: ['ext-nat'], routable: [] },
    { name: 'tenant-a', vpcType: 'REGULAR', external: ['transit-ext'], routable: [] },
  ] as const
  for (const { name, vpcType, external, routable } of described) {
    await seedVpc(ctx, {
      name,
      vpcType,
      external: external.map((each) => subnets.get(each)!),
      routable: routable.map(([ip, length]) => prefixOf(parseAddress('IPV4', ip)!, length)),
    })
  }
  await seedDefaultRoute(ctx, 'prod', subnets.get('ext-nat')!)
  await seedPolicy(ctx, {
    ...owned(ctx),
    extId: seedId('routing-policy/prod/db-stays-inside'),
    name: 'db-stays-inside',
    description: 'Databases do not reach the outside',
    priority: 100,
    vpcExtId: seedId('vpc/prod'),
    policies: [
      {
        policyMatch: {
          source: {
            addressType: 'SUBNET',
            subnetPrefix: writeSubnet(prefixOf(parseAddress('IPV4', '192.168.20.0')!, 24)),
          },
          destination: { addressType: 'EXTERNAL' },
          protocolType: 'ANY',
        },
        policyAction: { actionType: 'DENY' },
        isBidirectional: false,
      },
    ],
  })
}

async function seedDefaultRoute(ctx: SeedContext, vpcName: string, external: SubnetEntity): Promise<void> {
  const vpcExtId = seedId(`vpc/${vpcName}`)
  const route: RouteEntity = {
    tenantId: ctx.tenantId,
    extId: seedId(`route/${vpcName}/default`),
    name: 'default',
    routeType: 'STATIC',
    destination: writeSubnet(prefixOf(parseAddress('IPV4', '0.0.0.0')!, 0)),
    nexthop: { nexthopType: 'EXTERNAL_SUBNET', nexthopReference: external.extId },
    priority: staticPriority,
    routeTableReference: seedId(`route-table/${vpcName}`),
    vpcReference: vpcExtId,
    subnetReference: external.extId,
    destinationAndNexthop: `0.0.0.0/0 ${external.extId}`,
    metadata: { ownerReferenceId: vpcExtId },
  }
  await ctx.store.insert(Route, route)
  await routeFacts(ctx.world).put(route.extId, { ...routeProgramOf(route), since: ctx.clock.now() })
}

interface SeedVpc {
  readonly name: string
  readonly extId?: string
  readonly description?: string
  readonly vpcType: 'REGULAR' | 'TRANSIT'
  readonly external: readonly SubnetEntity[]
  readonly routable: readonly Prefix[]
}

async function seedVpc(ctx: SeedContext, described: SeedVpc): Promise<VpcEntity> {
  const { name, extId = seedId(`vpc/${name}`), description, vpcType, external, routable } = described
  const vpc: VpcEntity = { ...owned(ctx), extId, name, ...defined({ description }), vpcType }
  const externalSubnets: Attachment[] = []
  const carried = await portsByHost(ctx.store)
  for (const subnet of external) externalSubnets.push(await attached(ctx, vpc, subnet, carried))
  const whole = {
    ...vpc,
    externalSubnets,
    ...(routable.length === 0 ? {} : { externallyRoutablePrefixes: routable.map(writeSubnet) }),
  }
  await ctx.store.insert(Vpc, whole)
  const translated = externalSubnets.flatMap(({ subnetReference, externalIps = [] }) =>
    external.find((subnet) => subnet.extId === subnetReference)?.isNatEnabled === true ? externalIps : [],
  )
  await routingFacts(ctx.world).routers.put(extId, {
    program: routerOf(whole),
    ports: externalSubnets.map(portOf),
    translated: translated.map(({ ipv4 }) => ipv4!.value),
  })
  await ctx.store.insert(RouteTable, { ...owned(ctx), extId: seedId(`route-table/${name}`), vpcReference: extId })
  await seedPolicy(ctx, defaultPolicyOf(vpc, seedId(`routing-policy/${name}/default-policy`), owned(ctx).metadata))
  return whole
}

async function attached(
  ctx: SeedContext,
  vpc: VpcEntity,
  subnet: SubnetEntity,
  carried: Map<string, number>,
): Promise<Attachment> {
  const port = await leaseAddress(ctx, subnet, { kind: 'ROUTER_PORT', holder: vpc.extId })
  const attachment = { subnetReference: subnet.extId, externalIps: [writeAddress(port)], activeGatewayCount: 1 }
  return { ...attachment, activeGatewayNodes: await gatewayNodesFor(ctx, subnet, attachment, carried) }
}

async function seedPolicy(ctx: SeedContext, policy: PolicyEntity): Promise<void> {
  await ctx.store.insert(RoutingPolicy, policy)
  await policyFacts(ctx.world).put(policy.extId, { ...policyProgramOf(policy), countedSince: ctx.clock.now() })
}
