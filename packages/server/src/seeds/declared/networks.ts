import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { ExternalSubnet, Vpc } from '@hyperplane/contract/networking/vpc'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { formatAddress, type Prefix } from '../../core/ip-address.ts'
import { writeSubnet } from '../../domains/networking/ip-subnet.ts'
import { seedController } from '../demo/vpcs.ts'
import type { Declared, DeclaredOf, DeclaredSubnet } from '../format.ts'
import { eachOf } from '../numbered.ts'
import { addressIn, bodyOf, prefixIn } from '../readable.ts'
import type { Filling } from './filling.ts'

type DeclaredVpc = DeclaredOf<'vpcs'>

/** By default the pool of a network starts at its tenth address, if the network is that large. */
const firstOfPool = 10n
const leastForPool = 16n

export async function fillNetworks(filling: Filling, { networkController, subnets, vpcs }: Declared): Promise<void> {
  await fillController(filling, networkController, (vpcs ?? []).length > 0)
  for (const { section, index, item } of inOrder(subnets ?? [], vpcs ?? [])) {
    if (section === 'vpcs') await filling.described('vpcs', index, item, (vpc, path) => fillVpc(filling, vpc, path))
    else
      await filling.described('subnets', index, item, (subnet, path, number) =>
        fillSubnet(filling, subnet, path, number),
      )
  }
  filling.forget()
}

type Unit =
  | { readonly section: 'subnets'; readonly index: number; readonly item: DeclaredSubnet }
  | { readonly section: 'vpcs'; readonly index: number; readonly item: DeclaredVpc }

/** In the written order, but after the VPCs that they refer to. Circular references come last and are refused. */
function inOrder(subnets: readonly DeclaredSubnet[], vpcs: readonly DeclaredVpc[]): Unit[] {
  const units: Unit[] = [
    ...subnets.map((item, index) => ({ section: 'subnets' as const, index, item })),
    ...vpcs.map((item, index) => ({ section: 'vpcs' as const, index, item })),
  ]
  const waiting = new Map(units.map((unit) => [unit, needsOf(unit)]))
  const awaited = new Map(units.flatMap((unit) => namesOf(unit).map((name) => [name, unit] as const)))
  const ordered: Unit[] = []
  while (waiting.size > 0) {
    const isFree = (unit: Unit): boolean =>
      (waiting.get(unit) as string[]).every((name) => !waiting.has(awaited.get(name) as Unit))
    const next = units.find((unit) => waiting.has(unit) && isFree(unit)) ?? (waiting.keys().next().value as Unit)
    waiting.delete(next)
    ordered.push(next)
  }
  return ordered
}

const namesOf = ({ section, item }: Unit): string[] =>
  [...eachOf<{ readonly name: string }>(item)].map(([{ name }]) => `${section} ${name}`)

function needsOf(unit: Unit): string[] {
  if (unit.section === 'subnets')
    return [...eachOf(unit.item)].flatMap(([{ vpc }]) => (vpc === undefined ? [] : `vpcs ${vpc}`))
  return [...eachOf(unit.item)].flatMap(([{ externalSubnets = [] }]) =>
    externalSubnets.map((each) => `subnets ${typeof each === 'string' ? each : each.subnet}`),
  )
}

/** VPCs need a network controller, so one is created even if it is not described. */
async function fillController(
  filling: Filling,
  described: Declared['networkController'],
  isNeeded: boolean,
): Promise<void> {
  const { ctx } = filling
  if (described === undefined && !isNeeded) return
  const [present] = await ctx.store.find(NetworkController, { limit: 1 })
  if (present === undefined) await seedController(ctx)
  if (described === undefined) return
  await filling.item('networkController', async () => {
    const { extId } = (await ctx.store.find(NetworkController, { limit: 1 }))[0] as { readonly extId: string }
    const body = await bodyOf(NetworkController.schema.fields, described, 'networkController', filling)
    await filling.perform('networkController', 'networking.updateNetworkControllerById', {
      called: 'network-controller',
      path: { extId },
      body,
    })
  })
}

