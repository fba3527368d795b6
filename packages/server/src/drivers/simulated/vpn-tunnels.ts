/** Simulated tunnels of VPN gateways. Source: behaviour networking.md 1.11, 3.1. */
import { isDeepStrictEqual } from 'node:util'
import { formatPrefix } from '../../core/ip-address.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import { secretDigest } from '../hardware.ts'
import type { TunnelProgram, TunnelSpeaker, TunnelView, VpnTunnels } from '../vpn-tunnels.ts'
import { advertisedBy, learnedBy } from './vpn-routes.ts'
import {
  bgpConditionOf,
  type Condition,
  conditionOf,
  type SpeakerFact,
  type TunnelFact,
  tunnelFacts,
} from './vpn-state.ts'
import type { SimulatedWorld } from './world.ts'

export function createVpnTunnels(world: SimulatedWorld): VpnTunnels {
  const { tunnels, tunnelFaults } = tunnelFacts(world)
  const { clock } = world
  const tunnelAt = (connectionExtId: string): TunnelFact => {
    const tunnel = tunnels.get(connectionExtId)
    if (tunnel === undefined) throw DriverError.final(`no tunnel of the connection ${connectionExtId}`)
    return tunnel
  }
  const without = async (connectionExtId: string, names: readonly (keyof TunnelFact)[]): Promise<void> => {
    const tunnel = tunnels.get(connectionExtId)
    if (tunnel === undefined) return
    const kept = Object.entries(tunnel).filter(([name]) => !names.includes(name as keyof TunnelFact))
    await tunnels.put(connectionExtId, Object.fromEntries(kept) as unknown as TunnelFact)
  }
  return {
    async programTunnel(program) {
      const present = tunnels.get(program.connectionExtId)
      if (present === undefined) return tunnels.put(program.connectionExtId, { ...program, since: clock.now() })
      const isSame = isDeepStrictEqual(endsOf(present), endsOf(program))
      const { since, security, routing, negotiation } = present
      await tunnels.put(program.connectionExtId, {
        ...program,
        since,
        ...(security && { security }),
        ...(routing && { routing }),
        ...(negotiation && { negotiation: isSame ? negotiation : { at: clock.now(), isRekey: false } }),
      })
    },
    async secureTunnel(connectionExtId, { preSharedKey, ...security }) {
      const tunnel = tunnelAt(connectionExtId)
      const next = { ...security, keyDigest: secretDigest(connectionExtId, preSharedKey) }
      const { proposal, keyDigest } = tunnel.security ?? {}
      const isSame = keyDigest === next.keyDigest && isDeepStrictEqual(proposal, next.proposal)
      const isRekey = conditionOf(world, tunnel).reason === undefined
      const negotiation = isSame && tunnel.negotiation ? tunnel.negotiation : { at: clock.now(), isRekey }
      await tunnels.put(connectionExtId, { ...tunnel, security: next, negotiation })
    },
    async routeTunnel(connectionExtId, { bgp, ...routing }) {
      const tunnel = tunnelAt(connectionExtId)
      const { since = clock.now(), ...present } = tunnel.routing?.bgp ?? {}
      const speakers = bgp && {
        local: speakerOf(connectionExtId, bgp.local),
        remote: speakerOf(connectionExtId, bgp.remote),
      }
      const isSame = isDeepStrictEqual(sessionOf(present), sessionOf(speakers ?? {}))
      const session = speakers && { bgp: { ...speakers, since: isSame ? since : clock.now() } }
      await tunnels.put(connectionExtId, { ...tunnel, routing: { ...routing, ...session } })
    },
    stopTunnelRouting: async (connectionExtId) => without(connectionExtId, ['routing']),
    endTunnelSecurity: async (connectionExtId) => without(connectionExtId, ['security', 'negotiation']),
    async removeTunnel(connectionExtId) {
      await tunnels.remove(connectionExtId)
      await tunnelFaults.remove(connectionExtId)
    },
    async tunnel(connectionExtId) {
      const tunnel = tunnels.get(connectionExtId)
      return tunnel && viewOf(world, tunnel)
    },
  }
}

/** A change of these makes the peers negotiate again. */
const endsOf = ({ gatewayExtId, local, remote }: TunnelProgram) => ({ gatewayExtId, local, remote })

const speakerOf = (connectionExtId: string, { password, ...speaker }: TunnelSpeaker): SpeakerFact =>
  password === undefined ? speaker : { ...speaker, passwordDigest: secretDigest(connectionExtId, password) }

/** A change of these ends the BGP session. */
const sessionOf = (speakers: { readonly local?: SpeakerFact; readonly remote?: SpeakerFact }) =>
  [speakers.local, speakers.remote].map((speaker) => [speaker?.autonomousSystemNumber, speaker?.passwordDigest])

function viewOf(world: SimulatedWorld, tunnel: TunnelFact): TunnelView {
  const bgp = bgpConditionOf(world, tunnel)
  return {
    ...shown(conditionOf(world, tunnel)),
    ...(bgp && { bgp: shown(bgp) }),
    learned: learnedBy(world, tunnel).map(formatPrefix),
    advertised: advertisedBy(world, tunnel).map(formatPrefix),
  }
}

const shown = ({ reason }: Condition) => ({ isUp: reason === undefined, ...(reason !== undefined && { reason }) })
