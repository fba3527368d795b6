/** Tasks of guest tools of external VMs: the management moves ISOs and reaches the guest. Source: behaviour vmm.md 1.5, 1.7, 1.16. */
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { OutsideVm } from '../../../drivers/external-hypervisor.ts'
import type { GuestCredential, GuestSystem } from '../../../drivers/hypervisor.ts'
import { defineTask, type RecordContext, type Step } from '../../context.ts'
import {
  type Capabilities,
  installed,
  newestVersion,
  type Reboot,
  refuseTools,
  requireNotInstalled,
  requireOlder,
  requireReachable,
  shownTools,
  type Tools,
  type ToolsOfVm,
  withSystem,
} from '../guest-tools/guest-tools.ts'
import { rebootsAtTheirTime } from '../guest-tools/reboots.ts'
import {
  connectedStates,
  type ExternVmEntity,
  endExternUnchanged,
  externVmTask,
  nameOfExternVm,
  type OfVm,
  requireExternVm,
  requireStates,
  undoIfReached,
} from './admission.ts'
import { mirrorAndTouch } from './inventory.ts'

type WithDrivers = Pick<RecordContext, 'drivers'>

const toolsOf = ({ drivers }: WithDrivers, vm: ExternVmEntity): ToolsOfVm => ({
  name: nameOfExternVm(vm),
  tools: vm.nutanixGuestTools as Tools | undefined,
  isReachable: drivers.externalHypervisor.guestOf(vm.extId)?.areToolsReachable === true,
})

/** The tools as reads show them. While the management is not connected, they are shown as unreachable. */
export function seenTools({ drivers }: WithDrivers, vm: ExternVmEntity): Tools {
  const guest = drivers.externalHypervisor.guestOf(vm.extId)
  const tools = vm.nutanixGuestTools as Tools | undefined
  return shownTools(tools, {
    isReachable: tools?.isInstalled === true && guest?.areToolsReachable === true,
    isIsoInserted: guest?.isoExtId !== undefined,
    bootedAt: guest?.bootedAt,
    system: guest?.system,
  })
}

export function requireInsertable(ctx: WithDrivers, vm: ExternVmEntity): void {
  requireStates(ctx, vm, 'insert-iso', connectedStates)
  const tools = toolsOf(ctx, vm)
  if (tools.tools?.isInstalled === true) refuseTools(tools, 'insert-iso', 'they are already installed')
  if (ctx.drivers.externalHypervisor.guestOf(vm.extId)?.isoExtId !== undefined)
    refuseTools(tools, 'insert-iso', 'their ISO is already inserted')
  if (vm.cdRoms?.some(({ backingInfo }) => backingInfo === undefined) !== true)
    refuseTools(tools, 'insert-iso', 'the VM has no empty CD-ROM')
}

export function requireInstallable(ctx: WithDrivers, vm: ExternVmEntity): void {
  requireStates(ctx, vm, 'install-guest-tools', ['ON'])
  const tools = toolsOf(ctx, vm)
  requireNotInstalled(tools)
  const guest = ctx.drivers.externalHypervisor.guestOf(vm.extId)
  if (guest?.isUp !== true) refuseTools(tools, 'install', 'the guest has not booted')
  if (!guest.hasAddress) refuseTools(tools, 'install', 'the guest has no address')
}

export function requireAnswering(ctx: WithDrivers, vm: ExternVmEntity, operation: string): void {
  requireStates(ctx, vm, operation, connectedStates)
  requireReachable(toolsOf(ctx, vm), operation)
}

export const requireConnected = (ctx: WithDrivers, vm: ExternVmEntity): void =>
  requireStates(ctx, vm, 'update-guest-tools', connectedStates)

const setTools = (ctx: RecordContext, { vmExtId }: OfVm, tools: Tools | undefined, rebootAt?: string) =>
  ctx.store.update(ExternVm, vmExtId, { nutanixGuestTools: tools, toolsRebootAt: rebootAt } as Partial<ExternVmEntity>)

