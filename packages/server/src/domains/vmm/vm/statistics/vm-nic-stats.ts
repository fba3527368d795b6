/** Statistics of the NICs of native VMs. Source: behaviour vmm.md 1.15. */
import { Nic } from '@hyperplane/contract/vmm/vm/parts/nic'
import { VmNicStatsTuple, vmNicStatsOperations } from '@hyperplane/contract/vmm/vm/statistics/vm-nic-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { notFound } from '../../../../core/standard.ts'
import { implement, parentOf } from '../../../context.ts'
import { nicStatistics } from '../../../statistics/answers.ts'
import { nativeSubjects } from '../../../statistics/native.ts'
import type { Subject } from '../../../statistics/series.ts'

export const vmNicStats = implement(vmNicStatsOperations, {
  async getNicStatsById(ctx, request) {
    const { vmExtId, extId } = request.path
    const vm = parentOf(ctx, 'vmExtId', Vm)
    if (!(vm.nics ?? []).some((nic) => nic.extId === extId)) throw notFound(Nic, extId, 'extId')
    const [subject] = (await nativeSubjects(ctx, [vm])) as [Subject]
    return nicStatistics(ctx, request, subject, { extId, vmExtId }, VmNicStatsTuple)
  },
})
