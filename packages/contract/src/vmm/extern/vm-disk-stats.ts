/** Source: specification 2.7, 4.8; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { read } from '../../operation.ts'
import { partStatistics, partStatisticsRead, tupleOf } from '../part-statistics.ts'

export const ExternVmDiskStatsTuple = tupleOf(
  'vmm.v4.extern.stats.VmDiskStatsTuple',
  `
    controllerAvgIoLatencyMicros, controllerAvgReadIoLatencyMicros, controllerAvgReadIoSizeKb,
    controllerAvgWriteIoLatencyMicros, controllerAvgWriteIoSizeKb, controllerIoBandwidthKbps, controllerNumIo,
    controllerNumIops, controllerNumReadIo, controllerNumReadIops, controllerNumSeqIo, controllerNumWriteIo,
    controllerNumWriteIops, controllerRandomIoPpm, controllerReadIoBandwidthKbps, controllerReadIoPpm,
    controllerSeqIoPpm, controllerTimespanMicros, controllerTotalIoSizeKb, controllerTotalIoTimeMicros,
    controllerTotalReadIoSizeKb, controllerTotalReadIoTimeMicros, controllerUserBytes, controllerWriteIoBandwidthKbps,
    controllerWriteIoPpm
  `,
)

export const ExternVmDiskStats = partStatistics('vmm.v4.extern.stats.VmDiskStats', ExternVmDiskStatsTuple)

export const externVmDiskStatsOperations = {
  getDiskStatsById: read('/extern/stats/vms/{vmExtId}/disks/{extId}', ExternVmDiskStats, {
    iam: 'View_External_Virtual_Machine_Disk_Stats',
    pathKinds: { vmExtId: 'ExternVm' },
    ...partStatisticsRead,
  }),
}