async function fillVpc(filling: Filling, item: DeclaredVpc, path: string): Promise<void> {
  const { name, vpcType = 'REGULAR', externalSubnets = [], externallyRoutablePrefixes = [] } = item
  const [external, more, metadata] = await filling.all([
    () =>
      filling.all(
        externalSubnets.map((each, index) => () => attachmentOf(filling, each, `${path}.externalSubnets[${index}]`)),
      ),
    () =>
      bodyOf(
        Vpc.schema.fields,
        { ...item, name: undefined, externalSubnets: undefined, externallyRoutablePrefixes: undefined },
        path,
        filling,
      ),
    () => metadataOf(filling, item, path),
  ])
  const routable = externallyRoutablePrefixes.map((text, index) =>
    writeSubnet(prefixIn(text, `${path}.externallyRoutablePrefixes[${index}]`, filling)),
  )
  await filling.perform(path, 'networking.createVpc', {
    called: `vpc/${name}`,
    extId: item.extId,
    partIds: [seedId(`route-table/${name}`), seedId(`routing-policy/${name}/default-policy`)],
    body: {
      ...more,
      ...metadata,
      name,
      vpcType,
      ...(external.length === 0 ? {} : { externalSubnets: external }),
      ...(routable.length === 0 ? {} : { externallyRoutablePrefixes: routable }),
    },
  })
  filling.forget()
}

async function attachmentOf(
  filling: Filling,
  described: NonNullable<DeclaredVpc['externalSubnets']>[number],
  path: string,
): Promise<object> {
  const { subnet, externalIps, activeGatewayCount } =
    typeof described === 'string' ? ({ subnet: described } as Exclude<typeof described, string>) : described
  const found = await filling.subnet(subnet, typeof described === 'string' ? path : `${path}.subnet`)
  if (found.isExternal !== true) filling.refuse(path, `expected an external subnet; ${subnet} is none`)
  const body = await bodyOf({ externalIps: ExternalSubnet.fields.externalIps }, { externalIps }, path, filling)
  return {
    subnetReference: found.extId,
    ...body,
    ...defined({ activeGatewayCount }),
  }
}

const metadataOf = async (
  filling: Filling,
  { categories }: { readonly categories?: readonly string[] },
  path: string,
): Promise<object> =>
  categories === undefined
    ? {}
    : { metadata: { categoryIds: await filling.categories(categories, `${path}.categories`) } }

async function fillSubnet(filling: Filling, item: DeclaredSubnet, path: string, number: number): Promise<void> {
  const [place, metadata, dhcpOptions] = await filling.all([
    () => placeOf(filling, item, path),
    () => metadataOf(filling, item, path),
    () => dhcpOf(filling, item, path),
  ])
  const { name, description, networkId, isExternal, isNatEnabled, isAdvancedNetworking } = item
  const ipConfig = configOf(filling, item, path, BigInt(number - 1))
  await filling.perform(path, 'networking.createSubnet', {
    called: `subnet/${name}`,
    extId: item.extId,
    body: {
      name,
      subnetType: item.vpc === undefined ? 'VLAN' : 'OVERLAY',
      ...place,
      ...metadata,
      ...defined({
        description,
        networkId: networkId === undefined ? undefined : networkId + number - 1,
        ipConfig: ipConfig && [ipConfig],
        dhcpOptions: Object.keys(dhcpOptions).length === 0 ? undefined : dhcpOptions,
        isExternal,
        isNatEnabled,
        isAdvancedNetworking,
      }),
    },
  })
  filling.forget()
  const { extId } = await filling.subnet(name, path)
  for (const [index, { clientContext, count, startIpAddress, ipAddresses }] of (item.reservedIps ?? []).entries()) {
    const at = `${path}.reservedIps[${index}]`
    const address = (text: string, where: string) => addressIn(text, where, filling)
    const list = ipAddresses?.map((text, place) => wireOf(formatAddress(address(text, `${at}.ipAddresses[${place}]`))))
    await filling.perform(at, 'networking.reserveIpsBySubnetId', {
      called: `reserved-ips/${name}/${index}`,
      path: { extId },
      body: {
        reserveType: list === undefined ? 'IP_ADDRESS_COUNT' : 'IP_ADDRESS_LIST',
        ...(list === undefined ? { count: count ?? 1 } : { ipAddresses: list }),
        ...defined({
          startIpAddress: startIpAddress && wireOf(formatAddress(address(startIpAddress, `${at}.startIpAddress`))),
          clientContext,
        }),
      },
    })
  }
}

