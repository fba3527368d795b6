/** Cluster figures derive from sums over all hosts. Source: behaviour clustermgmt.md 1.17, 3 (Statistics generator). */
import type { AnyResource } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf } from '../../core/standard.ts'
import { formatTime } from '../../core/time/clock.ts'
import { applySelection, equals } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'
import { gridFor, type Request, typeOf } from './answers.ts'
import { blocksOfCluster } from './blocks.ts'
import { externSubjects } from './extern.ts'
import {
  figureSeries,
  meanOfSums,
  type SampledBucket,
  sampledBuckets,
  type TimeValue,
  timesOf,
} from './figure-series.ts'
import { type Bucket, bucketsOf, type Grid, maximumPoints, spanOf } from './grid.ts'
import { storageOfHosts } from './host-storage.ts'
import { type HostSums, noStorage, sumsOfHosts } from './host-sums.ts'
import { ioFigures } from './io.ts'
import { nativeSubjects } from './native.ts'
import type { Subject } from './series.ts'

interface HostSample extends HostSums {
  readonly health: number
}

type HostFigure = (sample: HostSample) => number

export const share = (part: number, total: number): number => (total === 0 ? 0 : Math.round((1e6 * part) / total))
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
  healthCheckScore: ({ health }) => health,
  hypervisorCpuUsagePpm: (sums) => share(sums.cpuHz, sums.cpuCapacityHz),
  ioBandwidthKbps: io('IoBandwidthKbps'),
  logicalStorageUsageBytes: ({ logicalBytes }) => logicalBytes,
  memoryCapacityBytes: ({ memoryCapacityBytes }) => memoryCapacityBytes,
  // Hosts of the simulated world never reclaim memory from guests.
  memoryOvercommitPoolSizePpm: () => 0,
  overallMemoryUsageBytes: ({ memoryBytes }) => memoryBytes,
  overallMemoryUsagePpm: (sums) => share(sums.memoryBytes, sums.memoryCapacityBytes),
  overallSavingsBytes: ({ copiedBytes, physicalBytes }) => copiedBytes - physicalBytes,
  overallSavingsRatio: ({ copiedBytes, physicalBytes }) =>
    physicalBytes === 0 ? 1e6 : Math.round((1e6 * copiedBytes) / physicalBytes),
  overcommittedVmsReclaimableMemoryBytes: () => 0,
  powerConsumptionInstantWatt: ({ hosts, cpuHz, cpuCapacityHz }) =>
    Math.round(hosts * idleWatts + (cpuCapacityHz === 0 ? 0 : (loadWatts * hosts * cpuHz) / cpuCapacityHz)),
  recycleBinUsageBytes: () => 0,
  snapshotCapacityBytes: ({ reclaimableBytes }) => reclaimableBytes,
  storageCapacityBytes: ({ capacityBytes }) => capacityBytes,
  storageUsageBytes: ({ usageBytes }) => usageBytes,
}

export const maximumOfAnswer = 60_000
const storageFigures: ReadonlySet<string> = new Set([
  'freePhysicalStorageBytes',
  'logicalStorageUsageBytes',
  'overallSavingsBytes',
  'overallSavingsRatio',
  'snapshotCapacityBytes',
  'storageCapacityBytes',
  'storageUsageBytes',
])
const hourMillis = 3600 * 1000
const daysOfBounds = 7
const bound = /^(.*)(Lower|Upper)Buf$/

interface Measured {
  readonly cluster: Cluster
  readonly hosts: readonly Host[]
  readonly extId: string
  readonly kind: AnyResource
  /** @param time milliseconds since 1970 */
  readonly healthAt: (time: number) => number
}

/** @throws ApiError 400 unless the span has a positive length */
export async function hostStatistics(
  ctx: ReadContext,
  request: Request,
  { cluster, hosts, extId, kind, healthAt }: Measured,
): Promise<{ readonly extId: string } & Readonly<Record<string, unknown>>> {
  const { select } = request.query
  const names = Object.keys(kind.schema.fields)
    .filter((name) => hostFigures[name.replace(bound, '$1')] !== undefined)
    .filter((name) => select === undefined || select.fields === 'all' || select.fields.has(name))
  const span = spanOf(spanParameters(ctx, request), ctx.clock.now())
  const most = Math.min(maximumPoints, Math.floor(maximumOfAnswer / Math.max(1, names.length)))
  const buckets = bucketsWithin(gridFor(ctx, request, span, most))
  const sampled = await sample(ctx, { cluster, hosts, healthAt, names, buckets })
  const bounds = new Map<string, Bounds>()
  const shown: Record<string, readonly TimeValue[]> = {}
  for (const name of names) {
    const [, figureName = name, side] = bound.exec(name) ?? []
    const figure = hostFigures[figureName] as HostFigure
    if (side === undefined) shown[name] = figureSeries(sampled.buckets, figure, typeOf(request))
    else {
      const own = bounds.get(figureName) ?? boundsOf(sampled, figure, figureName.endsWith('Ppm') ? 1e6 : Infinity)
      bounds.set(figureName, own)
      shown[name] = boundSeries(sampled.buckets, own, side)
    }
    await new Promise(setImmediate)
  }
  const answer = { extId, ...Object.fromEntries(Object.entries(shown).filter(([, values]) => values.length > 0)) }
  return select === undefined ? answer : applySelection(select, answer)
}

