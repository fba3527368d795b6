/** Source: specification 2.7; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { list, read, resource } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { counters, pathsOf, statisticsQuery } from '../../../statistics.ts'
import { statisticsListRate, statisticsRate, vmReaders } from '../../roles.ts'
import { Vm } from '../vm.ts'

export const VmStatsTuple = s.object('vmm.v4.ahv.stats.VmStatsTuple', {
  timestamp: s.timestamp(),
  cluster: s.optional(s.text()),
  hypervisorType: s.optional(s.text()),
  ...counters(`
    checkScore, controllerAvgIoLatencyMicros, controllerAvgReadIoLatencyMicros, controllerAvgReadIoSizeKb,
    controllerAvgWriteIoLatencyMicros, controllerAvgWriteIoSizeKb, controllerIoBandwidthKbps, controllerNumIo,
    controllerNumIops, controllerNumRandomIo, controllerNumReadIo, controllerNumReadIops, controllerNumSeqIo,
    controllerNumWriteIo, controllerNumWriteIops, controllerOplogDrainDestHddBytes, controllerOplogDrainDestSsdBytes,
    controllerRandomIoPpm, controllerReadIoBandwidthKbps, controllerReadIoPpm, controllerReadSourceEstoreHddLocalBytes,
    controllerReadSourceEstoreHddRemoteBytes, controllerReadSourceEstoreSsdLocalBytes,
    controllerReadSourceEstoreSsdRemoteBytes, controllerReadSourceOplogBytes, controllerSeqIoPpm,
    controllerSharedUsageBytes, controllerSnapshotUsageBytes, controllerStorageTierSsdUsageBytes,
    controllerTimespanMicros, controllerTotalIoSizeKb, controllerTotalIoTimeMicros, controllerTotalReadIoSizeKb,
    controllerTotalReadIoTimeMicros, controllerTotalTransformedUsageBytes, controllerUserBytes,
    controllerWriteDestEstoreHddBytes, controllerWriteDestEstoreSsdBytes, controllerWriteIoBandwidthKbps,
    controllerWriteIoPpm, controllerWss120SecondReadMb, controllerWss120SecondUnionMb, controllerWss120SecondWriteMb,
    controllerWss3600SecondReadMb, controllerWss3600SecondUnionMb, controllerWss3600SecondWriteMb, diskCapacityBytes,
    diskUsagePpm, frameBufferUsagePpm, gpuUsagePpm, guestMemoryUsagePpm, hypervisorAvgIoLatencyMicros,
    hypervisorCpuReadyTimePpm, hypervisorCpuUsagePpm, hypervisorIoBandwidthKbps,
    hypervisorMemoryBalloonReclaimTargetBytes, hypervisorMemoryBalloonReclaimedBytes, hypervisorMemoryUsagePpm,
    hypervisorNumIo, hypervisorNumIops, hypervisorNumReadIo, hypervisorNumReadIops, hypervisorNumReceivePacketsDropped,
    hypervisorNumReceivedBytes, hypervisorNumTransmitPacketsDropped, hypervisorNumTransmittedBytes,
    hypervisorNumWriteIo, hypervisorNumWriteIops, hypervisorReadIoBandwidthKbps, hypervisorSwapInRateKbps,
    hypervisorSwapOutRateKbps, hypervisorTimespanMicros, hypervisorTotalIoSizeKb, hypervisorTotalIoTimeMicros,
    hypervisorTotalReadIoSizeKb, hypervisorVmRunningTimeUsecs, hypervisorWriteIoBandwidthKbps, memoryReservedBytes,
    memoryUsageBytes, memoryUsagePpm, numVcpusUsedPpm, physicalMemoryAllocatedBytes
  `),
})

export const VmStats = resource('vmm.v4.ahv.stats.VmStats', {
  fields: { stats: s.optional(s.arrayOf(VmStatsTuple)) },
  title: 'VM statistics',
  derived: true,
})

const selectable = ['extId', 'links', 'stats', 'tenantId', ...pathsOf(VmStatsTuple)]
const filterable = pathsOf(VmStatsTuple, ['timestamp', 'physicalMemoryAllocatedBytes'])

const view = { iam: 'View_Virtual_Machine_Stats', roles: vmReaders, query: statisticsQuery }

export const vmStatsOperations = {
  listVmStats: list('/ahv/stats/vms', VmStats, {
    ...view,
    rateLimit: statisticsListRate,
    filter: filterable,
    orderby: filterable.filter((path) => path !== 'stats/cluster' && path !== 'stats/hypervisorType'),
    select: selectable,
  }),
  getVmStatsById: read('/ahv/stats/vms/{extId}', VmStats.schema, {
    ...view,
    of: Vm,
    rateLimit: statisticsRate,
    select: selectable,
  }),
}
