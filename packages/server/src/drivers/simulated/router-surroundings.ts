/** Connections of a VPC's router, from the facts of the fabric. Source: behaviour networking.md 1.5, 1.10. */
import { formatPrefix, type Prefix, parseHost, parsePrefix } from '../../core/ip-address.ts'
import type { BgpPeer, DhcpService, ExchangedRoute, SubnetProgram } from '../network-fabric.ts'
import { hardwareFaults } from './hardware-faults.ts'
import { type RouterFact, routerFacts } from './router-facts.ts'
import type { SimulatedWorld } from './world.ts'

export interface Surroundings {
  readonly prefixes: readonly { readonly subnetExtId: string; readonly prefix: Prefix }[]
  readonly externallyRoutable: readonly Prefix[]
  readonly ports: readonly PortView[]
}

export interface PortView {
  readonly subnetExtId: string
  readonly prefixes: readonly Prefix[]
  readonly addresses: readonly string[]
  readonly isTranslated: boolean
  readonly isLive: boolean
}

export function surroundingsOf(world: SimulatedWorld, vpcExtId: string): Surroundings {
  const router = routerFacts(world).get(vpcExtId)
  if (router === undefined) return { prefixes: [], externallyRoutable: [], ports: [] }
  const prefixes = [...world.collection<SubnetProgram>('fabric.subnet').all().values()]
    .filter((subnet) => subnet.vpcExtId === vpcExtId)
    .flatMap(({ extId }) => prefixesOf(world, extId).map((prefix) => ({ subnetExtId: extId, prefix })))
  const externallyRoutable = router.program.externallyRoutablePrefixes.flatMap((text) => parsePrefix(text) ?? [])
  return { prefixes, externallyRoutable, ports: portsOf(world, router) }
}

export const prefixesOf = (world: SimulatedWorld, subnetExtId: string): readonly Prefix[] =>
  (world.collection<DhcpService>('fabric.dhcp').get(subnetExtId)?.prefixes ?? []).flatMap(
    (text) => parsePrefix(text) ?? [],
  )

function portsOf(world: SimulatedWorld, { ports, translated }: RouterFact): readonly PortView[] {
  const hosts = hardwareFaults(world)
  return ports.map(({ subnetExtId, addresses, gatewayHostExtIds }) => ({
    subnetExtId,
    prefixes: prefixesOf(world, subnetExtId),
    addresses,
    isTranslated: addresses.some((address) => translated.includes(address)),
    isLive: gatewayHostExtIds.some((host) => hosts.get(host)?.isDown !== true),
  }))
}

/** Prefixes that leave through the port without NAT. */
export function advertisedOf(
  world: SimulatedWorld,
  { vpcExtId, advertising }: Pick<BgpPeer, 'vpcExtId' | 'advertising'>,
): readonly ExchangedRoute[] {
  const { externallyRoutable, ports } = surroundingsOf(world, vpcExtId)
  const port = ports.find(({ isTranslated }) => !isTranslated)
  return externallyRoutable.flatMap((prefix) => {
    const text = formatPrefix(prefix)
    const nexthop = port?.addresses.find((address) => parseHost(address)?.family === prefix.family)
    const isChosen = advertising.prefixes?.includes(text) ?? true
    return isChosen && nexthop !== undefined ? [{ prefix: text, nexthop, communities: advertising.communities }] : []
  })
}
