/** Switches the background copy of external sources on and off. Source: behaviour vmm.md 1.2, 1.3, 1.16. */
import type { AnyResource } from '@hyperplane/contract'
import { CdRom } from '@hyperplane/contract/vmm/vm/parts/cd-rom'
import { Disk } from '@hyperplane/contract/vmm/vm/parts/disk'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { notFound } from '../../../../core/standard.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { defineTask, parentOf, type WriteContext } from '../../../context.ts'
import type { FileBacking, VmEntity } from '../../../virtual-machines/entity.ts'
import { admitVm, affectedVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'

interface Change extends OfVm {
  readonly partExtId: string
}

/** @throws ApiError 404; 409 when nothing is left to copy */
function hydratingFile(drivers: Drivers, vm: VmEntity, resource: AnyResource, partExtId: string): string {
  const part = [...(vm.disks ?? []), ...(vm.cdRoms ?? [])].find(({ extId }) => extId === partExtId)
  if (part === undefined) throw notFound(resource, partExtId, 'extId')
  const { diskExtId } = (part.backingInfo ?? {}) as FileBacking
  if (diskExtId !== undefined && drivers.hypervisor.hydrations([diskExtId]).has(diskExtId)) return diskExtId
  throw new ApiError('CONFLICT', { fault: `The ${resource.title} has nothing to hydrate from an external repository.` })
}

function switchOf(resource: AnyResource, name: string, operation: string, isEnabled: boolean) {
  const task = defineTask<Change>({
    name,
    steps: [
      {
        name: 'switch',
        run: async (ctx, { vmExtId, partExtId }) => {
          const file = hydratingFile(ctx.drivers, await requireVm(ctx.store, vmExtId), resource, partExtId)
          await ctx.drivers.hypervisor.hydrateDisk(file, isEnabled)
        },
        // No undo: nothing follows that could fail.
        isIrreversible: true,
        record: async (ctx, { vmExtId }) => {
          await ctx.store.update(Vm, vmExtId, { updateTime: ctx.clock.iso() })
        },
      },
    ],
    onUndone: endUnchanged,
  })
  const handle = async (
    ctx: WriteContext<unknown, 'vmExtId'>,
    { path }: { readonly path: { readonly extId: string } },
  ): Promise<TaskStarted> => {
    const vm = await admitVm(ctx, parentOf(ctx, 'vmExtId', Vm))
    const isGroup = resource === Disk && vm.disks?.some(({ extId }) => extId === path.extId) !== true
    if (isGroup) throw new ApiError('CONFLICT', { fault: 'The disk is a volume group, which has nothing to hydrate.' })
    if (ctx.services.runner.queueAhead(vm.extId) === 0) hydratingFile(ctx.drivers, vm, resource, path.extId)
    const affected = [{ extId: path.extId, rel: resource.rel }, affectedVm(vm)]
    return ctx.startTask(task, { vmExtId: vm.extId, partExtId: path.extId }, { ...taskOf(operation, vm), affected })
  }
  return { task, handle }
}

function switchesOf(resource: AnyResource, name: string, words: string) {
  const enable = switchOf(resource, `vmm.enable-${words}-hydration`, `EnableVm${name}Hydration`, true)
  const disable = switchOf(resource, `vmm.disable-${words}-hydration`, `DisableVm${name}Hydration`, false)
  return { enable: enable.handle, disable: disable.handle, tasks: [enable.task, disable.task] }
}

export const hydrationOfDisk = switchesOf(Disk, 'Disk', 'vm-disk')
export const hydrationOfCdRom = switchesOf(CdRom, 'CdRom', 'vm-cd-rom')
