/** Figures of storage containers. Source: behaviour clustermgmt.md 1.17, 3 (Capacity, Statistics generator). */
import { StorageContainerStats } from '@hyperplane/contract/clustermgmt/storage-container-stats'
import { parseTime } from '../../core/time/clock.ts'
import type { ReadContext } from '../context.ts'
import { copiesOf, hostsOf, physicallyReserved } from '../storage-space/capacity.ts'
import { type DataSums, noData } from '../storage-space/stored-data.ts'
import { gridFor, type Request, typeOf } from './answers.ts'
import { blocksOfCluster, readBlocks } from './blocks.ts'
import { figureSeries, sampledBuckets, type TimeValue, timesOf } from './figure-series.ts'
import { maximumPoints, spanOf } from './grid.ts'
import { bucketsWithin, spanParameters, subjectsOf } from './host-series.ts'
import { type DriveSums, driveSumsOf } from './host-storage.ts'
import { type Io, ioFigures, ioOf, noIo, sumOf } from './io.ts'
import { isPresent } from './series.ts'
import { type Container, type StorageOver, storageOver } from './storage-over.ts'

/** Sums for one container: physical bytes, unless the name says logical. */
interface ContainerSums extends Io, DataSums {
  readonly capacityBytes: number
  readonly freeBytes: number
  readonly copies: number
  readonly reservedBytes: number
  /** Reserved by other containers, or used by them beyond their reservations. */
  readonly otherReservedBytes: number
  readonly otherUnreservedBytes: number
  readonly health: number
}

type ContainerFigure = (sums: ContainerSums) => number

const io = (name: string): ContainerFigure => ioFigures[name] as ContainerFigure
const ratio = (before: number, after: number): number => (after === 0 ? 1e6 : Math.round((1e6 * before) / after))
/** The share of the data that is on SSDs. */
const ssdShare = 0.3
const ssdBytes = ({ physicalBytes }: ContainerSums): number => Math.floor(physicalBytes * ssdShare)
const clones = ({ cloneBytes, copies }: ContainerSums): number => cloneBytes * copies
const snapshots = ({ snapshotBytes, copies }: ContainerSums): number => snapshotBytes * copies
const unwritten = ({ sizeBytes, logicalBytes, copies }: ContainerSums): number =>
  Math.max(0, sizeBytes - logicalBytes) * copies
const wholeBytes = (sums: ContainerSums): number => sums.copiedBytes + clones(sums) + snapshots(sums) + unwritten(sums)

