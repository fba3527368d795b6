/** Source: behaviour vmm.md 3.1, 3.2. */
import { arrayOf, boolean, integer, object, optional, resource, uuid } from '@hyperplane/contract'

/**
 * Memory and CPUs that a host reserves for a VM from placement until power-off; during a migration on both hosts.
 * Written in the transaction that counted the free capacity.
 */
export const HostAllocation = resource('internal.v1.vmm.HostAllocation', {
  fields: {
    vmExtId: uuid(),
    hostExtId: uuid(),
    clusterExtId: uuid(),
    memoryBytes: integer(),
    vcpus: integer(),
    isPinned: boolean(),
    /** Device ids of the types of its virtual GPUs. */
    virtualGpus: optional(arrayOf(integer())),
    /** Virtual functions of host NICs that its NICs have. */
    virtualFunctions: optional(arrayOf(object('', { nicExtId: uuid(), hostNicExtId: uuid() }))),
  },
  indexed: ['vmExtId', 'hostExtId', 'clusterExtId', 'memoryBytes', 'vcpus', 'isPinned'],
  unique: [{ fields: ['vmExtId', 'hostExtId'] }],
  summed: { by: ['clusterExtId', 'hostExtId', 'isPinned'], of: ['memoryBytes', 'vcpus'] },
  ofCluster: { by: 'clusterExtId' },
})
