/** Described subnets and VPCs. A VPC needs the subnets that it reaches the outside by, a subnet of it only its name. */
import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { didYouMean } from '../../core/nearest.ts'
import type { SubnetEntity } from '../../domains/address-plan.ts'
import { formatAddress, type Prefix, parseAddress, prefixOf } from '../../domains/ip-address.ts'
import { seedSubnet } from '../../domains/networking/seed.ts'
import { seedController, seedVpc } from '../../domains/networking/seed-vpcs.ts'
import { seedId } from '../../domains/seed.ts'
import type { Declared, DeclaredSubnet } from '../format.ts'
import { eachOf } from '../numbered.ts'
import type { Filling } from './filling.ts'

/** From the tenth address on a network gives addresses away, where it says nothing else and is that large. */
const firstOfPool = 10n
const leastForPool = 16n
const firstNetworkIdentifier = 4096

export async function fillNetworks(filling: Filling, { subnets, vpcs }: Declared): Promise<void> {
  const { ctx } = filling
  const vpcIds = new Map((await ctx.store.find(Vpc)).map(({ name, extId }) => [name, extId]))
  for (const described of vpcs ?? [])
    for (const [{ name, extId }] of eachOf(described)) vpcIds.set(name, extId ?? seedId(`vpc/${name}`))
  const [controller] = await ctx.store.find(NetworkController, { limit: 1 })
  if (vpcs !== undefined && vpcs.length > 0 && controller === undefined) await seedController(ctx)

  let vni = firstNetworkIdentifier
  const nextVni = async (): Promise<number> => {
    while ((await ctx.store.findOne(Subnet, { vni })) !== undefined) vni++
    return vni++
  }
  await filling.each('subnets', subnets, async (item, path, number) => {
    const place = await placeOf(filling, item, path, vpcIds)
    const subnet = subnetOf(filling, item, path, number)
    const body = {
      name: item.name,
      ...subnet,
      ...place,
      subnetType: place.vpcReference === undefined ? 'VLAN' : 'OVERLAY',
    }
    filling.judge(path, 'networking.createSubnet', body)
    const { vpcReference, ...vlanPlace } = place
    const ids = { extId: item.extId ?? seedId(`subnet/${item.name}`) }
    const overlay = vpcReference === undefined ? {} : { vpcReference, vni: await nextVni() }
    await seedSubnet(ctx, { name: item.name, ...subnet, ...overlay, ...ids }, vlanPlace)
  })
  filling.forget()
  await filling.each('vpcs', vpcs, async (item, path) => {
    const { name, vpcType = 'REGULAR', description, externalSubnets = [], externallyRoutablePrefixes = [] } = item
    const external: SubnetEntity[] = []
    for (const [index, subnet] of externalSubnets.entries()) {
      const at = `${path}.externalSubnets[${index}]`
      const found = await filling.subnet(subnet, at)
      if (found.isExternal !== true) filling.refuse(at, `expected an external subnet; ${subnet} is none`)
      external.push(found)
    }
    const routable = externallyRoutablePrefixes.map((text, index) =>
      prefixIn(filling, text, `${path}.externallyRoutablePrefixes[${index}]`),
    )
    await seedVpc(ctx, {
      name,
      extId: vpcIds.get(name) as string,
      ...(description === undefined ? {} : { description }),
      vpcType,
      external,
      routable,
    })
  })
}

type Place = Pick<SubnetEntity, 'clusterReference' | 'virtualSwitchReference' | 'vpcReference'>

