/** Simulated mirrors: their state is a function of guests and hosts. Source: behaviour networking.md 1.16, 1.18, 1.20. */
import { isDeepStrictEqual } from 'node:util'
import type { NicOfHost } from '../host-networking.ts'
import type { SubnetProgram } from '../network-fabric.ts'
import type { MirrorProgram, MirrorReading, MirrorView, TrafficMirroring } from '../traffic-mirroring.ts'
import { activeUplinks, bridgesOfHost, managementBridge } from './bridges.ts'
import type { Flow } from './flows/flow-table.ts'
import type { Flows } from './flows/flows.ts'
import { flowHistory, type ObservedMirror, periodAt } from './flows/history.ts'
import { maintenanceFacts } from './hardware.ts'
import { hardwareFaults } from './hardware-faults.ts'
import { requireAgents } from './host-agents.ts'
import { nicsOfHost } from './host-nics.ts'
import { domainFacts } from './hypervisor/facts.ts'
import { isPaused } from './hypervisor/paused.ts'
import { keyOf } from './noise.ts'
import { overlayFacts } from './overlay-transport.ts'
import type { SimulatedWorld } from './world.ts'

export const mirrorFacts = (world: SimulatedWorld) => world.collection<MirrorProgram>('fabric.mirror')

export function createMirroring(world: SimulatedWorld, flows: Flows): TrafficMirroring {
  const mirrors = mirrorFacts(world)
  return {
    async programMirror(mirror) {
      if (isDeepStrictEqual(mirrors.get(mirror.extId), mirror)) return
      requireAgents(world, [mirror.hostExtId], 'later')
      await mirrors.put(mirror.extId, mirror)
    },
    removeMirror: async (mirrorExtId) => mirrors.remove(mirrorExtId),
    async mirror(mirrorExtId) {
      const mirror = mirrors.get(mirrorExtId)
      return mirror && viewsOf(world, [mirror])(mirror)
    },
    mirrored: async (mirrorExtId, since, times) => mirroredBy(flows, mirrorExtId, since, times),
  }
}

export function activeMirrors(world: SimulatedWorld): ReadonlyMap<string, ObservedMirror> {
  const all = [...mirrorFacts(world).all().values()]
  if (all.length === 0) return new Map()
  const viewOf = viewsOf(world, all)
  return new Map(
    all.flatMap((one) => (viewOf(one).state === 'ACTIVE' ? [[one.extId, { sources: sourcesOf(world, one) }]] : [])),
  )
}

function sourcesOf(world: SimulatedWorld, mirror: MirrorProgram): ObservedMirror['sources'] {
  const { hostExtId, hostNics = [], sources } = mirror
  if (hostNics.length === 0) return sources
  const nics = nicsOfHost(world, hostExtId)
  return sources.map((source) => {
    const nic = nics.find(({ extId }) => extId === source.nicExtId)
    return nic === undefined ? source : { ...source, carried: carriedNics(world, { hostExtId, name: nic.name }) }
  })
}

function viewsOf(world: SimulatedWorld, mirrors: readonly MirrorProgram[]): (mirror: MirrorProgram) => MirrorView {
  const nicsOf = ({ sources, destinations }: MirrorProgram) => [
    ...sources.map(({ nicExtId }) => nicExtId),
    ...destinations,
  ]
  const places = placesOf(world, new Set(mirrors.flatMap(nicsOf)))
  const faultAt = hostFaults(world)
  return ({ hostExtId, isEnabled, isRemote, sources, destinations, hostNics = [] }) => {
    const upNics = new Set<string>()
    const faults = new Set<string>()
    const look = (nicExtId: string, isAnywhere: boolean): void => {
      const place = hostNics.includes(nicExtId)
        ? placeOfHostNic(world, hostExtId, nicExtId, destinations.includes(nicExtId))
        : places.get(nicExtId)
      const { fault, at }: Place = place ?? { fault: `the NIC ${nicExtId} was deleted` }
      const isElsewhere = at !== undefined && at !== hostExtId && !isAnywhere
      const why =
        fault ??
        (isElsewhere ? `the VM of the NIC ${nicExtId} is on the host ${at} instead of ${hostExtId}` : faultAt(at ?? ''))
      if (why === undefined) upNics.add(nicExtId)
      else faults.add(why)
    }
    for (const { nicExtId } of sources) look(nicExtId, false)
    for (const nicExtId of destinations) look(nicExtId, isRemote)
    const ofHost = faultAt(hostExtId)
    if (ofHost !== undefined) faults.add(ofHost)
    if (!isEnabled) return { state: 'DISABLED', upNics }
    return faults.size === 0 ? { state: 'ACTIVE', upNics } : { state: 'ERROR', message: [...faults].join('; '), upNics }
  }
}

/** The host of a NIC's guest, or why nothing passes the NIC. */
interface Place {
  readonly at?: string
  readonly fault?: string
}

/** Readers of a mirror may not see its VMs, so the reasons name none. */
function placesOf(world: SimulatedWorld, nicExtIds: ReadonlySet<string>): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>()
  for (const fact of domainFacts(world).all().values()) {
    const { domain, state, hostExtId } = fact
    for (const { extId, isConnected } of domain.nics) {
      if (!nicExtIds.has(extId)) continue
      if (state !== 'ON' || hostExtId === undefined) places.set(extId, { fault: `the VM of the NIC ${extId} is off` })
      else if (isPaused(world, fact)) places.set(extId, { fault: `the VM of the NIC ${extId} is paused` })
      else if (!isConnected) places.set(extId, { fault: `the NIC ${extId} is disconnected` })
      else places.set(extId, { at: hostExtId })
    }
  }
  return places
}

