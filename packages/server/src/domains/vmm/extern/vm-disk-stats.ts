/** Statistics of the disks of external VMs. Source: specification 4.8; behaviour vmm.md 1.15. */
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { ExternVmDiskStatsTuple, externVmDiskStatsOperations } from '@hyperplane/contract/vmm/extern/vm-disk-stats'
import { notFound } from '../../../core/standard.ts'
import { implement, parentOf } from '../../context.ts'
import { diskStatistics } from '../../statistics/answers.ts'
import { externSubjects } from '../../statistics/extern.ts'
import type { Subject } from '../../statistics/series.ts'

export const externVmDiskStats = implement(externVmDiskStatsOperations, {
  async getDiskStatsById(ctx, request) {
    const { vmExtId, extId } = request.path
    const [subject] = (await externSubjects(ctx, [parentOf(ctx, 'vmExtId', ExternVm)])) as [Subject]
    // External disks have no kind of their own: the error uses that of the VM.
    if (!subject.vm.disks.some((disk) => disk.extId === extId))
      throw notFound({ ...ExternVm, title: 'disk' }, extId, 'extId')
    return diskStatistics(ctx, request, subject, { extId, vmExtId }, ExternVmDiskStatsTuple)
  },
})
