/** A task empties hosts by subtasks, and lets their VMs come back. Source: behaviour clustermgmt.md 1.3, 1.4; networking.md 1.18. */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { ApiError, AppMessage } from '../../core/api-error.ts'
import { inTurn } from '../../core/tasks/in-turn.ts'
import { type StepContext, type TaskEnd, taskAbout } from '../context.ts'
import { beginMaintenance, HostMaintenance, type HostOfCluster, hostTasks } from './host-maintenance.ts'

export interface EvacuationRefusals {
  /** The host enters or leaves maintenance. */
  readonly busy: (hostName: string) => ApiError
  readonly notEmpty: (hostName: string, messages: readonly AppMessage[]) => ApiError
}

const operations = { evacuate: 'EvacuateHost', repopulate: 'RepopulateHost' } as const

/** The host takes no VMs until `repopulateAfter`. @throws ApiError, as `refusals` say */
export async function evacuateFor(
  ctx: StepContext,
  host: HostOfCluster,
  refusals: EvacuationRefusals,
  timeoutSeconds: number,
): Promise<void> {
  const maintenance = await ctx.store.get(HostMaintenance, host.hostExtId)
  const { hostName: name = host.hostExtId, maintenanceState } = (await ctx.store.get(Host, host.hostExtId)) ?? {}
  // An administrator has put the host in maintenance: it runs no VMs.
  if (maintenance?.taskExtId === undefined && maintenanceState === 'in_maintenance') return
  if (maintenance !== undefined && maintenance.taskExtId !== ctx.taskExtId) throw refusals.busy(name)
  const ends = await inTurn(ctx, [host.hostExtId], {
    atOnce: 1,
    operation: operations.evacuate,
    start: async (record) => {
      await beginMaintenance(record.store, host, ctx.taskExtId)
      const input = {
        ...host,
        timeoutSeconds,
        rollsBackOnFailure: true,
        mayShutDownVms: false,
        hasUnusedVcenterInfo: false,
      }
      return record.startTask(hostTasks.evacuate, input, subtaskOf(ctx, host, operations.evacuate, name))
    },
  })
  const { status, errorMessages } = ends.get(host.hostExtId) as TaskEnd
  if (status !== 'SUCCEEDED') throw refusals.notEmpty(name, errorMessages)
}

/** Does nothing for a host that this task has not emptied. */
export async function repopulateAfter(ctx: StepContext, host: HostOfCluster, timeoutSeconds: number): Promise<void> {
  const maintenance = await ctx.store.get(HostMaintenance, host.hostExtId)
  if (maintenance === undefined || maintenance.taskExtId !== ctx.taskExtId) return
  const name = (await ctx.store.get(Host, host.hostExtId))?.hostName ?? host.hostExtId
  await inTurn(ctx, [host.hostExtId], {
    atOnce: 1,
    operation: operations.repopulate,
    start: (record) =>
      record.startTask(
        hostTasks.repopulate,
        { ...host, timeoutSeconds, hasUnusedVcenterInfo: false },
        subtaskOf(ctx, host, operations.repopulate, name),
      ),
  })
}

const subtaskOf = (ctx: StepContext, { hostExtId, clusterExtId }: HostOfCluster, operation: string, name: string) => ({
  ...taskAbout(operation, Host, { extId: hostExtId, name }, clusterExtId),
  parent: ctx.taskExtId,
})
