/** Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.17, 2, 3. */
import { names } from '../names.ts'
import { read, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { seriesOf } from '../statistics.ts'
import { clusterStatisticsQuery, statisticsRate } from './cluster-stats.ts'
import { StorageContainer } from './storage-container.ts'

const TimeIntValuePair = s.object('common.v1.stats.TimeIntValuePair', {
  timestamp: s.optional(s.timestamp()),
  value: s.optional(s.integer()),
})

const savings = names(`
  dataReductionClone, dataReductionCompression, dataReductionDedup, dataReductionErasureCoding, dataReductionSnapshot,
  dataReductionThinProvision, dataReduction
`)

export const StorageContainerStats = resource('clustermgmt.v4.stats.StorageContainerStats', {
  fields: {
    containerExtId: s.readOnly(s.uuid()),
    ...seriesOf(
      [
        ...savings.flatMap((name) => [`${name}SavedBytes` as const, `${name}SavingRatioPpm` as const]),
        ...names(`
          controllerAvgIoLatencyuSecs, controllerAvgReadIoLatencyuSecs, controllerAvgWriteIoLatencyuSecs,
          controllerIoBandwidthkBps, controllerNumIops, controllerNumReadIops, controllerNumWriteIops,
          controllerReadIoBandwidthkBps, controllerReadIoRatioPpm, controllerWriteIoBandwidthkBps,
          controllerWriteIoRatioPpm, dataReductionOverallPostReductionBytes, dataReductionOverallPreReductionBytes,
          dataReductionOverallSavedBytes, dataReductionTotalSavingRatioPpm, dataReductionZeroWriteSavingsBytes, health,
          storageActualPhysicalUsageBytes, storageCapacityBytes, storageFreeBytes,
          storageOtherContainersReservedCapacity, storageOtherContainersUnreservedCapacity, storageReplicationFactor,
          storageReservedCapacityBytes, storageReservedFreeBytes, storageReservedUsageBytes, storageSnapshotReclaimable,
          storageTierDasSataUsageBytes, storageTierSsdUsageBytes, storageUnreservedUsageBytes, storageUsageBytes
        `),
      ],
      TimeIntValuePair,
    ),
  },
  title: 'storage container statistics',
  derived: true,
})

const readers = names(`
  CSI System, Kubernetes Data Services System, Platform Admin, Platform Viewer, Project Manager,
  Self-Service Admin (deprecated), Storage Admin, Storage Viewer, Super Admin
`)

export const storageContainerStatsOperations = {
  getStorageContainerStats: read('/stats/storage-containers/{extId}', StorageContainerStats.schema, {
    of: StorageContainer,
    roles: readers,
    rateLimit: statisticsRate,
    query: clusterStatisticsQuery,
  }),
}
