/** Read-only. Source: catalogue networking.json; behaviour networking.md 1.21, 2. */
import { list, perMinute, resource } from '../operation.ts'
import * as s from '../schema.ts'

export const AwsVpc = resource('networking.v4.cloud.config.AwsVpc', {
  fields: {
    vpcId: s.text(),
    cidrs: s.arrayOf(s.text()),
    cloudType: s.enumeration(['AWS', 'AZURE']),
    annotation: s.optional(s.text()),
  },
  title: 'cloud VPC',
  derived: true,
})

export const awsVpcOperations = {
  listAwsVpcs: list('/cloud/config/vpcs', AwsVpc, {
    iam: 'View_AWS_VPC',
    roles: ['Network Infra Admin', 'Platform Admin', 'Platform Viewer', 'Super Admin'],
    rateLimit: perMinute(10),
    clusterId: 'required',
    paged: false,
    maximumItems: 50,
  }),
}
