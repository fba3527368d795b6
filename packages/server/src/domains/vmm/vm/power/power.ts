/** powerOnVm, powerOffVm, powerCycleVm, resetVm. Source: behaviour vmm.md 1.1 (Power), 1.16, 3.2. */

import { Task } from '@hyperplane/contract/platform/task'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { defined } from '../../../../core/defined.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { StoppedGuest } from '../../../../drivers/hypervisor.ts'
import { defaultContainer } from '../../../containers/default-container.ts'
import {
  defineTask,
  type RecordContext,
  type Step,
  type StepContext,
  type TaskDefinition,
  type WriteContext,
} from '../../../context.ts'
import { allocationsOf, place, releaseReservation } from '../../../scheduling/scheduler.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { admitVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { domainOf } from '../domain.ts'
import { newDiskOf } from '../files.ts'
import { deleteIso, isoOf, withIso, withoutIso } from '../guest/customization.ts'
import type { StateBound } from '../states.ts'
import { setOff, setOn, setPower } from './power-state.ts'

async function startPower(
  ctx: WriteContext<VmEntity>,
  operation: string,
  bound: StateBound,
  definition: TaskDefinition<OfVm>,
): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, bound)
  return ctx.startTask(definition, { vmExtId: vm.extId }, taskOf(operation, vm))
}

export const powerOn = (ctx: WriteContext<VmEntity>): Promise<TaskStarted> =>
  startPower(ctx, 'PowerOnVm', 'power-on', switchOn)
export async function powerOff(ctx: WriteContext<VmEntity>): Promise<TaskStarted> {
  await cancelMigration(ctx)
  return startPower(ctx, 'PowerOffVm', 'power-off', switchOff)
}
export const reset = (ctx: WriteContext<VmEntity>): Promise<TaskStarted> => startPower(ctx, 'ResetVm', 'reset', resetVm)
export const powerCycle = (ctx: WriteContext<VmEntity>): Promise<TaskStarted> =>
  startPower(ctx, 'PowerCycleVm', 'power-cycle', offAndOn)

/** A migration that has not switched over yet gives way to a power-off. */
async function cancelMigration(ctx: WriteContext<VmEntity>): Promise<void> {
  const { migrationTaskExtId } = ctx.target
  const task = migrationTaskExtId === undefined ? undefined : await ctx.store.get(Task, migrationTaskExtId)
  if (task?.isCancelable === true)
    await ctx.services.runner.requestCancel(ctx.store, task.extId, (work) => ctx.afterCommit(work))
}

export async function bringUp(
  { drivers, store }: Pick<StepContext, 'drivers' | 'store'>,
  vm: VmEntity,
  hostExtId: string,
): Promise<void> {
  const iso = isoOf(vm)
  if (iso !== undefined) await drivers.hypervisor.createDisk(await newDiskOf(store, iso, { isReadOnly: true }))
  await drivers.hypervisor.defineVm(await domainOf(store, vm))
  await drivers.hypervisor.startVm(vm.extId, hostExtId)
}

interface Start {
  readonly chosen: number
  readonly iso: number
  readonly started: number
}

const startingSteps = ({ chosen, iso, started }: Start): readonly Step<OfVm>[] => [
  {
    name: 'place',
    progress: chosen,
    record: async (ctx, { vmExtId }) => {
      await place(ctx, await requireVm(ctx.store, vmExtId, 'power-on'))
    },
    unrecord: async (ctx, { vmExtId }) => {
      const vm = await ctx.store.get(Vm, vmExtId)
      // A paused VM keeps the reservation that it had before this task.
      if (vm?.host === undefined) await releaseReservation(ctx.store, vmExtId)
    },
  },
  {
    name: 'customisation ISO',
    progress: iso,
    record: async (ctx, { vmExtId }) => {
      const vm = await requireVm(ctx.store, vmExtId)
      if (vm.vmGuestCustomizationStatus !== 'PENDING' || vm.powerState === 'PAUSED') return
      const container = await defaultContainer(ctx.store, vm.cluster?.extId as string)
      await ctx.store.update(
        Vm,
        vmExtId,
        withIso(vm, container.extId, () => ctx.ids.uuid()),
      )
    },
    unrecord: async (ctx, { vmExtId }) => {
      const vm = await ctx.store.get(Vm, vmExtId)
      if (vm !== undefined && vm.powerState !== 'PAUSED') await ctx.store.update(Vm, vmExtId, withoutIso(vm))
    },
  },
  {
    name: 'start',
    progress: started,
    seconds: [2, 4],
    run: async (ctx, { vmExtId }) => {
      const vm = await requireVm(ctx.store, vmExtId)
      await bringUp(ctx, vm, await heldHost(ctx, vmExtId))
    },
    undo: async (ctx, { vmExtId }) => {
      const vm = await ctx.store.get(Vm, vmExtId)
      // The hypervisor itself pauses the VM again while its storage stalls or is full.
      if (vm?.powerState === 'PAUSED') return
      await ctx.drivers.hypervisor.stopVm(vmExtId)
      // The row says OFF already.
      await ctx.drivers.hypervisor.acknowledge(vmExtId)
      if (vm === undefined || isoOf(vm) === undefined) return
      await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, { ...vm, ...withoutIso(vm) }))
      await deleteIso(ctx, vm)
    },
  },
  {
    name: 'confirm',
    record: async (ctx, { vmExtId }) => {
      const hostExtId = await heldHost(ctx, vmExtId)
      const vm = await requireVm(ctx.store, vmExtId)
      await setOn(ctx, vm, hostExtId)
    },
  },
]

