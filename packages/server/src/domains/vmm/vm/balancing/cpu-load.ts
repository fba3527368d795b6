/** How busy the CPUs of hosts were in the last minutes, and with which VMs. Source: behaviour vmm.md 3.2 (balancer), 3.8. */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Clock } from '../../../../core/time/clock.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { readingSeconds } from '../../../../drivers/telemetry.ts'
import type { Reader } from '../../../../store/store.ts'
import { nativeSubjects } from '../../../statistics/native.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'

interface Looking {
  readonly store: Reader
  readonly clock: Pick<Clock, 'now'>
  readonly drivers: Pick<Drivers, 'telemetry'>
}

export interface CpuLoad {
  /** The lowest share of the host's CPUs that was in use, 0 to 1. */
  readonly least: number
  /** Mean shares of the host's CPUs, by VM. */
  readonly ofVms: ReadonlyMap<string, number>
}

const lookBackMinutes = 3
const million = 1_000_000

export async function cpuLoadOf(ctx: Looking, host: EntityOf<typeof Host>, vms: readonly VmEntity[]): Promise<CpuLoad> {
  const { telemetry } = ctx.drivers
  const grid = readingSeconds * 1000
  const newest = Math.floor(ctx.clock.now() / grid) * grid
  const count = (lookBackMinutes * 60) / readingSeconds
  const times = Array.from({ length: count }, (_, index) => newest - (count - 1 - index) * grid)
  const used = (await telemetry.readHost(host.extId, times)).map((reading) => (reading?.cpuPpm ?? 0) / million)
  const ofVms = new Map<string, number>()
  for (const { vm } of await nativeSubjects(ctx, vms)) {
    const readings = await telemetry.read(vm, times)
    const shares = readings.map((reading) => {
      if (reading?.run.hostExtId !== host.extId) return 0
      return (reading.cpuPpm / million) * reading.run.vcpus * shareOfVcpu(host)
    })
    for (const [index, share] of shares.entries()) used[index] = (used[index] as number) + share
    ofVms.set(vm.extId, shares.reduce((sum, share) => sum + share, 0) / count)
  }
  return { least: Math.min(...used), ofVms }
}

export const shareOfVcpu = ({
  cpuFrequencyHz,
  cpuCapacityHz,
  numberOfCpuThreads = 1,
}: EntityOf<typeof Host>): number =>
  cpuFrequencyHz === undefined || cpuCapacityHz === undefined ? 1 / numberOfCpuThreads : cpuFrequencyHz / cpuCapacityHz
