/** Whether a simulated tunnel is up is a function of its facts and of time. Source: behaviour networking.md 1.11, 3.4. */
import { drawsFrom } from '../../core/ids/draws.ts'
import type { TunnelProgram, TunnelRouting, TunnelSecurity, TunnelSpeaker } from '../vpn-tunnels.ts'
import { serviceOf } from './gateways.ts'
import type { Collection, SimulatedWorld } from './world.ts'

type SecurityFact = Omit<TunnelSecurity, 'preSharedKey'> & { readonly keyDigest: string }
export type SpeakerFact = Omit<TunnelSpeaker, 'password'> & { readonly passwordDigest?: string }
type RoutingFact = Omit<TunnelRouting, 'bgp'> & {
  /** `since`: when these speakers were configured. */
  readonly bgp?: { readonly local: SpeakerFact; readonly remote: SpeakerFact; readonly since: number }
}

/** Times are world's time in milliseconds. */
export type TunnelFact = TunnelProgram & {
  readonly since: number
  readonly security?: SecurityFact
  readonly routing?: RoutingFact
  /** When the ends begin to negotiate; `isRekey`: they know each other already. */
  readonly negotiation?: { readonly at: number; readonly isRekey: boolean }
}

/** By connection id; world's time in milliseconds. */
export interface TunnelFault {
  readonly silentSince?: number
  /** Since when the peer has another key. */
  readonly otherKeySince?: number
}

export type Condition = { readonly upSince: number; readonly reason?: undefined } | { readonly reason: string }

const seconds = { negotiation: [3, 10], rekey: [1, 5], bgp: [1, 5], peerBegins: [10, 60] } as const
const retryMillis = 10_000
/** BGP hold time. */
const holdMillis = 90_000

export const tunnelFacts = (
  world: SimulatedWorld,
): { readonly tunnels: Collection<TunnelFact>; readonly tunnelFaults: Collection<TunnelFault> } => ({
  tunnels: world.collection('fabric.vpn-tunnel'),
  tunnelFaults: world.collection('fabric.vpn-tunnel-fault'),
})

export function conditionOf(world: SimulatedWorld, tunnel: TunnelFact): Condition {
  const now = world.clock.now()
  const { silentSince, otherKeySince } = tunnelFacts(world).tunnelFaults.get(tunnel.connectionExtId) ?? {}
  const begun = beginningOf(world, tunnel)
  if (begun.reason !== undefined) return { reason: begun.reason }
  const { at, upAt, deadPeerDetection } = begun
  if (silentSince !== undefined) {
    const wasUp = upAt <= silentSince && !(otherKeySince !== undefined && otherKeySince <= silentSince)
    if (!wasUp) return { reason: 'no response' }
    const lostAt = silentSince + 1000 * deadPeerDetection.timeoutSeconds
    if (now < lostAt) return { upSince: upAt }
    const hasTriedAgain = deadPeerDetection.action === 'RESTART' && now >= lostAt + retryMillis
    return { reason: hasTriedAgain ? 'no response' : 'dead peer detected' }
  }
  if (otherKeySince !== undefined) return { reason: 'authentication failed' }
  if (now < at) return { reason: deadPeerDetection.action === 'CLEAR' ? 'dead peer detected' : 'no response' }
  return now < upAt ? { reason: 'negotiating' } : { upSince: upAt }
}

/** Undefined: no eBGP is configured. */
export function bgpConditionOf(world: SimulatedWorld, tunnel: TunnelFact): Condition | undefined {
  const { bgp } = tunnel.routing ?? {}
  if (bgp === undefined) return undefined
  const condition = conditionOf(world, tunnel)
  if (condition.reason !== undefined) return { reason: 'Idle' }
  if (bgp.local.passwordDigest !== bgp.remote.passwordDigest) return { reason: 'Active: authentication failed' }
  const now = world.clock.now()
  const { silentSince } = tunnelFacts(world).tunnelFaults.get(tunnel.connectionExtId) ?? {}
  const from = Math.max(condition.upSince, bgp.since)
  const upAt = from + millisOf(world, `vpn bgp ${tunnel.connectionExtId} ${from}`, seconds.bgp)
  const isSilent = silentSince !== undefined && (upAt > silentSince || now - silentSince >= holdMillis)
  if (isSilent) return { reason: 'Active: the peer does not answer' }
  return now < upAt ? { reason: 'Connect' } : { upSince: upAt }
}

/** When the present negotiation begins, and when it is complete if the peer answers. */
function beginningOf(world: SimulatedWorld, tunnel: TunnelFact) {
  const { security, negotiation } = tunnel
  if (security === undefined || negotiation === undefined) return { reason: 'the tunnel is not configured' }
  const service = serviceOf(world, tunnel.gatewayExtId)
  if (service.reason !== undefined) return { reason: service.reason }
  const { at, isRekey } = service.upSince > negotiation.at ? { at: service.upSince, isRekey: false } : negotiation
  const span = isRekey ? seconds.rekey : seconds.negotiation
  const upAt = at + millisOf(world, `vpn ${tunnel.connectionExtId} ${at}`, span)
  return { at, upAt, deadPeerDetection: security.deadPeerDetection }
}

const millisOf = (world: SimulatedWorld, text: string, [least, most]: readonly [number, number]): number =>
  Math.round(1000 * (least + (most - least) * drawsFrom(`${world.seed}/${text}`)()))

/** A tunnel that was lost is negotiated again when its peer answers, or has the right key, again. */
export async function setTunnelFault(
  world: SimulatedWorld,
  connectionExtId: string,
  fault: keyof TunnelFault,
  isSo: boolean,
): Promise<void> {
  const { tunnels, tunnelFaults } = tunnelFacts(world)
  const now = world.clock.now()
  const { [fault]: since, ...others } = tunnelFaults.get(connectionExtId) ?? {}
  const tunnel = tunnels.get(connectionExtId)
  const isLost = tunnel !== undefined && conditionOf(world, tunnel).reason !== undefined
  await tunnelFaults.put(connectionExtId, isSo ? { ...others, [fault]: since ?? now } : others)
  if (isSo || since === undefined || !isLost || tunnel.negotiation === undefined) return
  const at = nextAttempt(world, tunnel, Math.max(since, tunnel.negotiation.at))
  await tunnels.put(connectionExtId, { ...tunnel, negotiation: { at, isRekey: false } })
}

/** HOLD: the next packet begins it. CLEAR: the peer does. @param since when the attempts began */
function nextAttempt(world: SimulatedWorld, { connectionExtId, security }: TunnelFact, since: number): number {
  const now = world.clock.now()
  const { action } = security!.deadPeerDetection
  if (action === 'HOLD') return now
  if (action === 'CLEAR') return now + millisOf(world, `vpn peer ${connectionExtId} ${now}`, seconds.peerBegins)
  return since + retryMillis * Math.ceil((now - since) / retryMillis)
}
