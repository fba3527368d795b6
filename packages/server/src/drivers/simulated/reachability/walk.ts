import { type Address, formatAddress } from '../../../core/ip-address.ts'
import type { Trace, TracedPacket, TraceHop } from '../../reachability.ts'
import { guestReach } from '../hypervisor/guest-reach.ts'
import { keyOf } from '../noise.ts'
import type { SimulatedWorld } from '../world.ts'
import { type Port, portsOf } from './ports.ts'

/** `via`: the next neighbour; default: the destination. `isSentHere`: the sender is on this subnet: no router has judged the packet. */
export type Place =
  | { readonly at: 'subnet'; readonly subnetExtId: string; readonly via?: Address; readonly isSentHere?: boolean }
  | { readonly at: 'router'; readonly vpcExtId: string }
  | { readonly at: 'outside' }

export type Ending = Pick<Trace, 'outcome' | 'reason'>
export type Step = Place | Ending

export const dropped = (reason: string): Ending => ({ outcome: 'DROPPED', reason })
export const delivered = (reason: string): Ending => ({ outcome: 'DELIVERED', reason })
export const notRoutable = (reason: string): Ending => ({ outcome: 'NOT_ROUTABLE', reason })

const nowhere: Address = { family: 'IPV4', value: 0n }

/** One packet on its way. Translations change its addresses. */
export class Walk {
  readonly world: SimulatedWorld
  readonly packet: TracedPacket
  readonly ports: readonly Port[]
  readonly hops: TraceHop[] = []
  source = nowhere
  destination = nowhere
  destinationPort: number | undefined
  readonly #reachOf: ReturnType<typeof guestReach>

  constructor(world: SimulatedWorld, packet: TracedPacket, isInstant: boolean) {
    this.world = world
    this.packet = packet
    this.destinationPort = packet.destinationPort
    this.ports = portsOf(world)
    this.#reachOf = guestReach(world, isInstant)
  }

  note(type: TraceHop['type'], entity: TraceHop['entity'], decision: string): void {
    const [sourceAddress, destinationAddress] = [formatAddress(this.source), formatAddress(this.destination)]
    this.hops.push({ type, ...(entity && { entity }), decision, sourceAddress, destinationAddress })
  }

  /** Why the guest does not use the network, or does not answer on a port; undefined: it does. */
  silence({ guest, nicExtId }: Port, port?: number): string | undefined {
    const reach = this.#reachOf(guest, nicExtId, port)
    if ('fault' in reach) return reach.fault
    return reach.since > this.world.clock.now() ? `the guest of the VM ${guest.domain.name} boots` : undefined
  }

  portOf(nicExtId: string | undefined): Port | undefined {
    return this.ports.find((port) => port.nicExtId === nicExtId)
  }

  /** A connection always gets the same route. */
  oneOf<T>(ways: readonly T[], ...more: readonly (number | undefined)[]): T | undefined {
    const tuple = [this.packet.protocol, formatAddress(this.source), formatAddress(this.destination), ...more]
    return ways[(keyOf(tuple.join(' ')) >>> 0) % ways.length]
  }
}
