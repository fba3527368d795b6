/** Reads of a VM's disks. Source: behaviour vmm.md 1.2. */
import { Disk, diskOperations } from '@hyperplane/contract/vmm/vm/parts/disk'
import { withVolumeGroups } from '../../../block-volumes/attachments.ts'
import { implement } from '../../../context.ts'
import { readsOf } from './part.ts'

// The disks of the VM itself, and the volume groups that are attached to it.
const reads = readsOf(Disk, 'disks', ({ store }, vms) => withVolumeGroups(store, vms))

export const disk = implement(diskOperations, { listDisksByVmId: reads.list, getDiskById: reads.get })
