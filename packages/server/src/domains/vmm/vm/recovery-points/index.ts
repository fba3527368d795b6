/** VM recovery points. Source: behaviour vmm.md 1.6. */
import { VmRecoveryPoint, vmRecoveryPointOperations } from '@hyperplane/contract/vmm/vm/recovery-point'
import { implement, type ReadContext } from '../../../context.ts'
import { type Point, snapshotsOf } from './captured.ts'
import { createPoint, makePoint, maximumPoints, pointFaults } from './create.ts'
import { deleteExpired, deletePoint, removePoint } from './delete.ts'
import { restoreFaults, restorePoint, restoreVm } from './restore.ts'

async function presentPoints({ drivers }: ReadContext, points: readonly Point[]): Promise<readonly object[]> {
  const bytesOf = (point: Point): number =>
    snapshotsOf(point).reduce((sum, { layerExtId }) => sum + (drivers.hypervisor.layer(layerExtId)?.ownBytes ?? 0), 0)
  return points.map((point) => ({ ...point, totalExclusiveUsageBytes: bytesOf(point) }))
}

export const vmRecoveryPoint = implement(
  vmRecoveryPointOperations,
  {
    createVmRecoveryPoint: (ctx, { body }) => createPoint(ctx, body),
    deleteVmRecoveryPointByExtId: (ctx) => deletePoint(ctx),
    restoreVmRecoveryPoint: (ctx, { body }) => restorePoint(ctx, body),
  },
  {
    rules: {
      createVmRecoveryPoint: ({ body }, ctx) => pointFaults(body, ctx),
      restoreVmRecoveryPoint: ({ body }) => restoreFaults(body),
    },
    tasks: [makePoint, removePoint, restoreVm],
    present: [[VmRecoveryPoint, presentPoints]],
    limits: [maximumPoints],
    schedules: [deleteExpired],
  },
)
