/** Bridges of simulated hosts, and the interfaces of guests on them. Source: behaviour networking.md 1.18, 3.1. */
import { hash } from 'node:crypto'
import { drawnFrom } from '../../core/ids/draws.ts'
import { derivedId } from '../../core/ids/named-id.ts'
import type { BondView, BridgeProgram, BridgeView, HostNetworking, HostNicView, TapView } from '../host-networking.ts'
import type { DomainNic } from '../hypervisor.ts'
import type { SubnetProgram } from '../network-fabric.ts'
import { nicsOfHost } from './host-nics.ts'
import { domainFacts } from './hypervisor/facts.ts'
import { type SimulatedWorld, viewsByHost } from './world.ts'

/** `since`: when the bridge got its uplinks. */
export type BridgeFact = BridgeProgram & { readonly since: number }

/** By `<host>/<name>`. */
export const bridgeFacts = (world: SimulatedWorld) => world.collection<BridgeFact>('fabric.bridge')

export const bridgeKey = ({ hostExtId, name }: Pick<BridgeProgram, 'hostExtId' | 'name'>): string =>
  `${hostExtId}/${name}`

export const bridgeViews = (world: SimulatedWorld): Pick<HostNetworking, 'bonds' | 'bridges' | 'taps'> => ({
  bonds: (hostExtId) => bondsOfHost(world, hostExtId),
  bridges: (hostExtId) => bridgesOfHost(world, hostExtId),
  taps: (hostExtId) => tapsOfHost(world, hostExtId),
})

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1)

export function bridgesOfHost(world: SimulatedWorld, hostExtId: string): readonly BridgeView[] {
  const nics = nicsOfHost(world, hostExtId)
  return factsOn(world, hostExtId).map(({ since: _, ...bridge }) => {
    // As Open vSwitch chooses it: the lowest of the uplinks.
    const [lowest] = nics.flatMap(({ name, macAddress }) => (bridge.uplinks.includes(name) ? macAddress : [])).sort()
    const active = activeUplinks(bridge, nics)
    return {
      ...bridge,
      extId: derivedId('bridge', hostExtId, bridge.name),
      macAddress: lowest ?? internalMac(bridgeKey(bridge)),
      speedMbps: nics.reduce((sum, { name, model }) => sum + (active.includes(name) ? model.speedMbps : 0), 0),
    }
  })
}

const factsOn = viewsByHost('fabric.bridge', (facts: ReadonlyMap<string, BridgeFact>) =>
  [...facts.values()].sort(byName),
)

/** Uplinks that carry traffic now. */
export function activeUplinks(
  { uplinks, activeUplink, bondMode }: BridgeProgram,
  nics: readonly HostNicView[],
): readonly string[] {
  const up = uplinks.filter((name) => nics.some((nic) => nic.name === name && nic.isUp))
  if (bondMode === 'BALANCE_SLB' || bondMode === 'BALANCE_TCP') return up
  return activeUplink !== undefined && up.includes(activeUplink) ? [activeUplink] : up.slice(0, 1)
}

function bondsOfHost(world: SimulatedWorld, hostExtId: string): readonly BondView[] {
  const nics = nicsOfHost(world, hostExtId)
  return factsOn(world, hostExtId).flatMap((bridge): readonly BondView[] => {
    const { name, uplinks, virtualSwitchExtId, bondMode } = bridge
    if (uplinks.length < 2 || bondMode === 'NONE') return []
    const active = activeUplinks(bridge, nics)
    return [
      {
        extId: derivedId('bond', hostExtId, name),
        name: `${name}-up`,
        bridge: name,
        ...(virtualSwitchExtId && { virtualSwitchExtId }),
        mode: bondMode,
        uplinks,
        active,
        lacp: bondMode === 'BALANCE_TCP' ? lacpOf(world, bridge, active) : 'NIL',
      },
    ]
  })
}

/** From the configuration of the bond until its partner has answered. */
const negotiationSeconds = [1, 3] as const

function lacpOf(world: SimulatedWorld, { since, ...bridge }: BridgeFact, active: readonly string[]): BondView['lacp'] {
  const seconds = drawnFrom(`${world.seed} LACP ${bridgeKey(bridge)} ${since}`, negotiationSeconds)
  return active.length > 0 && world.clock.now() >= since + seconds * 1000 ? 'NEGOTIATED' : 'CONFIGURED'
}

export const uplinksOf = (world: SimulatedWorld, hostExtId: string): readonly string[] =>
  bridgesOfHost(world, hostExtId).flatMap(({ virtualSwitchExtId, uplinks }) =>
    virtualSwitchExtId === undefined ? [] : uplinks,
  )

/** A host is managed over its first bridge. */
export const managementUplinksOf = (world: SimulatedWorld, hostExtId: string): readonly string[] =>
  bridgeFacts(world).get(bridgeKey({ hostExtId, name: managementBridge }))?.uplinks ?? []

/** Without another program it carries the traffic of VPCs, too. */
export const managementBridge = 'br0'

const internalMac = (key: string): string =>
  ['02', ...(hash('sha1', `bridge ${key}`).slice(0, 10).match(/../g) as string[])].join(':')

function tapsOfHost(world: SimulatedWorld, hostExtId: string): readonly TapView[] {
  const subnets = world.collection<SubnetProgram>('fabric.subnet')
  const bridges = bridgesOfHost(world, hostExtId)
  const tapOf = (nic: DomainNic): TapView => {
    const { type, tag, virtualSwitchExtId } = subnets.get(nic.subnetExtId ?? '') ?? {}
    const bridge =
      virtualSwitchExtId && bridges.find((candidate) => candidate.virtualSwitchExtId === virtualSwitchExtId)
    return {
      extId: derivedId('tap', hostExtId, nic.extId),
      name: `vnet-${nic.extId.replaceAll('-', '').slice(0, 8)}`,
      // As libvirt names the host's side of a guest's NIC.
      macAddress: `fe${nic.macAddress.slice(2)}`,
      isUp: nic.isConnected,
      ...(bridge && { bridge: bridge.name }),
      vlan: type === 'VLAN' ? (tag ?? 0) : 0,
    }
  }
  return [...domainFacts(world).all().values()]
    .filter((fact) => fact.state === 'ON' && fact.hostExtId === hostExtId)
    .flatMap(({ domain }) => domain.nics.map(tapOf))
    .sort(byName)
}
