/** Reads of a VM's CD-ROM drives. Source: behaviour vmm.md 1.3. */
import { CdRom, cdRomOperations } from '@hyperplane/contract/vmm/cd-rom'
import { listOf, notFound } from '../../core/standard.ts'
import { implement } from '../context.ts'
import type { VmEntity } from './vm/entity.ts'

const drivesOf = (parents: Readonly<Record<string, VmEntity>>) => parents['vmExtId']?.cdRoms ?? []

export const cdRom = implement(cdRomOperations, {
  async listCdRomsByVmId(ctx, request) {
    return listOf(drivesOf(ctx.parents), request) as never
  },
  async getCdRomById(ctx, { path }) {
    const found = drivesOf(ctx.parents).find(({ extId }) => extId === path['extId'])
    if (found === undefined) throw notFound(CdRom, CdRom.kind, path['extId'] as string, 'extId')
    return found as never
  },
})
