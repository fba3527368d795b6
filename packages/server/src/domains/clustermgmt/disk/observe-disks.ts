/** Health of disks, and the end of removed ones. Source: behaviour clustermgmt.md 1.8, 3 (Faults). */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Disk } from '@hyperplane/contract/clustermgmt/disk'
import { pathOf } from '../../../core/standard.ts'
import { parseTime } from '../../../core/time/clock.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { anyOf, equals } from '../../../odata/index.ts'
import type { Reader } from '../../../store/store.ts'
import type { Schedule, ScheduleContext } from '../../context.ts'
import { type DiskRow, healthOf } from '../../storage-space/disks.ts'

/** Ids of clusters, hosts and drives that changed since the last run; absent: any may have changed. */
const changedIds = new WeakMap<Drivers, Set<string>>()

export const observeDisks: Schedule = {
  name: 'clustermgmt.observe-disks',
  everySeconds: 10,
  watch({ drivers }, changed) {
    changedIds.delete(drivers)
    return drivers.hardware.watch((ids) => {
      if (ids === undefined) changedIds.delete(drivers)
      for (const id of ids ?? []) changedIds.get(drivers)?.add(id)
      changed()
    })
  },
  async run({ drivers, store }) {
    const ids = changedIds.get(drivers)
    const next = new Set<string>()
    changedIds.set(drivers, next)
    try {
      const disks = ids === undefined ? await store.find(Disk) : await disksAt(store, [...ids])
      const found = new Set(disks.flatMap(({ extId, nodeExtId, clusterExtId }) => [extId, nodeExtId, clusterExtId]))
      // The drive may have its row later.
      for (const id of ids ?? []) if (!found.has(id)) next.add(id)
      await observe(drivers, store, disks)
    } catch (error) {
      changedIds.delete(drivers)
      throw error
    }
  },
}

/** @param ids of clusters, hosts and drives */
async function disksAt(store: Reader, ids: readonly string[]): Promise<readonly DiskRow[]> {
  const disks = [
    ...(await store.getMany(Disk, ids)),
    ...(await store.find(Disk, { filter: anyOf(pathOf(Disk, 'nodeExtId'), ids) })),
  ]
  for (const { extId } of await store.getMany(Cluster, ids))
    disks.push(...(await store.findWhere(Disk, { clusterExtId: extId })))
  return disks
}

async function observe(
  { hardware }: Drivers,
  store: ScheduleContext['store'],
  disks: readonly DiskRow[],
): Promise<void> {
  const changesOf = (disk: DiskRow): Pick<DiskRow, 'diskAdvanceConfig'> | undefined => {
    // Disks of an unreachable cluster keep their last known state.
    if (!hardware.isReachable(disk.clusterExtId ?? '')) return undefined
    const host = disk.nodeExtId ?? ''
    const drive = hardware.drivesOf(host).find(({ extId }) => extId === disk.extId)
    const health = Object.entries(healthOf(drive, hardware.isHostUp(host)))
    const shown: Readonly<Record<string, unknown>> = disk.diskAdvanceConfig ?? {}
    if (health.every(([name, value]) => shown[name] === value)) return undefined
    return { diskAdvanceConfig: { ...shown, ...Object.fromEntries(health) } }
  }
  const news = disks.filter((disk) => changesOf(disk) !== undefined)
  if (news.length === 0) return
  await store.transaction(async (transaction) => {
    // Read again: a task may have written the state of the disk since the first read.
    for (const disk of await transaction.getMany(Disk, [...new Set(news.map(({ extId }) => extId))])) {
      const changes = changesOf(disk)
      if (changes !== undefined) await transaction.observe(Disk, disk.extId, changes)
    }
  })
}

const staysMillis = 60_000

/** Answers list a disk for a minute after its data has left. */
export const forgetDetachable: Schedule = {
  name: 'clustermgmt.forget-detachable-disks',
  everySeconds: 1,
  watch: ({ store }, changed) => store.watch([Disk], changed),
  async run({ clock, store }) {
    const detachable = await store.find(Disk, { filter: equals(pathOf(Disk, 'status'), 'DETACHABLE') })
    const ends = detachable.map((disk) => endOf(disk))
    const detached = detachable.filter((_, index) => (ends[index] as number) <= clock.now())
    if (detached.length > 0)
      await store.transaction(async (transaction) => {
        for (const { extId } of detached) {
          const disk = await transaction.get(Disk, extId)
          // The disk may have been added again.
          if (disk?.status === 'DETACHABLE') await transaction.remove(Disk, extId)
        }
      })
    const left = ends.filter((end) => end > clock.now())
    if (left.length > 0) return Math.min(...left)
  },
}

const endOf = ({ removal }: DiskRow): number => (parseTime(removal?.detachableSince ?? '') ?? 0) + staysMillis
