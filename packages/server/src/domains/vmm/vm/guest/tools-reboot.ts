/** Reboots guests at the time that an installation or upgrade of guest tools chose. Source: behaviour vmm.md 1.5. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import { defineTask } from '../../../context.ts'
import { rebootsAtTheirTime } from '../../guest-tools/reboots.ts'
import { type OfVm, requireVm, taskOf } from '../admission.ts'
import { noteRestart } from '../power/power-state.ts'
import { toolsOf } from './tools-of.ts'

interface Needed {
  readonly isNeeded: boolean
}

const isNeeded = (outputs: Readonly<Record<string, unknown>>): boolean =>
  (outputs['check'] as Needed | undefined)?.isNeeded === true

export const rebootForToolsTask = defineTask<OfVm>({
  name: 'vmm.reboot-for-guest-tools',
  steps: [
    {
      name: 'check',
      progress: 10,
      // A VM that is OFF, or has booted since the setup, needs no reboot.
      run: async ({ drivers, store }, { vmExtId }): Promise<Needed> => {
        const vm = await requireVm(store, vmExtId)
        return { isNeeded: vm.powerState === 'ON' && !(await toolsOf(drivers, vm)).isReachable }
      },
    },
    {
      name: 'signal and wait',
      run: async ({ drivers, store, callKey, outputs }, { vmExtId }) => {
        if (!isNeeded(outputs)) return
        const { name } = await requireVm(store, vmExtId)
        const outcome = await drivers.hypervisor.requestReboot(vmExtId, 'COMMAND', callKey)
        if (outcome === 'ignored') throw new ApiError('GUEST_DID_NOT_RESPOND', { name, operation: 'reboot' })
      },
      isIrreversible: true,
      record: async (ctx, { vmExtId }) => {
        if (isNeeded(ctx.outputs)) await noteRestart(ctx, vmExtId)
      },
    },
  ],
})

export const rebootForTools = rebootsAtTheirTime('vmm.reboot-for-guest-tools', Vm, rebootForToolsTask, (vm) =>
  taskOf('RebootVm', vm),
)