interface WithIso extends OfVm {
  readonly isoExtId: string
}

const insertStep = <I extends WithIso>(
  check: (ctx: WithDrivers, vm: ExternVmEntity) => void,
  canAddDrive: boolean,
  progress: number,
): Step<I> => ({
  name: 'insert ISO',
  progress,
  seconds: [1, 3],
  run: async (ctx, { vmExtId, isoExtId }) => {
    const { externalHypervisor } = ctx.drivers
    // After a crash the ISO may be there already.
    if (externalHypervisor.guestOf(vmExtId)?.isoExtId !== isoExtId)
      check(ctx, await requireExternVm(ctx.store, vmExtId))
    return externalHypervisor.insertToolsIso(vmExtId, isoExtId, canAddDrive)
  },
  undo: async (ctx, { vmExtId, isoExtId }) => {
    const { externalHypervisor } = ctx.drivers
    // An ISO that was inserted before stays.
    if (externalHypervisor.guestOf(vmExtId)?.isoExtId !== isoExtId) return
    await undoIfReached(() => externalHypervisor.ejectToolsIso(vmExtId))
  },
})

interface Insert extends WithIso {
  readonly capabilities: Capabilities
}

export const insertIso = defineTask<Insert>({
  name: 'vmm.insert-guest-tools-of-external-vm',
  steps: [
    insertStep<Insert>(requireInsertable, false, 80),
    {
      name: 'store',
      record: async (ctx, input) => {
        const { nutanixGuestTools } = await requireExternVm(ctx.store, input.vmExtId)
        const { capabilities } = input
        const tools = { ...nutanixGuestTools, isEnabled: true, ...(capabilities === undefined ? {} : { capabilities }) }
        await setTools(ctx, input, tools as Tools)
        await mirrorAndTouch(ctx, input, ctx.outputs['insert ISO'] as OutsideVm)
      },
    },
  ],
  onUndone: endExternUnchanged,
})

interface WithReboot extends OfVm {
  readonly reboot: Reboot
}

const setUpStep: Step<WithReboot> = {
  name: 'run setup',
  progress: 80,
  seconds: [25, 40],
  run: (ctx, { vmExtId }) => ctx.drivers.externalHypervisor.setUpTools(vmExtId, ctx.callKey),
  undo: (ctx, { vmExtId }) => undoIfReached(() => ctx.drivers.externalHypervisor.revertTools(vmExtId, ctx.callKey)),
}

const rebootStep: Step<WithReboot> = {
  name: 'reboot',
  progress: 90,
  acts: async (_, { reboot }) => reboot.isImmediate === true,
  run: (ctx, { vmExtId }) => ctx.drivers.externalHypervisor.changePower(vmExtId, 'GUEST_REBOOT', ctx.callKey),
  // No undo: the guest has booted again, with or without the tools.
}

interface Install extends WithIso, WithReboot {
  readonly capabilities: Capabilities
  readonly credential: GuestCredential
}

export const installTools = defineTask<Install>({
  name: 'vmm.install-guest-tools-of-external-vm',
  steps: [
    insertStep<Install>(requireInstallable, true, 20),
    {
      name: 'copy',
      progress: 50,
      seconds: [3, 8],
      run: async ({ drivers, store }, { vmExtId, credential }) => {
        const name = nameOfExternVm(await requireExternVm(store, vmExtId))
        if ((await drivers.externalHypervisor.copyTools(vmExtId, credential)) === 'refused')
          throw new ApiError('GUEST_REFUSED_LOGIN', { name, username: credential.username })
      },
      // No undo: copied files have no effect.
    },
    setUpStep,
    rebootStep,
    {
      name: 'eject',
      run: (ctx, { vmExtId }) => ctx.drivers.externalHypervisor.ejectToolsIso(vmExtId),
      record: async (ctx, input, outside: OutsideVm) => {
        const { nutanixGuestTools } = await requireExternVm(ctx.store, input.vmExtId)
        const tools = installed(nutanixGuestTools as Tools | undefined, input.capabilities)
        const system = ctx.outputs['run setup'] as GuestSystem
        await setTools(ctx, input, withSystem(tools, system), input.reboot.at)
        await mirrorAndTouch(ctx, input, outside)
      },
    },
  ],
  onUndone: endExternUnchanged,
})

