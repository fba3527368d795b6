/** Simulated mirrors: their state is a function of guests and hosts. Source: behaviour networking.md 1.16. */
import { isDeepStrictEqual } from 'node:util'
import type { MirrorProgram, MirrorReading, MirrorView, TrafficMirroring } from '../traffic-mirroring.ts'
import type { Flow } from './flows/flow-table.ts'
import type { Flows } from './flows/flows.ts'
import { flowHistory, periodAt } from './flows/history.ts'
import { type HardwareFault, maintenanceFacts } from './hardware.ts'
import { requireAgents } from './host-agents.ts'
import { domainFacts } from './hypervisor/facts.ts'
import { isPaused } from './hypervisor/paused.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export const mirrorFacts = (world: SimulatedWorld): Collection<MirrorProgram> => world.collection('fabric.mirror')

export function createMirroring(world: SimulatedWorld, flows: Flows): TrafficMirroring {
  const mirrors = mirrorFacts(world)
  return {
    async programMirror(mirror) {
      if (isDeepStrictEqual(mirrors.get(mirror.extId), mirror)) return
      requireAgents(world, [mirror.hostExtId], 'later')
      await mirrors.put(mirror.extId, mirror)
    },
    removeMirror: (mirrorExtId) => mirrors.remove(mirrorExtId),
    async mirror(mirrorExtId) {
      const mirror = mirrors.get(mirrorExtId)
      return mirror && viewsOf(world, [mirror])(mirror)
    },
    mirrored: (mirrorExtId, since, times) => mirroredBy(flows, mirrorExtId, since, times),
  }
}

export function activeMirrors(world: SimulatedWorld): ReadonlyMap<string, Pick<MirrorProgram, 'sources'>> {
  const all = [...mirrorFacts(world).all().values()]
  if (all.length === 0) return new Map()
  const viewOf = viewsOf(world, all)
  return new Map(all.flatMap((one) => (viewOf(one).state === 'ACTIVE' ? [[one.extId, { sources: one.sources }]] : [])))
}

function viewsOf(world: SimulatedWorld, mirrors: readonly MirrorProgram[]): (mirror: MirrorProgram) => MirrorView {
  const nicsOf = ({ sources, destinations }: MirrorProgram) => [
    ...sources.map(({ nicExtId }) => nicExtId),
    ...destinations,
  ]
  const places = placesOf(world, new Set(mirrors.flatMap(nicsOf)))
  const faultAt = hostFaults(world)
  return ({ hostExtId, isEnabled, isRemote, sources, destinations }) => {
    const upNics = new Set<string>()
    const faults = new Set<string>()
    const look = (nicExtId: string, isAnywhere: boolean): void => {
      const { fault, at }: Place = places.get(nicExtId) ?? { fault: `the NIC ${nicExtId} is gone` }
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

/** The host of the guest of a NIC, or why nothing passes the NIC. */
interface Place {
  readonly at?: string
  readonly fault?: string
}

/** By NIC. Readers of a mirror may not see its VMs, so none is named. */
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

function hostFaults(world: SimulatedWorld): (hostExtId: string) => string | undefined {
  const faults = world.collection<HardwareFault>('hardware.faults')
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
  const ratesAt = (time: number): readonly number[] => {
    const active = periodAt(history.get(mirrorExtId), time)
    return active === undefined ? [0, 0] : copied(flows, active.value, time)
  }
  const sums = await flows.integrals.at(`mirror ${mirrorExtId}`, since, ratesAt, times)
  return sums.map(([bytes = 0, packets = 0]) => ({ transmitByteCount: bytes, transmitPacketCount: packets }))
}

/** A flow between two sources is copied once. */
function copied(flows: Flows, { sources }: Pick<MirrorProgram, 'sources'>, time: number): readonly number[] {
  const seen = new Set<Flow>()
  let [bytes, packets] = [0, 0]
  for (const { nicExtId, direction } of sources) {
    flows.tableOfNic(nicExtId, time)?.visitNic(nicExtId, time / 1000, (flow, rate) => {
      const isSent = flow.source.nicExtId === nicExtId
      const isChosen = direction === 'BIDIRECTIONAL' || (direction === 'EGRESS') === isSent
      if (!isChosen || (!isSent && !flow.decision.arrives) || seen.has(flow)) return
      seen.add(flow)
      bytes += rate
      packets += Math.ceil(rate / flow.bytesPerPacket)
    })
  }
  return [bytes, packets]
}
