/** Source: specification 2.7, 4.8, 5, 8; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { baseFields, read } from '../../operation.ts'
import * as s from '../../schema.ts'
import { counters, statisticsQuery } from '../../statistics.ts'
import { statisticsRate, vmReaders } from '../roles.ts'

export const ExternVmNicStatsTuple = s.object('vmm.v4.extern.stats.VmNicStatsTuple', {
  timestamp: s.timestamp(),
  ...counters('networkDroppedReceivedPackets, networkDroppedTransmittedPackets'),
})

export const ExternVmNicStats = s.object('vmm.v4.extern.stats.VmNicStats', {
  ...baseFields,
  vmExtId: s.optional(s.uuid()),
  stats: s.optional(s.arrayOf(ExternVmNicStatsTuple)),
})

export const externVmNicStatsOperations = {
  getNicStatsById: read('/extern/stats/vms/{vmExtId}/nics/{extId}', ExternVmNicStats, {
    pathKinds: { vmExtId: 'ExternVm' },
    iam: 'View_External_Virtual_Machine_NIC_Stats',
    roles: vmReaders,
    rateLimit: statisticsRate,
    query: statisticsQuery,
    select: ['extId', 'links', 'stats', 'tenantId', 'vmExtId'],
  }),
}
