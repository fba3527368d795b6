/** Source: behaviour networking.md 1.20. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { clusterCapabilityOperations } from '@hyperplane/contract/networking/cluster-capability'
import { isInScope } from '../../core/access/scope.ts'
import { derivedId } from '../../core/ids/named-id.ts'
import { listOf } from '../../core/standard.ts'
import { capabilitiesOf } from '../admission/cluster-capabilities.ts'
import { implement } from '../context.ts'

export const clusterCapability = implement(clusterCapabilityOperations, {
  async listClusterCapabilities(ctx, request) {
    if ((await ctx.scopeOf('ClusterCapability')) === 'none') return { entities: [], total: 0 }
    const visible = await ctx.services.access.referScope(ctx.caller, ctx.operation, Cluster)
    const clusters = (await ctx.store.find(Cluster)).filter((cluster) => isInScope(visible, cluster))
    const rows = await Promise.all(
      clusters.map(async (cluster) => ({
        extId: derivedId('cluster capability', cluster.extId),
        clusterId: cluster.extId,
        capabilities: await capabilitiesOf(ctx.store, cluster),
      })),
    )
    return listOf(rows, request)
  },
})
