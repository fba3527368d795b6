/** Source: specification 2.7; behaviour vmm.md 1.15, 3.8. */
import { readingSeconds, type VmReading } from '../../drivers/telemetry.ts'
import { type Io, ioFigures } from './io.ts'

/** One reading, or the mean of several, of a VM or one disk. */
export interface Moment {
  readonly at: number
  readonly storage: StorageUse
  readonly io: Io
  /** Absent while the VM does not run. */
  readonly running?: Running
}

export interface StorageUse {
  readonly capacityBytes: number
  readonly usedBytes: number
}

export interface Running extends Omit<VmReading, 'disks' | 'hypervisorIoPpm'> {
  readonly hypervisorType: string
  readonly hypervisorIo: Io
}

export type Figure = (moment: Moment) => number | string | undefined

/** Have values while the VM is off, too. */
const storageFigures: Readonly<Record<string, Figure>> = {
  controllerUserBytes: ({ storage }) => storage.usedBytes,
  controllerStorageTierSsdUsageBytes: ({ storage }) => Math.floor(storage.usedBytes * 0.3),
  controllerTotalTransformedUsageBytes: ({ storage }) => Math.floor(storage.usedBytes * 0.8),
  controllerSharedUsageBytes: () => 0,
  controllerSnapshotUsageBytes: () => 0,
  diskCapacityBytes: ({ storage }) => storage.capacityBytes,
  diskUsagePpm: ({ storage }) =>
    storage.capacityBytes === 0 ? 0 : Math.round((1e6 * storage.usedBytes) / storage.capacityBytes),
}

export const isStorageFigure = (name: string): boolean => Object.hasOwn(storageFigures, name)

export const isGpuFigure = (name: string): boolean => name === 'gpuUsagePpm' || name === 'frameBufferUsagePpm'

const named = (
  prefix: string,
  figures: Readonly<Record<string, (io: Io) => number>>,
  of: (moment: Moment) => Io | undefined,
): Record<string, Figure> =>
  Object.fromEntries(
    Object.entries(figures).map(([name, figure]) => [
      `${prefix}${name}`,
      (moment: Moment) => {
        const io = of(moment)
        return io === undefined ? undefined : figure(io)
      },
    ]),
  )

const KiB = 1024
const readBytes = ({ io }: Moment): number => io.readKbps * readingSeconds * KiB
const writtenBytes = ({ io }: Moment): number => io.writeKbps * readingSeconds * KiB
/** Rounded down; local SSD reads and SSD writes are the remainder, so that all parts add up. */
const part = (total: number, share: number): number => Math.floor(total * share)
const remote = 0.05
const onDisk = 0.1
const fromLog = 0.1

/** MiB: bytes touched during the window, at most a tenth of the used bytes. */
const workingSet = (bytesPerReading: number, seconds: number, { storage }: Moment): number =>
  Math.min(
    Math.ceil((bytesPerReading * Math.min(seconds, 900)) / readingSeconds / KiB / KiB),
    Math.ceil(storage.usedBytes / 10 / KiB / KiB),
  )
const union = (moment: Moment, seconds: number): number => {
  const [read, write] = [
    workingSet(readBytes(moment), seconds, moment),
    workingSet(writtenBytes(moment), seconds, moment),
  ]
  return Math.max(read, write) + Math.floor(Math.min(read, write) / 2)
}

const ofRunning =
  (figure: (running: Running, moment: Moment) => number | string | undefined): Figure =>
  (moment) =>
    moment.running === undefined ? undefined : figure(moment.running, moment)

const memoryBytes = (running: Running): number => running.run.memoryBytes

