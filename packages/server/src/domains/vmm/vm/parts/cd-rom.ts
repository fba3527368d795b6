/** Reads of a VM's CD-ROM drives. Source: behaviour vmm.md 1.3. */
import { CdRom, cdRomOperations } from '@hyperplane/contract/vmm/vm/parts/cd-rom'
import { implement } from '../../../context.ts'
import { presentVms } from '../present.ts'
import { readsOf } from './part.ts'

// Includes the drive that a guest customisation adds, while its ISO is inserted.
const reads = readsOf(CdRom, 'cdRoms', presentVms)

export const cdRom = implement(cdRomOperations, { listCdRomsByVmId: reads.list, getCdRomById: reads.get })
