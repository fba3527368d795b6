/** Power operations on VMs of other hypervisors. Source: behaviour vmm.md 1.7, 1.16. */
import type { EntityOf } from '@hyperplane/contract'
import { ExternVm, externVmOperations } from '@hyperplane/contract/vmm/extern/vm'
import { ApiError } from '../../../core/api-error.ts'
import { notFound } from '../../../core/standard.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { OutsideVm, PowerChange } from '../../../drivers/external-hypervisor.ts'
import { defineTask, implement, type WriteContext } from '../../context.ts'
import { mirror, pollInventory } from './inventory.ts'

type ExternVmEntity = EntityOf<typeof ExternVm>
type State = NonNullable<ExternVmEntity['powerState']>

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

interface Input {
  readonly extId: string
  readonly action: Action
}

const changePower = defineTask<Input>({
  name: 'vmm.change-power-of-external-vm',
  steps: [
    {
      name: 'send to management',
      progress: 30,
      // A step of its own: if the next step is retried after a crash, the VM may already be in the new state.
      run: async (ctx, { extId, action }) => {
        const vm = await ctx.store.get(ExternVm, extId)
        if (vm === undefined) throw notFound(ExternVm, 'VM', extId, 'extId')
        // Another client or an earlier task may have changed the VM since the request was accepted.
        requireState(ctx, vm, action)
      },
    },
    {
      name: 'wait for state',
      progress: 90,
      run: (ctx, { extId, action }) => ctx.drivers.externalHypervisor.changePower(extId, action.change, ctx.callKey),
      isIrreversible: true,
    },
    {
      name: 'mirror',
      progress: 100,
      record: async (ctx, { extId }) => {
        const ours = await ctx.store.get(ExternVm, extId)
        if (ours === undefined) return
        await mirror(ctx.store, ours, ctx.outputs['wait for state'] as OutsideVm, ctx.tenantId)
        await ctx.store.touch(ExternVm, extId)
      },
    },
  ],
  // The version rises for failed tasks too: an entity tag that was read while the task ran is outdated in any case.
  onUndone: async (ctx, { extId }) => {
    if ((await ctx.store.get(ExternVm, extId)) !== undefined) await ctx.store.touch(ExternVm, extId)
  },
})

const start = (action: Action) => async (ctx: WriteContext<ExternVmEntity>) => {
  const vm = ctx.target
  requireState(ctx, vm, action)
  await ctx.store.touch(ExternVm, vm.extId)
  return ctx.startTask(
    changePower,
    { extId: vm.extId, action },
    {
      operation: action.operation,
      description: action.description,
      affected: [{ extId: vm.extId, ...(vm.name === undefined ? {} : { name: vm.name }), rel: 'vmm:extern:config:vm' }],
      ...(vm.cluster?.extId === undefined ? {} : { clusterExtIds: [vm.cluster.extId] }),
    },
  )
}

function requireState({ drivers }: { readonly drivers: Drivers }, vm: ExternVmEntity, action: Action): void {
  const { name = vm.extId } = vm
  const isConnected = drivers.externalHypervisor.isConnected(vm.cluster?.extId ?? '')
  const state = isConnected ? (vm.powerState ?? 'UNDETERMINED') : 'UNDETERMINED'
  if (!action.states.includes(state)) {
    throw new ApiError('INVALID_POWER_STATE', {
      name,
      state,
      operation: action.operation,
      states: action.states.join(' or '),
    })
  }
  if (action.needsTools === true && !drivers.externalHypervisor.areToolsRunning(vm.extId)) {
    const reason = "the hypervisor's tools do not run in the guest"
    throw new ApiError('GUEST_TOOLS_NOT_READY', { name, operation: action.operation, reason })
  }
}

export const externVm = implement(
  externVmOperations,
  {
    powerOffVm: start(actions.powerOff),
    powerOnVm: start(actions.powerOn),
    rebootGuestVm: start(actions.rebootGuest),
    resetVm: start(actions.reset),
    shutdownGuestVm: start(actions.shutdownGuest),
    suspendVm: start(actions.suspend),
  },
  { tasks: [changePower], schedules: [pollInventory] },
)
