/**
 * Statistics of hosts and clusters: one series of points per figure. The figures of a cluster are computed from the
 * sums over all of its hosts. Source: behaviour clustermgmt.md 1.17, 3 (Statistics generator).
 */
import type { EntityOf, Resource } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { pathOf } from '../../core/standard.ts'
import { formatTime } from '../../core/time/clock.ts'
import { applySelection, equals } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'
import { copiesOf, hostsOf, poolUsage } from '../storage-space/capacity.ts'
import { gridFor, type Request, typeOf } from './answers.ts'
import { externSubjects } from './extern.ts'
import { type Bucket, bucketsOf, maximumPoints, type StatType, spanOf } from './grid.ts'
import { type HostSums, type StorageOfHosts, sumsOfHosts } from './host-sums.ts'
import { ioFigures } from './io.ts'
import { nativeSubjects } from './native.ts'
import { folded, type Subject } from './series.ts'

export interface TimeValue {
  readonly timestamp: string
  readonly value: number
}

type HostFigure = (sums: HostSums) => number

const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((1e6 * part) / whole))
const io = (name: string): HostFigure => ioFigures[name] as HostFigure

const idleWatts = 180
const loadWatts = 320

const hostFigures: Readonly<Record<string, HostFigure>> = {
  aggregateHypervisorMemoryUsagePpm: (sums) => share(sums.memoryBytes, sums.memoryCapacityBytes),
  controllerAvgIoLatencyUsecs: io('AvgIoLatencyMicros'),
  controllerAvgReadIoLatencyUsecs: io('AvgReadIoLatencyMicros'),
  controllerAvgWriteIoLatencyUsecs: io('AvgWriteIoLatencyMicros'),
  controllerNumIops: io('NumIops'),
  controllerNumReadIops: io('NumReadIops'),
  controllerNumWriteIops: io('NumWriteIops'),
  controllerReadIoBandwidthKbps: io('ReadIoBandwidthKbps'),
  controllerWriteIoBandwidthKbps: io('WriteIoBandwidthKbps'),
  cpuCapacityHz: ({ cpuCapacityHz }) => cpuCapacityHz,
  cpuUsageHz: ({ cpuHz }) => cpuHz,
  freePhysicalStorageBytes: ({ capacityBytes, usageBytes }) => Math.max(0, capacityBytes - usageBytes),
  healthCheckScore: () => 100,
  hypervisorCpuUsagePpm: (sums) => share(sums.cpuHz, sums.cpuCapacityHz),
  ioBandwidthKbps: io('IoBandwidthKbps'),
  logicalStorageUsageBytes: ({ logicalBytes }) => logicalBytes,
  memoryCapacityBytes: ({ memoryCapacityBytes }) => memoryCapacityBytes,
  // Hosts of the simulated world never reclaim memory from guests.
  memoryOvercommitPoolSizePpm: () => 0,
  overallMemoryUsageBytes: ({ memoryBytes }) => memoryBytes,
  overallMemoryUsagePpm: (sums) => share(sums.memoryBytes, sums.memoryCapacityBytes),
  overallSavingsBytes: ({ unreducedBytes, usageBytes }) => Math.max(0, unreducedBytes - usageBytes),
  overallSavingsRatio: ({ unreducedBytes, usageBytes }) =>
    usageBytes === 0 ? 1e6 : Math.round((1e6 * unreducedBytes) / usageBytes),
  overcommittedVmsReclaimableMemoryBytes: () => 0,
  powerConsumptionInstantWatt: ({ hosts, cpuHz, cpuCapacityHz }) =>
    Math.round(hosts * idleWatts + (cpuCapacityHz === 0 ? 0 : (loadWatts * hosts * cpuHz) / cpuCapacityHz)),
  recycleBinUsageBytes: () => 0,
  snapshotCapacityBytes: () => 0,
  storageCapacityBytes: ({ capacityBytes }) => capacityBytes,
  storageUsageBytes: ({ usageBytes }) => usageBytes,
}

const dayMillis = 24 * 3600 * 1000
const hourMillis = 3600 * 1000
const daysOfBounds = 7
const bound = /^(.*)(Lower|Upper)Buf$/

interface Measured {
  readonly cluster: EntityOf<typeof Cluster>
  /** All hosts of the cluster, or the single host whose statistics are shown. */
  readonly hosts: readonly EntityOf<typeof Host>[]
  readonly extId: string
  readonly kind: Resource<any, any>
}

