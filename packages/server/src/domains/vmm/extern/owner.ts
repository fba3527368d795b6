/** The manager stores owner and categories: both can change while the management is away. Source: behaviour vmm.md 1.7. */
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { type Changes, ownershipOf } from '../ownership.ts'
import { admitExternVm, endExternUnchanged, externVmTask, requireExternVm } from './admission.ts'

const fieldsOf = (changes: Changes) =>
  'ownerExtId' in changes
    ? { ownershipInfo: { owner: { entityType: changes.entityType, extId: changes.ownerExtId } } }
    : changes

export const ownership = ownershipOf({
  taskNames: {
    assignOwner: 'vmm.assign-owner-of-external-vm',
    associate: 'vmm.associate-categories-of-external-vm',
    disassociate: 'vmm.disassociate-categories-of-external-vm',
  },
  admit: admitExternVm,
  taskOf: externVmTask,
  present: requireExternVm,
  async change(ctx, vmExtId, changes) {
    await ctx.store.update(ExternVm, vmExtId, fieldsOf(changes) as object)
  },
  endUnchanged: endExternUnchanged,
})
