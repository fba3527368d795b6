/** Traffic of a VPC with the outside. Source: catalogue networking.json; behaviour networking.md 1.5, 2, 3.3. */
import { baseFields, read } from '../operation.ts'
import * as s from '../schema.ts'
import { vpcReaders } from './roles.ts'
import { sampledRead, samples, statType } from './sampled.ts'
import { Vpc } from './vpc.ts'

/** Whole numbers. `Abs` counts since the external subnet was attached. */
export const VpcNsStats = s.object('networking.v4.stats.VpcNsStats', {
  ...baseFields,
  northSouthEgressBytesAbs: samples(),
  northSouthEgressBytesPerSec: samples(),
  northSouthEgressPacketsAbs: samples(),
  northSouthEgressPacketsPerSec: samples(),
  northSouthIngressBytesAbs: samples(),
  northSouthIngressBytesPerSec: samples(),
  northSouthIngressPacketsAbs: samples(),
  northSouthIngressPacketsPerSec: samples(),
  statType: s.optional(statType),
})

export const vpcNsStatsOperations = {
  /** `extId`: an external subnet of the VPC. */
  getVpcNsStats: read('/stats/vpc/{vpcExtId}/external-subnets/{extId}', VpcNsStats, {
    of: Vpc,
    target: 'vpcExtId',
    roles: vpcReaders,
    ...sampledRead(VpcNsStats),
    iam: 'View_VPC_NS_Stats',
    paged: true,
  }),
}
