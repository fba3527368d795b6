/** Attachments of volume groups to VMs of their cluster. Source: behaviour volumes-storage.md 1.4. */
import type { EntityOf } from '@hyperplane/contract'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VmAttachment, vmAttachmentOperations } from '@hyperplane/contract/volumes/vm-attachment'
import { invalid } from '../../core/api-error.ts'
import { listOf, notFound } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import {
  type Attachment,
  attachmentsWith,
  claimForVm,
  confirm,
  drop,
  requireAttachment,
  requireClaim,
  requireGroupAttachable,
  requireMade,
  touchEnds,
} from '../block-volumes/attachments.ts'
import { affected, requireUsable } from '../block-volumes/groups.ts'
import { defineTask, implement } from '../context.ts'

type VmEntity = EntityOf<typeof Vm>

interface OfAttachment {
  readonly attachment: Attachment
}

const attachVm = defineTask<OfAttachment>({
  name: 'volumes.attach-vm',
  cancelableUntil: 'record',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async (ctx, { attachment }) => {
        await requireVm(ctx.store, attachment)
        await requireClaim(ctx.store, attachment.extId)
        await requireGroupAttachable(ctx.store, attachment)
      },
      // No undo: a check changes nothing. `onUndone` drops the claim of the request.
    },
    {
      name: 'plug',
      progress: 80,
      seconds: [1, 3],
      run: ({ drivers }, { attachment }) => plug(drivers, attachment),
      undo: async ({ drivers }, { attachment }) => {
        await unplug(drivers, attachment)
      },
    },
    { name: 'record', progress: 100, record: (ctx, { attachment }) => confirm(ctx.store, attachment.extId) },
  ],
  onUndone: (ctx, { attachment }) => drop(ctx.store, attachment),
})

const detachVm = defineTask<OfAttachment>({
  name: 'volumes.detach-vm',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async (ctx, { attachment }) => requireMade(ctx.store, attachment),
      // No undo: a check changes nothing.
    },
    {
      name: 'unplug',
      progress: 80,
      seconds: [1, 3],
      run: ({ drivers }, { attachment }) => unplug(drivers, attachment),
      record: async (ctx, _, { isForced }) => {
        if (isForced) ctx.warn('The guest did not let go of the disks within 60 s; they were taken away by force.')
      },
      undo: ({ drivers }, { attachment }) => plug(drivers, attachment),
    },
    { name: 'record', progress: 100, record: (ctx, { attachment }) => drop(ctx.store, attachment) },
  ],
})

export const vmAttachment = implement(
  vmAttachmentOperations,
  {
    async attachVm(ctx, { body }) {
      const group = ctx.target
      const cluster = await requireUsable(ctx, group)
      const vm = (await ctx.store.get(Vm, body.extId)) as VmEntity
      const attachment = await claimForVm(ctx, group, vm, body.index)
      return ctx.startTask(
        attachVm,
        { attachment },
        {
          operation: 'VolumeGroupAttachExternal',
          description: 'Volume group attach to VM',
          affected: [{ extId: vm.extId, name: vm.name, rel: VmAttachment.rel! }, affected(group)],
          clusterExtIds: [cluster.extId],
        },
      )
    },

    async detachVm(ctx, { body }) {
      const group = ctx.target
      const cluster = await requireUsable(ctx, group)
      const vm = (await ctx.store.get(Vm, body.extId)) as VmEntity
      const attachment = await requireAttachment(ctx.store, group, vm, `the VM "${vm.name}"`)
      if (body.index !== undefined && body.index !== attachment.scsiIndex) {
        throw invalid('index', `expected ${attachment.scsiIndex}, where it is attached, or none; found ${body.index}`)
      }
      await touchEnds(ctx.store, attachment)
      return ctx.startTask(
        detachVm,
        { attachment },
        {
          operation: 'VolumeGroupDetachExternal',
          description: 'Volume group detach from VM',
          affected: [{ extId: vm.extId, name: vm.name, rel: VmAttachment.rel! }, affected(group)],
          clusterExtIds: [cluster.extId],
        },
      )
    },

    async listVmAttachmentsByVolumeGroupId(ctx, request) {
      const extId = request.path.volumeGroupExtId
      const own = (await attachmentsWith(ctx.store, 'volumeGroupExtId', [extId])).get(extId) ?? []
      const items = own.flatMap(({ vmExtId, scsiIndex }) =>
        vmExtId === undefined ? [] : { extId: vmExtId, index: scsiIndex! },
      )
      return listOf(items, request)
    },
  },
  { tasks: [attachVm, detachVm] },
)

const plug = ({ blockStorage }: Drivers, { volumeGroupExtId, vmExtId, scsiIndex }: Attachment): Promise<void> =>
  blockStorage.plug(volumeGroupExtId!, vmExtId!, scsiIndex!)
const unplug = ({ blockStorage }: Drivers, { volumeGroupExtId, vmExtId }: Attachment): Promise<{ isForced: boolean }> =>
  blockStorage.unplug(volumeGroupExtId!, vmExtId!)

async function requireVm(store: Reader, { vmExtId }: Attachment): Promise<void> {
  if ((await store.get(Vm, vmExtId!)) === undefined) throw notFound(Vm, Vm.kind, vmExtId!, 'extId')
}