/** Fewer readings per point for more points, at most ten. */
export function bucketsWithin(grid: Grid): readonly Bucket[] {
  const points = Math.max(1, Math.ceil((grid.to - grid.from) / grid.intervalSeconds))
  return bucketsOf(grid, Math.max(1, Math.min(10, Math.floor(maximumPoints / points))))
}

/** Version v4.0 defaults to the last hour. */
export function spanParameters(ctx: ReadContext, { query }: Request): Readonly<Record<string, unknown>> {
  const end = (query.parameters['$endTime'] as string | undefined) ?? ctx.clock.iso()
  const start = query.parameters['$startTime'] ?? formatTime(Date.parse(end) - hourMillis)
  return { ...query.parameters, $startTime: start, $endTime: end }
}

interface Sampled {
  readonly buckets: readonly SampledBucket<HostSample>[]
  /** Means of earlier hours, by slot; empty unless bounds are requested. */
  readonly slots: ReadonlyMap<number, HostSample | undefined>
}

async function sample(
  ctx: ReadContext,
  {
    cluster,
    hosts,
    healthAt,
    names,
    buckets,
  }: Pick<Measured, 'cluster' | 'healthAt' | 'hosts'> & {
    readonly names: readonly string[]
    readonly buckets: readonly Bucket[]
  },
): Promise<Sampled> {
  const slots = names.some((name) => bound.test(name)) ? slotsBefore(buckets) : []
  const bucketTimes = timesOf(buckets)
  const times = [...new Set([...bucketTimes, ...slots.flatMap(timesOfSlot)])].sort((a, b) => a - b)
  const usesStorage = names.some((name) => storageFigures.has(name))
  const storageAt = usesStorage ? await storageOfHosts(ctx, cluster.extId, hosts, bucketTimes) : () => noStorage
  const stateAt = (time: number) => ({ ...storageAt(time), health: healthAt(time) })
  const subjects = await subjectsOf(ctx, cluster.extId)
  const blocks = await blocksOfCluster(ctx, cluster.extId)
  const sums = await sumsOfHosts(ctx.drivers.telemetry, hosts, { subjects, blocks }, times, stateAt)
  const at = new Map(times.map((time, index) => [time, sums[index]]))
  const sumsAt = (some: readonly number[]): HostSample[] => some.flatMap((time) => at.get(time) ?? [])
  return {
    buckets: await sampledBuckets(buckets, sumsAt),
    slots: new Map(slots.map((slot) => [slot, meanOfSums(sumsAt(timesOfSlot(slot)))])),
  }
}

export async function subjectsOf(ctx: ReadContext, clusterExtId: string): Promise<readonly Subject[]> {
  const native = await ctx.store.find(Vm, { filter: equals(pathOf(Vm, 'cluster/extId'), clusterExtId) })
  const extern = await ctx.store.find(ExternVm, { filter: equals(pathOf(ExternVm, 'cluster/extId'), clusterExtId) })
  return [...(await nativeSubjects(ctx, native)), ...(await externSubjects(ctx, extern))]
}

type Bounds = ReadonlyMap<number, { readonly Lower: number; readonly Upper: number }>

/** Same hour of the last seven days: mean minus and plus two standard deviations, from 0 to the most. */
function boundsOf({ buckets, slots }: Sampled, figure: HostFigure, most: number): Bounds {
  const bounds = new Map<number, { readonly Lower: number; readonly Upper: number }>()
  for (const slot of new Set(buckets.map(({ at }) => slotOf(at)))) {
    const earlier = daysBefore(slot).flatMap((each) => slots.get(each) ?? [])
    if (earlier.length === 0) continue
    const values = earlier.map(figure)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
    const [lower, upper] = [mean - 2 * deviation, mean + 2 * deviation].map(Math.round) as [number, number]
    bounds.set(slot, { Lower: Math.max(0, lower), Upper: Math.min(most, upper) })
  }
  return bounds
}

const boundSeries = (buckets: readonly SampledBucket<HostSample>[], bounds: Bounds, side: string): TimeValue[] =>
  buckets.flatMap(({ at, timestamp, mean }): TimeValue[] => {
    const own = bounds.get(slotOf(at))
    return own === undefined || mean === undefined ? [] : [{ timestamp, value: own[side as 'Lower' | 'Upper'] }]
  })

/** Hours since 1970; a point belongs to the hour in which its interval ends. */
const slotOf = (second: number): number => Math.ceil((second * 1000) / hourMillis) - 1
const daysBefore = (slot: number): number[] => Array.from({ length: daysOfBounds }, (_, day) => slot - 24 * (day + 1))
const slotsBefore = (buckets: readonly Bucket[]): number[] => {
  const slots = new Set(buckets.map(({ at }) => slotOf(at)))
  return [...new Set([...slots].flatMap(daysBefore))]
}
/** One in each half of the hour; milliseconds since 1970. */
const timesOfSlot = (slot: number): number[] => [
  slot * hourMillis + hourMillis / 4,
  slot * hourMillis + (3 * hourMillis) / 4,
]
