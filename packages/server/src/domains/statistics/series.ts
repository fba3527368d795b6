/** Source: behaviour vmm.md 1.15, 3.8. */
import type { DiskReading, MeasuredVm, Telemetry, VmReading } from '../../drivers/telemetry.ts'
import { type Figure, isGpuFigure, isStorageFigure, type Moment, type Running, type StorageUse } from './figures.ts'
import type { Bucket, StatType } from './grid.ts'
import { type Io, ioOf, meanOf, noIo, sumOf } from './io.ts'

export interface Subject {
  readonly vm: MeasuredVm
  /** Seconds since 1970; no points before. */
  readonly createdAt: number
  readonly hypervisorType: string
  /** In the order of `vm.disks`. */
  readonly disks: readonly SubjectDisk[]
}

export interface SubjectDisk {
  /** Seconds since 1970; absent: it is as old as the VM. */
  readonly addedAt?: number
  readonly capacityBytes: number
  readonly containerExtId?: string
  /** @param at seconds since 1970 */
  readonly usedBytesAt: (at: number) => number
}

export interface Wanted {
  /** Index in `vm.disks`; absent: the whole VM. */
  readonly disk?: number
  readonly figures: Readonly<Record<string, Figure>>
  readonly names: readonly string[]
  readonly type: StatType
}

export type Values = Record<string, number | string>

/** Omits buckets without values. */
export async function pointsOf(
  telemetry: Telemetry,
  subject: Subject,
  buckets: readonly Bucket[],
  wanted: Wanted,
): Promise<Values[]> {
  const points: Values[] = []
  const addedAt = wanted.disk === undefined ? 0 : (subject.disks[wanted.disk]?.addedAt ?? 0)
  const since = Math.max(subject.createdAt, addedAt)
  const timesOfBuckets = buckets.map((bucket) => bucket.times.filter((time) => time > since))
  const readings = await telemetry.read(
    subject.vm,
    timesOfBuckets.flatMap((times) => times.map((time) => time * 1000)),
  )
  const figures = preparedFor(subject, wanted)
  let next = 0
  for (const [index, bucket] of buckets.entries()) {
    const times = timesOfBuckets[index] as readonly number[]
    if (times.length === 0) continue
    const sampled = { ...bucket, times, readings: readings.slice(next, next + times.length) }
    next += times.length
    const values = valuesOf(subject, wanted, figures, sampled)
    if (values !== undefined) points.push(values)
  }
  return points
}

type NamedFigure = readonly [name: string, figure: Figure]

/** Computed once for each VM, because a page evaluates each figure thousands of times. */
interface Prepared {
  readonly running: readonly NamedFigure[]
  readonly off: readonly NamedFigure[]
  /** A template with every name: a copy is filled several times as fast as an object that grows. */
  readonly blank: Values
}

function preparedFor({ vm }: Subject, { figures, names }: Wanted): Prepared {
  const running = names.flatMap((name): NamedFigure[] => {
    const figure = figures[name]
    return figure === undefined || (isGpuFigure(name) && !vm.hasGpu) ? [] : [[name, figure]]
  })
  const fields = [['timestamp', ''], ...running.map(([name]) => [name, 0])]
  return {
    running,
    off: running.filter(([name]) => isStorageFigure(name)),
    // V8 copies an object from JSON.parse much faster than one that grew.
    blank: JSON.parse(JSON.stringify(Object.fromEntries(fields))),
  }
}

interface Sampled extends Bucket {
  readonly readings: readonly (VmReading | undefined)[]
}

function valuesOf(subject: Subject, { type, disk }: Wanted, figures: Prepared, sampled: Sampled): Values | undefined {
  const { at, timestamp, times, readings } = sampled
  switch (type) {
    case 'AVG': {
      // Averages readings before deriving figures, so that sums and shares stay consistent.
      const all = readings.filter((reading) => reading !== undefined)
      return figuresOf(figures, momentOf(subject, disk, at, all), timestamp)
    }
    case 'LAST': {
      const last = readings.findLastIndex((reading) => reading !== undefined)
      const moment = momentOf(
        subject,
        disk,
        times[Math.max(0, last)] as number,
        last < 0 ? [] : [readings[last] as VmReading],
      )
      return figuresOf(figures, moment, timestamp)
    }
    default: {
      const each = readings.flatMap((reading, index): Values[] => {
        const moment = momentOf(subject, disk, times[index] as number, reading === undefined ? [] : [reading])
        const values = figuresOf(figures, moment, timestamp)
        return values === undefined ? [] : [values]
      })
      return folded(type, each, sampled.weight)
    }
  }
}

