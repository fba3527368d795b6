/** powerOnVm, powerOffVm, resetVm, shutdownVm. Source: behaviour vmm.md 1.1 (Power), 1.16, 3.2. */
import { Vm } from '@hyperplane/contract/vmm/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { RecordContext, StepContext, TaskDefinition } from '../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { notePower } from '../power-journal.ts'
import { allocationsOf, giveBack, place } from '../scheduler.ts'
import { admit, endUnchanged, type OfVm, present, taskOf } from './admission.ts'
import { domainOf } from './domain.ts'
import type { VmEntity } from './entity.ts'
import type { StateBound } from './states.ts'

async function startPower(
  ctx: WriteContext<VmEntity>,
  operation: string,
  bound: StateBound,
  definition: TaskDefinition<Drivers, OfVm>,
): Promise<TaskStarted> {
  const vm = await admit(ctx, bound)
  return ctx.startTask(definition, { vmExtId: vm.extId }, taskOf(operation, vm))
}

export const powerOn = (ctx: WriteContext): Promise<TaskStarted> => startPower(ctx, 'PowerOnVm', 'power-on', switchOn)
export const powerOff = (ctx: WriteContext): Promise<TaskStarted> =>
  startPower(ctx, 'PowerOffVm', 'power-off', switchOff)
export const reset = (ctx: WriteContext): Promise<TaskStarted> => startPower(ctx, 'ResetVm', 'reset', beginAnew)
export const shutdown = (ctx: WriteContext): Promise<TaskStarted> =>
  startPower(ctx, 'ShutdownVm', 'shutdown', pressButton)

/** Live migration moves memory alone: not what is bound to a host. */
export const isMovable = (vm: VmEntity): boolean =>
  vm.isAgentVm !== true && vm.isCpuPassthroughEnabled !== true && vm.isVcpuHardPinningEnabled !== true

const switchOn = defineTask<OfVm>({
  name: 'vmm.power-on-vm',
  steps: [
    {
      name: 'place',
      progress: 20,
      record: async (ctx, { vmExtId }) => {
        await place(ctx, await present(ctx.store, vmExtId, 'power-on'))
      },
      unrecord: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        // A paused VM goes on holding what it held before.
        if (vm?.host === undefined) await giveBack(ctx.store, vmExtId)
      },
    },
    {
      name: 'start',
      progress: 80,
      seconds: [2, 4],
      run: async (ctx, { vmExtId }) => {
        const vm = await present(ctx.store, vmExtId)
        await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, vm))
        await ctx.drivers.hypervisor.startVm(vmExtId, await heldHost(ctx, vmExtId))
      },
      undo: (ctx, { vmExtId }) => ctx.drivers.hypervisor.stopVm(vmExtId),
    },
    {
      name: 'confirm',
      progress: 100,
      record: async (ctx, { vmExtId }) => {
        const hostExtId = await heldHost(ctx, vmExtId)
        const vm = await present(ctx.store, vmExtId)
        await setPower(ctx, vm, 'ON', {
          powerState: 'ON',
          host: { extId: hostExtId },
          lastHostExtId: hostExtId,
          isLiveMigrateCapable: isMovable(vm),
        })
      },
    },
  ],
  onUndone: endUnchanged,
})

const switchOff = defineTask<OfVm>({
  name: 'vmm.power-off-vm',
  // The outside cannot be turned back: what happened there must be told.
  pointOfNoReturn: 'store',
  steps: [
    {
      name: 'force off',
      progress: 90,
      seconds: [0.5, 1],
      run: async (ctx, { vmExtId }) => {
        await present(ctx.store, vmExtId, 'power-off')
        const isConsumed = await isCustomizationConsumed(ctx, vmExtId)
        await ctx.drivers.hypervisor.stopVm(vmExtId)
        return { isConsumed }
      },
      // An off VM is not turned on again: that would be another start.
    },
    { name: 'store', progress: 100, record: (ctx, input) => recordOff(ctx, input, 'force off') },
  ],
  onUndone: endUnchanged,
})

const pressButton = defineTask<OfVm>({
  name: 'vmm.shutdown-vm',
  // The outside cannot be turned back: what happened there must be told.
  pointOfNoReturn: 'store',
  steps: [
    {
      name: 'signal and wait',
      progress: 90,
      run: async (ctx, { vmExtId }) => {
        const vm = await present(ctx.store, vmExtId, 'shutdown')
        const isConsumed = await isCustomizationConsumed(ctx, vmExtId)
        const outcome = await ctx.drivers.hypervisor.requestShutdown(vmExtId)
        if (outcome === 'ignored') throw new ApiError('GUEST_DID_NOT_RESPOND', { name: vm.name, operation: 'shutdown' })
        return { isConsumed }
      },
      // The guest's own doing.
    },
    { name: 'store', progress: 100, record: (ctx, input) => recordOff(ctx, input, 'signal and wait') },
  ],
  onUndone: endUnchanged,
})

const beginAnew = defineTask<OfVm>({
  name: 'vmm.reset-vm',
  // The outside cannot be turned back: what happened there must be told.
  pointOfNoReturn: 'store',
  steps: [
    {
      name: 'reset',
      progress: 90,
      seconds: [1, 1],
      run: async (ctx, { vmExtId }) => {
        await present(ctx.store, vmExtId, 'reset')
        await ctx.drivers.hypervisor.resetVm(vmExtId, ctx.callKey)
      },
      // A guest that began anew cannot go on where it was.
    },
    {
      name: 'store',
      progress: 100,
      record: async (ctx, { vmExtId }) => {
        await setPower(ctx, await present(ctx.store, vmExtId), 'RESET', { powerState: 'ON' })
      },
    },
  ],
  onUndone: endUnchanged,
})

async function setPower(
  ctx: RecordContext<Drivers>,
  vm: VmEntity,
  change: 'ON' | 'OFF' | 'RESET',
  changes: Partial<VmEntity>,
): Promise<void> {
  const now = ctx.clock.iso()
  const stored = await ctx.store.update(Vm, vm.extId, { ...changes, updateTime: now })
  await notePower(ctx.store, ctx.ids, stored, change, now)
}

async function recordOff(ctx: RecordContext<Drivers>, { vmExtId }: OfVm, step: string): Promise<void> {
  const vm = await present(ctx.store, vmExtId)
  const isConsumed = ctx.outputs[step]?.isConsumed === true
  await giveBack(ctx.store, vmExtId)
  await setPower(ctx, vm, 'OFF', {
    powerState: 'OFF',
    host: undefined,
    isLiveMigrateCapable: undefined,
    ...(isConsumed ? { guestCustomization: undefined, vmGuestCustomizationStatus: undefined } : {}),
  })
}

async function isCustomizationConsumed(ctx: StepContext<Drivers>, vmExtId: string): Promise<boolean> {
  return (await ctx.drivers.hypervisor.observeGuests([vmExtId])).get(vmExtId)?.isCustomized === true
}

async function heldHost(ctx: Pick<StepContext<Drivers>, 'store'>, vmExtId: string): Promise<string> {
  const [held] = await allocationsOf(ctx.store, vmExtId)
  if (held === undefined) throw new Error(`VM ${vmExtId} starts without a place`)
  return held.hostExtId
}

export const powerTasks = [switchOn, switchOff, pressButton, beginAnew]
