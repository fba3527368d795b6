/** Observes the facts behind the flows, and records their history. Source: behaviour networking.md 3.1. */
import { type Prefix, parseHost } from '../../../core/ip-address.ts'
import type { SubnetProgram } from '../../network-fabric.ts'
import type { FloatingIpProgram } from '../../virtual-routing.ts'
import { bgpFacts } from '../bgp-peers.ts'
import { type DomainFact, domainFacts } from '../hypervisor/facts.ts'
import { fabricFacts } from '../network-fabric.ts'
import { routeFacts, routerFacts } from '../router-facts.ts'
import { surroundingsOf } from '../router-surroundings.ts'
import { routesOfRouter } from '../router-tables.ts'
import { policyFacts } from '../routing-policies.ts'
import { activeMirrors } from '../traffic-mirrors.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { flowHistory, type Observation, type ObservedAttachment, type ObservedNic, recordPeriod } from './history.ts'
import { observedRedirections } from './redirections.ts'
import { observedTunnels } from './tunnels.ts'

const watched = {
  nics: ['domains'],
  attachments: ['fabric.router', 'fabric.route', 'fabric.bgp-peer', 'fabric.bgp-fault', 'hardware.faults'],
  floatingIps: ['fabric.floating-ip'],
  policies: ['fabric.policy'],
  mirrors: [
    ...['domains', 'fabric.mirror', 'hardware.faults', 'hardware.maintenance', 'storage.full', 'storage.stalls'],
    ...['fabric.bridge', 'fabric.overlay-transport', 'fabric.subnet', 'hardware.nics'],
  ],
  redirections: ['domains', 'fabric.network-function', 'fabric.network-function-health', 'fabric.subnet'],
  tunnels: [
    ...[
      'fabric.vpn-tunnel',
      'fabric.vpn-tunnel-fault',
      'fabric.route',
      'fabric.subnet',
      'fabric.dhcp',
      'fabric.router',
    ],
    ...['fabric.gateway', 'fabric.gateway-agent', 'domains', 'hardware.faults'],
  ],
} as const

type Sort = keyof typeof watched

/**
 * @param changed called when `observe` has work @returns `observe(since)`: facts without history have held since then, default: now;
 * guests run since their start
 */
export function createObserver(
  world: SimulatedWorld,
  changed: () => void,
): { readonly observe: (since?: number) => Promise<void>; readonly end: () => void } {
  const histories = flowHistory(world)
  const due = new Set<Sort>(Object.keys(watched) as Sort[])
  const ends = (Object.keys(watched) as Sort[]).map((sort) =>
    world.watch(watched[sort], () => {
      due.add(sort)
      changed()
    }),
  )
  const seen = new Map<string, DomainFact>()
  const all = <T>(history: Collection<T>, observed: ReadonlyMap<string, unknown>): Set<string> =>
    new Set([...history.all().keys(), ...observed.keys()])
  const observations: Readonly<Record<Sort, (now: number, since: number) => Promise<void>>> = {
    async nics(now) {
      const { observed, ids } = changedNics(world, seen)
      await recordPeriod(histories.nics, observed, ids, now)
    },
    async attachments(now, since) {
      const observed = attachmentsOf(world, since)
      await recordPeriod(histories.attachments, observed, all(histories.attachments, observed), now, busier)
    },
    async floatingIps(now, since) {
      const observed = present<FloatingIpProgram>(
        world.collection<FloatingIpProgram>('fabric.floating-ip').all(),
        since,
      )
      await recordPeriod(histories.floatingIps, observed, all(histories.floatingIps, observed), now)
    },
    async policies(now, since) {
      const programs = [...policyFacts(world).all()].map(
        ([extId, { countedSince: _, ...program }]) => [extId, program] as const,
      )
      const observed = present(new Map(programs), since)
      await recordPeriod(histories.policies, observed, all(histories.policies, observed), now)
    },
    async tunnels(now, since) {
      const observed = observedTunnels(world, since)
      await recordPeriod(histories.tunnels, observed, all(histories.tunnels, observed), now)
    },
    async redirections(now, since) {
      const observed = observedRedirections(world, since)
      await recordPeriod(histories.redirections, observed, all(histories.redirections, observed), now)
    },
    async mirrors(now, since) {
      const observed = present(activeMirrors(world), since)
      await recordPeriod(histories.mirrors, observed, all(histories.mirrors, observed), now)
    },
  }
  return {
    async observe(since) {
      const sorts = [...due]
      due.clear()
      const now = world.clock.now()
      for (const sort of sorts)
        await observations[sort](now, since ?? now).catch((error) => {
          due.add(sort)
          seen.clear()
          throw error
        })
    },
    end() {
      for (const end of ends) end()
    },
  }
}

