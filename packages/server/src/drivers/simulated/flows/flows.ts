/** The flows of the simulated network at any time: a pure function of history, seed and time. Source: networking.md 3.1. */
import { createLru } from '../../../core/lru.ts'
import { createPause } from '../../../store/pause.ts'
import type { FloatingIpProgram, PolicyProgram } from '../../virtual-routing.ts'
import type { SimulatedWorld } from '../world.ts'
import { FlowTable } from './flow-table.ts'
import {
  flowHistory,
  type History,
  historyCollections,
  holdsAt,
  type ObservedAttachment,
  type ObservedNic,
  type ObservedRedirection,
  type ObservedTunnel,
  type Period,
  periodAt,
  upPart,
} from './history.ts'
import { Integrals } from './integrals.ts'
import { droppedParts } from './redirections.ts'

/** A VPC, or a NIC that is in none. */
interface Segment {
  readonly vpcExtId?: string
  readonly nics: Period<ObservedNic & { readonly nicExtId: string }>[]
  readonly attachments: Period<ObservedAttachment>[]
  readonly floatingIps: Period<FloatingIpProgram>[]
  readonly policies: Period<PolicyProgram>[]
  readonly tunnels: Period<ObservedTunnel>[]
  /** Periods in which network functions drop the traffic of NICs. */
  readonly cuts: Period<ObservedRedirection>[]
  /** Ascending; nothing changes between two of them. */
  times: readonly number[]
  /** Most readers go through time in order. */
  last?: { readonly from: number; readonly to: number; readonly table: FlowTable }
  readonly drawings: Map<number, Promise<void>>
}

type NicPeriod = Segment['nics'][number]

interface Index {
  readonly segments: Map<string, Segment>
  readonly nicsOfVm: ReadonlyMap<string, readonly NicPeriod[]>
}

const keptTables = 200
/** A change is observed soon after it, with the time at which it was made. */
const lateMillis = 3_600_000

const segmentOf = (nicExtId: string, { vpcExtId }: ObservedNic): string => vpcExtId ?? nicExtId

export class Flows {
  readonly world: SimulatedWorld
  readonly integrals = new Integrals()
  readonly #histories: ReturnType<typeof flowHistory>
  readonly #tables = createLru<FlowTable>(keptTables)
  #index: Index | undefined

  constructor(world: SimulatedWorld) {
    this.world = world
    this.#histories = flowHistory(world)
    world.watch(historyCollections, () => {
      this.#index = undefined
      this.#tables.clear()
      this.integrals.forgetAfter(world.clock.now() - lateMillis)
    })
  }

