/** Tasks of guest tools: ISO, setup inside the guest, reboot. Source: behaviour vmm.md 1.5, 1.16. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { GuestCredential, GuestSystem } from '../../../../drivers/hypervisor.ts'
import { defineTask, type RecordContext, type Step, type StepContext } from '../../../context.ts'
import type { FileBacking, VmEntity } from '../../../virtual-machines/entity.ts'
import {
  type Capabilities,
  installed,
  newestVersion,
  type Reboot,
  refuseTools,
  requireInsertable,
  requireNotInstalled,
  requireOlder,
  requireReachable,
  type Tools,
  withSystem,
} from '../../guest-tools/guest-tools.ts'
import { endUnchanged, type OfVm, requireVm } from '../admission.ts'
import { domainOf, restoreDefinition } from '../domain.ts'
import { newDiskOf, requireRoom } from '../files.ts'
import { noteRestart } from '../power/power-state.ts'
import { requireState } from '../states.ts'
import { addedDrive, ejectedIso, insertedIso, isoIn } from './iso.ts'
import { toolsOf } from './tools-of.ts'

const type = 'GUEST_TOOLS'
const isoBytes = 256 * 1024 ** 2

interface WithIso extends OfVm {
  readonly fileExtId: string
  /** Id of the drive that is added if none is empty. */
  readonly driveExtId: string
  readonly containerExtId: string
}

export function requireEmptyDrive(vm: VmEntity): void {
  if (isoIn(vm, type) !== undefined) refuseTools(vm, 'insert-iso', 'their ISO is already inserted')
  if (vm.cdRoms?.some(({ backingInfo }) => backingInfo === undefined) !== true)
    refuseTools(vm, 'insert-iso', 'the VM has no empty CD-ROM')
}

/** @throws ApiError 409 unless the guest is up and has an address */
export async function requireBooted({ hypervisor }: Pick<Drivers, 'hypervisor'>, vm: VmEntity): Promise<void> {
  const view = (await hypervisor.observeGuests([vm.extId])).get(vm.extId)
  if (view?.upSince === undefined) refuseTools(vm, 'install', 'the guest has not booted')
  if (view.learnedAddresses.size === 0) refuseTools(vm, 'install', 'the guest has no address')
}

const withTools = (vm: VmEntity, tools: Tools | undefined): VmEntity => ({ ...vm, guestTools: tools }) as VmEntity

const ownIso = (vm: VmEntity, { fileExtId }: WithIso): FileBacking | undefined => {
  const iso = isoIn(vm, type)
  return iso?.diskExtId === fileExtId ? iso : undefined
}

/** Puts the ISO into a drive. A step for the row comes first, so that a crash leaves no file without a drive. */
const insertSteps = <I extends WithIso>(
  check: (ctx: RecordContext, vm: VmEntity, input: I) => Promise<void>,
  canAddDrive: boolean,
  progress: number,
): readonly Step<I>[] => [
  {
    name: 'slot',
    progress: progress / 4,
    record: async (ctx, input) => {
      const vm = await requireVm(ctx.store, input.vmExtId, 'update')
      await check(ctx, vm, input)
      if (isoIn(vm, type) !== undefined) return
      const iso = {
        diskExtId: input.fileExtId,
        diskSizeBytes: isoBytes,
        storageContainer: { extId: input.containerExtId },
      }
      const drives = insertedIso(vm, type, iso)
      if (drives === undefined && !canAddDrive) requireEmptyDrive(vm)
      await ctx.store.observe(Vm, vm.extId, drives ?? addedDrive(vm, input.driveExtId, type, iso))
    },
    unrecord: async (ctx, input) => {
      const vm = await ctx.store.get(Vm, input.vmExtId)
      if (vm === undefined || ownIso(vm, input) === undefined) return
      await ctx.store.observe(Vm, vm.extId, ejectedIso(vm, type, input.driveExtId))
    },
  },
  {
    name: 'insert ISO',
    progress,
    seconds: [1, 3],
    run: async (ctx, input) => {
      const vm = await requireVm(ctx.store, input.vmExtId)
      const iso = ownIso(vm, input)
      if (iso === undefined) return
      await requireRoom(ctx, [iso])
      await ctx.drivers.hypervisor.createDisk(await newDiskOf(ctx.store, iso, { isReadOnly: true }))
      await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, vm))
    },
    undo: async (ctx, input) => {
      const vm = await ctx.store.get(Vm, input.vmExtId)
      if (vm === undefined || ownIso(vm, input) === undefined) return
      await restoreDefinition(ctx, { ...vm, ...ejectedIso(vm, type, input.driveExtId) })
      await ctx.drivers.hypervisor.deleteDisk(input.fileExtId)
    },
  },
]