export const upgradeTools = defineTask<WithReboot>({
  name: 'vmm.upgrade-guest-tools-of-external-vm',
  steps: [
    {
      name: 'check version',
      progress: 10,
      run: async (ctx, { vmExtId }) => {
        const vm = await requireExternVm(ctx.store, vmExtId)
        requireAnswering(ctx, vm, 'upgrade')
        requireOlder(toolsOf(ctx, vm))
      },
      // No undo: the step only reads.
    },
    setUpStep,
    rebootStep,
    {
      name: 'store',
      record: async (ctx, input) => {
        const { nutanixGuestTools } = await requireExternVm(ctx.store, input.vmExtId)
        const tools = { ...(nutanixGuestTools as Tools | undefined), version: newestVersion }
        await setTools(ctx, input, withSystem(tools, ctx.outputs['run setup'] as GuestSystem), input.reboot.at)
      },
    },
  ],
  onUndone: endExternUnchanged,
})

export const uninstallTools = defineTask<OfVm>({
  name: 'vmm.uninstall-guest-tools-of-external-vm',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async (ctx, { vmExtId }) => requireAnswering(ctx, await requireExternVm(ctx.store, vmExtId), 'uninstall'),
      // No undo: the step only reads.
    },
    {
      name: 'run',
      progress: 80,
      seconds: [15, 30],
      run: (ctx, { vmExtId }) => ctx.drivers.externalHypervisor.removeTools(vmExtId),
      isIrreversible: true,
    },
    {
      name: 'clear',
      record: async (ctx, input) => {
        if (await ctx.store.has(ExternVm, input.vmExtId)) await setTools(ctx, input, undefined)
      },
    },
  ],
  onUndone: endExternUnchanged,
})

interface Update extends OfVm {
  readonly isEnabled: boolean
  readonly capabilities: Capabilities
}

export const updateTools = defineTask<Update>({
  name: 'vmm.update-guest-tools-of-external-vm',
  steps: [
    {
      name: 'apply',
      seconds: [0.5, 1],
      run: async (ctx, { vmExtId, isEnabled }) => {
        requireConnected(ctx, await requireExternVm(ctx.store, vmExtId))
        await ctx.drivers.externalHypervisor.switchTools(vmExtId, isEnabled)
      },
      isIrreversible: true,
      record: async (ctx, input) => {
        const vm = await ctx.store.get(ExternVm, input.vmExtId)
        if (vm === undefined) return
        const { capabilities: _, ...rest } = (vm.nutanixGuestTools ?? {}) as Tools
        const { isEnabled, capabilities } = input
        const tools = { ...rest, isEnabled, ...(capabilities === undefined ? {} : { capabilities }) }
        await setTools(ctx, input, tools, vm.toolsRebootAt)
      },
    },
  ],
  onUndone: endExternUnchanged,
})

export const rebootForToolsTask = defineTask<OfVm>({
  name: 'vmm.reboot-external-vm-for-guest-tools',
  steps: [
    {
      name: 'signal and wait',
      // A VM that is OFF, or has booted since the setup, needs no reboot.
      acts: async (ctx, { vmExtId }) => {
        const vm = await requireExternVm(ctx.store, vmExtId)
        return vm.powerState === 'ON' && !toolsOf(ctx, vm).isReachable
      },
      run: (ctx, { vmExtId }) => ctx.drivers.externalHypervisor.changePower(vmExtId, 'GUEST_REBOOT', ctx.callKey),
      isIrreversible: true,
    },
  ],
})

export const rebootForTools = rebootsAtTheirTime(
  'vmm.reboot-external-vms-for-guest-tools',
  ExternVm,
  rebootForToolsTask,
  (vm) => externVmTask('RebootGuestVm', vm),
)
