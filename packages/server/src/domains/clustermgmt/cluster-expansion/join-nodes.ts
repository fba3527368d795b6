/** Nodes join a cluster together: one subtask for each. Source: behaviour clustermgmt.md 1.3 (Expand). */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../../core/api-error.ts'
import { inTurn, startedSubtasks } from '../../../core/tasks/in-turn.ts'
import { type StepContext, taskAbout, throwIfCanceled } from '../../context.ts'
import type { NewHost } from '../topology/membership.ts'
import { requireNode } from '../topology/nodes.ts'
import type { NodePlan } from './checks.ts'
import type { JoiningNode } from './expansion.ts'
import { joinNode } from './join-node.ts'

const operation = 'Add Node'
const atOnce = 8

/** @throws ApiError with the messages of the failed nodes; CancelAccepted */
export async function joinAll(
  ctx: StepContext,
  clusterExtId: string,
  nodes: readonly JoiningNode[],
  plans: Readonly<Record<string, NodePlan>>,
  progress: readonly [from: number, to: number],
): Promise<void> {
  const byId = new Map(nodes.map((node) => [node.nodeUuid, node]))
  const ends = await inTurn(ctx, [...byId.keys()], {
    atOnce,
    operation,
    progress,
    isOver: (ended) => ctx.cancelRequested() || [...ended.values()].some(({ status }) => status !== 'SUCCEEDED'),
    start: (record, nodeUuid) => {
      const { addresses, hostName: name } = byId.get(nodeUuid) as JoiningNode
      const { isImaged, uplinks } = plans[nodeUuid] as NodePlan
      const input = { nodeUuid, clusterExtId, addresses, isImaged, uplinks, holder: ctx.taskExtId }
      const options = taskAbout(operation, Host, { extId: nodeUuid, name }, clusterExtId)
      return record.startTask(joinNode, input, { ...options, parent: ctx.taskExtId })
    },
  })
  throwIfCanceled(ctx)
  const failed = [...ends].filter(([, { status }]) => status !== 'SUCCEEDED')
  if (failed.length === 0) return
  const names = failed.map(([nodeUuid]) => `"${byId.get(nodeUuid)?.hostName}"`).join(', ')
  const further = failed.flatMap(([, { errorMessages }]) => errorMessages)
  throw new ApiError('CONFLICT', { fault: `These nodes could not join: ${names}.` }, { further })
}

/** Waits for the subtasks that have begun, then undoes them, last node first. */
export async function undoJoins(ctx: StepContext, nodes: readonly JoiningNode[]): Promise<void> {
  await ctx.untilEnded([...(await startedSubtasks(ctx, operation)).values()])
  for (const { nodeUuid } of nodes.toReversed()) await ctx.drivers.hardware.takeBackNode(nodeUuid, ctx.taskExtId)
}

export async function poolDrives(ctx: StepContext, clusterExtId: string, nodes: readonly JoiningNode[]): Promise<void> {
  for (const { nodeUuid, hostType } of nodes)
    if (hostType !== 'COMPUTE_ONLY') await ctx.drivers.hardware.poolDrivesOf(clusterExtId, nodeUuid)
}

export async function unpoolDrives(
  ctx: StepContext,
  clusterExtId: string,
  nodes: readonly JoiningNode[],
): Promise<void> {
  for (const extId of nodeIdsOf(nodes)) await ctx.drivers.hardware.unpoolDrivesOf(clusterExtId, extId)
}

/** From now on the nodes cannot be taken back. */
export const admitAll = (
  { drivers, taskExtId }: StepContext,
  { nodes }: { readonly nodes: readonly JoiningNode[] },
): Promise<void> => drivers.hardware.admitNodes(nodeIdsOf(nodes), taskExtId)

export const nodeIdsOf = (nodes: readonly JoiningNode[]): string[] => nodes.map(({ nodeUuid }) => nodeUuid)

/** @throws DriverError, retryable, when a node does not answer */
export const newHostsOf = (
  { drivers }: Pick<StepContext, 'drivers'>,
  nodes: readonly JoiningNode[],
  plans: Readonly<Record<string, NodePlan>>,
): NewHost[] =>
  nodes.map(({ nodeUuid, hostName, hostType }) => {
    const node = requireNode(drivers, nodeUuid)
    const drives = drivers.hardware.drivesOf(nodeUuid)
    return { node, hostName, hostType, drives, uplinks: plans[nodeUuid]?.uplinks ?? [] }
  })
