/** Statistics of native VMs. Source: behaviour vmm.md 1.15. */

import { VmStatsTuple, vmStatsOperations } from '@hyperplane/contract/vmm/vm/statistics/vm-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { implement } from '../../../context.ts'
import { listStatistics, vmStatistics } from '../../../statistics/answers.ts'
import { nativeSubjects } from '../../../statistics/native.ts'

const measured = { kind: Vm, tuple: VmStatsTuple, subjectsOf: nativeSubjects }

export const vmStats = implement(vmStatsOperations, {
  listVmStats: (ctx, request) => listStatistics(ctx, request, measured),
  getVmStatsById: (ctx, request) => vmStatistics(ctx, request, measured),
})