const present = <T>(values: ReadonlyMap<string, T>, since: number): ReadonlyMap<string, Observation<T>> =>
  new Map([...values].map(([id, value]) => [id, { value, since }]))

/** Facts are replaced, never changed, so only guests that differ from `seen` are compared. */
function changedNics(
  world: SimulatedWorld,
  seen: Map<string, DomainFact>,
): { readonly observed: ReadonlyMap<string, Observation<ObservedNic>>; readonly ids: ReadonlySet<string> } {
  const { subnets } = fabricFacts(world)
  const domains = domainFacts(world).all()
  const observed = new Map<string, Observation<ObservedNic>>()
  const ids = new Set<string>()
  // The first observation also closes periods that were open when the service ended.
  if (seen.size === 0) for (const id of flowHistory(world).nics.all().keys()) ids.add(id)
  for (const [extId, fact] of domains) {
    const before = seen.get(extId)
    if (before === fact) continue
    seen.set(extId, fact)
    for (const nic of [...(before?.domain.nics ?? []), ...fact.domain.nics]) ids.add(nic.extId)
    for (const [id, observation] of nicsOf(fact, subnets)) observed.set(id, observation)
  }
  for (const [extId, fact] of seen) {
    if (domains.has(extId)) continue
    seen.delete(extId)
    for (const nic of fact.domain.nics) if (!observed.has(nic.extId)) ids.add(nic.extId)
  }
  return { observed, ids }
}

function nicsOf(
  fact: DomainFact,
  subnets: Collection<SubnetProgram>,
): readonly (readonly [string, Observation<ObservedNic>])[] {
  const { domain, state, hostExtId, startedAt = 0, nicChanges = {} } = fact
  if (state !== 'ON' || hostExtId === undefined) return []
  const connected = domain.nics.filter(({ isConnected, subnetExtId }) => isConnected && subnetExtId !== undefined)
  return connected.map((nic, index) => {
    const { extId, macAddress, subnetExtId, address } = nic
    const vpcExtId = subnets.get(subnetExtId!)?.vpcExtId
    const value: ObservedNic = {
      ...{ vmExtId: domain.extId, vmName: domain.name, hostExtId, macAddress, subnetExtId: subnetExtId! },
      ...(vpcExtId !== undefined && { vpcExtId }),
      ...(address !== undefined && { address }),
      ...{ index, connectedNics: connected.length },
    }
    return [extId, { value, since: Math.max(startedAt, nicChanges[extId]?.at ?? 0) }]
  })
}

function attachmentsOf(world: SimulatedWorld, since: number): ReadonlyMap<string, Observation<ObservedAttachment>> {
  const observed = new Map<string, Observation<ObservedAttachment>>()
  const routed = routedVpcs(world)
  for (const [vpcExtId, { ports, program, translated }] of routerFacts(world).all()) {
    const exits = routed.has(vpcExtId) ? exitsOf(world, vpcExtId) : new Set<string>()
    for (const { subnetExtId, addresses } of ports) {
      const value = {
        ...{ vpcExtId, subnetExtId, isExit: exits.has(subnetExtId) },
        isTranslated: addresses.some((address) => translated.includes(address)),
        externallyRoutablePrefixes: program.externallyRoutablePrefixes,
      }
      observed.set(`${vpcExtId}/${subnetExtId}`, { value, since })
    }
  }
  return observed
}

/** Totals since the attachment must not fall, so merged time counts as time in which traffic passed. */
const busier = (older: ObservedAttachment, newer: ObservedAttachment): ObservedAttachment =>
  older.isExit && !newer.isExit ? older : newer

const anywhere = '0.0.0.0/0'

/** Filter for speed: most worlds have many VPCs without a default route. */
const routedVpcs = (world: SimulatedWorld): ReadonlySet<string> =>
  new Set([
    ...[...routeFacts(world).all().values()].flatMap(({ prefix, vpcExtId }) => (prefix === anywhere ? vpcExtId : [])),
    ...[...bgpFacts(world).bgpPeers.all().values()].map(({ vpcExtId }) => vpcExtId),
  ])

function exitsOf(world: SimulatedWorld, vpcExtId: string): ReadonlySet<string> {
  const { ports } = surroundingsOf(world, vpcExtId)
  const defaults = routesOfRouter(world, vpcExtId).filter(({ prefix, isActive }) => isActive && prefix === anywhere)
  return new Set(
    defaults.flatMap(({ nexthop: { subnetExtId, address = '' } }) => {
      const host = parseHost(address)
      const holdsIt = ({ family, first, last }: Prefix): boolean =>
        host?.family === family && first <= host.value && host.value <= last
      return subnetExtId ?? ports.find(({ prefixes }) => prefixes.some(holdsIt))?.subnetExtId ?? []
    }),
  )
}
