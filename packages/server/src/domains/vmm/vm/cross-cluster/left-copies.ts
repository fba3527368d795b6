/** Files that a migration left on a silent cluster: copies of a failed one, or the former files. Source: behaviour vmm.md 1.1. */

import { resource, uuid } from '@hyperplane/contract'
import type { Transaction } from '../../../../store/store.ts'
import { DriverError, type ScheduleContext, together } from '../../../context.ts'

/** Has the id of the copy. */
export const LeftCopy = resource('internal.v1.vmm.LeftDiskCopy', {
  fields: { clusterExtId: uuid() },
  indexed: ['clusterExtId'],
  ofCluster: { by: 'clusterExtId' },
})

export async function leaveCopies(store: Transaction, clusterExtId: string, extIds: readonly string[]): Promise<void> {
  for (const extId of extIds) await store.insert(LeftCopy, { extId, clusterExtId })
}

export const removeLeftCopies = {
  name: 'vmm.remove-left-disk-copies',
  everySeconds: 30,
  watch: ({ drivers, store }: ScheduleContext, changed: () => void) =>
    together(drivers.hardware.watch(changed), store.watch([LeftCopy], changed)),
  async run({ drivers, store }: Pick<ScheduleContext, 'drivers' | 'store'>): Promise<void | 'again'> {
    let isLeft = false
    for (const { extId, clusterExtId } of await store.find(LeftCopy)) {
      if (!drivers.hardware.isReachable(clusterExtId)) continue
      try {
        await drivers.hypervisor.deleteDisk(extId)
      } catch (error) {
        // One cluster that refuses must not keep the files on the others.
        if (!(error instanceof DriverError)) throw error
        isLeft = true
        continue
      }
      await store.transaction((transaction) => transaction.remove(LeftCopy, extId))
    }
    if (isLeft) return 'again'
  },
}
