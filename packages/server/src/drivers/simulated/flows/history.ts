/** Facts behind the flows, with their periods, so that later changes do not rewrite the past. Source: behaviour networking.md 3.1. */
import { isDeepStrictEqual } from 'node:util'
import type { MirrorProgram } from '../../traffic-mirroring.ts'
import type { FloatingIpProgram, PolicyProgram } from '../../virtual-routing.ts'
import type { Collection, SimulatedWorld } from '../world.ts'

export interface Period<T> {
  readonly from: number
  readonly to?: number
  readonly value: T
}

/** Oldest first, without overlaps. */
export interface History<T> {
  readonly periods: readonly Period<T>[]
}

/** A connected NIC of a running guest. */
export interface ObservedNic {
  readonly vmExtId: string
  readonly vmName: string
  readonly hostExtId: string
  readonly macAddress: string
  readonly subnetExtId: string
  readonly vpcExtId?: string
  readonly address?: string
  /** Position among the guest's connected NICs, which share its traffic. */
  readonly index: number
  readonly connectedNics: number
}

export interface ObservedAttachment {
  readonly vpcExtId: string
  readonly subnetExtId: string
  /** Whether the default route of the VPC leaves through it. */
  readonly isExit: boolean
  readonly isTranslated: boolean
  readonly externallyRoutablePrefixes: readonly string[]
}

export interface ObservedTunnel {
  readonly vpcExtId: string
  readonly connectionExtId: string
  /** CIDR texts of destinations behind it. */
  readonly prefixes: readonly string[]
  /** Beginning, unless something changes. */
  readonly upFrom: number
  readonly upTo?: number
  readonly egressLimitMbps?: number
  readonly ingressLimitMbps?: number
}

export interface ObservedMirror {
  readonly sources: readonly (MirrorProgram['sources'][number] & {
    /** NICs of VMs whose traffic passes the source, a NIC of their host. */
    readonly carried?: readonly string[]
  })[]
}

/** A NIC behind a network function, which drops its traffic while no pair serves. */
export interface ObservedRedirection {
  readonly nicExtId: string
  readonly vpcExtId?: string
  readonly served: readonly { readonly from: number; readonly to?: number }[]
}

export const flowHistory = (world: SimulatedWorld) => ({
  nics: world.collection<History<ObservedNic>>('flows.nic'),
  attachments: world.collection<History<ObservedAttachment>>('flows.attachment'),
  floatingIps: world.collection<History<FloatingIpProgram>>('flows.floating-ip'),
  policies: world.collection<History<PolicyProgram>>('flows.policy'),
  mirrors: world.collection<History<ObservedMirror>>('flows.mirror'),
  redirections: world.collection<History<ObservedRedirection>>('flows.redirection'),
  tunnels: world.collection<History<ObservedTunnel>>('flows.tunnel'),
})

export const historyCollections = [
  'flows.attachment',
  'flows.floating-ip',
  'flows.mirror',
  'flows.nic',
  'flows.policy',
  'flows.redirection',
  'flows.tunnel',
] as const

/** As long as statistics go back. */
const keptMillis = 90 * 24 * 3600 * 1000
const keptPeriods = 500
const keptFormer = 10_000

/** A reading at the end of its 30 s belongs to the period that holds then. */
export const holdsAt = ({ from, to = Number.POSITIVE_INFINITY }: Period<unknown>, time: number): boolean =>
  from < time && time <= to

export const periodAt = <T>(history: History<T> | undefined, time: number): Period<T> | undefined =>
  history?.periods.findLast((period) => holdsAt(period, time))

/** The part of a period in which the tunnel was up. */
export function upPart({ from, to, value }: Period<ObservedTunnel>): readonly Period<ObservedTunnel>[] {
  const begun = Math.max(from, value.upFrom)
  const ended = Math.min(to ?? Number.POSITIVE_INFINITY, value.upTo ?? Number.POSITIVE_INFINITY)
  if (ended <= begun) return []
  return [{ from: begun, value, ...(Number.isFinite(ended) && { to: ended }) }]
}

export interface Observation<T> {
  readonly value: T
  /** Used if the value was not observed before. */
  readonly since: number
}

/** The value that stands for two that followed each other, where a history becomes too long. */
type Merge<T> = (older: T, newer: T) => T

/**
 * Closes periods whose value changed or disappeared, and opens periods for new values.
 * @param ids of the observation; others stay as they are @param merge default: old and excess periods are dropped
 */
export async function recordPeriod<T>(
  histories: Collection<History<T>>,
  observed: ReadonlyMap<string, Observation<T>>,
  ids: Iterable<string>,
  now: number,
  merge?: Merge<T>,
): Promise<void> {
  const changed = new Map<string, History<T>>()
  for (const id of ids) {
    const before = histories.get(id)
    const open = before?.periods.at(-1)
    const present = observed.get(id)
    const isOpen = open !== undefined && open.to === undefined
    if (isOpen && present !== undefined && isDeepStrictEqual(open.value, present.value)) continue
    if (!isOpen && present === undefined) continue
    const settled = closed(before?.periods ?? [], now, merge)
    const from = isOpen ? now : Math.max(present?.since ?? 0, open?.to ?? 0)
    const periods = present === undefined ? settled : withPeriod(settled, { from, value: present.value })
    if (periods.length > 0) changed.set(id, { periods })
    else await histories.remove(id)
  }
  if (changed.size > 0) await histories.putAll(changed)
  await removeOldest(histories, now)
}

/** A value that returns at the moment of its end continues its period. */
function withPeriod<T>(settled: readonly Period<T>[], next: Period<T>): readonly Period<T>[] {
  const last = settled.at(-1)
  if (last === undefined || last.to !== next.from || !isDeepStrictEqual(last.value, next.value))
    return [...settled, next]
  return [...settled.slice(0, -1), { from: last.from, value: last.value }]
}

/** A period that lasted no time is left out. */
function closed<T>(periods: readonly Period<T>[], now: number, merge: Merge<T> | undefined): readonly Period<T>[] {
  const all = periods.flatMap((period) =>
    period.to !== undefined ? [period] : period.from < now ? [{ ...period, to: now }] : [],
  )
  const recent = all.filter(({ to }) => (to ?? now) > now - keptMillis).slice(-keptPeriods)
  const former = all.slice(0, all.length - recent.length)
  let [first] = recent
  for (const older of former.reverse()) {
    if (merge === undefined || first === undefined || older.to !== first.from) break
    first = { ...first, from: older.from, value: merge(older.value, first.value) }
  }
  return first === undefined ? [] : [first, ...recent.slice(1)]
}

const endOf = ({ periods }: History<unknown>): number | undefined => {
  const last = periods.at(-1)
  return last === undefined ? 0 : last.to
}

async function removeOldest<T>(histories: Collection<History<T>>, now: number): Promise<void> {
  if (histories.all().size <= keptFormer) return
  const former = [...histories.all()].flatMap(([id, history]) => {
    const end = endOf(history)
    return end === undefined ? [] : [{ id, end }]
  })
  former.sort((a, b) => a.end - b.end)
  for (const [index, { id, end }] of former.entries())
    if (end <= now - keptMillis || index < former.length - keptFormer) await histories.remove(id)
}
