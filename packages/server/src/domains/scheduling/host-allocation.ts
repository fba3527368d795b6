/** Reservations on hosts: an internal record that no operation shows. Source: behaviour vmm.md 3.1, 3.2. */
import { boolean, integer, resource, uuid } from '@hyperplane/contract'

/**
 * Memory and CPUs that one host reserves for a VM, from placement until power-off. A VM that migrates has a reservation
 * on both hosts. The scheduler writes it in the transaction that counted the free capacity.
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
    indexed: ['vmExtId', 'hostExtId', 'clusterExtId', 'memoryBytes', 'vcpus', 'isPinned'],
    unique: [
      { fields: ['vmExtId', 'hostExtId'] },
      // Follows from the rule above: its index holds all that the loads of hosts are summed from.
      { fields: ['clusterExtId', 'hostExtId', 'isPinned', 'memoryBytes', 'vcpus', 'vmExtId'] },
    ],
    ofCluster: { by: 'clusterExtId' },
  },
)
