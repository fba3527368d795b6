import type { FlowStatistics } from '../../flow-statistics.ts'
import type { Flows } from './flows.ts'
import { attachedSince, northSouthOf } from './north-south.ts'
import { throughputOf } from './tunnels.ts'

export const createFlowStatistics = (flows: Flows): FlowStatistics => ({
  attachedSince: async (vpcExtId, subnetExtId) => attachedSince(flows, `${vpcExtId}/${subnetExtId}`),
  northSouth: (vpcExtId, subnetExtId, times) => northSouthOf(flows, { vpcExtId, subnetExtId }, times),
  throughput: (connectionExtId, times) => throughputOf(flows, connectionExtId, times),
})
