/** Source: behaviour vmm.md 3.1, 3.2. */
import { arrayOf, boolean, integer, object, optional, resource, uuid } from '@hyperplane/contract'

/** Reserved memory and CPUs, from placement until power-off; on both hosts during a migration. Written with the check of the capacity. */
export const HostAllocation = resource('internal.v1.vmm.HostAllocation', {
  fields: {
    vmExtId: uuid(),
    hostExtId: uuid(),
    clusterExtId: uuid(),
    memoryBytes: integer(),
    vcpus: integer(),
    isPinned: boolean(),
    virtualGpus: optional(arrayOf(integer())),
    /** Virtual functions of host NICs that its NICs have. */
    virtualFunctions: optional(arrayOf(object('', { nicExtId: uuid(), hostNicExtId: uuid() }))),
  },
  indexed: ['vmExtId', 'hostExtId', 'clusterExtId', 'memoryBytes', 'vcpus', 'isPinned'],
  unique: [{ fields: ['vmExtId', 'hostExtId'] }],
  summed: { by: ['clusterExtId', 'hostExtId', 'isPinned'], of: ['memoryBytes', 'vcpus'] },
  ofCluster: { by: 'clusterExtId' },
})
