/** VMs that were idle or over-sized in the last 24 hours; thresholds are chosen. Source: behaviour clustermgmt.md 1.2. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf } from '../../core/standard.ts'
import type { Clock } from '../../core/time/clock.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { readingSeconds, type VmReading } from '../../drivers/telemetry.ts'
import { and, equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { nativeSubjects } from './native.ts'

const million = 1_000_000
/** Mean CPU usage of idle VMs is lower. */
const idleBelow = 0.05 * million
/** Peaks of over-sized VMs are lower. */
const oversizedBelow = { cpu: 0.25 * million, memory: 0.5 * million }
const hours = 24
/** VMs with fewer readings are not counted. */
const fewestReadings = 12
const vmsInTurn = 50

export async function inefficientVms(
  ctx: { readonly store: Reader; readonly clock: Clock; readonly drivers: Pick<Drivers, 'telemetry'> },
  clusterExtId: string,
): Promise<number> {
  const filter = and(equals(pathOf(Vm, 'cluster/extId'), clusterExtId), equals(pathOf(Vm, 'powerState'), 'ON'))
  const grid = readingSeconds * 1000
  const newest = Math.floor(ctx.clock.now() / grid) * grid
  const times = Array.from({ length: hours }, (_, index) => newest - (hours - 1 - index) * 60 * 60 * 1000)
  let count = 0
  for (const [index, { vm }] of (await nativeSubjects(ctx, await ctx.store.find(Vm, { filter }))).entries()) {
    if (index % vmsInTurn === 0) await new Promise(setImmediate)
    const readings = (await ctx.drivers.telemetry.read(vm, times)).filter((reading) => reading !== undefined)
    if (isInefficient(readings)) count++
  }
  return count
}

export function isInefficient(readings: readonly Pick<VmReading, 'cpuPpm' | 'guestMemoryPpm'>[]): boolean {
  if (readings.length < fewestReadings) return false
  const cpu = readings.map(({ cpuPpm }) => cpuPpm)
  const mean = cpu.reduce((sum, ppm) => sum + ppm, 0) / cpu.length
  if (mean < idleBelow) return true
  const memory = Math.max(...readings.map(({ guestMemoryPpm }) => guestMemoryPpm))
  return Math.max(...cpu) < oversizedBelow.cpu && memory < oversizedBelow.memory
}
