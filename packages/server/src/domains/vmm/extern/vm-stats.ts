/** Statistics of external VMs. Source: specification 4.8; behaviour vmm.md 1.15. */
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { ExternVmStatsTuple, externVmStatsOperations } from '@hyperplane/contract/vmm/extern/vm-stats'
import { implement } from '../../context.ts'
import { listStatistics, vmStatistics } from '../../statistics/answers.ts'
import { externSubjects } from '../../statistics/extern.ts'

const measured = { kind: ExternVm, tuple: ExternVmStatsTuple, subjectsOf: externSubjects }

export const externVmStats = implement(externVmStatsOperations, {
  listVmStats: (ctx, request) => listStatistics(ctx, request, measured),
  getVmStatsById: (ctx, request) => vmStatistics(ctx, request, measured),
})
