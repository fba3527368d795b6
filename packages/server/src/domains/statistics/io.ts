/** Source: behaviour vmm.md 3.8. */
import { type DiskReading, readingSeconds } from '../../drivers/telemetry.ts'

/** I/O of one disk, or of all disks of a VM. */
export interface Io {
  readonly readIops: number
  readonly writeIops: number
  readonly readKbps: number
  readonly writeKbps: number
  /** Operations per second times their latency. */
  readonly readWait: number
  readonly writeWait: number
  readonly randomIo: number
  readonly randomReadIo: number
}

export const noIo: Io = {
  readIops: 0,
  writeIops: 0,
  readKbps: 0,
  writeKbps: 0,
  readWait: 0,
  writeWait: 0,
  randomIo: 0,
  randomReadIo: 0,
}

export function ioOf(disk: DiskReading): Io {
  const { readIops, writeIops, readSizeKb, writeSizeKb, readMicros, writeMicros, randomPpm } = disk
  const share = randomPpm / 1e6
  return {
    readIops,
    writeIops,
    readKbps: readIops * readSizeKb,
    writeKbps: writeIops * writeSizeKb,
    readWait: readIops * readMicros,
    writeWait: writeIops * writeMicros,
    randomIo: Math.round((readIops + writeIops) * readingSeconds * share),
    randomReadIo: Math.round(readIops * readingSeconds * share),
  }
}

export type IoSum = { -readonly [Figure in keyof Io]: number }

export function addIo(sum: IoSum, part: Io): void {
  sum.readIops += part.readIops
  sum.writeIops += part.writeIops
  sum.readKbps += part.readKbps
  sum.writeKbps += part.writeKbps
  sum.readWait += part.readWait
  sum.writeWait += part.writeWait
  sum.randomIo += part.randomIo
  sum.randomReadIo += part.randomReadIo
}

export function sumOf(parts: readonly Io[]): Io {
  if (parts.length === 1) return parts[0] as Io
  const sum = { ...noIo }
  for (const part of parts) addIo(sum, part)
  return sum
}

export function meanOf(parts: readonly Io[]): Io {
  if (parts.length === 1) return parts[0] as Io
  const sum = sumOf(parts)
  const mean = (value: number): number => Math.round(value / Math.max(1, parts.length))
  return {
    readIops: mean(sum.readIops),
    writeIops: mean(sum.writeIops),
    readKbps: mean(sum.readKbps),
    writeKbps: mean(sum.writeKbps),
    readWait: mean(sum.readWait),
    writeWait: mean(sum.writeWait),
    randomIo: mean(sum.randomIo),
    randomReadIo: mean(sum.randomReadIo),
  }
}

const per = (value: number, operations: number): number => (operations === 0 ? 0 : Math.round(value / operations))

/** By name without the prefix `controller` or `hypervisor`. */
export const ioFigures: Readonly<Record<string, (io: Io) => number>> = {
  NumReadIops: (io) => io.readIops,
  NumWriteIops: (io) => io.writeIops,
  NumIops: (io) => io.readIops + io.writeIops,
  NumReadIo: (io) => io.readIops * readingSeconds,
  NumWriteIo: (io) => io.writeIops * readingSeconds,
  NumIo: numIo,
  ReadIoPpm: readPpm,
  WriteIoPpm: (io) => (numIo(io) === 0 ? 0 : 1e6 - readPpm(io)),
  NumRandomIo: numRandomIo,
  NumSeqIo: (io) => numIo(io) - numRandomIo(io),
  RandomIoPpm: randomPpm,
  SeqIoPpm: (io) => (numIo(io) === 0 ? 0 : 1e6 - randomPpm(io)),
  AvgReadIoSizeKb: (io) => per(io.readKbps, io.readIops),
  AvgWriteIoSizeKb: (io) => per(io.writeKbps, io.writeIops),
  ReadIoBandwidthKbps: (io) => io.readKbps,
  WriteIoBandwidthKbps: (io) => io.writeKbps,
  IoBandwidthKbps: (io) => io.readKbps + io.writeKbps,
  TotalReadIoSizeKb: (io) => io.readKbps * readingSeconds,
  TotalIoSizeKb: (io) => (io.readKbps + io.writeKbps) * readingSeconds,
  AvgReadIoLatencyMicros: readMicros,
  AvgWriteIoLatencyMicros: (io) => per(io.writeWait, io.writeIops),
  AvgIoLatencyMicros: ioMicros,
  TotalReadIoTimeMicros: (io) => io.readIops * readingSeconds * readMicros(io),
  TotalIoTimeMicros: (io) => numIo(io) * ioMicros(io),
  TimespanMicros: () => readingSeconds * 1e6,
  FrontendReadOps: (io) => io.readIops * readingSeconds,
  FrontendWriteOps: (io) => io.writeIops * readingSeconds,
  RandomReadOps: (io) => Math.min(io.randomReadIo, numRandomIo(io)),
  RandomWriteOps: (io) => numRandomIo(io) - Math.min(io.randomReadIo, numRandomIo(io)),
  VdiskCpuTimeMicros: (io) => numIo(io) * 25,
}

function numIo(io: Io): number {
  return (io.readIops + io.writeIops) * readingSeconds
}
function numRandomIo(io: Io): number {
  return Math.min(io.randomIo, numIo(io))
}
function readPpm(io: Io): number {
  return per(1e6 * io.readIops, io.readIops + io.writeIops)
}
function randomPpm(io: Io): number {
  return per(1e6 * numRandomIo(io), numIo(io))
}
function readMicros(io: Io): number {
  return per(io.readWait, io.readIops)
}
function ioMicros(io: Io): number {
  return per(io.readWait + io.writeWait, io.readIops + io.writeIops)
}
