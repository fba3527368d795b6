/** Copies of disks that a failed migration left on a cluster, because it did not answer. Source: behaviour vmm.md 1.1. */
import { resource, uuid } from '@hyperplane/contract'
import type { ScheduleContext } from '../../../../core/time/schedules.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'

/** Its id is that of the copy. */
export const LeftCopy = resource(
  'internal.v1.vmm.LeftDiskCopy',
  { clusterExtId: uuid() },
  { indexed: ['clusterExtId'], ofCluster: { by: 'clusterExtId' } },
)

export const removeLeftCopies = {
  name: 'vmm.remove-left-disk-copies',
  everySeconds: 30,
  watch({ drivers, store }: ScheduleContext<Drivers>, changed: () => void): () => void {
    const ends = [drivers.hardware.watch(changed), store.watch([LeftCopy], changed)]
    return () => {
      for (const end of ends) end()
    }
  },
  async run({ drivers, store }: ScheduleContext<Drivers>): Promise<void> {
    for (const { extId, clusterExtId } of await store.find(LeftCopy)) {
      if (!drivers.hardware.isReachable(clusterExtId)) continue
      await drivers.hypervisor.deleteDisk(extId)
      await store.transaction((transaction) => transaction.remove(LeftCopy, extId))
    }
  },
}
