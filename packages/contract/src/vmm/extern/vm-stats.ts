/** Source: specification 2.7, 4.8; catalogue vmm.json; behaviour vmm.md 1.15, 2, 3.8. */
import { list, read, resource } from '../../operation.ts'
import * as s from '../../schema.ts'
import { counters, pathsOf, statisticsQuery } from '../../statistics.ts'
import { statisticsListRate, statisticsRate, vmReaders } from '../roles.ts'
import { ExternVm } from './vm.ts'

export const ExternVmStatsTuple = s.object('vmm.v4.extern.stats.VmStatsTuple', {
  timestamp: s.timestamp(),
  cluster: s.optional(s.text()),
  hypervisorType: s.optional(s.text()),
  // The catalogue lacks guestMemoryUsagePpm; specification 2.7 names it.
  ...counters(`
    checkScore, controllerAvgIoLatencyMicros, controllerAvgReadIoLatencyMicros, controllerAvgReadIoSizeKb,
    controllerAvgWriteIoLatencyMicros, controllerAvgWriteIoSizeKb, controllerIoBandwidthKbps, controllerNumIo,
    controllerNumIops, controllerNumRandomIo, controllerNumReadIo, controllerNumReadIops, controllerNumSeqIo,
    controllerNumWriteIo, controllerNumWriteIops, controllerRandomIoPpm, controllerReadIoBandwidthKbps,
    controllerReadIoPpm, controllerSeqIoPpm, controllerStorageTierSsdUsageBytes, controllerTimespanMicros,
    controllerTotalIoSizeKb, controllerTotalIoTimeMicros, controllerTotalReadIoSizeKb, controllerTotalReadIoTimeMicros,
    controllerTotalTransformedUsageBytes, controllerUserBytes, controllerWriteIoBandwidthKbps, controllerWriteIoPpm,
    guestMemoryUsagePpm, hypervisorAvgIoLatencyMicros, hypervisorCpuReadyTimePpm, hypervisorCpuUsagePpm,
    hypervisorIoBandwidthKbps, hypervisorMemoryUsagePpm, hypervisorNumIo, hypervisorNumIops, hypervisorNumReadIo,
    hypervisorNumReadIops, hypervisorNumReceivedBytes, hypervisorNumTransmittedBytes, hypervisorNumWriteIo,
    hypervisorNumWriteIops, hypervisorReadIoBandwidthKbps, hypervisorSwapInRateKbps, hypervisorSwapOutRateKbps,
    hypervisorTimespanMicros, hypervisorTotalIoSizeKb, hypervisorTotalIoTimeMicros, hypervisorTotalReadIoSizeKb,
    hypervisorWriteIoBandwidthKbps, memoryUsagePpm
  `),
})

export const ExternVmStats = resource('vmm.v4.extern.stats.VmStats', {
  fields: { stats: s.optional(s.arrayOf(ExternVmStatsTuple)) },
  kind: 'ExternVmStats',
  title: 'external VM statistics',
  derived: true,
})

const selectable = ['extId', 'links', 'stats', 'tenantId', ...pathsOf(ExternVmStatsTuple)]
const filterable = pathsOf(ExternVmStatsTuple, ['timestamp'])

const view = { iam: 'View_External_Virtual_Machine_Stats', roles: vmReaders, query: statisticsQuery }

export const externVmStatsOperations = {
  listVmStats: list('/extern/stats/vms', ExternVmStats, {
    ...view,
    rateLimit: statisticsListRate,
    filter: filterable,
    orderby: filterable.filter((path) => path !== 'stats/cluster' && path !== 'stats/hypervisorType'),
    select: selectable,
  }),
  getVmStatsById: read('/extern/stats/vms/{extId}', ExternVmStats.schema, {
    ...view,
    of: ExternVm,
    rateLimit: statisticsRate,
    select: selectable,
  }),
}
