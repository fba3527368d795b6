/** Source: specification 2.7, 4.8, 5, 8; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { read } from '../../operation.ts'
import { partStatistics, partStatisticsRead, tupleOf } from '../part-statistics.ts'

export const ExternVmNicStatsTuple = tupleOf(
  'vmm.v4.extern.stats.VmNicStatsTuple',
  'networkDroppedReceivedPackets, networkDroppedTransmittedPackets',
)

export const ExternVmNicStats = partStatistics('vmm.v4.extern.stats.VmNicStats', ExternVmNicStatsTuple)

export const externVmNicStatsOperations = {
  getNicStatsById: read('/extern/stats/vms/{vmExtId}/nics/{extId}', ExternVmNicStats, {
    iam: 'View_External_Virtual_Machine_NIC_Stats',
    pathKinds: { vmExtId: 'ExternVm' },
    ...partStatisticsRead,
  }),
}