  /** Call it before `tableAt`: draws an unknown table without blocking the event loop. @returns undefined when the table is known */
  prepare(segmentExtId: string, time: number): Promise<void> | undefined {
    const segment = this.#segment(segmentExtId)
    if (segment === undefined || isOfLast(segment, time)) return undefined
    const epoch = countBefore(segment.times, time)
    if (this.#tables.get(`${segmentExtId} ${epoch}`) !== undefined) return undefined
    const drawing = segment.drawings.get(epoch) ?? this.#prepared(segmentExtId, segment, epoch, time)
    segment.drawings.set(epoch, drawing)
    return drawing
  }

  async #prepared(segmentExtId: string, segment: Segment, epoch: number, time: number): Promise<void> {
    const pause = createPause()
    try {
      const drawing = this.#drawingOf(segment, time)
      let step = drawing.next()
      for (; step.done !== true; step = drawing.next()) {
        const turn = pause()
        if (turn !== undefined) await turn
      }
      // After a change, the same epoch may be another time.
      if (this.#index?.segments.get(segmentExtId) === segment) this.#tables.set(`${segmentExtId} ${epoch}`, step.value)
    } finally {
      segment.drawings.delete(epoch)
    }
  }

  /** At each time, in order: the share of NICs whose connections to `server` pass (see `FlowTable`). */
  async connectedShares(
    vpcExtId: string,
    times: readonly number[],
    ...connection: Parameters<FlowTable['connectedShare']>
  ): Promise<readonly number[]> {
    const shares: number[] = []
    for (const time of times) {
      await this.prepare(vpcExtId, time)
      shares.push(this.tableAt(vpcExtId, time)?.connectedShare(...connection) ?? 1)
    }
    return shares
  }

  /** In the 30 s before `time`. @param segmentExtId a VPC, or a NIC that is in none */
  tableAt(segmentExtId: string, time: number): FlowTable | undefined {
    const segment = this.#segment(segmentExtId)
    if (segment === undefined) return undefined
    if (isOfLast(segment, time)) return segment.last.table
    const epoch = countBefore(segment.times, time)
    const key = `${segmentExtId} ${epoch}`
    const table = this.#tables.get(key) ?? finished(this.#drawingOf(segment, time))
    this.#tables.set(key, table)
    const [from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY] = [
      segment.times[epoch - 1],
      segment.times[epoch],
    ]
    segment.last = { from, to, table }
    return table
  }

  tableOfNic(nicExtId: string, time: number): FlowTable | undefined {
    const period = periodAt(this.#histories.nics.get(nicExtId), time)
    return period && this.tableAt(segmentOf(nicExtId, period.value), time)
  }

  /** Undefined: the table of the NIC is known. */
  prepareNic(nicExtId: string, time: number): Promise<void> | undefined {
    const period = periodAt(this.#histories.nics.get(nicExtId), time)
    return period && this.prepare(segmentOf(nicExtId, period.value), time)
  }

  /** Segments with NICs on the hosts. */
  segmentsOn(hostExtIds: ReadonlySet<string>, time: number): ReadonlySet<string> {
    const found = new Set<string>()
    for (const [nicExtId, history] of this.#histories.nics.all()) {
      const { value } = periodAt(history, time) ?? {}
      if (value !== undefined && hostExtIds.has(value.hostExtId)) found.add(segmentOf(nicExtId, value))
    }
    return found
  }

  /** Bytes a second that did not arrive at a VM; undefined: it never had a NIC in a VPC or behind a network function. */
  lostBy(vmExtId: string): ((time: number) => number | Promise<number>) | undefined {
    const nics = this.#indexed().nicsOfVm.get(vmExtId)
    if (nics === undefined) return undefined
    const segments = new Set(nics.map(({ value }) => segmentOf(value.nicExtId, value)))
    const [segmentExtId = ''] = segments
    // Statistics ask for thousands of times, between which most networks change rarely and lose nothing.
    let nothingLost = { from: 0, to: 0 }
    const lostAt = (time: number): number => {
      let [lost, isWhole] = [0, true]
      for (const period of nics) {
        if (!holdsAt(period, time)) continue
        const { nicExtId } = period.value
        const table = this.tableAt(segmentOf(nicExtId, period.value), time)!
        if (table.receivesAll(nicExtId)) continue
        isWhole = false
        lost += table.lost(nicExtId, time / 1000)
      }
      const last = this.#segment(segmentExtId)?.last
      if (isWhole && segments.size === 1 && last !== undefined && last.from < time && time <= last.to)
        nothingLost = last
      return lost
    }
    return (time) => {
      if (nothingLost.from < time && time <= nothingLost.to) return 0
      const drawings = nics.flatMap((period) =>
        holdsAt(period, time) ? (this.prepareNic(period.value.nicExtId, time) ?? []) : [],
      )
      return drawings.length === 0 ? lostAt(time) : Promise.all(drawings).then(() => lostAt(time))
    }
  }

  #segment(segmentExtId: string): Segment | undefined {
    const { segments } = this.#indexed()
    const cached = segments.get(segmentExtId)
    const history = cached === undefined ? this.#histories.nics.get(segmentExtId) : undefined
    if (history === undefined) return cached
    const alone = emptySegment(undefined)
    for (const period of history.periods)
      if (period.value.vpcExtId === undefined)
        alone.nics.push({ ...period, value: { ...period.value, nicExtId: segmentExtId } })
    alone.cuts.push(...(this.#histories.redirections.get(segmentExtId)?.periods ?? []).flatMap(droppedParts))
    alone.times = timesOf(alone)
    segments.set(segmentExtId, alone)
    return alone
  }

  #indexed(): Index {
    this.#index ??= this.#newIndex()
    return this.#index
  }

  #newIndex(): Index {
    const { nics, attachments, floatingIps, policies, tunnels, redirections } = this.#histories
    const segments = new Map<string, Segment>()
    const nicsOfVm = new Map<string, NicPeriod[]>()
    for (const [nicExtId, { periods }] of nics.all()) {
      for (const period of periods) {
        const { vmExtId, vpcExtId } = period.value
        // Most NICs of large worlds are in no VPC and behind no function, and few requests ask for their flows.
        if (vpcExtId === undefined && this.#histories.redirections.get(nicExtId) === undefined) continue
        const nics = nicsOfVm.get(vmExtId)
        const ofNic = { ...period, value: { ...period.value, nicExtId } }
        if (nics === undefined) nicsOfVm.set(vmExtId, [ofNic])
        else nics.push(ofNic)
        if (vpcExtId === undefined) continue
        const segment = segments.get(vpcExtId) ?? emptySegment(vpcExtId)
        segment.nics.push(ofNic)
        segments.set(vpcExtId, segment)
      }
    }
    share(attachments.all(), (vpcExtId) => segments.get(vpcExtId)?.attachments)
    share(floatingIps.all(), (vpcExtId) => segments.get(vpcExtId)?.floatingIps)
    share(policies.all(), (vpcExtId) => segments.get(vpcExtId)?.policies)
    share(tunnels.all(), (vpcExtId) => segments.get(vpcExtId)?.tunnels, upPart)
    share(redirections.all(), (vpcExtId) => segments.get(vpcExtId)?.cuts, droppedParts)
    for (const segment of segments.values()) segment.times = timesOf(segment)
    return { segments, nicsOfVm }
  }

  #drawingOf({ vpcExtId, ...segment }: Segment, time: number): Generator<undefined, FlowTable> {
    const held = <T>(periods: readonly Period<T>[]): readonly T[] =>
      periods.flatMap((period) => (holdsAt(period, time) ? [period.value] : []))
    return FlowTable.drawing({
      seed: this.world.seed,
      ...(vpcExtId !== undefined && { vpcExtId }),
      nics: held(segment.nics),
      attachments: held(segment.attachments),
      floatingIps: held(segment.floatingIps),
      policies: held(segment.policies),
      tunnels: held(segment.tunnels),
      cutNics: new Set(held(segment.cuts).map(({ nicExtId }) => nicExtId)),
    })
  }
}

const isOfLast = (segment: Segment, time: number): segment is Segment & Required<Pick<Segment, 'last'>> =>
  segment.last !== undefined && segment.last.from < time && time <= segment.last.to

function finished<T>(steps: Iterator<undefined, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

const emptySegment = (vpcExtId: string | undefined): Segment => ({
  ...(vpcExtId !== undefined && { vpcExtId }),
  ...{ nics: [], attachments: [], floatingIps: [], policies: [], tunnels: [], cuts: [], times: [] },
  drawings: new Map(),
})

function share<T extends { readonly vpcExtId?: string }>(
  histories: ReadonlyMap<string, History<T>>,
  listOf: (vpcExtId: string) => Period<T>[] | undefined,
  partsOf: (period: Period<T>) => readonly Period<T>[] = (period) => [period],
): void {
  for (const { periods } of histories.values())
    for (const period of periods) listOf(period.value.vpcExtId ?? '')?.push(...partsOf(period))
}

function timesOf({ nics, attachments, floatingIps, policies, tunnels, cuts }: Segment): readonly number[] {
  const all: readonly Period<unknown>[] = [...nics, ...attachments, ...floatingIps, ...policies, ...tunnels, ...cuts]
  const times = all.flatMap(({ from, to }) => (to === undefined ? from : [from, to]))
  return [...new Set(times)].sort((a, b) => a - b)
}

function countBefore(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (times[middle]! < time) low = middle + 1
    else high = middle
  }
  return low
}
