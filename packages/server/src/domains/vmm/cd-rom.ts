/** Reads of a VM's CD-ROM drives. Source: behaviour vmm.md 1.3. */
import { CdRom, cdRomOperations } from '@hyperplane/contract/vmm/cd-rom'
import { listOf, notFound } from '../../core/standard.ts'
import { implement, type ReadContext } from '../context.ts'
import type { CdRomEntity } from '../virtual-machines/entity.ts'
import { presentVms } from './vm/present.ts'

/** Those that are there at this moment: the one of a customisation comes and goes. */
async function drivesOf(ctx: ReadContext): Promise<readonly CdRomEntity[]> {
  const [vm] = await presentVms(ctx, [ctx.parents['vmExtId']])
  return vm?.cdRoms ?? []
}

export const cdRom = implement(cdRomOperations, {
  async listCdRomsByVmId(ctx, request) {
    return listOf(await drivesOf(ctx), request) as never
  },
  async getCdRomById(ctx, { path }) {
    const found = (await drivesOf(ctx)).find(({ extId }) => extId === path['extId'])
    if (found === undefined) throw notFound(CdRom, CdRom.kind, path['extId'] as string, 'extId')
    return found as never
  },
})
