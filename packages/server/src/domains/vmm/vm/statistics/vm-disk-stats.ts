/** Statistics of the disks of native VMs. Source: behaviour vmm.md 1.15. */
import { Disk } from '@hyperplane/contract/vmm/vm/parts/disk'
import { VmDiskStatsTuple, vmDiskStatsOperations } from '@hyperplane/contract/vmm/vm/statistics/vm-disk-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { notFound } from '../../../../core/standard.ts'
import { implement, parentOf } from '../../../context.ts'
import { diskStatistics } from '../../../statistics/answers.ts'
import { nativeSubjects } from '../../../statistics/native.ts'
import type { Subject } from '../../../statistics/series.ts'

export const vmDiskStats = implement(vmDiskStatsOperations, {
  async getDiskStatsById(ctx, request) {
    const { vmExtId, extId } = request.path
    const [subject] = (await nativeSubjects(ctx, [parentOf(ctx, 'vmExtId', Vm)])) as [Subject]
    if (!subject.vm.disks.some((disk) => disk.extId === extId)) throw notFound(Disk, extId, 'extId')
    return diskStatistics(ctx, request, subject, { extId, vmExtId }, VmDiskStatsTuple)
  },
})
