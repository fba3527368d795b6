/** Changes of bridges on simulated hosts. Source: behaviour networking.md 1.18, 3.2, 3.4. */
import { isDeepStrictEqual } from 'node:util'
import { drawsFrom } from '../../core/ids/draws.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { BridgeProgram, HostNetworking } from '../host-networking.ts'
import { bridgeFacts, bridgeKey, bridgesOfHost } from './bridges.ts'
import { noteReach } from './events/host-links.ts'
import { requireAgents } from './host-agents.ts'
import { nicsOfHost } from './host-nics.ts'
import type { SimulatedWorld } from './world.ts'

const secondsOf = { quick: [2, 6], careful: [15, 60] } as const

export function createBridges(
  world: SimulatedWorld,
  isInstant: boolean,
): Pick<HostNetworking, 'putBridge' | 'removeBridge'> {
  const facts = bridgeFacts(world)
  const takeTime = async (key: string, pace: keyof typeof secondsOf): Promise<void> => {
    if (isInstant) return
    const [least, most] = secondsOf[pace]
    const seconds = least * (most / least) ** drawsFrom(`${world.seed} bridge ${key}`)()
    // Whole milliseconds: a clock that is moved by hand would not pass a shorter rest.
    await world.clock.sleep(Math.ceil(seconds * 1000))
  }
  return {
    async putBridge(bridge, pace) {
      const key = bridgeKey(bridge)
      const { since = 0, ...before } = facts.get(key) ?? {}
      if (isDeepStrictEqual(before, bridge)) return
      requireAgents(world, [bridge.hostExtId], 'fails')
      requireNics(world, bridge)
      await takeTime(key, pace)
      const isSameBond = 'uplinks' in before && isDeepStrictEqual(bondOf(before), bondOf(bridge))
      await facts.put(key, { ...bridge, since: isSameBond ? since : world.clock.now() })
      await noteReach(world, bridge.hostExtId)
    },
    async removeBridge(bridge) {
      const key = bridgeKey(bridge)
      if (facts.get(key) === undefined) return
      requireAgents(world, [bridge.hostExtId], 'fails')
      await takeTime(key, 'quick')
      await facts.remove(key)
      await noteReach(world, bridge.hostExtId)
    },
  }
}

const bondOf = ({ uplinks, bondMode }: BridgeProgram) => ({ uplinks, bondMode })

/** @throws DriverError, final, for a NIC that the host does not have, or that another bridge has */
function requireNics(world: SimulatedWorld, { hostExtId, name, uplinks }: BridgeProgram): void {
  const nics = new Set(nicsOfHost(world, hostExtId).map((nic) => nic.name))
  const missing = uplinks.find((uplink) => !nics.has(uplink))
  if (missing !== undefined) throw DriverError.final(`the host ${hostExtId} has no ${missing}`)
  for (const other of bridgesOfHost(world, hostExtId)) {
    const taken = other.name === name ? undefined : other.uplinks.find((uplink) => uplinks.includes(uplink))
    if (taken !== undefined) throw DriverError.final(`${taken} of the host ${hostExtId} is an uplink of ${other.name}`)
  }
}
