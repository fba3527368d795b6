/** Ports of guests, and holders of addresses in the network. */
import { type Address, isInRange, parseHost, parsePrefix } from '../../../core/ip-address.ts'
import type { DhcpService, SubnetProgram } from '../../network-fabric.ts'
import { gatewayFacts } from '../gateways.ts'
import { type DomainFact, domainFacts } from '../hypervisor/facts.ts'
import { outsideAddressOf } from '../outside-addresses.ts'
import { routerFacts } from '../router-facts.ts'
import type { SimulatedWorld } from '../world.ts'

export interface Port {
  readonly nicExtId: string
  readonly subnetExtId: string
  readonly addresses: readonly string[]
  readonly guest: DomainFact
}

export function portsOf(world: SimulatedWorld): readonly Port[] {
  const found: Port[] = []
  for (const guest of domainFacts(world).all().values())
    for (const { extId, subnetExtId, address, macAddress, vlan } of guest.domain.nics) {
      if (subnetExtId === undefined) continue
      const known = address ?? (vlan && outsideAddressOf(vlan, macAddress))
      found.push({ nicExtId: extId, subnetExtId, addresses: known === undefined ? [] : [known], guest })
    }
  return found
}

export const has = (texts: readonly string[], address: Address): boolean => texts.some((text) => isSame(text, address))

export function isSame(text: string, { family, value }: Address): boolean {
  const other = parseHost(text)
  return other?.family === family && other.value === value
}

export const isWithin = (prefixes: readonly string[], { family, value }: Address): boolean =>
  prefixes.some((text) => {
    const prefix = parsePrefix(text)
    return prefix?.family === family && isInRange(prefix, value)
  })

export const subnetAt = (world: SimulatedWorld, extId: string): SubnetProgram | undefined =>
  world.collection<SubnetProgram>('fabric.subnet').get(extId)

export const addressesOn = (world: SimulatedWorld, subnetExtId: string): DhcpService | undefined =>
  world.collection<DhcpService>('fabric.dhcp').get(subnetExtId)

export const isOnLink = (world: SimulatedWorld, subnetExtId: string, address: Address): boolean =>
  isWithin(addressesOn(world, subnetExtId)?.prefixes ?? [], address)

/** The VPC whose router has the address on the external subnet. */
export const vpcOfRouterAt = (world: SimulatedWorld, subnetExtId: string, address: Address): string | undefined =>
  [...routerFacts(world).all().values()].find(({ ports }) =>
    ports.some((port) => port.subnetExtId === subnetExtId && has(port.addresses, address)),
  )?.program.vpcExtId

export const gatewayAt = (world: SimulatedWorld, address: Address): string | undefined =>
  [...gatewayFacts(world).gateways.all().values()].find(({ addresses }) => has(addresses, address))?.extId
