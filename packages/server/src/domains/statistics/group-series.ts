/** Figures of volume groups and their disks. Source: behaviour volumes-storage.md 1.7. */
import type { AnyResource } from '@hyperplane/contract'
import type { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { applySelection } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'
import { type Request, typeOf } from './answers.ts'
import { type Blocks, blocksOfDisks, readBlocks } from './blocks.ts'
import { figureSeries, type SampledBucket, type TimeValue, timesOf } from './figure-series.ts'
import { bucketsOf, gridOf, spanOf, warnOfWidening } from './grid.ts'
import { type Io, ioFigures, ioOf, meanOf, noIo, sumOf } from './io.ts'

interface BlockSums extends Io {
  readonly userBytes: number
  readonly hydrationBytes: number
}

type BlockFigure = (sums: BlockSums) => number

const io = (name: string): BlockFigure => ioFigures[name] as BlockFigure

const blockFigures: Readonly<Record<string, BlockFigure>> = {
  controllerAvgIOLatencyUsecs: io('AvgIoLatencyMicros'),
  controllerAvgReadIOLatencyUsecs: io('AvgReadIoLatencyMicros'),
  controllerAvgWriteIOLatencyUsecs: io('AvgWriteIoLatencyMicros'),
  controllerIOBandwidthKBps: io('IoBandwidthKbps'),
  controllerNumIOPS: io('NumIops'),
  controllerNumReadIOPS: io('NumReadIops'),
  controllerNumWriteIOPS: io('NumWriteIops'),
  controllerReadIOBandwidthKBps: io('ReadIoBandwidthKbps'),
  controllerUserBytes: ({ userBytes }) => userBytes,
  controllerWriteIOBandwidthKBps: io('WriteIoBandwidthKbps'),
  hydrationRemainingBytes: ({ hydrationBytes }) => hydrationBytes,
}

const mostPoints = 100
const readingsOfBucket = 10

interface Measured {
  readonly clusterExtId: string
  readonly disks: readonly VolumeDisk[]
  readonly kind: AnyResource
  /** Milliseconds since 1970; no points before. */
  readonly since: number
  /** Identifies the entity in the answer. */
  readonly identity: { readonly extId: string } & Readonly<Record<string, string>>
  /** Bytes that a revert had still to copy. @param time milliseconds since 1970; undefined: no revert began before */
  readonly hydrationAt?: (time: number) => number | undefined
}

/** @throws ApiError 400 unless the span has a positive length */
export async function blockStatistics<A>(ctx: ReadContext, request: Request, measured: Measured): Promise<A> {
  const { query } = request
  const { kind, identity, hydrationAt } = measured
  const names = Object.keys(kind.schema.fields)
    .filter((name) => blockFigures[name] !== undefined)
    .filter((name) => query.select === undefined || query.select.fields === 'all' || query.select.fields.has(name))
  const requested = query.parameters['$samplingInterval'] as number | undefined
  const grid = gridOf(spanOf(query.parameters, ctx.clock.now()), requested ?? 0, mostPoints)
  if (requested !== undefined) warnOfWidening(ctx, grid)
  const blocks = await blocksOfDisks(ctx, measured.clusterExtId, measured.disks)
  const sampled = await sample(ctx, measured, blocks, bucketsOf(grid, readingsOfBucket))
  const series: Record<string, readonly TimeValue[]> = {}
  for (const name of names) {
    const isOfRevert = name === 'hydrationRemainingBytes'
    const own = isOfRevert ? sampled.filter(({ at }) => hydrationAt?.(at * 1000) !== undefined) : sampled
    const points = figureSeries(own, blockFigures[name] as BlockFigure, typeOf(request))
    if (points.length > 0) series[name] = points
  }
  const answer = { ...identity, ...series }
  return (query.select === undefined ? answer : applySelection(query.select, answer)) as A
}

/** The mean of a group is the sum of the means of its disks. */
async function sample(
  ctx: ReadContext,
  { since, hydrationAt }: Measured,
  blocks: Blocks,
  buckets: ReturnType<typeof bucketsOf>,
): Promise<readonly SampledBucket<BlockSums>[]> {
  const times = timesOf(buckets)
  const loads = new Map(blocks.disks.map(({ extId }) => [extId, times.map((): Io => noIo)]))
  await readBlocks(ctx.drivers.telemetry, blocks, times, (index, { reading }, { extId }) => {
    const own = loads.get(extId) as Io[]
    own[index] = sumOf([own[index] as Io, ioOf(reading)])
  })
  const sampled: SampledBucket<BlockSums>[] = []
  let next = 0
  for (const bucket of buckets) {
    await new Promise(setImmediate)
    const first = next
    next += bucket.times.length
    const indexes = bucket.times.flatMap((time, index) => (time * 1000 > since ? first + index : []))
    const ofDisks = [...loads.values()].map((own) => indexes.map((index) => own[index] as Io))
    const sums: BlockSums[] = []
    for (const [position, index] of indexes.entries()) {
      const time = times[index] as number
      const parts = ofDisks.map((own) => own[position] as Io)
      const bytes = { userBytes: await userBytesAt(ctx, blocks, time), hydrationBytes: hydrationAt?.(time) ?? 0 }
      sums.push({ ...sumOf([noIo, ...parts]), ...bytes })
    }
    const mean = sums.length === 0 ? undefined : { ...meanOfNumbers(sums), ...sumOf([noIo, ...ofDisks.map(meanOf)]) }
    sampled.push({ ...bucket, sums, mean })
  }
  return sampled
}

const meanOfNumbers = (sums: readonly BlockSums[]): Pick<BlockSums, 'hydrationBytes' | 'userBytes'> => {
  const mean = (of: (one: BlockSums) => number): number =>
    Math.round(sums.reduce((sum, one) => sum + of(one), 0) / sums.length)
  return { userBytes: mean((one) => one.userBytes), hydrationBytes: mean((one) => one.hydrationBytes) }
}

async function userBytesAt({ drivers }: ReadContext, { disks }: Blocks, time: number): Promise<number> {
  const present = disks.filter(({ createdAt }) => createdAt < time).map(({ extId }) => extId)
  let sum = 0
  for (const { writtenBytes } of (await drivers.blockStorage.usageOf(present, time)).values()) sum += writtenBytes
  return sum
}
