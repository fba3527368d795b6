/** revertVm of an external VM: its management switches in one step. Source: behaviour vmm.md 1.6, 1.7, 1.16. */
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { ApiError } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { RevertedVm } from '../../../drivers/external-hypervisor.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { type Point, requirePoint } from '../vm/recovery-points/captured.ts'
import { affectedPoint } from '../vm/recovery-points/new-point.ts'
import {
  admitExternVm,
  affectedExternVm,
  connectedStates,
  type ExternVmEntity,
  endExternUnchanged,
  externVmTask,
  nameOfExternVm,
  type OfVm,
  requireExternVm,
  requireStates,
} from './admission.ts'
import { mirrorAndTouch } from './inventory.ts'

interface Revert extends OfVm {
  readonly pointExtId: string
}

const operation = 'revert'

/** @throws ApiError 409 for a recovery point of another VM */
export async function revertExternVm(ctx: WriteContext<ExternVmEntity>, pointExtId: string): Promise<TaskStarted> {
  requireStates(ctx, ctx.target, operation, connectedStates)
  const point = (await ctx.store.get(VmRecoveryPoint, pointExtId)) as Point
  if (point.vmExtId !== ctx.target.extId) {
    // Without its name: some roles revert VMs but do not see recovery points.
    const fault = `The recovery point ${point.extId} is not one of external VM "${nameOfExternVm(ctx.target)}".`
    throw new ApiError('CONFLICT', { fault })
  }
  const vm = await admitExternVm(ctx, ctx.target)
  const affected = [affectedExternVm(vm), affectedPoint(point)]
  const locks = [vm.extId, point.extId]
  return ctx.startTask(revert, { vmExtId: vm.extId, pointExtId }, { ...externVmTask('RevertVm', vm), affected, locks })
}

export const revert = defineTask<Revert>({
  name: 'vmm.revert-external-vm',
  steps: [
    {
      name: 'send to management',
      progress: 30,
      run: async (ctx, { vmExtId, pointExtId }) => {
        requireStates(ctx, await requireExternVm(ctx.store, vmExtId), operation, connectedStates)
        await requirePoint(ctx.store, pointExtId, 'vmRecoveryPointExtId')
      },
      // No undo: the step only reads.
    },
    {
      name: 'wait for state',
      progress: 90,
      run: (ctx, { vmExtId, pointExtId }) =>
        ctx.drivers.externalHypervisor.revertToSnapshot(vmExtId, pointExtId, ctx.callKey),
      isIrreversible: true,
    },
    {
      name: 'mirror',
      record: async (ctx, input) => {
        const { vm, renewedNicExtIds } = ctx.outputs['wait for state'] as RevertedVm
        for (const extId of renewedNicExtIds)
          ctx.warn(`Another VM has the MAC address of NIC ${extId} by now: the NIC has a new one.`)
        const point = await ctx.store.get(VmRecoveryPoint, input.pointExtId)
        // The tools are those of the captured disks.
        const changes = { nutanixGuestTools: point?.externVm?.nutanixGuestTools, toolsRebootAt: undefined }
        if (point !== undefined && (await ctx.store.has(ExternVm, input.vmExtId)))
          await ctx.store.update(ExternVm, input.vmExtId, changes as Partial<ExternVmEntity>)
        await mirrorAndTouch(ctx, input, vm)
        ctx.complete([{ name: 'VM Recovery Point UUID', value: input.pointExtId }])
      },
    },
  ],
  onUndone: endExternUnchanged,
})
