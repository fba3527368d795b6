/** Simulated layer-2 stretches. Source: behaviour networking.md 1.9, 1.12, 3.1, 3.2. */
import { drawnFrom, drawsFrom } from '../../core/ids/draws.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { PeeredGateway, Stretching, StretchProgram, StretchView } from '../stretching.ts'
import { gatewayFacts, serviceOf, upFromOf } from './gateways.ts'
import { keyOf, noise } from './noise.ts'
import { isRemoteSiteCutOff } from './remote-managers.ts'
import { remoteSites } from './remote-sites.ts'
import {
  areAddressesKnown,
  type Carrier,
  isPassing,
  observedPath,
  type StretchDelays,
  type StretchPath,
} from './stretch-path.ts'
import { conditionOf, expectedSpan, tunnelFacts } from './vpn-state.ts'
import type { SimulatedWorld } from './world.ts'

/** Absent `bridgedAt`: no frames of the subnet enter the tunnel. */
type StretchFact = StretchProgram & { readonly bridgedAt?: number }

/** By stretch id. `paths` has the findings of observations. */
export const stretchFacts = (world: SimulatedWorld) => ({
  stretches: world.collection<StretchFact>('fabric.stretch'),
  paths: world.collection<StretchPath>('fabric.stretch-path'),
})

/** Facts on which the paths depend, beside hosts, guests and remote sites. */
export const stretchCollections = [
  'fabric.gateway',
  'fabric.gateway-agent',
  'fabric.stretch',
  'fabric.vpn-tunnel',
  'fabric.vpn-tunnel-fault',
] as const

const establishSeconds = [5, 15] as const
const failoverSeconds = [3, 10] as const
const distanceMillis = [2, 80] as const
const readingMillis = 30_000

export function createStretches(world: SimulatedWorld): Stretching {
  const { stretches, paths } = stretchFacts(world)
  return {
    async programStretch(program) {
      const { bridgedAt } = stretches.get(program.extId) ?? {}
      await stretches.put(program.extId, { ...program, ...(bridgedAt !== undefined && { bridgedAt }) })
    },
    async bridgeSubnet(stretchExtId) {
      const fact = stretches.get(stretchExtId)
      if (fact === undefined) throw DriverError.final(`no gateway has the stretch ${stretchExtId}`)
      if (fact.bridgedAt === undefined) await stretches.put(stretchExtId, { ...fact, bridgedAt: world.clock.now() })
    },
    async endBridging(stretchExtId) {
      const { bridgedAt: _, ...program } = stretches.get(stretchExtId) ?? {}
      if ('extId' in program) await stretches.put(stretchExtId, program)
      await paths.remove(stretchExtId)
    },
    async removeStretch(stretchExtId) {
      await stretches.remove(stretchExtId)
      await paths.remove(stretchExtId)
    },
    stretch: async (stretchExtId) => viewOf(world, stretchExtId),
    async peersOfGateway(gatewayExtId) {
      const groups = [...stretches.all().values()].map((fact) => gatewaysOf(world, fact))
      const peers = new Set(groups.filter((group) => group.includes(gatewayExtId)).flat())
      peers.delete(gatewayExtId)
      return [...peers].sort().map((extId) => peerOf(world, extId))
    },
  }
}

function viewOf(world: SimulatedWorld, stretchExtId: string): StretchView | undefined {
  const { stretches, paths } = stretchFacts(world)
  const fact = stretches.get(stretchExtId)
  if (fact === undefined) return undefined
  const now = world.clock.now()
  const path = paths.get(stretchExtId) ?? { passing: [] }
  const isTunnelUp = isPassing(path, now)
  const { carrier, carriesFrom = Number.POSITIVE_INFINITY } = path
  const isInterfaceUp = carriesFrom <= now && now < (carrier?.until ?? Number.POSITIVE_INFINITY)
  const reason = isTunnelUp ? undefined : reasonOf(world, fact, path, isInterfaceUp)
  const [, ...standbys] = gatewaysOf(world, fact)
  return {
    ...{ isInterfaceUp, isTunnelUp },
    ...(reason !== undefined && { reason }),
    ...(isTunnelUp && { roundTripMillis: roundTripMillis(world, fact, now) }),
    ...(!isInterfaceUp && path.failover !== undefined && fact.tunnel.type === 'VXLAN' && { failover: path.failover }),
    peers: standbys.map((extId) => peerOf(world, extId)),
    learned: areAddressesKnown(path, now) ? learnedBy(world, fact) : [],
  }
}

function reasonOf(world: SimulatedWorld, fact: StretchFact, path: StretchPath, isInterfaceUp: boolean): string {
  if (fact.bridgedAt === undefined) return 'the subnet is not bridged'
  if (isInterfaceUp) return path.reachedFrom === undefined ? 'the remote site does not answer' : inPreparation
  const isTakenOver = path.carrier !== undefined && path.failover === 'IN_PROGRESS'
  return isTakenOver ? 'a peered gateway takes over' : (downReasonOf(world, fact) ?? inPreparation)
}
const inPreparation = 'the tunnel is being set up'

