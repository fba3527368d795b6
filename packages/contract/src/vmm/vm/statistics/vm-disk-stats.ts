/** Source: specification 2.7; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { baseFields, read } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { counters, statisticsQuery } from '../../../statistics.ts'
import { statisticsRate, vmReaders } from '../../roles.ts'
import { Disk } from '../parts/disk.ts'

export const VmDiskStatsTuple = s.object('vmm.v4.ahv.stats.VmDiskStatsTuple', {
  timestamp: s.timestamp(),
  ...counters(`
    controllerAvgIoLatencyMicros, controllerAvgReadIoLatencyMicros, controllerAvgReadIoSizeKb,
    controllerAvgWriteIoLatencyMicros, controllerAvgWriteIoSizeKb, controllerFrontendReadOps,
    controllerFrontendWriteOps, controllerIoBandwidthKbps, controllerNumIo, controllerNumIops, controllerNumReadIo,
    controllerNumReadIops, controllerNumWriteIo, controllerRandomReadOps, controllerRandomWriteOps,
    controllerReadIoBandwidthKbps, controllerReadIoPpm, controllerSeqIoPpm, controllerTimespanMicros,
    controllerTotalIoSizeKb, controllerTotalIoTimeMicros, controllerTotalReadIoSizeKb, controllerTotalReadIoTimeMicros,
    controllerUserBytes, controllerVdiskCpuTimeMicros, controllerWriteIoBandwidthKbps, controllerWriteIoPpm
  `),
})

export const VmDiskStats = s.object('vmm.v4.ahv.stats.VmDiskStats', {
  ...baseFields,
  vmExtId: s.optional(s.uuid()),
  stats: s.optional(s.arrayOf(VmDiskStatsTuple)),
})

export const vmDiskStatsOperations = {
  getDiskStatsById: read('/ahv/stats/vms/{vmExtId}/disks/{extId}', VmDiskStats, {
    of: Disk,
    iam: 'View_Virtual_Machine_Disk_Stats',
    roles: vmReaders,
    rateLimit: statisticsRate,
    query: statisticsQuery,
    select: ['extId', 'links', 'stats', 'tenantId', 'vmExtId'],
  }),
}
