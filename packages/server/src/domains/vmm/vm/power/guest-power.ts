/** shutdownVm, rebootVm, shutdownGuestVm, rebootGuestVm: the guest does it. Source: behaviour vmm.md 1.1 (Power), 1.16. */
import type { ValueOf } from '@hyperplane/contract'
import type { GuestPowerOptions } from '@hyperplane/contract/vmm/vm/actions'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { GuestSignal, Hypervisor, StoppedGuest } from '../../../../drivers/hypervisor.ts'
import { defineTask, type Step, type StepContext, type TaskDefinition, type WriteContext } from '../../../context.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { requireReachable } from '../../guest-tools/guest-tools.ts'
import { admitVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { toolsOf } from '../guest/tools-of.ts'
import { recordOff, recordRestart, removeIso } from './power.ts'

export type PowerOptions = ValueOf<typeof GuestPowerOptions>
type Change = 'shutdown' | 'reboot' | 'guest-shutdown' | 'guest-reboot'

interface GuestPower extends OfVm {
  readonly runsScript?: boolean
  readonly failsWithScript?: boolean
}

const signalled = 'signal and wait'

const script = (change: Change): Step<GuestPower> => ({
  name: 'script',
  progress: 20,
  run: async ({ drivers, store }, { vmExtId, runsScript, failsWithScript }) => {
    const vm = await requireVm(store, vmExtId, change)
    requireReachable(await toolsOf(drivers, vm), change)
    const hasFailed = runsScript === true && (await drivers.hypervisor.runPowerScript(vmExtId)) === 'failed'
    if (hasFailed && failsWithScript === true)
      throw new ApiError('GUEST_SCRIPT_FAILED', { name: vm.name, operation: change })
    return { hasFailed }
  },
  record: async (ctx, _, output) => {
    const { hasFailed } = (output ?? {}) as { readonly hasFailed?: boolean }
    if (hasFailed === true) ctx.warn('The power script of the guest failed.')
  },
})

async function ask(
  hypervisor: Hypervisor,
  change: Change,
  vmExtId: string,
  callKey: string,
): Promise<StoppedGuest | 'rebooted' | 'ignored'> {
  const through: GuestSignal = change.startsWith('guest-') ? 'TOOLS' : 'ACPI'
  if (change.endsWith('shutdown')) return hypervisor.requestShutdown(vmExtId, through)
  return (await hypervisor.requestReboot(vmExtId, through, callKey)) === 'done' ? 'rebooted' : 'ignored'
}

/** @returns for `recordOff`; undefined after a reboot @throws ApiError when the VM is not ON, or its guest does not respond */
export async function signalAndWait(
  ctx: Pick<StepContext, 'drivers' | 'store' | 'callKey'>,
  vmExtId: string,
  change: Change,
): Promise<StoppedGuest | undefined> {
  const vm = await requireVm(ctx.store, vmExtId, change)
  const outcome = await ask(ctx.drivers.hypervisor, change, vmExtId, ctx.callKey)
  if (outcome === 'ignored') throw new ApiError('GUEST_DID_NOT_RESPOND', { name: vm.name, operation: change })
  return outcome === 'rebooted' ? undefined : outcome
}

function powerOfGuest(name: string, change: Change): TaskDefinition<GuestPower> {
  const endsOff = change.endsWith('shutdown')
  const isThroughTools = change.startsWith('guest-')
  return defineTask<GuestPower>({
    name,
    steps: [
      ...(isThroughTools ? [script(change)] : []),
      {
        name: signalled,
        progress: 90,
        run: (ctx, { vmExtId }) => signalAndWait(ctx, vmExtId, change),
        isIrreversible: true,
      },
      ...(endsOff
        ? [
            {
              name: 'store',
              progress: 95,
              record: (ctx, input) => recordOff(ctx, input, ctx.outputs[signalled]),
            } satisfies Step<GuestPower>,
            removeIso('store', 100),
          ]
        : [{ name: 'store', record: recordRestart }]),
    ],
    onUndone: endUnchanged,
  })
}

const tasks = {
  shutdown: powerOfGuest('vmm.shutdown-vm', 'shutdown'),
  reboot: powerOfGuest('vmm.reboot-vm', 'reboot'),
  'guest-shutdown': powerOfGuest('vmm.shutdown-guest-vm', 'guest-shutdown'),
  'guest-reboot': powerOfGuest('vmm.reboot-guest-vm', 'guest-reboot'),
} as const satisfies Readonly<Record<Change, TaskDefinition<GuestPower>>>

export const guestPowerTasks = Object.values(tasks)

export async function shutdown(ctx: WriteContext<VmEntity>): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'shutdown')
  return ctx.startTask(tasks.shutdown, { vmExtId: vm.extId }, taskOf('ShutdownVm', vm))
}

export async function reboot(ctx: WriteContext<VmEntity>): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'reboot')
  return ctx.startTask(tasks.reboot, { vmExtId: vm.extId }, taskOf('RebootVm', vm))
}

export const shutdownGuest = (ctx: WriteContext<VmEntity>, options: PowerOptions): Promise<TaskStarted> =>
  throughTools(ctx, 'guest-shutdown', 'ShutdownGuestVm', options)
export const rebootGuest = (ctx: WriteContext<VmEntity>, options: PowerOptions): Promise<TaskStarted> =>
  throughTools(ctx, 'guest-reboot', 'RebootGuestVm', options)

async function throughTools(
  ctx: WriteContext<VmEntity>,
  change: 'guest-shutdown' | 'guest-reboot',
  operation: string,
  { guestPowerStateTransitionConfig: transition }: PowerOptions,
): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, change)
  if (ctx.services.runner.queueAhead(vm.extId) === 0) requireReachable(await toolsOf(ctx.drivers, vm), change)
  const input = {
    vmExtId: vm.extId,
    runsScript: transition?.shouldEnableScriptExec === true,
    failsWithScript: transition?.shouldFailOnScriptFailure === true,
  }
  return ctx.startTask(tasks[change], input, taskOf(operation, vm))
}
