/** Source: specification 2.7, 5, 8; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { baseFields, read } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { counters, statisticsQuery } from '../../../statistics.ts'
import { statisticsRate, vmReaders } from '../../roles.ts'
import { Nic } from '../parts/nic.ts'

export const VmNicStatsTuple = s.object('vmm.v4.ahv.stats.VmNicStatsTuple', {
  timestamp: s.timestamp(),
  ...counters('networkDroppedReceivedPackets, networkDroppedTransmittedPackets'),
})

export const VmNicStats = s.object('vmm.v4.ahv.stats.VmNicStats', {
  ...baseFields,
  vmExtId: s.optional(s.uuid()),
  stats: s.optional(s.arrayOf(VmNicStatsTuple)),
})

export const vmNicStatsOperations = {
  getNicStatsById: read('/ahv/stats/vms/{vmExtId}/nics/{extId}', VmNicStats, {
    of: Nic,
    iam: 'View_Virtual_Machine_NIC_Stats',
    roles: vmReaders,
    rateLimit: statisticsRate,
    query: statisticsQuery,
    select: ['extId', 'links', 'stats', 'tenantId', 'vmExtId'],
  }),
}
