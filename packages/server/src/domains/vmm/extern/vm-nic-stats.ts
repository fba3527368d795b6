/** Statistics of the NICs of external VMs. Source: specification 2.7, 4.8; behaviour vmm.md 1.15. */
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { ExternVmNicStatsTuple, externVmNicStatsOperations } from '@hyperplane/contract/vmm/extern/vm-nic-stats'
import { notFound } from '../../../core/standard.ts'
import { implement, parentOf } from '../../context.ts'
import { nicStatistics } from '../../statistics/answers.ts'
import { externSubjects } from '../../statistics/extern.ts'
import type { Subject } from '../../statistics/series.ts'

export const externVmNicStats = implement(externVmNicStatsOperations, {
  async getNicStatsById(ctx, request) {
    const { vmExtId, extId } = request.path
    const vm = parentOf(ctx, 'vmExtId', ExternVm)
    // External NICs have no kind of their own: the error uses that of the VM.
    if (!(vm.nics ?? []).some((nic) => nic.extId === extId))
      throw notFound({ ...ExternVm, title: 'NIC' }, extId, 'extId')
    const [subject] = (await externSubjects(ctx, [vm])) as [Subject]
    return nicStatistics(ctx, request, subject, { extId, vmExtId }, ExternVmNicStatsTuple)
  },
})
