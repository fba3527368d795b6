/** Operations on VMs of other hypervisors. Source: behaviour vmm.md 1.7, 1.16. */
import { externVmOperations } from '@hyperplane/contract/vmm/extern/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { OutsideVm, PowerChange } from '../../../drivers/external-hypervisor.ts'
import { defineTask, implement, type WriteContext } from '../../context.ts'
import { requireVcenter } from '../../registrations/vcenter.ts'
import { categoryFaults, ownerFaults } from '../ownership.ts'
import {
  admitExternVm,
  type ExternVmEntity,
  endExternUnchanged,
  externVmTask,
  nameOfExternVm,
  type OfVm,
  requireExternVm,
  requireStates,
  type State,
} from './admission.ts'
import { mirrorAndTouch, pollInventory } from './inventory.ts'
import { ownership } from './owner.ts'
import { makeExternPoint, removeExternPoint } from './recovery-points.ts'
import { revert, revertExternVm } from './revert.ts'

interface Action {
  readonly operation: string
  readonly description: string
  readonly change: PowerChange
  readonly states: readonly State[]
  readonly needsTools?: true
}

const actions = {
  powerOn: { operation: 'PowerOnVm', description: 'Power on VM', change: 'ON', states: ['OFF', 'SUSPENDED'] },
  powerOff: { operation: 'PowerOffVm', description: 'Power off VM', change: 'OFF', states: ['ON', 'SUSPENDED'] },
  reset: { operation: 'ResetVm', description: 'Reset VM', change: 'RESET', states: ['ON'] },
  suspend: { operation: 'SuspendVm', description: 'Suspend VM', change: 'SUSPEND', states: ['ON'] },
  rebootGuest: {
    operation: 'RebootGuestVm',
    description: 'Reboot guest of VM',
    change: 'GUEST_REBOOT',
    states: ['ON'],
    needsTools: true,
  },
  shutdownGuest: {
    operation: 'ShutdownGuestVm',
    description: 'Shut down guest of VM',
    change: 'GUEST_SHUTDOWN',
    states: ['ON'],
    needsTools: true,
  },
} as const satisfies Record<string, Action>

interface Input extends OfVm {
  readonly action: Action
}

const changePower = defineTask<Input>({
  name: 'vmm.change-power-of-external-vm',
  steps: [
    {
      name: 'send to management',
      progress: 30,
      // A step of its own: if the next is retried after a crash, the VM may be in the new state. Others may change the VM before this step.
      run: async (ctx, { vmExtId, action }) => {
        const vm = await requireExternVm(ctx.store, vmExtId)
        await requireVcenter(ctx.store, vm.cluster?.extId)
        requireState(ctx, vm, action)
      },
    },
    {
      name: 'wait for state',
      progress: 90,
      run: (ctx, { vmExtId, action }) =>
        ctx.drivers.externalHypervisor.changePower(vmExtId, action.change, ctx.callKey),
      isIrreversible: true,
    },
    { name: 'mirror', record: (ctx, input) => mirrorAndTouch(ctx, input, ctx.outputs['wait for state'] as OutsideVm) },
  ],
  onUndone: endExternUnchanged,
})

const start = (action: Action) => async (ctx: WriteContext<ExternVmEntity>) => {
  await requireVcenter(ctx.store, ctx.target.cluster?.extId)
  requireState(ctx, ctx.target, action)
  const vm = await admitExternVm(ctx, ctx.target)
  const options = { ...externVmTask(action.operation, vm), description: action.description }
  return ctx.startTask(changePower, { vmExtId: vm.extId, action }, options)
}

function requireState(ctx: { readonly drivers: Drivers }, vm: ExternVmEntity, action: Action): void {
  requireStates(ctx, vm, action.operation, action.states)
  if (action.needsTools === true && !ctx.drivers.externalHypervisor.areToolsRunning(vm.extId)) {
    const reason = "the hypervisor's tools do not run in the guest"
    throw new ApiError('GUEST_TOOLS_NOT_READY', { name: nameOfExternVm(vm), operation: action.operation, reason })
  }
}

export const externVm = implement(
  externVmOperations,
  {
    ...ownership.handlers,
    powerOffVm: start(actions.powerOff),
    powerOnVm: start(actions.powerOn),
    revertVm: (ctx, { body }) => revertExternVm(ctx, body.vmRecoveryPointExtId),
    rebootGuestVm: start(actions.rebootGuest),
    resetVm: start(actions.reset),
    shutdownGuestVm: start(actions.shutdownGuest),
    suspendVm: start(actions.suspend),
  },
  {
    rules: {
      assignVmOwner: ({ body }) => ownerFaults(body),
      associateCategories: ({ body }) => categoryFaults(body),
      disassociateCategories: ({ body }) => categoryFaults(body),
    },
    tasks: [changePower, makeExternPoint, removeExternPoint, revert, ...ownership.tasks],
    schedules: [pollInventory],
  },
)
