/** deleteVmRecoveryPointByExtId, and the deletion of expired recovery points. Source: behaviour vmm.md 1.6, 3.4. */
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { havingValue, rowWithId } from '../../../../core/standard.ts'
import { parseTime } from '../../../../core/time/clock.ts'
import { startingTasks } from '../../../../core/time/schedules.ts'
import { defineTask, type Schedule, type TaskOptions, type WriteContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import { isManagementConnected, removeExternPoint, requireManagement } from '../../extern/recovery-points.ts'
import { type Point, snapshotsOf } from './captured.ts'
import { affectedPoint } from './new-point.ts'

export interface Removal {
  readonly pointExtId: string
}

const optionsOf = (point: Point): TaskOptions => ({
  operation: 'DeleteVmRecoveryPoint',
  description: 'Delete VM Recovery Point',
  affected: [affectedPoint(point)],
  clusterExtIds: [point.clusterExtId as string],
})

/** @throws ApiError 409 while a restore or a revert reads it, or another deletion runs */
export async function deletePoint(ctx: WriteContext<Point>): Promise<TaskStarted> {
  const point = ctx.target
  await requireClusterReachable(ctx, point.clusterExtId)
  if (ctx.services.runner.queueAhead(point.extId) > 0) {
    const names = { kind: 'VM recovery point', name: point.name ?? point.extId, users: 'a task that reads it' }
    throw new ApiError('VMM_ENTITY_IN_USE', names)
  }
  if (point.externVm !== undefined) requireManagement(ctx, point, 'delete-vm-recovery-point')
  return ctx.startTask(removalOf(point), { pointExtId: point.extId }, optionsOf(point))
}

const removalOf = ({ externVm }: Point) => (externVm === undefined ? removePoint : removeExternPoint)

export const removePoint = defineTask<Removal>({
  name: 'vmm.delete-vm-recovery-point',
  pointOfNoReturn: 'merge layers',
  steps: [
    {
      name: 'check',
      progress: 5,
      record: async (ctx, { pointExtId }) => {
        await rowWithId(ctx.store, VmRecoveryPoint, pointExtId)
      },
      // No undo: the step only reads.
    },
    {
      name: 'merge layers',
      progress: 90,
      seconds: [0.5, 2],
      run: async (ctx, { pointExtId }) => {
        const point = await ctx.store.get(VmRecoveryPoint, pointExtId)
        for (const { layerExtId } of point === undefined ? [] : snapshotsOf(point))
          await ctx.drivers.hypervisor.deleteDisk(layerExtId)
      },
    },
    { name: 'remove row', record: (ctx, { pointExtId }) => ctx.store.remove(VmRecoveryPoint, pointExtId) },
  ],
})

export const deleteExpired: Schedule = {
  name: 'vmm.delete-expired-recovery-points',
  everySeconds: 30,
  watch: ({ store }, changed) => store.watch([VmRecoveryPoint], changed),
  async run(ctx) {
    const dated = await ctx.store.find(VmRecoveryPoint, havingValue(VmRecoveryPoint, 'expirationTime'))
    for (const point of dated) {
      const isExpired = (parseTime(point.expirationTime as string) ?? 0) <= ctx.clock.now()
      if (!isExpired || ctx.runner.queueLength(point.extId) > 0 || !isManagementConnected(ctx, point)) continue
      await startingTasks(ctx, async (_, startTask) => {
        const options = { ...optionsOf(point), background: true }
        await startTask(removalOf(point), { pointExtId: point.extId }, options)
      })
    }
    if (dated.length > 0) return 'again'
  },
}
