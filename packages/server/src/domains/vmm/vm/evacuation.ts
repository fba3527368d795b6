/** VMs leave a host for its maintenance and come back, as subtasks. Source: vmm.md 3.2 (Maintenance); clustermgmt.md 1.4. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { Reader } from '../../../store/store.ts'
import { defineTask, type RecordContext, type Step } from '../../context.ts'
import { evacuation, HostMaintenance, recordDeparture, type VmOfHost } from '../../scheduling/host-maintenance.ts'
import { placeOnOtherHost, releaseOtherReservations, reserveOn } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { movedTo, moveStep, type OnHost, recordMove } from './migration.ts'
import { recordOff, removeIso } from './power/power.ts'

/** The VM that is to leave the host now, if it is in one of these states there. */
async function leaving(
  store: Reader,
  { vmExtId, hostExtId }: VmOfHost,
  ...states: readonly VmEntity['powerState'][]
): Promise<VmEntity | undefined> {
  const vm = await store.get(Vm, vmExtId)
  const maintenance = await store.get(HostMaintenance, hostExtId)
  const isLeaving = maintenance?.isEvacuating === true && vm?.host?.extId === hostExtId
  return isLeaving && states.includes(vm.powerState) ? vm : undefined
}

/** Other operations are permitted again; `reserved` had stopped them. */
async function unlock(ctx: RecordContext, { vmExtId }: VmOfHost): Promise<void> {
  if (await ctx.store.has(Vm, vmExtId)) await ctx.store.observe(Vm, vmExtId, { migrationTaskExtId: undefined })
}

/** @param target chooses and reserves a host; undefined: the VM stays */
const reserveStep = (target: (ctx: RecordContext, input: VmOfHost) => Promise<OnHost | undefined>): Step<VmOfHost> => ({
  name: 'reserve',
  progress: 10,
  record: async (ctx, input) => {
    const reserved = await target(ctx, input)
    if (reserved === undefined) return undefined
    await ctx.store.observe(Vm, input.vmExtId, { migrationTaskExtId: ctx.taskExtId })
    return { keep: reserved }
  },
  unrecord: async (ctx, { vmExtId }) => {
    const vm = await ctx.store.get(Vm, vmExtId)
    if (vm !== undefined) await releaseOtherReservations(ctx.store, vm)
  },
})

export const leaveHost = defineTask<VmOfHost>({
  name: evacuation.leave.name,
  cancelableUntil: 'move',
  steps: [
    reserveStep(async (ctx, input) => {
      const vm = await leaving(ctx.store, input, 'ON')
      if (vm === undefined) return undefined
      const choice = await placeOnOtherHost(ctx, vm)
      if ('hostExtId' in choice) return choice
      throw new ApiError('NO_HOST_FOR_VM', { name: vm.name, reasons: choice.reasons.join('; ') })
    }),
    moveStep('reserve', 95, 10),
    {
      name: 'store',
      record: async (ctx, input) => {
        const target = movedTo(ctx)
        if (target !== undefined) {
          await recordMove(ctx, input.vmExtId, target)
          await recordDeparture(ctx.store, input, 'movedVmExtIds')
        }
        await unlock(ctx, input)
      },
    },
  ],
  onUndone: unlock,
})

/** Also moves a VM to balance the hosts. */
export const moveToHost = defineTask<VmOfHost>({
  name: evacuation.return.name,
  cancelableUntil: 'move',
  steps: [
    reserveStep(async (ctx, { vmExtId, hostExtId }) => {
      const vm = await ctx.store.get(Vm, vmExtId)
      if (vm?.powerState !== 'ON' || vm.host?.extId === hostExtId) return undefined
      await reserveOn(ctx, vm, hostExtId)
      return { hostExtId }
    }),
    moveStep('reserve', 95, 10),
    {
      name: 'store',
      record: async (ctx, input) => {
        const target = movedTo(ctx)
        if (target !== undefined) await recordMove(ctx, input.vmExtId, target)
        await unlock(ctx, input)
      },
    },
  ],
  onUndone: unlock,
})

export const stopForMaintenance = defineTask<VmOfHost & { readonly asksGuest: boolean }>({
  name: evacuation.stop.name,
  steps: [
    {
      name: 'stop',
      progress: 90,
      run: async (ctx, input) => {
        const vm = await leaving(ctx.store, input, 'ON', 'PAUSED')
        if (vm === undefined) return undefined
        const { hypervisor } = ctx.drivers
        const asks = input.asksGuest && vm.powerState === 'ON'
        const stopped = asks ? await hypervisor.requestShutdown(vm.extId, 'ACPI') : 'ignored'
        return stopped === 'ignored' ? hypervisor.stopVm(vm.extId) : stopped
      },
      isIrreversible: true,
    },
    {
      name: 'store',
      progress: 95,
      record: async (ctx, input) => {
        const stopped = ctx.outputs['stop']
        if (stopped === undefined || !(await ctx.store.has(Vm, input.vmExtId))) return undefined
        await recordDeparture(ctx.store, input, 'stoppedVmExtIds')
        return recordOff(ctx, input, stopped)
      },
    },
    removeIso('store', 100),
  ],
})

export const evacuationTasks = [leaveHost, moveToHost, stopForMaintenance]
