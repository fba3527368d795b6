/** Networks of the demo. Source: behaviour networking.md 4 (the kinds that exist so far). */

import { createHash } from 'node:crypto'
import { AwsSubnet } from '@hyperplane/contract/networking/aws-subnet'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { type Address, parseAddress, writeAddress } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../../domains/addressing/address-plan.ts'
import { planOf } from '../../domains/addressing/address-plan.ts'
import { syncOwnLeases } from '../../domains/addressing/leases.ts'
import { programmingOf } from '../../domains/networking/subnet-tasks.ts'
import { type BridgeFact, bridgeFacts, bridgeKey } from '../../drivers/simulated/bridges.ts'
import { fabricFacts } from '../../drivers/simulated/network-fabric.ts'
import type { SeedContext } from '../context.ts'
import { seedController, seedVpcs } from './vpcs.ts'

const cluster = seedId('cluster/hp-native-01')
const hosts = ['a', 'b', 'c', 'd'].map((letter) => seedId(`host/hp-n01-${letter}`))

type Described = Partial<SubnetEntity> & { readonly name: string }

const inventory: readonly Described[] = [
  {
    name: 'vlan-100-app',
    description: 'Applications: addresses managed, both families',
    networkId: 100,
    ipConfig: [
      {
        ipv4: v4('10.10.100.0', 24, '10.10.100.1', [['10.10.100.50', '10.10.100.200']]),
        ipv6: v6('fd00:100::', 64, 'fd00:100::1', [['fd00:100::1000', 'fd00:100::1fff']]),
      },
    ],
    dhcpOptions: {
      domainName: 'app.example.com',
      domainNameServers: [writeAddress(address('10.10.100.2'))],
      searchDomains: ['example.com'],
    },
  },
  { name: 'vlan-200-static', description: 'No address management: others answer DHCP', networkId: 200 },
  {
    name: 'ext-nat',
    networkId: 300,
    isExternal: true,
    isNatEnabled: true,
    // .205 is in no pool, so that clients can request it explicitly.
    ipConfig: [
      {
        ipv4: v4('10.44.3.192', 27, '10.44.3.193', [
          ['10.44.3.194', '10.44.3.204'],
          ['10.44.3.206', '10.44.3.222'],
        ]),
      },
    ],
  },
  {
    name: 'ext-routed',
    networkId: 301,
    isExternal: true,
    isNatEnabled: false,
    ipConfig: [{ ipv4: v4('10.44.4.0', 24, '10.44.4.1', [['10.44.4.50', '10.44.4.200']]) }],
  },
  {
    name: 'web',
    vpcReference: seedId('vpc/prod'),
    vni: 4096,
    ipConfig: [{ ipv4: v4('192.168.10.0', 24, '192.168.10.1', [['192.168.10.10', '192.168.10.250']]) }],
  },
  {
    name: 'db',
    vpcReference: seedId('vpc/prod'),
    vni: 4097,
    ipConfig: [{ ipv4: v4('192.168.20.0', 24, '192.168.20.1', [['192.168.20.10', '192.168.20.250']]) }],
  },
  {
    name: 'transit-ext',
    vpcReference: seedId('vpc/transit'),
    vni: 4098,
    isExternal: true,
    isNatEnabled: true,
    ipConfig: [{ ipv4: v4('100.64.0.0', 24, '100.64.0.1', [['100.64.0.10', '100.64.0.250']]) }],
  },
]

export async function seedDemo(ctx: SeedContext): Promise<void> {
  await seedVirtualSwitches(ctx)
  await seedController(ctx)
  const subnets = new Map<string, SubnetEntity>()
  const place = { clusterReference: cluster, virtualSwitchReference: seedId('virtual-switch/vs0') }
  for (const described of inventory) subnets.set(described.name, await seedSubnet(ctx, described, place))
  await seedVpcs(ctx, subnets)
  await seedCloudSubnets(ctx)
}

const owned = (ctx: SeedContext) => ({
  tenantId: ctx.tenantId,
  metadata: { ownerReferenceId: ctx.adminId, ownerUserName: 'admin' },
})

async function seedVirtualSwitches(ctx: SeedContext): Promise<void> {
  const described = [
    { name: 'vs0', bondMode: 'ACTIVE_BACKUP', bridge: 'br0', nics: ['eth0', 'eth1'] },
    { name: 'vs1', bondMode: 'BALANCE_TCP', bridge: 'br1', nics: ['eth2', 'eth3'] },
  ] as const
  for (const { name, bondMode, bridge, nics } of described) {
    await seedVirtualSwitch(ctx, {
      extId: seedId(`virtual-switch/${name}`),
      clusterExtId: cluster,
      hostExtIds: hosts,
      name,
      bondMode,
      bridge,
      nics,
    })
  }
  // No virtual switch manages this bridge: migrateBridge makes one of it.
  for (const hostExtId of hosts)
    await seedBridge(ctx, { hostExtId, name: 'br2', uplinks: [], bondMode: 'NONE', mtu: 1500, vlan: 0 })
}

interface SeedSwitch {
  readonly extId: string
  readonly clusterExtId: string
  readonly hostExtIds: readonly string[]
  readonly name: string
  readonly bondMode: VirtualSwitch['bondMode']
  readonly bridge: string
  readonly nics: readonly [string, ...string[]]
  readonly more?: Partial<VirtualSwitch>
}

