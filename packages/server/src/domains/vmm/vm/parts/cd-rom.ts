/** Reads of a VM's CD-ROM drives. Source: behaviour vmm.md 1.3. */
import { CdRom, cdRomOperations } from '@hyperplane/contract/vmm/vm/parts/cd-rom'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { listOf, notFound } from '../../../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../../../context.ts'
import type { CdRomEntity } from '../../../virtual-machines/entity.ts'
import { presentVms } from '../present.ts'

/** Includes the drive that a guest customisation adds, while its ISO is inserted. */
async function drivesOf(ctx: ReadContext<unknown, 'vmExtId'>): Promise<readonly CdRomEntity[]> {
  const [vm] = await presentVms(ctx, [parentOf(ctx, 'vmExtId', Vm)])
  return vm?.cdRoms ?? []
}

export const cdRom = implement(cdRomOperations, {
  async listCdRomsByVmId(ctx, request) {
    return listOf(await drivesOf(ctx), request)
  },
  async getCdRomById(ctx, { path }) {
    const found = (await drivesOf(ctx)).find(({ extId }) => extId === path.extId)
    if (found === undefined) throw notFound(CdRom, CdRom.kind, path.extId, 'extId')
    return found
  },
})
