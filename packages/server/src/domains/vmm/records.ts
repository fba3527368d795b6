/** What vmm keeps beside its kinds; shown by no operation. Source: behaviour vmm.md 1.4, 3.1, 3.2. */
import { boolean, integer, optional, resource, text, uuid } from '@hyperplane/contract'
import { PowerEvent } from './power-journal.ts'

/** Who has a MAC address, and on which subnet: one table for the whole deployment, one row a NIC. */
export const MacLease = resource(
  'internal.v1.vmm.MacLease',
  { macAddress: text(), nicExtId: uuid(), vmExtId: uuid(), subnetExtId: optional(uuid()) },
  {
    title: 'NIC',
    indexed: ['nicExtId', 'subnetExtId', 'vmExtId'],
    unique: [{ fields: ['macAddress'], error: 'ADDRESS_IN_USE' }],
  },
)

/**
 * Memory and CPUs of a host that a VM holds, from its placement until it is off. A VM that moves holds on both hosts.
 * Written only by the scheduler, in the transaction that counted them.
 */
export const HostAllocation = resource(
  'internal.v1.vmm.HostAllocation',
  {
    vmExtId: uuid(),
    hostExtId: uuid(),
    clusterExtId: uuid(),
    memoryBytes: integer(),
    vcpus: integer(),
    isPinned: boolean(),
  },
  {
    indexed: ['vmExtId', 'hostExtId', 'clusterExtId'],
    unique: [{ fields: ['vmExtId', 'hostExtId'] }],
  },
)

export const vmmRecords = [HostAllocation, MacLease, PowerEvent]
