/** Reads of a VM's NICs. Source: behaviour vmm.md 1.4. */
import { Nic, nicOperations } from '@hyperplane/contract/vmm/vm/parts/nic'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { listOf, notFound } from '../../../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../../../context.ts'
import type { NicEntity } from '../../../virtual-machines/entity.ts'
import { presentVms } from '../present.ts'

/** With the addresses that the guest uses now. */
async function nicsOf(ctx: ReadContext<unknown, 'vmExtId'>): Promise<readonly NicEntity[]> {
  const [vm] = await presentVms(ctx, [parentOf(ctx, 'vmExtId', Vm)])
  return vm?.nics ?? []
}

export const nic = implement(nicOperations, {
  async listNicsByVmId(ctx, request) {
    return listOf(await nicsOf(ctx), request)
  },
  async getNicById(ctx, { path }) {
    const found = (await nicsOf(ctx)).find(({ extId }) => extId === path.extId)
    if (found === undefined) throw notFound(Nic, Nic.kind, path.extId, 'extId')
    return found
  },
})
