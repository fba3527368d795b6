/** How guests fill their disks. Source: behaviour clustermgmt.md 3 (Capacity). */
import type { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { parseTime } from '../../core/time/clock.ts'

const fullPercent = 65
const fillingDays = 20
const millisPerDay = 24 * 60 * 60 * 1000

/** Bytes that the guest has written; without an age, the final level. */
export function filled(sizeBytes: number, ageMillis = Number.POSITIVE_INFINITY): number {
  const share = (1 - Math.exp(-ageMillis / (fillingDays * millisPerDay))) * 10_000
  return Math.floor((Math.floor((sizeBytes * fullPercent) / 100) / 10_000) * Math.round(share))
}

type DiskEntity = NonNullable<Vm['disks']>[number]

export const fillOf = ({ diskFills = [] }: Vm, { extId }: DiskEntity) =>
  diskFills.find(({ diskExtId }) => diskExtId === extId)

/** @param at milliseconds since 1970 */
export function writtenTo(vm: Vm, disk: DiskEntity, at: number): number {
  const sizeBytes = (disk.backingInfo as { diskSizeBytes?: number } | undefined)?.diskSizeBytes ?? 0
  const { since, writtenBytes } = fillOf(vm, disk) ?? { since: vm.createTime, writtenBytes: 0 }
  const start = since === undefined ? undefined : parseTime(since)
  const written = filled(sizeBytes, start === undefined ? undefined : Math.max(0, at - start))
  const full = filled(sizeBytes)
  return full === 0 ? 0 : Math.max(writtenBytes, writtenBytes + Math.floor(written * (1 - writtenBytes / full)))
}
