/** Bridges of simulated hosts, and the interfaces of guests on them. Source: behaviour networking.md 1.18, 3.1. */
import { hash } from 'node:crypto'
import { derivedId } from '../../core/ids/named-id.ts'
import type { BridgeProgram, BridgeView, HostNetworking, TapView } from '../host-networking.ts'
import type { DomainNic } from '../hypervisor.ts'
import type { SubnetProgram } from '../network-fabric.ts'
import { nicsOfHost } from './host-nics.ts'
import { domainFacts } from './hypervisor/facts.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** Milliseconds since 1970: when the bridge got its uplinks. */
export type BridgeFact = BridgeProgram & { readonly since: number }

/** By `<host>/<name>`. */
export const bridgeFacts = (world: SimulatedWorld): Collection<BridgeFact> => world.collection('fabric.bridge')

export const bridgeKey = ({ hostExtId, name }: Pick<BridgeProgram, 'hostExtId' | 'name'>): string =>
  `${hostExtId}/${name}`

export const createBridges = (world: SimulatedWorld): Pick<HostNetworking, 'bridges' | 'taps'> => ({
  bridges: (hostExtId) => bridgesOfHost(world, hostExtId),
  taps: (hostExtId) => tapsOfHost(world, hostExtId),
})

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1)

export function bridgesOfHost(world: SimulatedWorld, hostExtId: string): readonly BridgeView[] {
  const nics = nicsOfHost(world, hostExtId)
  return [...bridgeFacts(world).all().values()]
    .filter((bridge) => bridge.hostExtId === hostExtId)
    .map(({ since: _, ...bridge }) => {
      // As Open vSwitch chooses it: the lowest of the uplinks.
      const [lowest] = nics.flatMap(({ name, macAddress }) => (bridge.uplinks.includes(name) ? macAddress : [])).sort()
      return {
        ...bridge,
        extId: derivedId('bridge', hostExtId, bridge.name),
        macAddress: lowest ?? internalMac(bridgeKey(bridge)),
      }
    })
    .sort(byName)
}

/** NICs of the host in virtual switches. */
export const uplinksOf = (world: SimulatedWorld, hostExtId: string): readonly string[] =>
  bridgesOfHost(world, hostExtId).flatMap(({ virtualSwitchExtId, uplinks }) =>
    virtualSwitchExtId === undefined ? [] : uplinks,
  )

/** A host is managed over its first bridge. */
export const managementUplinksOf = (world: SimulatedWorld, hostExtId: string): readonly string[] =>
  bridgeFacts(world).get(bridgeKey({ hostExtId, name: managementBridge }))?.uplinks ?? []

const managementBridge = 'br0'

/** Locally administered. */
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
