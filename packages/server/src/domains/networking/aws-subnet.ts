/** Subnets of the cloud accounts that host clusters. Source: specification 4.7; behaviour networking.md 1.21. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { AwsSubnet, awsSubnetOperations } from '@hyperplane/contract/networking/aws-subnet'
import { isInScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import { both, pathOf, standardList } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { implement } from '../context.ts'

export const awsSubnet = implement(awsSubnetOperations, {
  async listAwsSubnets(ctx, request) {
    const clusterExtId = request.headers.clusterId as string
    const cluster = await ctx.store.get(Cluster, clusterExtId)
    const clusters = await ctx.services.access.referScope(ctx.caller, ctx.operation, Cluster)
    const isVisible = isInScope(clusters, cluster ?? {})
    if (cluster === undefined || !isVisible) {
      throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: 'Cluster', id: clusterExtId })
    }
    const scope = await ctx.scopeOf('AwsSubnet')
    if (scope === 'none') return { entities: [], total: 0 }
    const filter = both(request.query.filter, equals(pathOf(AwsSubnet, 'clusterExtId'), clusterExtId))
    return standardList(ctx, { ...request, query: { ...request.query, ...(filter && { filter }) } }, scope ?? 'all')
  },
})