const switchOn = defineTask<OfVm>({
  name: 'vmm.power-on-vm',
  steps: startingSteps({ chosen: 20, iso: 40, started: 80 }),
  onUndone: endUnchanged,
})

const switchOff = defineTask<OfVm>({
  name: 'vmm.power-off-vm',
  steps: [
    {
      name: 'force off',
      progress: 90,
      seconds: [0.5, 1],
      run: (ctx, { vmExtId }) => cutPower(ctx, vmExtId, 'power-off'),
      // No undo: powering the VM on again would be another boot.
      isIrreversible: true,
    },
    { name: 'store', progress: 95, record: (ctx, input) => recordOff(ctx, input, ctx.outputs['force off']) },
    removeIso('store', 100),
  ],
  onUndone: endUnchanged,
})

/** A start that fails leaves the VM OFF. */
const offAndOn = defineTask<OfVm>({
  name: 'vmm.power-cycle-vm',
  steps: [
    {
      name: 'off',
      progress: 40,
      seconds: [0.5, 1],
      run: (ctx, { vmExtId }) => cutPower(ctx, vmExtId, 'power-cycle'),
      record: (ctx, input, output) => recordOff(ctx, input, output),
      // No undo: powering the VM on again would be another boot.
    },
    removeIso('off', 45),
    ...startingSteps({ chosen: 50, iso: 60, started: 90 }),
  ],
  onUndone: endUnchanged,
})

const resetVm = defineTask<OfVm>({
  name: 'vmm.reset-vm',
  steps: [
    {
      name: 'reset',
      progress: 90,
      seconds: [1, 1],
      run: async (ctx, { vmExtId }) => {
        await requireVm(ctx.store, vmExtId, 'reset')
        await ctx.drivers.hypervisor.resetVm(vmExtId, ctx.callKey)
      },
      isIrreversible: true,
    },
    { name: 'store', record: recordRestart },
  ],
  onUndone: endUnchanged,
})

async function cutPower(ctx: StepContext, vmExtId: string, operation: StateBound): Promise<StoppedGuest> {
  await requireVm(ctx.store, vmExtId, operation)
  return ctx.drivers.hypervisor.stopVm(vmExtId)
}

interface WithIso {
  readonly isoExtId?: string
}

export async function recordOff(ctx: RecordContext, { vmExtId }: OfVm, output: unknown): Promise<{ keep: WithIso }> {
  const { isCustomizationDone = false } = (output as StoppedGuest | undefined) ?? {}
  const vm = await requireVm(ctx.store, vmExtId)
  await setOff(ctx, vm, isCustomizationDone)
  return { keep: defined({ isoExtId: isoOf(vm)?.diskExtId }) }
}

/** A step of its own: a file that cannot be deleted must not keep a stopped VM ON. @param recording the step that ran `recordOff` */
export function removeIso(recording: string, progress: number): Step<OfVm> {
  const remove = async ({ drivers, outputs }: StepContext): Promise<void> => {
    const { isoExtId } = (outputs[recording] ?? {}) as WithIso
    if (isoExtId !== undefined) await drivers.hypervisor.deleteDisk(isoExtId)
  }
  return {
    name: 'remove ISO',
    progress,
    run: remove,
    undo: remove,
  }
}

export async function recordRestart(ctx: RecordContext, { vmExtId }: OfVm): Promise<void> {
  await setPower(ctx, await requireVm(ctx.store, vmExtId), 'RESET', { powerState: 'ON' })
}

async function heldHost(ctx: Pick<StepContext, 'store'>, vmExtId: string): Promise<string> {
  const [held] = await allocationsOf(ctx.store, vmExtId)
  if (held === undefined) throw new Error(`VM ${vmExtId} starts without a place`)
  return held.hostExtId
}

export const powerTasks = [switchOn, switchOff, offAndOn, resetVm]
