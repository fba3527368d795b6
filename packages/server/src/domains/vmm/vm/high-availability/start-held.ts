/**
 * After a loss of power, on the former host, whose reservation stays. A failure changes nothing; a start that took effect is observed.
 * Source: behaviour vmm.md 1.13.
 */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { defineTask, type StepContext } from '../../../context.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import type { OfVm } from '../admission.ts'
import { customizationOver, deleteIso } from '../guest/customization.ts'
import { bringUp } from '../power/power.ts'
import { setOn } from '../power/power-state.ts'

interface Held {
  readonly isCustomizationDone: boolean
}

export const startHeldVm = defineTask<OfVm>({
  name: 'vmm.start-held-vm',
  steps: [
    {
      name: 'look',
      progress: 10,
      run: async (ctx, { vmExtId }): Promise<Held | undefined> => {
        const held = (await ctx.drivers.hypervisor.unaskedStates()).get(vmExtId)
        const vm = await waiting(ctx, vmExtId)
        if (held?.state !== 'HELD' || vm === undefined) return undefined
        if (held.isCustomizationDone) await deleteIso(ctx, vm)
        return { isCustomizationDone: held.isCustomizationDone }
      },
      record: async (ctx, { vmExtId }, held: Held | undefined) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined && held?.isCustomizationDone === true)
          await ctx.store.observe(Vm, vmExtId, customizationOver(vm))
      },
      // No undo: the customisation has run, whatever becomes of the start.
    },
    {
      name: 'start',
      progress: 80,
      seconds: [2, 4],
      run: async (ctx, { vmExtId }) => {
        const vm = await waiting(ctx, vmExtId)
        if (ctx.outputs['look'] === undefined || vm === undefined) return
        await bringUp(ctx, vm, vm.host?.extId as string)
      },
      // No undo: a VM that was started is to run.
    },
    {
      name: 'confirm',
      record: async (ctx, { vmExtId }) => {
        const vm = await waiting(ctx, vmExtId)
        if (ctx.outputs['look'] !== undefined && vm !== undefined) await setOn(ctx, vm, vm.host?.extId as string)
      },
    },
  ],
})

/** undefined: the VM is deleted or does not wait for a start. */
async function waiting(ctx: Pick<StepContext, 'store'>, vmExtId: string): Promise<VmEntity | undefined> {
  const vm = await ctx.store.get(Vm, vmExtId)
  return vm?.powerState === 'UNDETERMINED' && vm.host !== undefined ? vm : undefined
}