function placeOfHostNic(
  world: SimulatedWorld,
  hostExtId: string,
  nicExtId: string,
  isDestination: boolean,
): Place | undefined {
  const nic = nicsOfHost(world, hostExtId).find(({ extId }) => extId === nicExtId)
  if (nic === undefined) return undefined
  if (!nic.isUp) return { fault: `the host NIC ${nicExtId} has no link` }
  const isUplink = bridgesOfHost(world, hostExtId).some(({ uplinks }) => uplinks.includes(nic.name))
  return isDestination && isUplink ? { fault: `the host NIC ${nicExtId} is an uplink now` } : { at: hostExtId }
}

function hostFaults(world: SimulatedWorld): (hostExtId: string) => string | undefined {
  const faults = hardwareFaults(world)
  const maintenance = maintenanceFacts(world)
  return (hostExtId) => {
    if (faults.get(hostExtId)?.isDown === true) return `the host ${hostExtId} is down`
    return maintenance.get(hostExtId) === undefined ? undefined : `the host ${hostExtId} is in maintenance`
  }
}

async function mirroredBy(
  flows: Flows,
  mirrorExtId: string,
  since: number,
  times: readonly number[],
): Promise<readonly MirrorReading[]> {
  const history = flowHistory(flows.world).mirrors
  const ratesAt = (time: number): readonly number[] | Promise<readonly number[]> => {
    const active = periodAt(history.get(mirrorExtId), time)
    if (active === undefined) return [0, 0]
    const drawings = nicsOfSources(active.value).flatMap((nicExtId) => flows.prepareNic(nicExtId, time) ?? [])
    const rates = () => copied(flows, active.value, time)
    return drawings.length === 0 ? rates() : Promise.all(drawings).then(rates)
  }
  const sums = await flows.integrals.at(`mirror ${mirrorExtId}`, since, ratesAt, times)
  return sums.map(([bytes = 0, packets = 0]) => ({ transmitByteCount: bytes, transmitPacketCount: packets }))
}

const nicsOfSources = ({ sources }: ObservedMirror): readonly string[] =>
  sources.flatMap(({ carried, nicExtId }) => carried ?? nicExtId)

/** A flow between two sources is copied once; a host NIC does not see flows between two VMs of its host. */
function copied(flows: Flows, { sources }: ObservedMirror, time: number): readonly number[] {
  const seen = new Set<Flow>()
  let [bytes, packets] = [0, 0]
  const copyFrom = (nicExtId: string, { direction, carried }: ObservedMirror['sources'][number]): void =>
    flows.tableOfNic(nicExtId, time)?.visitNic(nicExtId, time / 1000, (flow, rate) => {
      const isSent = flow.source.nicExtId === nicExtId
      const isChosen = direction === 'BIDIRECTIONAL' || (direction === 'EGRESS') === isSent
      const isInsideHost = carried !== undefined && flow.source.hostExtId === flow.destination.hostExtId
      if (!isChosen || isInsideHost || (!isSent && !flow.decision.arrives) || seen.has(flow)) return
      seen.add(flow)
      bytes += rate
      packets += Math.ceil(rate / flow.bytesPerPacket)
    })
  for (const source of sources) for (const nicExtId of source.carried ?? [source.nicExtId]) copyFrom(nicExtId, source)
  return [bytes, packets]
}

/** Empty for a passive NIC, and one without a bridge. A bond balances by NIC of the guest. */
function carriedNics(world: SimulatedWorld, { hostExtId, name }: NicOfHost): readonly string[] {
  const bridge = bridgesOfHost(world, hostExtId).find(({ uplinks }) => uplinks.includes(name))
  if (bridge === undefined) return []
  const active = activeUplinks(bridge, nicsOfHost(world, hostExtId))
  const position = active.indexOf(name)
  if (position < 0) return []
  const subnets = world.collection<SubnetProgram>('fabric.subnet')
  const overlay = [...overlayFacts(world).all().values()].find(({ hostExtIds }) => hostExtIds.includes(hostExtId))
  const carriesOverlay = overlay
    ? overlay.virtualSwitchExtId === bridge.virtualSwitchExtId
    : bridge.name === managementBridge
  const isCarried = (subnetExtId: string | undefined): boolean => {
    const subnet = subnets.get(subnetExtId ?? '')
    if (subnet?.type === 'OVERLAY') return carriesOverlay
    return subnet !== undefined && subnet.virtualSwitchExtId === bridge.virtualSwitchExtId
  }
  const guests = [...domainFacts(world).all().values()].filter(
    (guest) => guest.state === 'ON' && guest.hostExtId === hostExtId,
  )
  return guests
    .flatMap(({ domain }) => domain.nics)
    .filter(({ isConnected, subnetExtId }) => isConnected && isCarried(subnetExtId))
    .filter(({ macAddress }) => (keyOf(macAddress) >>> 0) % active.length === position)
    .map(({ extId }) => extId)
    .sort()
}
