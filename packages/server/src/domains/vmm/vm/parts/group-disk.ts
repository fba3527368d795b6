/** Disks of a VM that are volume groups: attachments of the group. Source: behaviour vmm.md 1.2; volumes-storage.md 1.1, 1.4. */
import type { Operation } from '@hyperplane/contract'
import { Disk } from '@hyperplane/contract/vmm/vm/parts/disk'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { volumes } from '@hyperplane/contract/volumes'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { isInScope } from '../../../../core/access/scope.ts'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { notFound } from '../../../../core/standard.ts'
import {
  type Attachment,
  claimForVm,
  confirm,
  drop,
  type Group,
  requireAttached,
  requireClaim,
  requireGroupAttachable,
  touchEnds,
} from '../../../block-volumes/attachments.ts'
import { requireUsable } from '../../../block-volumes/groups.ts'
import { defineTask, type WriteContext } from '../../../context.ts'
import type { DiskEntity, VmEntity } from '../../../virtual-machines/entity.ts'
import { admitVm, affectedVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import type { Planning } from '../create/planning.ts'
import { busFaultsAt } from '../rules.ts'
import { freeSlot } from './part-file.ts'
import { requireNotBootDevice, wishOf } from './slots.ts'

interface OfGroupDisk extends OfVm {
  readonly attachment: Attachment
}

type GroupRight = 'attachVm' | 'detachVm'

/** A disk that represents a volume group is an attachment: the caller needs the permission for attachments as well. */
export async function requireMayAttach(
  ctx: Planning,
  volumeGroupExtId: string,
  right: GroupRight = 'attachVm',
): Promise<void> {
  const operation = volumes.operations.find(({ id }) => id === right) as Operation
  const scope = await ctx.services.access.scope(ctx.caller, operation)
  if (isInScope(scope, await ctx.store.get(VolumeGroup, volumeGroupExtId))) return
  throw new ApiError('ACCESS_DENIED', { operation: operation.iamOperation, reason: ' on this volume group' })
}

export async function attachGroup(
  ctx: WriteContext,
  vm: VmEntity,
  volumeGroupExtId: string,
  diskAddress: DiskEntity['diskAddress'],
): Promise<TaskStarted> {
  await requireMayAttach(ctx, volumeGroupExtId)
  const group = (await ctx.store.get(VolumeGroup, volumeGroupExtId)) as Group
  await requireUsable(ctx, group)
  await admitVm(ctx, vm, 'update')
  refuseAll(busFaultsAt(vm, 'SCSI', 'diskAddress/busType'))
  const { index } = await freeSlot(ctx.store, vm, wishOf('diskAddress', diskAddress, 'SCSI'))
  const attachment = await claimForVm(ctx, group, vm, index)
  return ctx.startTask(attachTask, { vmExtId: vm.extId, attachment }, aboutDisk('CreateDisk', vm, attachment))
}

export async function detachGroup(ctx: WriteContext, vm: VmEntity, extId: string): Promise<TaskStarted> {
  const attachment = await ctx.store.get(VolumeGroupAttachment, extId)
  if (attachment === undefined || attachment.vmExtId !== vm.extId) throw notFound(Disk, extId, 'extId')
  const volumeGroupExtId = attachment.volumeGroupExtId as string
  await requireMayAttach(ctx, volumeGroupExtId, 'detachVm')
  await requireUsable(ctx, (await ctx.store.get(VolumeGroup, volumeGroupExtId)) as Group)
  await admitVm(ctx, vm, 'update')
  requireNotBoot(vm, attachment)
  await touchEnds(ctx.store, attachment)
  return ctx.startTask(detachTask, { vmExtId: vm.extId, attachment }, aboutDisk('DeleteDisk', vm, attachment))
}

function aboutDisk(operation: string, vm: VmEntity, { extId, volumeGroupExtId }: Attachment) {
  const affected = [{ extId, rel: Disk.rel }, affectedVm(vm)]
  return { ...taskOf(operation, vm), affected, locks: [extId, vm.extId, volumeGroupExtId as string] }
}

const requireNotBoot = (vm: VmEntity, { scsiIndex }: Attachment): void =>
  requireNotBootDevice(vm, { diskAddress: { busType: 'SCSI', index: scsiIndex as number } }, 'disk')

export const attachTask = defineTask<OfGroupDisk>({
  name: 'vmm.attach-group-disk',
  steps: [
    {
      name: 'reserve',
      progress: 30,
      run: async (ctx, { vmExtId, attachment }) => {
        await requireVm(ctx.store, vmExtId, 'update')
        await requireClaim(ctx.store, attachment.extId)
        await requireGroupAttachable(ctx.store, attachment)
      },
      // No undo: the step only reads.
    },
    {
      name: 'plug',
      seconds: [1, 3],
      run: ({ drivers }, { vmExtId, attachment: { volumeGroupExtId, scsiIndex } }) =>
        drivers.blockStorage.plug(volumeGroupExtId as string, vmExtId, scsiIndex as number),
      undo: async ({ drivers }, { vmExtId, attachment }) => {
        await drivers.blockStorage.unplug(attachment.volumeGroupExtId as string, vmExtId)
      },
      record: async (ctx, { vmExtId, attachment }) => {
        await confirm(ctx.store, attachment.extId)
        await ctx.store.update(Vm, vmExtId, { updateTime: ctx.clock.iso() })
      },
    },
  ],
  async onUndone(ctx, input) {
    const claim = await ctx.store.pending(VolumeGroupAttachment, input.attachment.extId)
    if (claim !== undefined) await drop(ctx.store, claim)
    await endUnchanged(ctx, input)
  },
})

export const detachTask = defineTask<OfGroupDisk>({
  name: 'vmm.detach-group-disk',
  steps: [
    {
      name: 'unplug',
      progress: 50,
      seconds: [1, 3],
      run: async ({ drivers, store }, { vmExtId, attachment }) => {
        requireNotBoot(await requireVm(store, vmExtId, 'update'), attachment)
        await requireAttached(store, attachment)
        return drivers.blockStorage.unplug(attachment.volumeGroupExtId as string, vmExtId)
      },
      record: async (ctx, _, output) => {
        const { isForced } = output as { readonly isForced: boolean }
        if (isForced) ctx.warn('The guest did not release the disks within 60 s; they were removed by force.')
      },
      undo: async ({ drivers, store }, { vmExtId, attachment }) => {
        const { extId, volumeGroupExtId, scsiIndex } = attachment
        const isAttached = await store.has(VolumeGroupAttachment, extId)
        if (isAttached) await drivers.blockStorage.plug(volumeGroupExtId as string, vmExtId, scsiIndex as number)
      },
    },
    {
      name: 'free',
      record: async (ctx, { vmExtId, attachment }) => {
        await drop(ctx.store, attachment)
        await ctx.store.update(Vm, vmExtId, { updateTime: ctx.clock.iso() })
      },
    },
  ],
  onUndone: endUnchanged,
})
