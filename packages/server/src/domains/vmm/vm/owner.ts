/** Source: behaviour vmm.md 1.1 (assign-owner, associate-categories). */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { type Changes, ownershipOf } from '../ownership.ts'
import { admitVm, endUnchanged, requireVm, taskOf } from './admission.ts'

const fieldsOf = (changes: Changes) =>
  'ownerExtId' in changes ? { ownershipInfo: { owner: { extId: changes.ownerExtId } } } : changes

export const ownership = ownershipOf({
  taskNames: {
    assignOwner: 'vmm.assign-vm-owner',
    associate: 'vmm.associate-vm-categories',
    disassociate: 'vmm.disassociate-vm-categories',
  },
  admit: admitVm,
  taskOf,
  present: requireVm,
  async change(ctx, vmExtId, changes) {
    await ctx.store.update(Vm, vmExtId, { ...fieldsOf(changes), updateTime: ctx.clock.iso() } as object)
  },
  endUnchanged,
})