/** @throws ApiError 400 when the start of the span is not before its end */
export async function hostStatistics(
  ctx: ReadContext,
  request: Request,
  { cluster, hosts, extId, kind }: Measured,
): Promise<{ readonly extId: string } & Readonly<Record<string, unknown>>> {
  const { select } = request.query
  const span = spanOf(spanParameters(ctx, request), ctx.clock.now())
  const grid = gridFor(ctx, request, span, maximumPoints)
  const points = Math.max(1, Math.ceil((span.to - span.from) / grid.intervalSeconds))
  const buckets = bucketsOf(grid, Math.max(1, Math.min(10, Math.floor(maximumPoints / points))))
  const names = Object.keys(kind.schema.fields)
    .filter((name) => hostFigures[name.replace(bound, '$1')] !== undefined)
    .filter((name) => select === undefined || select.fields === 'all' || select.fields.has(name))
  const slots = names.some((name) => bound.test(name)) ? slotsBefore(buckets) : []
  const sums = await sumsAt(ctx, cluster, hosts, [
    ...buckets.flatMap(({ times }) => times.map((time) => time * 1000)),
    ...slots.flatMap(timesOfSlot),
  ])
  const sampled = buckets.map((bucket) => ({
    ...bucket,
    sums: defined(bucket.times.map((time) => sums.get(time * 1000))),
  }))
  const shown = Object.fromEntries(
    names.flatMap((name) => {
      const [, figureName = name, side] = bound.exec(name) ?? []
      const figure = hostFigures[figureName] as HostFigure
      const values =
        side === undefined ? figureSeries(sampled, figure, typeOf(request)) : boundSeries(sampled, figure, side, sums)
      return values.length === 0 ? [] : [[name, values]]
    }),
  )
  const answer = { extId, ...shown }
  return select === undefined ? answer : applySelection(select, answer)
}

/** Requests of version v4.0 may leave out the span; the default is the last hour. */
function spanParameters(ctx: ReadContext, { query }: Request): Readonly<Record<string, unknown>> {
  const end = (query.parameters['$endTime'] as string | undefined) ?? ctx.clock.iso()
  const start = query.parameters['$startTime'] ?? formatTime(Date.parse(end) - hourMillis)
  return { ...query.parameters, $startTime: start, $endTime: end }
}

async function sumsAt(
  ctx: ReadContext,
  cluster: EntityOf<typeof Cluster>,
  hosts: readonly EntityOf<typeof Host>[],
  wanted: readonly number[],
): Promise<ReadonlyMap<number, HostSums | undefined>> {
  const times = [...new Set(wanted)].sort((a, b) => a - b)
  const storageAt = await storageOver(ctx, cluster.extId, hosts, times)
  const sums = await sumsOfHosts(ctx.drivers.telemetry, hosts, await subjectsOf(ctx, cluster.extId), times, storageAt)
  return new Map(times.map((time, index) => [time, sums[index]]))
}

async function subjectsOf(ctx: ReadContext, clusterExtId: string): Promise<readonly Subject[]> {
  const native = await ctx.store.find(Vm, { filter: equals(pathOf(Vm, 'cluster/extId'), clusterExtId) })
  const extern = await ctx.store.find(ExternVm, { filter: equals(pathOf(ExternVm, 'cluster/extId'), clusterExtId) })
  return [...(await nativeSubjects(ctx, native)), ...(await externSubjects(ctx, extern))]
}

