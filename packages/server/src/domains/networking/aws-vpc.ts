/** VPCs of the cloud accounts that host clusters, as their subnets tell. Source: behaviour networking.md 1.21. */
import type { EntityOf } from '@hyperplane/contract'
import { AwsSubnet } from '@hyperplane/contract/networking/aws-subnet'
import { type AwsVpc, awsVpcOperations } from '@hyperplane/contract/networking/aws-vpc'
import { derivedId } from '../../core/ids/named-id.ts'
import { formatPrefix, parsePrefix, prefixOf } from '../../core/ip-address.ts'
import { listOf } from '../../core/standard.ts'
import { implement } from '../context.ts'
import { namedCluster } from './cloud-cluster.ts'

type CloudSubnet = EntityOf<typeof AwsSubnet>

/** The largest network that a VPC of these clouds may have. */
const largestPrefix = 16

export const awsVpc = implement(awsVpcOperations, {
  async listAwsVpcs(ctx, request) {
    const clusterExtId = await namedCluster(ctx, request)
    if ((await ctx.scopeOf('AwsVpc')) === 'none') return { entities: [], total: 0 }
    const vpcs = Map.groupBy(await ctx.store.findWhere(AwsSubnet, { clusterExtId }), ({ vpcId }) => vpcId)
    const shown = [...vpcs].map(([vpcId, subnets]) => vpcOf(vpcId, subnets))
    const { maximumItems = shown.length } = ctx.operation
    const { entities, total } = listOf(shown, request, { paged: false })
    return { entities: entities.slice(0, maximumItems), total, truncated: total > maximumItems }
  },
})

function vpcOf(vpcId: string, subnets: readonly CloudSubnet[]): EntityOf<typeof AwsVpc> {
  const { clusterExtId, cloudType } = subnets[0] as CloudSubnet
  const cidrs = [...new Set(subnets.map(({ cidr }) => networkAround(cidr)))].sort()
  return { extId: derivedId('cloud VPC', clusterExtId!, vpcId), vpcId, cidrs, cloudType }
}

function networkAround(cidr: string): string {
  const { family, first, length } = parsePrefix(cidr)!
  return formatPrefix(prefixOf({ family, value: first }, Math.min(length, largestPrefix)))
}