const sources: Readonly<Record<string, Figure>> = {
  controllerReadSourceOplogBytes: (moment) => part(readBytes(moment), fromLog),
  controllerReadSourceEstoreHddLocalBytes: (moment) => part(readBytes(moment), onDisk),
  controllerReadSourceEstoreHddRemoteBytes: (moment) => part(readBytes(moment), onDisk * remote),
  controllerReadSourceEstoreSsdRemoteBytes: (moment) => part(readBytes(moment), remote),
  controllerReadSourceEstoreSsdLocalBytes: (moment) => {
    const bytes = readBytes(moment)
    return bytes - part(bytes, fromLog) - part(bytes, onDisk) - part(bytes, onDisk * remote) - part(bytes, remote)
  },
  controllerWriteDestEstoreHddBytes: (moment) => part(writtenBytes(moment), onDisk),
  controllerWriteDestEstoreSsdBytes: (moment) => writtenBytes(moment) - part(writtenBytes(moment), onDisk),
  controllerOplogDrainDestHddBytes: (moment) => part(writtenBytes(moment), onDisk / 2),
  controllerOplogDrainDestSsdBytes: (moment) => part(writtenBytes(moment), 0.5),
  controllerWss120SecondReadMb: (moment) => workingSet(readBytes(moment), 120, moment),
  controllerWss120SecondWriteMb: (moment) => workingSet(writtenBytes(moment), 120, moment),
  controllerWss120SecondUnionMb: (moment) => union(moment, 120),
  controllerWss3600SecondReadMb: (moment) => workingSet(readBytes(moment), 3600, moment),
  controllerWss3600SecondWriteMb: (moment) => workingSet(writtenBytes(moment), 3600, moment),
  controllerWss3600SecondUnionMb: (moment) => union(moment, 3600),
}

export const vmFigures: Readonly<Record<string, Figure>> = {
  ...storageFigures,
  ...Object.fromEntries(
    Object.entries(sources).map(([name, figure]) => [name, ofRunning((_, moment) => figure(moment))]),
  ),
  ...named('controller', ioFigures, (moment) => (moment.running === undefined ? undefined : moment.io)),
  ...named('hypervisor', ioFigures, (moment) => moment.running?.hypervisorIo),
  cluster: ofRunning(({ run }) => run.clusterExtId),
  hypervisorType: ofRunning(({ hypervisorType }) => hypervisorType),
  checkScore: ofRunning(() => 100),
  hypervisorCpuUsagePpm: ofRunning(({ cpuPpm }) => cpuPpm),
  numVcpusUsedPpm: ofRunning(({ cpuPpm }) => cpuPpm),
  hypervisorCpuReadyTimePpm: ofRunning(({ cpuReadyPpm }) => cpuReadyPpm),
  guestMemoryUsagePpm: ofRunning(({ guestMemoryPpm }) => guestMemoryPpm),
  memoryUsagePpm: ofRunning(({ guestMemoryPpm }) => guestMemoryPpm),
  memoryUsageBytes: ofRunning((running) => Math.floor((running.guestMemoryPpm * memoryBytes(running)) / 1e6)),
  hypervisorMemoryUsagePpm: ofRunning(({ hypervisorMemoryPpm }) => hypervisorMemoryPpm),
  memoryReservedBytes: ofRunning(memoryBytes),
  physicalMemoryAllocatedBytes: ofRunning((running) =>
    Math.floor((running.allocatedMemoryPpm * memoryBytes(running)) / 1e6),
  ),
  // Hosts of the simulated world never reclaim memory from guests.
  hypervisorMemoryBalloonReclaimTargetBytes: ofRunning(() => 0),
  hypervisorMemoryBalloonReclaimedBytes: ofRunning(() => 0),
  hypervisorSwapInRateKbps: ofRunning(() => 0),
  hypervisorSwapOutRateKbps: ofRunning(() => 0),
  hypervisorNumReceivedBytes: ofRunning(({ receivedBytes }) => receivedBytes),
  hypervisorNumTransmittedBytes: ofRunning(({ transmittedBytes }) => transmittedBytes),
  hypervisorNumReceivePacketsDropped: ofRunning(() => 0),
  hypervisorNumTransmitPacketsDropped: ofRunning(() => 0),
  gpuUsagePpm: ofRunning(({ gpuPpm }) => gpuPpm),
  frameBufferUsagePpm: ofRunning(({ gpuPpm }) => Math.floor(gpuPpm / 2)),
  hypervisorVmRunningTimeUsecs: ofRunning(({ run }, { at }) =>
    Math.max(0, Math.round(at * 1e6 - run.startedAt * 1000)),
  ),
}

export const diskFigures: Readonly<Record<string, Figure>> = {
  controllerUserBytes: storageFigures['controllerUserBytes'] as Figure,
  ...named('controller', ioFigures, (moment) => (moment.running === undefined ? undefined : moment.io)),
}

export const nicFigures: Readonly<Record<string, Figure>> = {
  networkDroppedReceivedPackets: ofRunning(() => 0),
  networkDroppedTransmittedPackets: ofRunning(() => 0),
}
