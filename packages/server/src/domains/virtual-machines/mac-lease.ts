/** Leases of MAC addresses; shown by no operation. Source: behaviour vmm.md 1.4. */
import { optional, resource, text, uuid } from '@hyperplane/contract'

/** Who has a MAC address, and on which subnet: one table for the whole deployment, one row a NIC. */
export const MacLease = resource(
  'internal.v1.vmm.MacLease',
  { macAddress: text(), nicExtId: uuid(), vmExtId: uuid(), subnetExtId: optional(uuid()) },
  {
    title: 'NIC',
    indexed: ['nicExtId', 'subnetExtId', 'vmExtId'],
    unique: [{ fields: ['macAddress'], error: 'ADDRESS_IN_USE' }],
    ofCluster: { by: 'vmExtId', partOf: 'Vm' },
  },
)