async function placeOf(
  filling: Filling,
  item: DeclaredSubnet,
  path: string,
  vpcIds: ReadonlyMap<string, string>,
): Promise<Place> {
  if (item.vpc !== undefined) {
    const vpcReference = vpcIds.get(item.vpc)
    if (vpcReference === undefined)
      filling.refuse(
        `${path}.vpc`,
        `"${item.vpc}" is none of the vpcs that there are${didYouMean(item.vpc, vpcIds.keys())}`,
      )
    for (const field of ['cluster', 'networkId'] as const)
      if (item[field] !== undefined) filling.refuse(`${path}.${field}`, 'expected only of a VLAN, which has no vpc')
    return { vpcReference }
  }
  if (item.networkId === undefined) filling.refuse(path, 'networkId, or vpc, is missing')
  const { extId: clusterReference } = await filling.clusterOr(item.cluster, path)
  const [virtualSwitch] = await filling.ctx.store.findWhere(VirtualSwitch, {
    clusterExtId: clusterReference,
    isDefault: true,
  })
  if (virtualSwitch === undefined)
    filling.refuse(path, 'expected a native cluster: the one that it is on has no virtual switch')
  return { clusterReference, virtualSwitchReference: virtualSwitch.extId }
}

/** What the subnet itself says; the second of several has the next tag and the next prefix. */
function subnetOf(filling: Filling, item: DeclaredSubnet, path: string, number: number): Partial<SubnetEntity> {
  const { description, networkId, ipSubnet, domainName, domainNameServers, isExternal, isNatEnabled } = item
  const dhcpOptions = {
    ...(domainName === undefined ? {} : { domainName }),
    ...(domainNameServers === undefined
      ? {}
      : { domainNameServers: domainNameServers.map((value) => ({ ipv4: host(value) })) }),
  }
  return {
    ...(description === undefined ? {} : { description }),
    ...(networkId === undefined ? {} : { networkId: networkId + number - 1 }),
    ...(ipSubnet === undefined ? {} : { ipConfig: [configOf(filling, item, path, BigInt(number - 1))] }),
    ...(Object.keys(dhcpOptions).length === 0 ? {} : { dhcpOptions }),
    ...(isExternal === undefined ? {} : { isExternal }),
    ...(isNatEnabled === undefined ? {} : { isNatEnabled }),
  }
}

const host = (value: string) => ({ value, prefixLength: 32 })

function configOf(filling: Filling, item: DeclaredSubnet, path: string, turn: bigint) {
  const first = prefixIn(filling, item.ipSubnet as string, `${path}.ipSubnet`)
  if (first.family !== 'IPV4') filling.refuse(`${path}.ipSubnet`, 'expected an IPv4 prefix')
  const size = first.last - first.first + 1n
  const shift = size * turn
  const at = (value: bigint) => host(formatAddress({ family: 'IPV4', value: value + shift }))
  const given = (text: string, where: string): bigint => {
    const address = parseAddress('IPV4', text.trim())
    return address === undefined
      ? filling.refuse(where, `expected an IPv4 address, found "${text.trim()}"`)
      : address.value
  }
  const gateway =
    item.defaultGatewayIp === undefined ? first.first + 1n : given(item.defaultGatewayIp, `${path}.defaultGatewayIp`)
  const usual = [first.first + (size >= leastForPool ? firstOfPool : 2n), first.last - 1n] as const
  const pools = item.poolList?.map((text, index) => {
    const [from = '', to = ''] = text.split('-')
    return [given(from, `${path}.poolList[${index}]`), given(to, `${path}.poolList[${index}]`)] as const
  }) ?? [usual]
  return {
    ipv4: {
      ipSubnet: { ip: at(first.first), prefixLength: first.length },
      defaultGatewayIp: at(gateway),
      poolList: pools.map(([from, to]) => ({ startIp: at(from), endIp: at(to) })),
    },
  }
}

function prefixIn(filling: Filling, text: string, path: string): Prefix {
  const [ip = '', length = ''] = text.split('/')
  const address = parseAddress(ip.includes(':') ? 'IPV6' : 'IPV4', ip)
  const prefix = address === undefined ? undefined : prefixOf(address, Number(length))
  if (address === undefined || prefix === undefined || prefix.first !== address.value)
    return filling.refuse(path, `expected a prefix without host bits, such as 10.0.0.0/24; found "${text}"`)
  return prefix
}
