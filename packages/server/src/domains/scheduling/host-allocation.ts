/** What VMs hold of hosts; shown by no operation. Source: behaviour vmm.md 3.1, 3.2. */
import { boolean, integer, resource, uuid } from '@hyperplane/contract'

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
    ofCluster: { by: 'clusterExtId' },
  },
)
