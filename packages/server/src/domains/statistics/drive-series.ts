/**
 * Reads, and writes once for each copy, are spread over the host's working drives by the weight of their tier.
 * Source: behaviour clustermgmt.md 1.17, 3 (Statistics generator).
 */
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { DriveTier } from '../../drivers/drives.ts'
import type { DriveState } from '../../drivers/telemetry.ts'
import type { ReadContext } from '../context.ts'
import { usableBytes } from '../storage-space/capacity.ts'
import { gridFor, type Request, typeOf } from './answers.ts'
import { blocksOfCluster } from './blocks.ts'
import { type Bucket, type StatType, spanOf } from './grid.ts'
import { bucketsWithin, maximumOfAnswer, share, spanParameters, subjectsOf } from './host-series.ts'
import { storageOfHosts } from './host-storage.ts'
import { type HostSums, sumsOfHosts } from './host-sums.ts'
import { folded } from './series.ts'

interface Reading {
  readonly readIops: number
  readonly writeIops: number
  readonly readKbps: number
  readonly writeKbps: number
  readonly readMicros: number
  readonly writeMicros: number
  readonly capacityBytes: number
  readonly usageBytes: number
}

interface Tier {
  /** Part of the load of a host, compared with drives of other tiers. */
  readonly weight: number
  readonly micros: number
  /** At which the drive is fully busy. */
  readonly iops: number
}

const sataSsd: Tier = { weight: 8, micros: 350, iops: 40_000 }
const tiers: Readonly<Record<DriveTier, Tier>> = {
  SSD_PCIE: { weight: 12, micros: 350, iops: 200_000 },
  SSD_MEM_NVME: { weight: 16, micros: 350, iops: 400_000 },
  SSD_SATA: sataSsd,
  DAS_SATA: { weight: 1, micros: 2500, iops: 400 },
}
const writeFactor = 1.3
const mostBusy = 0.97

type Figure = (reading: Reading) => number

const iops: Figure = (reading) => reading.readIops + reading.writeIops
const kbps: Figure = (reading) => reading.readKbps + reading.writeKbps
const micros: Figure = (reading) => {
  const waits = reading.readIops * reading.readMicros + reading.writeIops * reading.writeMicros
  return iops(reading) === 0 ? 0 : Math.round(waits / iops(reading))
}

/** With series of the least (Base) and the greatest reading (Peak) of each interval. */
const ranged: Readonly<Record<string, Figure>> = {
  IoBandwidthkbps: kbps,
  IoLatencyMicrosec: micros,
  NumIops: iops,
  ReadIoAvgLatencyMicrosec: ({ readIops, readMicros }) => (readIops === 0 ? 0 : readMicros),
  ReadIoBandwidthkbps: ({ readKbps }) => readKbps,
  ReadIops: ({ readIops }) => readIops,
  WriteIoAvgLatencyMicrosec: ({ writeIops, writeMicros }) => (writeIops === 0 ? 0 : writeMicros),
  WriteIoBandwidthkbps: ({ writeKbps }) => writeKbps,
  WriteIops: ({ writeIops }) => writeIops,
}

const others: Readonly<Record<string, Figure>> = {
  AvgIoLatencyMicrosec: micros,
  CapacityBytes: ({ capacityBytes }) => capacityBytes,
  FreeBytes: ({ capacityBytes, usageBytes }) => capacityBytes - usageBytes,
  ReadIoPpm: (reading) => share(reading.readIops, iops(reading)),
  UsageBytes: ({ usageBytes }) => usageBytes,
  UsagePpm: ({ capacityBytes, usageBytes }) => share(usageBytes, capacityBytes),
  WriteIoPpm: (reading) => (iops(reading) === 0 ? 0 : 1e6 - share(reading.readIops, iops(reading))),
}

const series = /^disk(Base|Peak)?(.*)$/

interface Measured {
  readonly extId: string
  readonly host: Host
  readonly copies: number
  readonly names: readonly string[]
}