export function folded(
  type: 'SUM' | 'MIN' | 'MAX' | 'COUNT',
  each: readonly Values[],
  weight: number,
): Values | undefined {
  const result: Values = {}
  for (const values of each) {
    for (const [name, value] of Object.entries(values)) {
      const before = result[name] as number | undefined
      if (typeof value === 'string') result[name] = value
      else if (type === 'COUNT') result[name] = (before ?? 0) + weight
      else if (type === 'SUM') result[name] = (before ?? 0) + value * weight
      else if (before === undefined) result[name] = value
      else result[name] = type === 'MIN' ? Math.min(before, value) : Math.max(before, value)
    }
  }
  for (const [name, value] of Object.entries(result)) if (typeof value === 'number') result[name] = Math.round(value)
  return each.length === 0 ? undefined : result
}

function figuresOf({ running, off, blank }: Prepared, moment: Moment, timestamp: string): Values | undefined {
  const figures = moment.running === undefined ? off : running
  if (figures.length === 0) return undefined
  const values: Values = moment.running === undefined ? {} : { ...blank }
  values['timestamp'] = timestamp
  for (let index = 0; index < figures.length; index++) {
    const [name, figure] = figures[index] as NamedFigure
    values[name] = figure(moment) as number | string
  }
  return values
}

/** Without readings the VM is off, and only its storage has values. */
function momentOf(subject: Subject, disk: number | undefined, at: number, readings: readonly VmReading[]): Moment {
  const indexes = (disk === undefined ? [...subject.disks.keys()] : [disk]).filter((index) =>
    isPresent(subject.disks[index], at),
  )
  const storage = storageOf(
    indexes.map((index) => subject.disks[index] as SubjectDisk),
    at,
  )
  if (readings.length === 0) return { at, storage, io: noIo }
  const parts = indexes.map((index) => meanOf(readings.map((reading) => ioOf(reading.disks[index] as DiskReading))))
  const io = sumOf(parts)
  return { at, storage, io, running: runningOf(subject, io, readings) }
}

/** @param at seconds since 1970 */
export const isPresent = (disk: SubjectDisk | undefined, at: number): boolean => (disk?.addedAt ?? 0) < at

function storageOf(disks: readonly SubjectDisk[], at: number): StorageUse {
  let [capacityBytes, usedBytes] = [0, 0]
  for (const disk of disks) {
    capacityBytes += disk.capacityBytes
    usedBytes += disk.usedBytesAt(at)
  }
  return { capacityBytes, usedBytes }
}

function runningOf(subject: Subject, io: Io, readings: readonly VmReading[]): Running {
  const last = readings[readings.length - 1] as VmReading
  const mean = (of: (reading: VmReading) => number): number => {
    if (readings.length === 1) return of(last)
    let sum = 0
    for (const reading of readings) sum += of(reading)
    return Math.round(sum / readings.length)
  }
  return {
    run: last.run,
    hypervisorType: subject.hypervisorType,
    cpuPpm: mean(({ cpuPpm }) => cpuPpm),
    cpuReadyPpm: mean(({ cpuReadyPpm }) => cpuReadyPpm),
    guestMemoryPpm: mean(({ guestMemoryPpm }) => guestMemoryPpm),
    hypervisorMemoryPpm: mean(({ hypervisorMemoryPpm }) => hypervisorMemoryPpm),
    allocatedMemoryPpm: mean(({ allocatedMemoryPpm }) => allocatedMemoryPpm),
    receivedBytes: mean(({ receivedBytes }) => receivedBytes),
    transmittedBytes: mean(({ transmittedBytes }) => transmittedBytes),
    gpuPpm: mean(({ gpuPpm }) => gpuPpm),
    hypervisorIo: beyond(
      io,
      mean(({ hypervisorIoPpm }) => hypervisorIoPpm),
    ),
  }
}

/** The hypervisor counts a little more I/O than the storage controller. */
function beyond(io: Io, ppm: number): Io {
  const more = (value: number): number => value + Math.floor((value * ppm) / 1e6)
  const [readIops, writeIops] = [more(io.readIops), more(io.writeIops)]
  // In proportion to the operations, so that average latencies and sizes stay.
  const scaled = (value: number, operations: number, before: number): number =>
    before === 0 ? 0 : Math.round((value * operations) / before)
  return {
    readIops,
    writeIops,
    readKbps: scaled(io.readKbps, readIops, io.readIops),
    writeKbps: scaled(io.writeKbps, writeIops, io.writeIops),
    readWait: scaled(io.readWait, readIops, io.readIops),
    writeWait: scaled(io.writeWait, writeIops, io.writeIops),
    randomIo: io.randomIo,
    randomReadIo: io.randomReadIo,
  }
}
