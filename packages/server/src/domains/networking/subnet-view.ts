/** Source: behaviour networking.md 1.2, 1.3 (ipUsage). */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { formatPrefix, writeAddress } from '../../core/ip-address.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { planOf } from '../addressing/address-plan.ts'
import { addressOfLease, isManaged, leasesOfKind, usageOf } from '../addressing/leases.ts'
import type { ReadContext } from '../context.ts'
import { stretchReferences } from './stretched-subnets.ts'
import { nicsOn } from './subnet-nics.ts'

/** Limit of `reservedIpAddresses`, which has no paging. */
const maximumShown = 255

export async function presentSubnets(
  ctx: ReadContext,
  subnets: readonly SubnetEntity[],
  wanted: { readonly single: boolean },
): Promise<readonly SubnetEntity[]> {
  ctx.followsStore()
  const clusters = await namesById(ctx.store, subnets)
  const bridges = await bridgesById(ctx.store, subnets)
  const stretches = await stretchReferences(ctx)
  const shown: SubnetEntity[] = []
  for (const { vni: _, change: __, ...subnet } of subnets) {
    const reserved = isManaged(subnet) ? await leasesOfKind(ctx.store, subnet.extId, 'RESERVED', maximumShown) : []
    const [prefix] = Object.values(planOf(subnet.ipConfig))
    const clusterName = clusters.get(subnet.clusterReference ?? '')
    const layer2StretchReference = stretches.get(subnet.extId)
    const bridgeName = bridges.get(subnet.virtualSwitchReference ?? '')
    shown.push({
      ...subnet,
      ...(clusterName === undefined ? {} : { clusterName }),
      ...(bridgeName === undefined ? {} : { bridgeName }),
      ...(subnet.subnetType === 'VLAN' ? { hypervisorType: 'acropolis' } : {}),
      ...(prefix === undefined ? {} : { ipPrefix: formatPrefix(prefix.prefix) }),
      ...(reserved.length === 0
        ? {}
        : { reservedIpAddresses: reserved.map((lease) => writeAddress(addressOfLease(lease))) }),
      ...(layer2StretchReference === undefined ? {} : { layer2StretchReference }),
      ...(wanted.single ? { ipUsage: await ipUsageOf(ctx.store, subnet) } : {}),
    })
  }
  return shown
}

async function ipUsageOf(store: Reader, subnet: SubnetEntity): Promise<NonNullable<SubnetEntity['ipUsage']>> {
  const numMacs = (await nicsOn(store, subnet.extId)).length
  if (!isManaged(subnet)) return { numMacs }
  const usage = await usageOf(store, subnet)
  const hasIPv4Pools = usage.pools.some((pool) => pool.family === 'IPV4')
  const counted = usage.pools.filter((pool) => (pool.family === 'IPV4') === hasIPv4Pools)
  // The contract has pool ranges only for IPv4.
  const ipPoolUsages = counted.flatMap(({ family, pool, total, free }) =>
    family === 'IPV6'
      ? []
      : [
          {
            range: {
              startIp: writeAddress({ family, value: pool.first }).ipv4!,
              endIp: writeAddress({ family, value: pool.last }).ipv4!,
            },
            numTotalIPs: Number(total),
            numFreeIPs: Number(free),
          },
        ],
  )
  return {
    numMacs,
    numAssignedIPs: usage.assigned,
    numFreeIPs: capped(counted.reduce((sum, pool) => sum + pool.free, 0n)),
    ...(ipPoolUsages.length === 0 ? {} : { ipPoolUsages }),
  }
}

/** An IPv6 pool exceeds the integers that JSON clients read exactly. */
const capped = (value: bigint): number =>
  Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : value)

async function namesById(store: Reader, subnets: readonly SubnetEntity[]): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(subnets.flatMap((subnet) => subnet.clusterReference ?? []))
  return new Map((await store.getMany(Cluster, [...ids])).map((cluster) => [cluster.extId, cluster.name]))
}

async function bridgesById(store: Reader, subnets: readonly SubnetEntity[]): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(subnets.flatMap((subnet) => subnet.virtualSwitchReference ?? []))
  const bridges = new Map<string, string>()
  for (const virtualSwitch of await store.getMany(VirtualSwitch, [...ids])) {
    const bridge = virtualSwitch.clusters[0]?.hosts[0]?.internalBridgeName
    if (bridge !== undefined) bridges.set(virtualSwitch.extId, bridge)
  }
  return bridges
}
