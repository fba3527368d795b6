/** Source: behaviour clustermgmt.md 1.17. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DiskStats, diskStatsOperations } from '@hyperplane/contract/clustermgmt/disk-stats'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { implement } from '../context.ts'
import { driveStatistics } from '../statistics/drive-series.ts'
import { storageHostsOf } from '../storage-space/capacity.ts'
import { defaultCopies } from './cluster-rules.ts'

export const diskStats = implement(diskStatsOperations, {
  async getDiskStats(ctx, request) {
    const { extId, clusterExtId = '', nodeExtId = '' } = ctx.target
    const host = await ctx.store.get(Host, nodeExtId)
    const cluster = await ctx.store.get(Cluster, clusterExtId)
    const copies = cluster?.config?.redundancyFactor ?? defaultCopies(await storageHostsOf(ctx.store, clusterExtId))
    if (host === undefined) return { extId }
    return driveStatistics(ctx, request, { extId, host, copies, names: Object.keys(DiskStats.schema.fields) })
  },
})