export async function seedVirtualSwitch(ctx: SeedContext, described: SeedSwitch): Promise<void> {
  const { extId, clusterExtId, hostExtIds, name, bondMode, bridge, nics, more = {} } = described
  const activeUplink = bondMode === 'ACTIVE_BACKUP' ? { activeUplink: nics[0] } : {}
  await ctx.store.insert(VirtualSwitch, {
    ...owned(ctx),
    extId,
    name,
    bondMode,
    clusters: [
      {
        extId: clusterExtId,
        hosts: hostExtIds.map((host) => ({
          extId: host,
          internalBridgeName: bridge,
          hostNics: [...nics],
          ...activeUplink,
        })),
      },
    ],
    clusterExtId,
    uplinks: hostExtIds.flatMap((host) => nics.map((nic) => `${host}/${nic}`)),
    mtu: 1500,
    igmpSpec: { isSnoopingEnabled: false, snoopingTimeout: 300 },
    isQuickMode: false,
    isDefault: name === 'vs0',
    ownerType: 'PC',
    hasUpdateInProgress: false,
    hasDeleteInProgress: false,
    hasDeploymentError: false,
    ...more,
  })
  for (const hostExtId of hostExtIds)
    await seedBridge(ctx, {
      hostExtId,
      name: bridge,
      virtualSwitchExtId: extId,
      uplinks: nics,
      ...activeUplink,
      bondMode,
      mtu: more.mtu ?? 1500,
      vlan: 0,
    })
}

const seedBridge = (ctx: SeedContext, bridge: Omit<BridgeFact, 'since'>): Promise<void> =>
  bridgeFacts(ctx.world).put(bridgeKey(bridge), { ...bridge, since: ctx.clock.now() })

/** `place` applies to VLANs only. */
export async function seedSubnet(
  ctx: SeedContext,
  described: Described,
  place: Pick<SubnetEntity, 'clusterReference' | 'virtualSwitchReference'>,
): Promise<SubnetEntity> {
  const isOverlay = described.vpcReference !== undefined
  const subnet: SubnetEntity = {
    ...owned(ctx),
    extId: seedId(`subnet/${described.name}`),
    subnetType: isOverlay ? 'OVERLAY' : 'VLAN',
    isExternal: false,
    ...(isOverlay ? { isAdvancedNetworking: true } : place),
    ...described,
  }
  await ctx.store.insert(Subnet, subnet)
  await syncOwnLeases(ctx, subnet, planOf(subnet.ipConfig))
  const { program, dhcp } = await programmingOf(ctx.store, subnet)
  const facts = fabricFacts(ctx.world)
  await facts.subnets.put(subnet.extId, program)
  if (dhcp !== undefined) await facts.dhcp.put(subnet.extId, dhcp)
  return subnet
}

/** Two VPCs of the cloud account, with six subnets each, in two zones. */
async function seedCloudSubnets(ctx: SeedContext): Promise<void> {
  for (let index = 0; index < 12; index++) {
    const vpc = index < 6 ? 0 : 1
    await ctx.store.insert(AwsSubnet, {
      extId: seedId(`aws-subnet/cloud-1/${index}`),
      ...cloudSubnetOf(ctx, {
        clusterExtId: seedId('cluster/cloud-1'),
        cloudType: 'AWS',
        name: String(index),
        vpc: String(vpc),
        cidr: `10.${100 + vpc}.${16 * (index % 6)}.0/24`,
        availabilityZone: index % 2 === 0 ? 'eu-central-1a' : 'eu-central-1b',
        annotation: ['app', 'db', 'management'][Math.floor((index % 6) / 2)]!,
      }),
    })
  }
}

interface SeedCloudSubnet {
  readonly clusterExtId: string
  readonly cloudType: 'AWS' | 'AZURE'
  readonly name: string
  readonly vpc: string
  readonly cidr: string
  readonly availabilityZone?: string
  readonly annotation?: string
}

export const seedCloudSubnet = async (
  ctx: SeedContext,
  { index, ...subnet }: Omit<SeedCloudSubnet, 'name'> & { readonly index: number },
): Promise<void> => {
  const extId = seedId(`aws-subnet/${subnet.clusterExtId}/${index}`)
  await ctx.store.insert(AwsSubnet, {
    extId,
    ...cloudSubnetOf(ctx, { ...subnet, name: extId, vpc: `${subnet.clusterExtId} ${subnet.vpc}` }),
  })
}

function cloudSubnetOf(ctx: SeedContext, subnet: SeedCloudSubnet) {
  const { clusterExtId, cloudType, name, vpc, cidr, availabilityZone = 'eu-central-1a', annotation } = subnet
  return {
    tenantId: ctx.tenantId,
    clusterExtId,
    subnetId: `subnet-${cloudId(`subnet ${name}`)}`,
    vpcId: `vpc-${cloudId(`vpc ${vpc}`)}`,
    cidr,
    gatewayIp: cidr.replace(/\d+\/\d+$/, '1'),
    availabilityZone,
    cloudType,
    ...defined({ annotation }),
  }
}

const cloudId = (name: string): string => createHash('sha1').update(`cloud ${name}`).digest('hex').slice(0, 17)

type Config = NonNullable<SubnetEntity['ipConfig']>[number]

function v4(net: string, length: number, gateway: string, pools: [string, string][]): NonNullable<Config['ipv4']> {
  const host = (value: string) => ({ value, prefixLength: 32 })
  return {
    ipSubnet: { ip: host(net), prefixLength: length },
    defaultGatewayIp: host(gateway),
    poolList: pools.map(([start, end]) => ({ startIp: host(start), endIp: host(end) })),
  }
}

function v6(net: string, length: number, gateway: string, pools: [string, string][]): NonNullable<Config['ipv6']> {
  const host = (value: string) => ({ value, prefixLength: 128 })
  return {
    ipSubnet: { ip: host(net), prefixLength: length },
    defaultGatewayIp: host(gateway),
    poolList: pools.map(([start, end]) => ({ startIp: host(start), endIp: host(end) })),
  }
}

function address(text: string): Address {
  return parseAddress('IPV4', text) as Address
}
