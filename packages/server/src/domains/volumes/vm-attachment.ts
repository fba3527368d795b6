/** Source: behaviour volumes-storage.md 1.4. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VmAttachment, vmAttachmentOperations } from '@hyperplane/contract/volumes/vm-attachment'
import { invalid } from '../../core/api-error.ts'
import { listOf, rowWithId } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { attachmentsWith, claimForVm, confirm, drop } from '../block-volumes/attachments.ts'
import { implement } from '../context.ts'
import { attachmentLifeCycle } from './attachment-life-cycle.ts'

type Unplugged = Awaited<ReturnType<Drivers['blockStorage']['unplug']>>

const lifeCycle = attachmentLifeCycle<Vm>({
  name: 'vm',
  title: 'VM',
  affected: ({ extId, name }) => ({ extId, name, rel: VmAttachment.rel }),
  called: ({ name }) => `the VM "${name}"`,
  verbs: ['plug', 'unplug'],
  check: ({ store }, { vmExtId }) => rowWithId(store, Vm, vmExtId!),
  connect: ({ drivers }, { volumeGroupExtId, vmExtId, scsiIndex }) =>
    drivers.blockStorage.plug(volumeGroupExtId!, vmExtId!, scsiIndex!),
  disconnect: ({ drivers }, { volumeGroupExtId, vmExtId }) => drivers.blockStorage.unplug(volumeGroupExtId!, vmExtId!),
  disconnected: (ctx, output) => {
    const { isForced } = output as Unplugged
    if (isForced) ctx.warn('The guest did not release the disks within 60 s; they were detached by force.')
  },
  attached: ({ store }, { extId }) => confirm(store, extId),
  detached: ({ store }, attachment) => drop(store, attachment),
  abandoned: ({ store }, claimed) => drop(store, claimed),
})

export const vmAttachment = implement(
  vmAttachmentOperations,
  {
    async attachVm(ctx, { body }) {
      const vm = (await ctx.store.get(Vm, body.extId)) as Vm
      return lifeCycle.attach(ctx, ctx.target, vm, () => claimForVm(ctx, ctx.target, vm, body.index))
    },

    detachVm: (ctx, { body: { extId, index } }) =>
      lifeCycle.detach(
        ctx,
        ctx.target,
        async () => (await ctx.store.get(Vm, extId)) as Vm,
        ({ scsiIndex }) => {
          if (index !== undefined && index !== scsiIndex)
            throw invalid('index', `expected ${scsiIndex}, where it is attached, or none; found ${index}`)
        },
      ),

    async listVmAttachmentsByVolumeGroupId(ctx, request) {
      const extId = request.path.volumeGroupExtId
      const own = (await attachmentsWith(ctx.store, 'volumeGroupExtId', [extId])).get(extId) ?? []
      const items = own.flatMap(({ vmExtId, scsiIndex }) =>
        vmExtId === undefined ? [] : { extId: vmExtId, index: scsiIndex! },
      )
      return listOf(items, request)
    },
  },
  { tasks: lifeCycle.tasks },
)
