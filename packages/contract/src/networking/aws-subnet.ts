/** Read-only. Source: specification 2.6, 4.7, 5, 8; catalogue networking.json; behaviour networking.md 1.21. */
import { names } from '../names.ts'
import { list, perMinute, resource } from '../operation.ts'
import * as s from '../schema.ts'

export const AwsSubnet = resource('networking.v4.cloud.config.AwsSubnet', {
  fields: {
    subnetId: s.text(),
    vpcId: s.text(),
    cidr: s.text(),
    gatewayIp: s.text(),
    availabilityZone: s.text(),
    cloudType: s.enumeration(['AWS', 'AZURE']),
    annotation: s.optional(s.text()),
  },
  title: 'cloud subnet',
  /** Named by the header X-Cluster-Id. */
  internal: { clusterExtId: s.uuid() },
  indexed: ['clusterExtId'],
  ofCluster: { by: 'clusterExtId' },
})

export const awsSubnetOperations = {
  listAwsSubnets: list('/cloud/config/subnets', AwsSubnet, {
    iam: 'View_AWS_Subnet',
    roles: ['Network Infra Admin', 'Platform Admin', 'Platform Viewer', 'Super Admin'],
    rateLimit: perMinute(10),
    clusterId: 'required',
    maximumItems: 50,
    filter: ['cidr', 'vpcId'],
    orderby: ['cidr', 'subnetId', 'vpcId'],
    select: names('annotation, availabilityZone, cidr, cloudType, extId, gatewayIp, links, subnetId, tenantId, vpcId'),
  }),
}