/** @throws ApiError 400 unless the span has a positive length */
export async function driveStatistics(
  ctx: ReadContext,
  request: Request,
  { extId, host, copies, names }: Measured,
): Promise<{ readonly extId: string }> {
  const span = spanOf(spanParameters(ctx, request), ctx.clock.now())
  const wanted = names.filter((name) => series.test(name))
  const buckets = bucketsWithin(gridFor(ctx, request, span, Math.floor(maximumOfAnswer / wanted.length)))
  const times = buckets.flatMap((bucket) => bucket.times.map((time) => time * 1000))
  const storageAt = await storageOfHosts(ctx, host.cluster.uuid, [host], times)
  const subjects = await subjectsOf(ctx, host.cluster.uuid)
  const blocks = await blocksOfCluster(ctx, host.cluster.uuid)
  const sums = await sumsOfHosts(ctx.drivers.telemetry, [host], { subjects, blocks }, times, storageAt)
  const drives = await ctx.drivers.telemetry.readDrives(host.extId, times)
  const readings = new Map<number, Reading>()
  for (const [index, time] of times.entries()) {
    const [sum, states = []] = [sums[index], drives[index]]
    const reading = sum && readingOf(extId, sum, states, copies)
    if (reading !== undefined) readings.set(time / 1000, reading)
  }
  const shown: Record<string, unknown> = {}
  for (const name of wanted) {
    const points = seriesOf(buckets, readings, name, typeOf(request))
    if (points.length > 0) shown[name] = points
    await new Promise(setImmediate)
  }
  return { extId, ...shown }
}

function seriesOf(
  buckets: readonly Bucket[],
  readings: ReadonlyMap<number, Reading>,
  name: string,
  type: StatType,
): { readonly timestamp: string; readonly value: number }[] {
  const [, extreme, figureName = ''] = series.exec(name) ?? []
  const figure = (ranged[figureName] ?? others[figureName]) as Figure
  return buckets.flatMap(({ times, timestamp, weight }) => {
    const own = times.flatMap((time) => readings.get(time) ?? [])
    if (own.length === 0) return []
    if (extreme !== undefined)
      return [{ timestamp, value: Math[extreme === 'Base' ? 'min' : 'max'](...own.map(figure)) }]
    // Averages readings before deriving figures, so that usage and free bytes add up to the capacity.
    if (type === 'AVG') return [{ timestamp, value: figure(meanOf(own)) }]
    if (type === 'LAST') return [{ timestamp, value: figure(own.at(-1) as Reading) }]
    const values = own.map((reading) => ({ value: figure(reading) }))
    return [{ timestamp, value: folded(type, values, weight)?.['value'] as number }]
  })
}

/** Undefined: the drive did not work at the time. */
function readingOf(extId: string, sums: HostSums, states: readonly DriveState[], copies: number): Reading | undefined {
  const index = states.findIndex((state) => state.extId === extId)
  const drive = states[index]
  if (drive === undefined) return undefined
  const loads = states.map(({ tier }) => tiers[tier].weight)
  const { micros: base, iops: limit } = tiers[drive.tier]
  const [readIops, writeIops] = [partOf(sums.readIops, loads, index), partOf(copies * sums.writeIops, loads, index)]
  const wait = (drive.slowdown * base) / (1 - Math.min(mostBusy, (readIops + writeIops) / limit))
  const capacityBytes = usableBytes(drive.sizeBytes)
  const held = states.map(({ sizeBytes, share: part }) => usableBytes(sizeBytes) * part)
  return {
    readIops,
    writeIops,
    readKbps: partOf(sums.readKbps, loads, index),
    writeKbps: partOf(copies * sums.writeKbps, loads, index),
    readMicros: Math.round(wait),
    writeMicros: Math.round(writeFactor * wait),
    capacityBytes,
    usageBytes: Math.min(capacityBytes, partOf(sums.usageBytes, held, index)),
  }
}

/** Whole numbers whose sum over all indexes is the total. */
function partOf(total: number, weights: readonly number[], index: number): number {
  const sumTo = (end: number): number => weights.slice(0, end).reduce((sum, weight) => sum + weight, 0)
  const all = sumTo(weights.length)
  const until = (end: number): number => (all === 0 ? 0 : Math.round((total * sumTo(end)) / all))
  return until(index + 1) - until(index)
}

function meanOf(readings: readonly Reading[]): Reading {
  const names = Object.keys(readings[0] as Reading) as (keyof Reading)[]
  const mean = (name: keyof Reading): number =>
    Math.round(readings.reduce((sum, each) => sum + each[name], 0) / readings.length)
  return Object.fromEntries(names.map((name) => [name, mean(name)])) as unknown as Reading
}
