/** Reads of a VM's NICs. Source: behaviour vmm.md 1.4. */
import { Nic, nicOperations } from '@hyperplane/contract/vmm/vm/parts/nic'
import { implement } from '../../../context.ts'
import { presentVms } from '../present.ts'
import { readsOf } from './part.ts'

// With the addresses that the guest uses now.
const reads = readsOf(Nic, 'nics', presentVms)

export const nic = implement(nicOperations, { listNicsByVmId: reads.list, getNicById: reads.get })
