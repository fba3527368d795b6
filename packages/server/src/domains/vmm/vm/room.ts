/** Resumes VMs paused by a full storage container, once it has free space. Source: behaviour vmm.md 1.1 (PAUSED), 3.4. */

import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { type ScheduleContext, together } from '../../context.ts'
import { containerFree, poolUsage } from '../../storage-space/capacity.ts'

/** A change of a row of these kinds may free space. */
const users = [BackupTarget, Image, Ova, StorageContainer, Vm, VolumeDisk]

export const resumeWriters = {
  name: 'vmm.resume-writers',
  everySeconds: 30,
  watch: ({ drivers, store }: ScheduleContext, changed: () => void) =>
    together(drivers.hardware.watch(changed), drivers.hypervisor.watch(changed), store.watch(users, changed)),
  async run(ctx: ScheduleContext): Promise<void> {
    const { hypervisor } = ctx.drivers
    for (const containerExtId of hypervisor.fullContainers()) {
      const container = await ctx.store.get(StorageContainer, containerExtId)
      const free =
        container?.clusterExtId === undefined
          ? Number.POSITIVE_INFINITY
          : containerFree(await poolUsage(ctx, container.clusterExtId), container)
      if (free > 0) await hypervisor.retryWrites(containerExtId)
    }
  },
}