const wireOf = (value: string) => (value.includes(':') ? { ipv6: { value } } : { ipv4: { value } })

async function placeOf(filling: Filling, item: DeclaredSubnet, path: string): Promise<object> {
  if (item.vpc !== undefined) {
    for (const field of ['cluster', 'networkId', 'virtualSwitch'] as const)
      if (item[field] !== undefined) filling.refuse(`${path}.${field}`, 'expected only of a VLAN, which has no vpc')
    return { vpcReference: (await filling.vpc(item.vpc, `${path}.vpc`)).extId }
  }
  if (item.networkId === undefined) filling.refuse(path, 'networkId, or vpc, is missing')
  const { extId: clusterReference, name: cluster } = await filling.clusterOr(item.cluster, path)
  const { virtualSwitch: name } = item
  const switches = await filling.ctx.store.findWhere(VirtualSwitch, { clusterExtId: clusterReference })
  const chosen = switches.find((each) => (name === undefined ? each.isDefault === true : each.name === name))
  if (chosen !== undefined) return { clusterReference, virtualSwitchReference: chosen.extId }
  if (name === undefined)
    return filling.refuse(path, 'expected a native cluster: the one that it is on has no virtual switch')
  const there = switches.map((each) => each.name).join(', ')
  return filling.refuse(`${path}.virtualSwitch`, `"${name}" is none of those of ${cluster}: ${there}`)
}

async function dhcpOf(filling: Filling, item: DeclaredSubnet, path: string): Promise<object> {
  const { domainName, domainNameServers, bootFileName, ntpServers, searchDomains, tftpServerName } = item
  const options = { domainName, domainNameServers, bootFileName, ntpServers, searchDomains, tftpServerName }
  return bodyOf(Subnet.schema.fields.dhcpOptions.fields, options, path, filling)
}

/** The address pools; further subnets of a count have the following prefixes. */
function configOf(filling: Filling, item: DeclaredSubnet, path: string, turn: bigint): object | undefined {
  if (item.ipSubnet === undefined && item.ipv6 === undefined) return undefined
  const { ipSubnet, ipv6 } = item
  return defined({
    ipv4: ipSubnet === undefined ? undefined : familyOf(filling, { ...item, ipSubnet }, path, turn, 'IPV4'),
    ipv6: ipv6 === undefined ? undefined : familyOf(filling, ipv6, `${path}.ipv6`, turn, 'IPV6'),
  })
}

interface Family {
  readonly ipSubnet: string
  readonly defaultGatewayIp?: string
  readonly dhcpServerAddress?: string
  readonly poolList?: readonly string[]
}

export function familyOf(
  filling: Filling,
  given: Family,
  path: string,
  turn: bigint,
  family: Prefix['family'],
): object {
  const first = prefixIn(given.ipSubnet, `${path}.ipSubnet`, filling)
  if (first.family !== family)
    filling.refuse(`${path}.ipSubnet`, `expected an ${family === 'IPV4' ? 'IPv4' : 'IPv6'} prefix`)
  const size = first.last - first.first + 1n
  const at = (value: bigint) => ({ value: formatAddress({ family, value: value + size * turn }) })
  const read = (text: string, where: string): bigint => addressIn(text.trim(), where, filling, family).value
  const { defaultGatewayIp, dhcpServerAddress } = given
  const gateway = defaultGatewayIp === undefined ? first.first + 1n : read(defaultGatewayIp, `${path}.defaultGatewayIp`)
  const defaultPool = [first.first + (size >= leastForPool ? firstOfPool : 2n), first.last - 1n] as const
  const pools = given.poolList?.map((text, index) => {
    const [from = '', to = ''] = text.split('-')
    return [read(from, `${path}.poolList[${index}]`), read(to, `${path}.poolList[${index}]`)] as const
  }) ?? [defaultPool]
  return {
    ipSubnet: { ip: at(first.first), prefixLength: first.length },
    defaultGatewayIp: at(gateway),
    ...defined({
      dhcpServerAddress: dhcpServerAddress && at(read(dhcpServerAddress, `${path}.dhcpServerAddress`)),
    }),
    poolList: pools.map(([from, to]) => ({ startIp: at(from), endIp: at(to) })),
  }
}