async function storeTools(
  ctx: RecordContext,
  { vmExtId }: OfVm,
  changesOf: (vm: VmEntity) => Partial<VmEntity>,
): Promise<void> {
  const vm = await requireVm(ctx.store, vmExtId)
  await ctx.store.update(Vm, vmExtId, { ...changesOf(vm), updateTime: ctx.clock.iso() })
}

interface Insert extends WithIso {
  readonly isConfigOnly: boolean
  readonly capabilities: Capabilities
}

export const insertIso = defineTask<Insert>({
  name: 'vmm.insert-vm-guest-tools',
  steps: [
    ...insertSteps<Insert>(
      async ({ drivers }, vm, { isConfigOnly }) => {
        requireInsertable(await toolsOf(drivers, vm), isConfigOnly)
        requireEmptyDrive(vm)
      },
      false,
      80,
    ),
    {
      name: 'store',
      record: (ctx, input) =>
        storeTools(ctx, input, ({ guestTools }) => ({
          guestTools: {
            ...guestTools,
            ...(input.isConfigOnly ? {} : { isEnabled: true }),
            ...(input.capabilities === undefined ? {} : { capabilities: input.capabilities }),
          },
        })),
    },
  ],
  onUndone: endUnchanged,
})

interface WithReboot extends OfVm {
  readonly reboot: Reboot
}

async function setUp(ctx: StepContext, vm: VmEntity, tools: Tools): Promise<GuestSystem> {
  const system = await ctx.drivers.hypervisor.setUpTools(vm.extId, ctx.callKey)
  await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, withTools(vm, tools)))
  return system
}

async function undoSetUp(ctx: StepContext, { vmExtId }: OfVm): Promise<void> {
  const vm = await ctx.store.get(Vm, vmExtId)
  if (vm === undefined) return
  await ctx.drivers.hypervisor.revertTools(vmExtId)
  await restoreDefinition(ctx, vm)
}

const rebootStep: Step<WithReboot> = {
  name: 'reboot',
  progress: 90,
  acts: async (_, { reboot }) => reboot.isImmediate === true,
  run: async (ctx, { vmExtId }) => {
    const { name } = await requireVm(ctx.store, vmExtId)
    const outcome = await ctx.drivers.hypervisor.requestReboot(vmExtId, 'COMMAND', ctx.callKey)
    if (outcome === 'ignored') throw new ApiError('GUEST_DID_NOT_RESPOND', { name, operation: 'the reboot' })
  },
  record: async (ctx, { vmExtId, reboot }) => {
    if (reboot.isImmediate === true) await noteRestart(ctx, vmExtId)
  },
  // No undo: the guest has booted again, with or without the tools.
}

interface Install extends WithIso, WithReboot {
  readonly capabilities: Capabilities
  readonly credential: GuestCredential
}

export const installTools = defineTask<Install>({
  name: 'vmm.install-vm-guest-tools',
  steps: [
    ...insertSteps<Install>(
      async ({ drivers }, vm) => {
        requireState(vm, 'install-guest-tools')
        requireNotInstalled(await toolsOf(drivers, vm))
        await requireBooted(drivers, vm)
      },
      true,
      20,
    ),
    {
      name: 'copy',
      progress: 50,
      seconds: [3, 8],
      run: async ({ drivers, store }, { vmExtId, credential }) => {
        const { name } = await requireVm(store, vmExtId)
        if ((await drivers.hypervisor.copyTools(vmExtId, credential)) === 'refused')
          throw new ApiError('GUEST_REFUSED_LOGIN', { name, username: credential.username })
      },
      // No undo: copied files have no effect.
    },
    {
      name: 'run setup',
      progress: 80,
      seconds: [25, 40],
      run: async (ctx, { vmExtId, capabilities }) => {
        const vm = await requireVm(ctx.store, vmExtId)
        return setUp(ctx, vm, installed(vm.guestTools, capabilities))
      },
      undo: undoSetUp,
    },
    rebootStep,
    {
      name: 'eject',
      run: async (ctx, input) => {
        const vm = await requireVm(ctx.store, input.vmExtId)
        const tools = installed(vm.guestTools, input.capabilities)
        const next = { ...withTools(vm, tools), ...ejectedIso(vm, type, input.driveExtId) }
        await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, next))
        const iso = isoIn(vm, type)
        if (iso !== undefined) await ctx.drivers.hypervisor.deleteDisk(iso.diskExtId as string)
      },
      undo: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined) await restoreDefinition(ctx, vm)
      },
      record: (ctx, input) =>
        storeTools(ctx, input, (vm) => ({
          ...ejectedIso(vm, type, input.driveExtId),
          guestTools: withSystem(installed(vm.guestTools, input.capabilities), ctx.outputs['run setup'] as GuestSystem),
          toolsRebootAt: input.reboot.at,
        })),
    },
  ],
  onUndone: endUnchanged,
})

