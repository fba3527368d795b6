/** Source: specification 2.7, 4.8; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { baseFields, read } from '../../operation.ts'
import * as s from '../../schema.ts'
import { counters, statisticsQuery } from '../../statistics.ts'
import { statisticsRate, vmReaders } from '../roles.ts'

export const ExternVmDiskStatsTuple = s.object('vmm.v4.extern.stats.VmDiskStatsTuple', {
  timestamp: s.timestamp(),
  ...counters(`
    controllerAvgIoLatencyMicros, controllerAvgReadIoLatencyMicros, controllerAvgReadIoSizeKb,
    controllerAvgWriteIoLatencyMicros, controllerAvgWriteIoSizeKb, controllerIoBandwidthKbps, controllerNumIo,
    controllerNumIops, controllerNumReadIo, controllerNumReadIops, controllerNumSeqIo, controllerNumWriteIo,
    controllerNumWriteIops, controllerRandomIoPpm, controllerReadIoBandwidthKbps, controllerReadIoPpm,
    controllerSeqIoPpm, controllerTimespanMicros, controllerTotalIoSizeKb, controllerTotalIoTimeMicros,
    controllerTotalReadIoSizeKb, controllerTotalReadIoTimeMicros, controllerUserBytes, controllerWriteIoBandwidthKbps,
    controllerWriteIoPpm
  `),
})

export const ExternVmDiskStats = s.object('vmm.v4.extern.stats.VmDiskStats', {
  ...baseFields,
  vmExtId: s.optional(s.uuid()),
  stats: s.optional(s.arrayOf(ExternVmDiskStatsTuple)),
})

export const externVmDiskStatsOperations = {
  getDiskStatsById: read('/extern/stats/vms/{vmExtId}/disks/{extId}', ExternVmDiskStats, {
    pathKinds: { vmExtId: 'ExternVm' },
    iam: 'View_External_Virtual_Machine_Disk_Stats',
    roles: vmReaders,
    rateLimit: statisticsRate,
    query: statisticsQuery,
    select: ['extId', 'links', 'stats', 'tenantId', 'vmExtId'],
  }),
}
