/** Source: specification 2.7, 5, 8; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { read } from '../../../operation.ts'
import { partStatistics, partStatisticsRead, tupleOf } from '../../part-statistics.ts'
import { Nic } from '../parts/nic.ts'

export const VmNicStatsTuple = tupleOf(
  'vmm.v4.ahv.stats.VmNicStatsTuple',
  'networkDroppedReceivedPackets, networkDroppedTransmittedPackets',
)

export const VmNicStats = partStatistics('vmm.v4.ahv.stats.VmNicStats', VmNicStatsTuple)

export const vmNicStatsOperations = {
  getNicStatsById: read('/ahv/stats/vms/{vmExtId}/nics/{extId}', VmNicStats, { of: Nic, ...partStatisticsRead }),
}
