/** Follows one packet through the facts of the network. Source: decision one-model-of-the-network. */
import { type Address, parseHost } from '../../../core/ip-address.ts'
import type { Reachability, Trace } from '../../reachability.ts'
import type { SimulatedWorld } from '../world.ts'
import type { Port } from './ports.ts'
import { crossRouter } from './router.ts'
import { crossOutside, crossSubnet } from './subnet.ts'
import { dropped, notRoutable, type Place, type Step, Walk } from './walk.ts'

/** Longer than the way in any working network. */
const maximumHops = 32

export const createReachability = (world: SimulatedWorld, isInstant: boolean): Reachability => ({
  async trace(packet): Promise<Trace> {
    const walk = new Walk(world, packet, isInstant)
    let step = begin(walk)
    for (let hops = 0; 'at' in step; hops++)
      step = hops < maximumHops ? cross(walk, step) : notRoutable('the packet is in a routing loop')
    return { ...step, hops: walk.hops }
  },
})

function cross(walk: Walk, place: Place): Step {
  if (place.at === 'subnet') return crossSubnet(walk, place)
  return place.at === 'router' ? crossRouter(walk, place.vpcExtId) : crossOutside(walk)
}

function begin(walk: Walk): Step {
  const { source, destination } = walk.packet
  const [from, to] = [walk.portOf(source.nicExtId), walk.portOf(destination.nicExtId)]
  const target = addressOf(destination.address, to)
  const own = addressOf(source.address, from, target?.family)
  if (own === undefined) return dropped('the NIC that sends has no address')
  walk.source = own
  if (target === undefined) return dropped('the NIC to which the packet is sent has no address')
  walk.destination = target
  if (own.family !== target.family) return notRoutable('no hop translates between IPv4 and IPv6')
  if (from !== undefined) return leave(walk, from)
  const { vpcExtId } = source
  if (vpcExtId !== undefined) return { at: 'router', vpcExtId }
  walk.note('EXTERNAL_NETWORK', undefined, 'sends the packet from outside')
  return { at: 'outside' }
}

function addressOf(given: string | undefined, port: Port | undefined, family?: Address['family']): Address | undefined {
  if (given !== undefined) return parseHost(given)
  const addresses = (port?.addresses ?? []).flatMap((text) => parseHost(text) ?? [])
  return addresses.find((address) => address.family === family) ?? addresses[0]
}

function leave(walk: Walk, port: Port): Step {
  const silence = walk.silence(port)
  walk.note('NIC', { kind: 'Nic', extId: port.nicExtId }, silence === undefined ? 'sends the packet' : 'sends nothing')
  return silence === undefined ? { at: 'subnet', subnetExtId: port.subnetExtId, isSentHere: true } : dropped(silence)
}
