/** All nodes join, or none. Source: behaviour clustermgmt.md 1.3 (Expand), 1.1 (task shape). */
import { defineTask, type RecordContext } from '../../context.ts'
import { insertHosts, type NewHost } from '../topology/membership.ts'
import { releaseNodesOfTask } from '../topology/reservations.ts'
import { type ExpansionPlan, planExpansion } from './checks.ts'
import type { Expansion } from './expansion.ts'
import { admitAll, joinAll, newHostsOf, poolDrives, undoJoins, unpoolDrives } from './join-nodes.ts'

const preChecks = 'pre-checks'
const checkSeconds = [10, 25] as const

const release = ({ store, taskExtId }: RecordContext): Promise<void> => releaseNodesOfTask(store, taskExtId)

/** For `shouldSkipAddNode`. */
export const checkExpansion = defineTask<Expansion>({
  name: 'clustermgmt.check-expansion',
  cancelableUntil: preChecks,
  steps: [{ name: preChecks, seconds: checkSeconds, run: planExpansion, record: release }],
  onUndone: release,
})

export const expandCluster = defineTask<Expansion>({
  name: 'clustermgmt.expand-cluster',
  cancelableUntil: 'join nodes',
  pointOfNoReturn: 'start rebalance',
  steps: [
    { name: preChecks, progress: 10, seconds: checkSeconds, run: planExpansion },
    {
      name: 'join nodes',
      progress: 75,
      run: (ctx, { clusterExtId, nodes }) =>
        joinAll(ctx, clusterExtId, nodes, ctx.outputs[preChecks] as ExpansionPlan, [10, 75]),
      undo: (ctx, { nodes }) => undoJoins(ctx, nodes),
    },
    {
      name: 'add disks to the pool',
      progress: 90,
      run: async (ctx, { clusterExtId, nodes }) => {
        await poolDrives(ctx, clusterExtId, nodes)
        return newHostsOf(ctx, nodes, ctx.outputs[preChecks] as ExpansionPlan)
      },
      undo: (ctx, { clusterExtId, nodes }) => unpoolDrives(ctx, clusterExtId, nodes),
      record: (ctx, { clusterExtId, blockList }, hosts: readonly NewHost[]) =>
        insertHosts(ctx, clusterExtId, hosts, blockList),
    },
    {
      name: 'start rebalance',
      run: admitAll,
      record: release,
    },
  ],
  onUndone: release,
})