const containerFigures: Readonly<Record<string, ContainerFigure>> = {
  controllerAvgIoLatencyuSecs: io('AvgIoLatencyMicros'),
  controllerAvgReadIoLatencyuSecs: io('AvgReadIoLatencyMicros'),
  controllerAvgWriteIoLatencyuSecs: io('AvgWriteIoLatencyMicros'),
  controllerIoBandwidthkBps: io('IoBandwidthKbps'),
  controllerNumIops: io('NumIops'),
  controllerNumReadIops: io('NumReadIops'),
  controllerNumWriteIops: io('NumWriteIops'),
  controllerReadIoBandwidthkBps: io('ReadIoBandwidthKbps'),
  controllerReadIoRatioPpm: io('ReadIoPpm'),
  controllerWriteIoBandwidthkBps: io('WriteIoBandwidthKbps'),
  controllerWriteIoRatioPpm: io('WriteIoPpm'),
  dataReductionCloneSavedBytes: clones,
  dataReductionCloneSavingRatioPpm: (sums) => ratio(sums.copiedBytes + clones(sums), sums.copiedBytes),
  dataReductionCompressionSavedBytes: ({ copiedBytes, compressedBytes }) => copiedBytes - compressedBytes,
  dataReductionCompressionSavingRatioPpm: ({ copiedBytes, compressedBytes }) => ratio(copiedBytes, compressedBytes),
  dataReductionDedupSavedBytes: ({ compressedBytes, dedupedBytes }) => compressedBytes - dedupedBytes,
  dataReductionDedupSavingRatioPpm: ({ compressedBytes, dedupedBytes }) => ratio(compressedBytes, dedupedBytes),
  dataReductionErasureCodingSavedBytes: ({ dedupedBytes, physicalBytes }) => dedupedBytes - physicalBytes,
  dataReductionErasureCodingSavingRatioPpm: ({ dedupedBytes, physicalBytes }) => ratio(dedupedBytes, physicalBytes),
  dataReductionOverallPostReductionBytes: ({ physicalBytes }) => physicalBytes,
  dataReductionOverallPreReductionBytes: wholeBytes,
  dataReductionOverallSavedBytes: (sums) => wholeBytes(sums) - sums.physicalBytes,
  dataReductionSavedBytes: ({ copiedBytes, physicalBytes }) => copiedBytes - physicalBytes,
  dataReductionSavingRatioPpm: ({ copiedBytes, physicalBytes }) => ratio(copiedBytes, physicalBytes),
  dataReductionSnapshotSavedBytes: snapshots,
  dataReductionSnapshotSavingRatioPpm: (sums) => ratio(sums.copiedBytes + snapshots(sums), sums.copiedBytes),
  dataReductionThinProvisionSavedBytes: unwritten,
  dataReductionThinProvisionSavingRatioPpm: (sums) => ratio(sums.copiedBytes + unwritten(sums), sums.copiedBytes),
  dataReductionTotalSavingRatioPpm: (sums) => ratio(wholeBytes(sums), sums.physicalBytes),
  // Guests of the simulated world write no zeros.
  dataReductionZeroWriteSavingsBytes: () => 0,
  health: ({ health }) => health,
  storageActualPhysicalUsageBytes: ({ physicalBytes }) => physicalBytes,
  storageCapacityBytes: ({ capacityBytes }) => capacityBytes,
  storageFreeBytes: ({ freeBytes }) => freeBytes,
  storageOtherContainersReservedCapacity: ({ otherReservedBytes }) => otherReservedBytes,
  storageOtherContainersUnreservedCapacity: ({ otherUnreservedBytes }) => otherUnreservedBytes,
  storageReplicationFactor: ({ copies }) => copies,
  storageReservedCapacityBytes: ({ reservedBytes }) => reservedBytes,
  storageReservedFreeBytes: ({ reservedBytes, physicalBytes }) => Math.max(0, reservedBytes - physicalBytes),
  storageReservedUsageBytes: ({ reservedBytes, physicalBytes }) => Math.min(reservedBytes, physicalBytes),
  storageSnapshotReclaimable: ({ reclaimableBytes, copies }) => reclaimableBytes * copies,
  storageTierDasSataUsageBytes: (sums) => sums.physicalBytes - ssdBytes(sums),
  storageTierSsdUsageBytes: ssdBytes,
  storageUnreservedUsageBytes: ({ reservedBytes, physicalBytes }) => Math.max(0, physicalBytes - reservedBytes),
  storageUsageBytes: ({ physicalBytes }) => physicalBytes,
}

const maximumOfAnswer = 60_000

/** @param healthAt takes milliseconds since 1970 @throws ApiError 400 unless the span has a positive length */
export async function containerStatistics(
  ctx: ReadContext,
  request: Request,
  container: Container,
  healthAt: (time: number) => number,
): Promise<{ readonly extId: string } & Readonly<Record<string, unknown>>> {
  const { extId, clusterExtId = '', createdAt } = container
  const names = Object.keys(StorageContainerStats.schema.fields).filter((name) => containerFigures[name] !== undefined)
  const span = spanOf(spanParameters(ctx, request), ctx.clock.now())
  const most = Math.min(maximumPoints, Math.floor(maximumOfAnswer / names.length))
  const since = createdAt === undefined ? 0 : (parseTime(createdAt) ?? 0)
  const buckets = bucketsWithin(gridFor(ctx, request, span, most))
  const times = timesOf(buckets)
  const loads = await loadsOf(ctx, clusterExtId, extId, times)
  const storage = await storageOver(ctx, clusterExtId, times)
  const reserved = new Map(storage.containers.map((one) => [one.extId, physicallyReserved(one, ctx.drivers)]))
  const drives = await driveSumsOf(ctx, await hostsOf(ctx.store, clusterExtId), times)
  const indexes = new Map(times.map((time, index) => [time, index]))
  const sampled = await sampledBuckets(buckets, (some) =>
    some.flatMap((time): ContainerSums | [] => {
      const index = indexes.get(time) as number
      const load = loads[index]
      if (load === undefined || time <= since) return []
      const { capacityBytes } = drives[index] as DriveSums
      return { ...load, ...spaceOf(storage, capacityBytes, container, time, reserved), health: healthAt(time) }
    }),
  )
  const series: Record<string, readonly TimeValue[]> = {}
  for (const name of names) {
    series[name] = figureSeries(sampled, containerFigures[name] as ContainerFigure, typeOf(request))
    await new Promise(setImmediate)
  }
  const shown = Object.fromEntries(Object.entries(series).filter(([, values]) => values.length > 0))
  return { extId, containerExtId: extId, ...shown }
}