function peerOf(world: SimulatedWorld, extId: string): PeeredGateway {
  const { reason } = serviceOf(world, extId)
  return { extId, isUp: reason === undefined, ...(reason !== undefined && { reason }) }
}

function learnedBy(world: SimulatedWorld, { remote, tunnel }: StretchFact): StretchView['learned'] {
  const guests = remoteSites(world).get(remote.siteExtId)?.guests ?? []
  const vteps = tunnel.type === 'VXLAN' ? tunnel.vteps : []
  return guests
    .filter(({ subnetExtId }) => subnetExtId === remote.subnetExtId)
    .map(({ macAddress }) => {
      const vtep = vteps[Math.floor(drawsFrom(`vtep ${macAddress}`)() * vteps.length)]
      return { macAddress, ...(vtep !== undefined && { vtep }) }
    })
}

export function roundTripMillis(world: SimulatedWorld, { extId, remote }: StretchFact, at: number): number {
  const distance = drawnFrom(`${world.seed}/distance ${remote.siteExtId}`, distanceMillis)
  const more = 3 * noise(keyOf(`${world.seed}/round trip ${extId}`), 1, Math.floor(at / readingMillis))
  return Math.round(10 * (distance + more)) / 10
}

/** Compares gateways and sites with the last findings and stores changes. Call it after each change of a fact. */
export function stretchObservation(world: SimulatedWorld): () => Promise<void> {
  const { stretches, paths } = stretchFacts(world)
  return async () => {
    const now = world.clock.now()
    const changed = new Map<string, StretchPath>()
    for (const [extId, fact] of stretches.all()) {
      const before = paths.get(extId)
      const after = pathAfter(world, before, fact, now)
      if (after !== before && after !== undefined) changed.set(extId, after)
    }
    if (changed.size > 0) await paths.putAll(changed)
    for (const extId of [...paths.all().keys()])
      if (stretches.get(extId)?.bridgedAt === undefined) await paths.remove(extId)
  }
}

/** @returns undefined for a stretch that is not bridged */
export function pathAfter(
  world: SimulatedWorld,
  before: StretchPath | undefined,
  fact: StretchFact,
  now: number,
): StretchPath | undefined {
  if (fact.bridgedAt === undefined) return undefined
  const isRemoteReachable = !isRemoteSiteCutOff(world, fact.remote.siteExtId)
  return observedPath(before, { carriers: carriersOf(world, fact), isRemoteReachable }, delaysOf(world, fact), now)
}

const delaysOf = (world: SimulatedWorld, { extId }: StretchFact): StretchDelays => ({
  establishMillis: 1000 * drawnFrom(`${world.seed}/establish ${extId}`, establishSeconds),
  failoverMillis: 1000 * drawnFrom(`${world.seed}/failover ${extId}`, failoverSeconds),
})

/** In order of preference. */
function carriersOf(world: SimulatedWorld, program: StretchProgram): readonly Carrier[] {
  const { tunnel } = program
  if (tunnel.type === 'VXLAN')
    return gatewaysOf(world, program).flatMap((extId) => {
      const upFrom = upFromOf(world, extId)
      return upFrom === undefined ? [] : [{ extId, upFrom }]
    })
  const connection = tunnelFacts(world).tunnels.get(tunnel.connectionExtId)
  const span = connection && expectedSpan(world, connection)
  if (span === undefined) return []
  const { from: upFrom, to: until } = span
  return [{ extId: tunnel.connectionExtId, upFrom, ...(Number.isFinite(until) && { until }) }]
}

function downReasonOf(world: SimulatedWorld, { tunnel }: StretchProgram): string | undefined {
  if (tunnel.type === 'VXLAN') return serviceOf(world, tunnel.gatewayExtId).reason
  const connection = tunnelFacts(world).tunnels.get(tunnel.connectionExtId)
  return connection === undefined ? 'the VPN connection has no tunnel' : conditionOf(world, connection).reason
}

/** The gateways that can carry it, the configured one first; none for a VPN connection. */
function gatewaysOf(world: SimulatedWorld, { tunnel }: StretchProgram): readonly string[] {
  if (tunnel.type === 'VPN') return []
  const { gatewayExtId, isHighlyAvailable } = tunnel
  const { gateways } = gatewayFacts(world)
  const own = gateways.get(gatewayExtId)?.service
  if (!isHighlyAvailable || own?.type !== 'VTEP' || own.isHighlyAvailable !== true) return [gatewayExtId]
  const others = [...gateways.all()].filter(
    ([extId, { service }]) =>
      extId !== gatewayExtId &&
      service.type === 'VTEP' &&
      service.isHighlyAvailable === true &&
      service.network === own.network,
  )
  return [gatewayExtId, ...others.map(([extId]) => extId).sort()]
}
