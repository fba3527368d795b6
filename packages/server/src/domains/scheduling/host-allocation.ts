/** Source: behaviour vmm.md 3.1, 3.2. */
import { boolean, integer, resource, uuid } from '@hyperplane/contract'

/**
 * Memory and CPUs that a host reserves for a VM from placement until power-off; during a migration on both hosts.
 * Written in the transaction that counted the free capacity.
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
    ofCluster: { by: 'clusterExtId' },
  },
)