export const upgradeTools = defineTask<WithReboot>({
  name: 'vmm.upgrade-vm-guest-tools',
  steps: [
    {
      name: 'check version',
      progress: 10,
      run: async ({ drivers, store }, { vmExtId }) => {
        const tools = await toolsOf(drivers, await requireVm(store, vmExtId, 'update'))
        requireReachable(tools, 'upgrade')
        requireOlder(tools)
      },
      // No undo: the step only reads.
    },
    {
      name: 'run setup',
      progress: 80,
      seconds: [25, 40],
      run: async (ctx, { vmExtId }) => {
        const vm = await requireVm(ctx.store, vmExtId)
        return setUp(ctx, vm, vm.guestTools ?? {})
      },
      undo: undoSetUp,
    },
    rebootStep,
    {
      name: 'store',
      record: (ctx, input) =>
        storeTools(ctx, input, ({ guestTools }) => ({
          guestTools: withSystem({ ...guestTools, version: newestVersion }, ctx.outputs['run setup'] as GuestSystem),
          toolsRebootAt: input.reboot.at,
        })),
    },
  ],
  onUndone: endUnchanged,
})

export const uninstallTools = defineTask<OfVm>({
  name: 'vmm.uninstall-vm-guest-tools',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async ({ drivers, store }, { vmExtId }) =>
        requireReachable(await toolsOf(drivers, await requireVm(store, vmExtId, 'update')), 'uninstall'),
      // No undo: the step only reads.
    },
    {
      name: 'run',
      progress: 80,
      seconds: [15, 30],
      run: async ({ drivers, store }, { vmExtId }) => {
        const vm = await requireVm(store, vmExtId)
        await drivers.hypervisor.defineVm(await domainOf(store, withTools(vm, undefined)))
      },
      undo: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm === undefined) return
        await restoreDefinition(ctx, vm)
        await ctx.drivers.hypervisor.revertTools(vmExtId)
      },
    },
    {
      name: 'clear',
      record: (ctx, input) =>
        storeTools(ctx, input, () => ({ guestTools: undefined, toolsRebootAt: undefined }) as Partial<VmEntity>),
    },
  ],
  onUndone: endUnchanged,
})

interface Update extends OfVm {
  readonly isEnabled: boolean
  readonly capabilities: Capabilities
}

const updated = (vm: VmEntity, { isEnabled, capabilities }: Update): VmEntity => {
  const { capabilities: _, ...rest } = vm.guestTools ?? {}
  return withTools(vm, { ...rest, isEnabled, ...(capabilities === undefined ? {} : { capabilities }) })
}

export const updateTools = defineTask<Update>({
  name: 'vmm.update-guest-tools',
  steps: [
    {
      name: 'apply',
      seconds: [0.5, 1],
      run: async ({ drivers, store }, input) => {
        const vm = await requireVm(store, input.vmExtId, 'update')
        await drivers.hypervisor.defineVm(await domainOf(store, updated(vm, input)))
      },
      undo: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm === undefined) return
        await restoreDefinition(ctx, vm)
        await ctx.drivers.hypervisor.revertTools(vmExtId)
      },
      record: (ctx, input) => storeTools(ctx, input, (vm) => ({ guestTools: updated(vm, input).guestTools })),
    },
  ],
  onUndone: endUnchanged,
})
