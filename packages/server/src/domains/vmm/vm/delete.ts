/** deleteVmById. From its second step on, the task only goes forward. Source: behaviour vmm.md 1.1 (Delete). */
import { Template } from '@hyperplane/contract/vmm/content/template'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { Reader } from '../../../store/store.ts'
import { floatingIpsOf, stopTranslating } from '../../addressing/floating-ips.ts'
import { unplugGroups } from '../../block-volumes/attachments.ts'
import { defineTask, type Step, type WriteContext } from '../../context.ts'
import { releaseDevices } from '../../scheduling/host-devices.ts'
import { releaseReservation } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { requireNoFunctionOfVm } from '../../virtual-machines/network-functions.ts'
import { forgetPower } from '../../virtual-machines/power-journal.ts'
import { admitVm, endUnchanged, type OfVm, requireVm, taskOf } from './admission.ts'
import { forgetConsoleTokens } from './console-token.ts'
import { detachGroups, removeDisks } from './create/create.ts'
import { releaseNics } from './parts/nics.ts'

export async function deleteVm(ctx: WriteContext<VmEntity>): Promise<TaskStarted> {
  await requireNoGuestUpdate(ctx.store, ctx.target)
  await requireNoFunctionOfVm(ctx.store, ctx.target)
  const vm = await admitVm(ctx, ctx.target, 'delete')
  // Tasks of floating IPs lock the NIC that they translate to.
  const locks = [vm.extId, ...(vm.nics ?? []).flatMap(({ extId }) => extId ?? [])]
  return ctx.startTask(removeVm, { vmExtId: vm.extId }, { ...taskOf('DeleteVm', vm), locks })
}

/** @throws ApiError 409 for the temporary VM of a template's guest update */
export async function requireNoGuestUpdate(store: Reader, vm: VmEntity): Promise<void> {
  const template = await store.findOne(Template, { updatedVmExtId: vm.extId })
  if (template === undefined) return
  const users = `the guest update of the template "${template.templateName}"`
  throw new ApiError('VMM_ENTITY_IN_USE', { kind: 'VM', name: vm.name, users })
}

export const removeVm = defineTask<OfVm>({
  name: 'vmm.delete-vm',
  pointOfNoReturn: 'power off',
  steps: [
    {
      name: 'check',
      progress: 5,
      run: async (ctx, { vmExtId }) => {
        await requireVm(ctx.store, vmExtId, 'delete')
      },
      // No undo: the step only reads.
    },
    {
      name: 'power off',
      progress: 20,
      seconds: [0.5, 1],
      run: async (ctx, { vmExtId }) => {
        const { hardware, hypervisor } = ctx.drivers
        const host = (await ctx.store.get(Vm, vmExtId))?.host?.extId
        // A host that does not answer must not block the deletion.
        if (host !== undefined && !hardware.isHostUp(host)) await hypervisor.fenceVm(vmExtId, host)
        await hypervisor.stopVm(vmExtId)
      },
      record: async (ctx, { vmExtId }) => {
        await releaseReservation(ctx.store, vmExtId)
        const off = { powerState: 'OFF', host: undefined, isLiveMigrateCapable: undefined } as const
        await ctx.store.update(Vm, vmExtId, off)
      },
    },
    {
      name: 'detach volume groups',
      progress: 30,
      run: (ctx, { vmExtId }) => unplugGroups(ctx, vmExtId),
      record: (ctx, { vmExtId }) => detachGroups(ctx.store, vmExtId),
    },
    {
      name: 'free addresses',
      progress: 50,
      acts: async ({ store }, { vmExtId }) =>
        (await floatingIpsOf(store, (await requireVm(store, vmExtId)).nics ?? [])).length > 0,
      run: async (ctx, { vmExtId }) => stopTranslating(ctx, (await requireVm(ctx.store, vmExtId)).nics ?? []),
      record: async (ctx, { vmExtId }) => {
        const { nics = [] } = await requireVm(ctx.store, vmExtId)
        await releaseNics(ctx.store, vmExtId, nics)
        await ctx.store.update(Vm, vmExtId, { nics: undefined })
      },
    },
    {
      name: 'delete disks',
      progress: 80,
      seconds: [0.5, 1],
      run: async (ctx, { vmExtId }) => removeDisks(ctx, await requireVm(ctx.store, vmExtId)),
    },
    { name: 'undefine', progress: 90, run: (ctx, { vmExtId }) => ctx.drivers.hypervisor.undefineVm(vmExtId) },
    {
      name: 'remove row',
      record: async (ctx, { vmExtId }) => {
        await forgetConsoleTokens(ctx.store, vmExtId)
        await forgetPower(ctx.store, vmExtId)
        await releaseDevices(ctx.store, vmExtId)
        await ctx.store.remove(Vm, vmExtId)
      },
    },
  ],
  onUndone: endUnchanged,
})

/** For another task, between two percentages of its progress; begins with `power off`. */
export const removalSteps = (from: number, to: number): readonly Step<OfVm>[] =>
  removeVm.steps.map((step) => ({ ...step, progress: Math.round(from + ((to - from) * (step.progress ?? 100)) / 100) }))