function spaceOf(
  { containers, at }: StorageOver,
  capacityBytes: number,
  container: Container,
  time: number,
  reservedOf: ReadonlyMap<string, number>,
) {
  const all = at(time)
  const sums = all.get(container.extId) ?? noData
  let [taken, otherReservedBytes, otherUnreservedBytes] = [0, 0, 0]
  for (const other of containers) {
    const { physicalBytes } = all.get(other.extId) ?? noData
    const reserved = reservedOf.get(other.extId) ?? 0
    taken += Math.max(physicalBytes, reserved)
    if (other.extId === container.extId) continue
    otherReservedBytes += reserved
    otherUnreservedBytes += Math.max(0, physicalBytes - reserved)
  }
  const copies = copiesOf(container)
  const reservedBytes = reservedOf.get(container.extId) ?? 0
  const { logicalAdvertisedCapacityBytes: advertised = Number.POSITIVE_INFINITY } = container
  const unused = Math.max(0, reservedBytes - sums.physicalBytes)
  const freeOfPool = Math.max(0, capacityBytes - taken) + unused
  return {
    ...{ ...sums, copies, reservedBytes, otherReservedBytes, otherUnreservedBytes },
    capacityBytes: Math.min(capacityBytes, advertised * copies),
    freeBytes: Math.max(0, Math.min(freeOfPool, advertised * copies - sums.physicalBytes)),
  }
}

/** One for each time; undefined where every host was down. */
async function loadsOf(
  ctx: ReadContext,
  clusterExtId: string,
  containerExtId: string,
  times: readonly number[],
): Promise<readonly (Io | undefined)[]> {
  const { telemetry } = ctx.drivers
  const hosts = await hostsOf(ctx.store, clusterExtId)
  const states = new Map<string, readonly boolean[]>()
  for (const { extId } of hosts)
    states.set(
      extId,
      (await telemetry.readHost(extId, times)).map((state) => state !== undefined),
    )
  const loads = times.map((_, index) => ([...states.values()].some((isUp) => isUp[index]) ? noIo : undefined))
  const add = (index: number, hostExtId: string, parts: readonly Io[]): void => {
    const sum = loads[index]
    if (sum !== undefined && states.get(hostExtId)?.[index] === true) loads[index] = sumOf([sum, ...parts])
  }
  for (const subject of await subjectsOf(ctx, clusterExtId)) {
    const own = subject.disks.flatMap((disk, index) => (disk.containerExtId === containerExtId ? index : []))
    if (own.length === 0) continue
    for (const [index, reading] of (await telemetry.read(subject.vm, times)).entries()) {
      const second = (times[index] as number) / 1000
      if (reading === undefined || second <= subject.createdAt) continue
      const present = own.filter((disk) => isPresent(subject.disks[disk], second))
      add(
        index,
        reading.run.hostExtId,
        present.map((disk) => ioOf(reading.disks[disk] as (typeof reading.disks)[number])),
      )
    }
    await new Promise(setImmediate)
  }
  const { disks, hostExtIds } = await blocksOfCluster(ctx, clusterExtId)
  const own = disks.filter((disk) => disk.containerExtId === containerExtId)
  await readBlocks(telemetry, { disks: own, hostExtIds }, times, (index, { hostExtId, reading }) =>
    add(index, hostExtId, [ioOf(reading)]),
  )
  return loads
}