/** Storage is computed at midnight (UTC) of each needed day and interpolated linearly in between. */
async function storageOver(
  ctx: ReadContext,
  clusterExtId: string,
  hosts: readonly EntityOf<typeof Host>[],
  times: readonly number[],
): Promise<(time: number) => StorageOfHosts> {
  const all = await hostsOf(ctx.store, clusterExtId)
  const drives = (some: typeof all): number =>
    some.reduce((sum, { disk = [] }) => sum + disk.reduce((size, { sizeInBytes = 0 }) => size + sizeInBytes, 0), 0)
  const part = drives(all) === 0 ? 0 : drives([...hosts]) / drives(all)
  const containers = await ctx.store.findWhere(StorageContainer, { clusterExtId })
  const days = new Map<number, StorageOfHosts>()
  for (const day of new Set(
    times.flatMap((time) => [Math.floor(time / dayMillis), Math.floor(time / dayMillis) + 1]),
  )) {
    const pool = await poolUsage({ ...ctx, clock: { now: () => day * dayMillis } }, clusterExtId)
    let [logicalBytes, unreducedBytes] = [0, 0]
    for (const container of containers) {
      const written = pool.containers.get(container.extId)?.logicalBytes ?? 0
      logicalBytes += written
      unreducedBytes += written * copiesOf(container)
    }
    const usageBytes = pool.capacityBytes - pool.freeBytes
    days.set(day, { capacityBytes: pool.capacityBytes, usageBytes, logicalBytes, unreducedBytes })
  }
  return (time) => {
    const day = Math.floor(time / dayMillis)
    const [from, to] = [days.get(day) as StorageOfHosts, days.get(day + 1) as StorageOfHosts]
    const between = (name: keyof StorageOfHosts): number =>
      Math.round(part * (from[name] + (to[name] - from[name]) * (time / dayMillis - day)))
    return {
      capacityBytes: between('capacityBytes'),
      usageBytes: between('usageBytes'),
      logicalBytes: between('logicalBytes'),
      unreducedBytes: between('unreducedBytes'),
    }
  }
}

interface Sampled extends Bucket {
  readonly sums: readonly HostSums[]
}

function figureSeries(sampled: readonly Sampled[], figure: HostFigure, type: StatType): TimeValue[] {
  return sampled.flatMap(({ timestamp, sums, weight }): TimeValue[] => {
    const last = sums.at(-1)
    if (last === undefined) return []
    // Sums are averaged before figures are derived, so that shares and latencies stay consistent.
    if (type === 'AVG') return [{ timestamp, value: figure(meanOf(sums)) }]
    if (type === 'LAST') return [{ timestamp, value: figure(last) }]
    const value = folded(
      type,
      sums.map((each) => ({ value: figure(each) })),
      weight,
    )?.['value'] as number
    return [{ timestamp, value }]
  })
}

/** Mean of the same hour of the last seven days, minus or plus two standard deviations. */
function boundSeries(
  sampled: readonly Sampled[],
  figure: HostFigure,
  side: string,
  sums: ReadonlyMap<number, HostSums | undefined>,
): TimeValue[] {
  const bounds = new Map<number, number | undefined>()
  return sampled.flatMap(({ at, timestamp, sums: measured }): TimeValue[] => {
    const slot = slotOf(at)
    if (!bounds.has(slot)) bounds.set(slot, boundOf(slot))
    const value = bounds.get(slot)
    return value === undefined || measured.length === 0 ? [] : [{ timestamp, value }]
  })

  function boundOf(slot: number): number | undefined {
    const usual = daysBefore(slot).flatMap((earlier): number[] => {
      const of = defined(timesOfSlot(earlier).map((time) => sums.get(time)))
      return of.length === 0 ? [] : [figure(meanOf(of))]
    })
    if (usual.length === 0) return undefined
    const mean = usual.reduce((sum, value) => sum + value, 0) / usual.length
    const deviation = Math.sqrt(usual.reduce((sum, value) => sum + (value - mean) ** 2, 0) / usual.length)
    return Math.max(0, Math.round(side === 'Lower' ? mean - 2 * deviation : mean + 2 * deviation))
  }
}

/** A slot is an hour, counted from 1970. A point belongs to the hour in which its interval ends. */
const slotOf = (second: number): number => Math.ceil((second * 1000) / hourMillis) - 1
const daysBefore = (slot: number): number[] => Array.from({ length: daysOfBounds }, (_, day) => slot - 24 * (day + 1))
const slotsBefore = (buckets: readonly Bucket[]): number[] => [
  ...new Set(buckets.flatMap(({ at }) => daysBefore(slotOf(at)))),
]
/** One reading in each half of the hour; milliseconds since 1970. */
const timesOfSlot = (slot: number): number[] => [
  slot * hourMillis + hourMillis / 4,
  slot * hourMillis + (3 * hourMillis) / 4,
]

function meanOf(sums: readonly HostSums[]): HostSums {
  if (sums.length === 1) return sums[0] as HostSums
  const names = Object.keys(sums[0] as HostSums) as (keyof HostSums)[]
  return Object.fromEntries(
    names.map((name) => [name, Math.round(sums.reduce((sum, each) => sum + each[name], 0) / sums.length)]),
  ) as unknown as HostSums
}

const defined = <T>(values: readonly (T | undefined)[]): T[] => values.filter((value) => value !== undefined)
