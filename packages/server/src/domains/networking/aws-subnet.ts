/** Subnets of the cloud accounts that host clusters. Source: specification 4.7; behaviour networking.md 1.21. */
import { AwsSubnet, awsSubnetOperations } from '@hyperplane/contract/networking/aws-subnet'
import { both, pathOf, standardList } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { implement } from '../context.ts'
import { namedCluster } from './cloud-cluster.ts'

export const awsSubnet = implement(awsSubnetOperations, {
  async listAwsSubnets(ctx, request) {
    const clusterExtId = await namedCluster(ctx, request)
    const scope = await ctx.scopeOf('AwsSubnet')
    if (scope === 'none') return { entities: [], total: 0 }
    const filter = both(request.query.filter, equals(pathOf(AwsSubnet, 'clusterExtId'), clusterExtId))
    return standardList(ctx, { ...request, query: { ...request.query, ...(filter && { filter }) } }, scope ?? 'all')
  },
})
