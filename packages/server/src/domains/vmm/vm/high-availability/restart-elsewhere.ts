/**
 * Without a host the VM becomes OFF, and its task says why. Accepting the task reserves, so that VMs are placed in restart order. After the
 * fencing it only goes forward. Source: behaviour vmm.md 1.1 (transitions by the world), 3.2 (HA).
 */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { StoppedGuest } from '../../../../drivers/hypervisor.ts'
import type { Reader } from '../../../../store/store.ts'
import { DriverError, defineTask, type RecordContext, type StepContext, type TaskOptions } from '../../../context.ts'
import type { Choice } from '../../../scheduling/placement.ts'
import { placeOnOtherHost, releaseOtherReservations, releaseReservation } from '../../../scheduling/scheduler.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { affectedVm, type OfVm } from '../admission.ts'
import { customizationOver, deleteIso } from '../guest/customization.ts'
import { bringUp } from '../power/power.ts'
import { setOff, setOn } from '../power/power-state.ts'

interface Restart extends OfVm {
  readonly fromHostExtId: string
  readonly choice: Choice
}

type Accepting = Pick<RecordContext, 'drivers' | 'startTask' | 'store'>

/** For an UNDETERMINED VM. Call it in the transaction that checked that its host is silent. */
export async function restartElsewhere(ctx: Accepting, vm: VmEntity): Promise<void> {
  const choice = await placeOnOtherHost(ctx, vm)
  const input = { vmExtId: vm.extId, fromHostExtId: vm.host?.extId as string, choice }
  await ctx.startTask(restartVm, input, restartOf(vm))
}

export const restartOf = (vm: VmEntity): TaskOptions => ({
  operation: 'VmHaRestart',
  description: 'VM HA Restart',
  affected: [affectedVm(vm)],
  clusterExtIds: [vm.cluster?.extId as string],
  background: true,
})

export const restartVm = defineTask<Restart>({
  name: 'vmm.restart-vm-elsewhere',
  pointOfNoReturn: 'fence',
  steps: [
    {
      name: 'fence',
      progress: 30,
      run: async (ctx, { vmExtId, fromHostExtId }): Promise<StoppedGuest | undefined> => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm?.powerState !== 'UNDETERMINED' || vm.host?.extId !== fromHostExtId) return undefined
        const fenced = await ctx.drivers.hypervisor.fenceVm(vmExtId, fromHostExtId)
        if (fenced?.isCustomizationDone === true) await deleteIso(ctx, vm)
        return fenced
      },
      record: async (ctx, { vmExtId }, fenced: StoppedGuest | undefined) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm === undefined || fenced?.isCustomizationDone !== true) return
        await ctx.store.observe(Vm, vmExtId, customizationOver(vm))
      },
    },
    {
      name: 'start',
      progress: 80,
      seconds: [2, 4],
      run: async (ctx, input): Promise<Choice | undefined> => {
        const vm = await ctx.store.get(Vm, input.vmExtId)
        return vm === undefined || ctx.outputs['fence'] === undefined ? undefined : startSomewhere(ctx, vm, input)
      },
    },
    {
      name: 'confirm',
      record: async (ctx, { vmExtId, fromHostExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        const choice = ctx.outputs['start'] as Choice | undefined
        if (vm === undefined) return
        if (choice === undefined) return releaseOtherReservations(ctx.store, vm)
        if ('hostExtId' in choice) {
          await releaseReservation(ctx.store, vmExtId, fromHostExtId)
          return setOn(ctx, vm, choice.hostExtId)
        }
        ctx.warn(await warningText(ctx.store, vm, fromHostExtId, choice.reasons))
        await setOff(ctx, vm, false)
      },
    },
  ],
})

/** Starts the VM on the chosen host; if the start fails there, the scheduler chooses the next host. */
async function startSomewhere(ctx: StepContext, vm: VmEntity, input: Restart): Promise<Choice> {
  const tried = new Map<string, string>()
  // Ask the scheduler again: after a crash, the reservation may be on another host than `input.choice`.
  let choice = 'reasons' in input.choice ? input.choice : await nextChoice(ctx, vm, tried)
  while ('hostExtId' in choice) {
    const { hostExtId } = choice
    try {
      await bringUp(ctx, vm, hostExtId)
      return { hostExtId }
    } catch (error) {
      const isReachable = ctx.drivers.hardware.isReachable(vm.cluster?.extId as string)
      if (!(error instanceof DriverError) || !isReachable) throw error
      tried.set(hostExtId, `${await nameOf(ctx.store, hostExtId)}: start: ${error.message}`)
      // The start may have taken effect although the call failed.
      if ((await ctx.drivers.hypervisor.fenceVm(vm.extId, hostExtId)) === undefined)
        await ctx.drivers.hypervisor.stopVm(vm.extId)
      choice = await nextChoice(ctx, vm, tried)
    }
  }
  // The VM stays off; the next start creates the ISO again.
  await deleteIso(ctx, vm)
  return choice
}

async function nextChoice(ctx: StepContext, vm: VmEntity, tried: ReadonlyMap<string, string>): Promise<Choice> {
  let choice: Choice = { reasons: [] }
  await ctx.checkpoint(undefined, async (record) => {
    for (const hostExtId of tried.keys()) await releaseReservation(record.store, vm.extId, hostExtId)
    choice = await placeOnOtherHost(record, vm, tried)
  })
  return choice
}

const nameOf = async (store: Reader, hostExtId: string): Promise<string> =>
  (await store.get(Host, hostExtId))?.hostName ?? hostExtId

async function warningText(store: Reader, vm: VmEntity, lost: string, reasons: readonly string[]): Promise<string> {
  const why = reasons.join('; ')
  return `The VM "${vm.name}" is OFF: its host ${await nameOf(store, lost)} does not answer, and no other host of the cluster could restart it (${why}). Make room on one of these hosts, or wait until ${await nameOf(store, lost)} is back, and power the VM on.`
}
