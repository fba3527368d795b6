/** Whether a simulated tunnel is up is a function of its facts and of time. Source: behaviour networking.md 1.11, 3.4. */
import { drawnFrom } from '../../core/ids/draws.ts'
import type { TunnelProgram, TunnelRouting, TunnelSecurity, TunnelSpeaker } from '../vpn-tunnels.ts'
import { serviceOf, upFromOf } from './gateways.ts'
import type { SimulatedWorld } from './world.ts'

type SecurityFact = Omit<TunnelSecurity, 'preSharedKey'> & { readonly keyDigest: string }
export type SpeakerFact = Omit<TunnelSpeaker, 'password'> & { readonly passwordDigest?: string }
type RoutingFact = Omit<TunnelRouting, 'bgp'> & {
  /** `since`: when these speakers were configured. */
  readonly bgp?: { readonly local: SpeakerFact; readonly remote: SpeakerFact; readonly since: number }
}

export type TunnelFact = TunnelProgram & {
  readonly since: number
  readonly security?: SecurityFact
  readonly routing?: RoutingFact
  /** `at`: when the ends begin to negotiate; `isRekey`: they know each other already. */
  readonly negotiation?: { readonly at: number; readonly isRekey: boolean }
}

export interface TunnelFault {
  readonly silentSince?: number
  readonly otherKeySince?: number
}

export type Condition = { readonly upSince: number; readonly reason?: undefined } | { readonly reason: string }

const seconds = { negotiation: [3, 10], rekey: [1, 5], bgp: [1, 5], peerBegins: [10, 60] } as const
const retryMillis = 10_000
/** BGP hold time. */
const holdMillis = 90_000

export const tunnelFacts = (world: SimulatedWorld) => ({
  tunnels: world.collection<TunnelFact>('fabric.vpn-tunnel'),
  tunnelFaults: world.collection<TunnelFault>('fabric.vpn-tunnel-fault'),
})

/** The time in which something is up if its facts do not change. */
export interface Span {
  readonly from: number
  readonly to: number
}

export function conditionOf(world: SimulatedWorld, tunnel: TunnelFact): Condition {
  const span = upSpan(world, tunnel)
  if ('reason' in span) return span
  const now = world.clock.now()
  const action = tunnel.security?.deadPeerDetection.action
  if (now >= span.to) {
    const hasTriedAgain = action === 'RESTART' && now >= span.to + retryMillis
    return { reason: hasTriedAgain ? 'no response' : 'dead peer detected' }
  }
  if (now >= span.from) return { upSince: span.from }
  if (now >= span.begun) return { reason: 'negotiating' }
  return { reason: action === 'CLEAR' ? 'dead peer detected' : 'no response' }
}

/** `begun`: when the ends begin to negotiate. */
type UpSpan = (Span & { readonly begun: number }) | { readonly reason: string }

export function upSpan(world: SimulatedWorld, tunnel: TunnelFact): UpSpan {
  if (tunnel.negotiation === undefined) return { reason: 'the tunnel is not configured' }
  const { upSince, reason } = serviceOf(world, tunnel.gatewayExtId)
  return upSince === undefined ? { reason } : spanAfter(world, tunnel, upSince)
}

/** Also while the gateway boots. Undefined: the tunnel stays down until one of its facts changes. */
export function expectedSpan(world: SimulatedWorld, tunnel: TunnelFact): Span | undefined {
  const upFrom = upFromOf(world, tunnel.gatewayExtId)
  const span = upFrom === undefined ? undefined : spanAfter(world, tunnel, upFrom)
  return span === undefined || 'reason' in span ? undefined : span
}

/** @param gatewayUpFrom when the gateway works */
function spanAfter(world: SimulatedWorld, tunnel: TunnelFact, gatewayUpFrom: number): UpSpan {
  const { connectionExtId, security, negotiation } = tunnel
  if (security === undefined || negotiation === undefined) return { reason: 'the tunnel is not configured' }
  const { at, isRekey } = gatewayUpFrom > negotiation.at ? { at: gatewayUpFrom, isRekey: false } : negotiation
  const from = at + millisOf(world, `vpn ${connectionExtId} ${at}`, isRekey ? seconds.rekey : seconds.negotiation)
  const { silentSince, otherKeySince } = tunnelFacts(world).tunnelFaults.get(connectionExtId) ?? {}
  if (silentSince === undefined) {
    if (otherKeySince !== undefined) return { reason: 'authentication failed' }
    return { begun: at, from, to: Number.POSITIVE_INFINITY }
  }
  const wasUp = from <= silentSince && !(otherKeySince !== undefined && otherKeySince <= silentSince)
  if (!wasUp) return { reason: 'no response' }
  return { begun: at, from, to: silentSince + 1000 * security.deadPeerDetection.timeoutSeconds }
}

/** Undefined: no eBGP is configured. */
export function bgpConditionOf(world: SimulatedWorld, tunnel: TunnelFact): Condition | undefined {
  const { bgp } = tunnel.routing ?? {}
  if (bgp === undefined) return undefined
  const now = world.clock.now()
  const span = bgpSpan(world, tunnel)
  if (span !== undefined && span.from <= now && now < span.to) return { upSince: span.from }
  if (conditionOf(world, tunnel).reason !== undefined) return { reason: 'Idle' }
  if (!isSamePassword(bgp)) return { reason: 'Active: authentication failed' }
  const { silentSince } = tunnelFacts(world).tunnelFaults.get(tunnel.connectionExtId) ?? {}
  return { reason: silentSince === undefined ? 'Connect' : 'Active: the peer does not answer' }
}

/** The eBGP session is up in this time if the facts do not change. */
export function bgpSpan(world: SimulatedWorld, tunnel: TunnelFact): Span | undefined {
  const { bgp } = tunnel.routing ?? {}
  const up = upSpan(world, tunnel)
  if (bgp === undefined || 'reason' in up || !isSamePassword(bgp)) return undefined
  const { silentSince = Number.POSITIVE_INFINITY } = tunnelFacts(world).tunnelFaults.get(tunnel.connectionExtId) ?? {}
  const since = Math.max(up.from, bgp.since)
  const from = since + millisOf(world, `vpn bgp ${tunnel.connectionExtId} ${since}`, seconds.bgp)
  return from > silentSince ? undefined : { from, to: Math.min(up.to, silentSince + holdMillis) }
}

const isSamePassword = ({ local, remote }: { readonly local: SpeakerFact; readonly remote: SpeakerFact }): boolean =>
  local.passwordDigest === remote.passwordDigest

const millisOf = (world: SimulatedWorld, text: string, seconds: readonly [number, number]): number =>
  Math.round(1000 * drawnFrom(`${world.seed}/${text}`, seconds))

/** A lost tunnel is negotiated again when its peer answers, or has the right key, again. */
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

/** HOLD waits for the next packet, CLEAR for the peer. @param since when the attempts began */
function nextAttempt(world: SimulatedWorld, { connectionExtId, security }: TunnelFact, since: number): number {
  const now = world.clock.now()
  const { action } = security!.deadPeerDetection
  if (action === 'HOLD') return now
  if (action === 'CLEAR') return now + millisOf(world, `vpn peer ${connectionExtId} ${now}`, seconds.peerBegins)
  return since + retryMillis * Math.ceil((now - since) / retryMillis)
}
