/** Source: specification 2.7; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { read } from '../../../operation.ts'
import { partStatistics, partStatisticsRead, tupleOf } from '../../part-statistics.ts'
import { Disk } from '../parts/disk.ts'

export const VmDiskStatsTuple = tupleOf(
  'vmm.v4.ahv.stats.VmDiskStatsTuple',
  `
    controllerAvgIoLatencyMicros, controllerAvgReadIoLatencyMicros, controllerAvgReadIoSizeKb,
    controllerAvgWriteIoLatencyMicros, controllerAvgWriteIoSizeKb, controllerFrontendReadOps,
    controllerFrontendWriteOps, controllerIoBandwidthKbps, controllerNumIo, controllerNumIops, controllerNumReadIo,
    controllerNumReadIops, controllerNumWriteIo, controllerRandomReadOps, controllerRandomWriteOps,
    controllerReadIoBandwidthKbps, controllerReadIoPpm, controllerSeqIoPpm, controllerTimespanMicros,
    controllerTotalIoSizeKb, controllerTotalIoTimeMicros, controllerTotalReadIoSizeKb, controllerTotalReadIoTimeMicros,
    controllerUserBytes, controllerVdiskCpuTimeMicros, controllerWriteIoBandwidthKbps, controllerWriteIoPpm
  `,
)

export const VmDiskStats = partStatistics('vmm.v4.ahv.stats.VmDiskStats', VmDiskStatsTuple)

export const vmDiskStatsOperations = {
  getDiskStatsById: read('/ahv/stats/vms/{vmExtId}/disks/{extId}', VmDiskStats, { of: Disk, ...partStatisticsRead }),
}
