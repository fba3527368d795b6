/** Source: behaviour vmm.md 1.4. */
import { optional, resource, text, uuid } from '@hyperplane/contract'

/** For MAC addresses that the service chooses. */
export const chosenMacPrefix = '50:6b:8d'

export const MacLease = resource('internal.v1.vmm.MacLease', {
  fields: { macAddress: text(), nicExtId: uuid(), vmExtId: uuid(), subnetExtId: optional(uuid()) },
  title: 'NIC',
  indexed: ['nicExtId', 'subnetExtId', 'vmExtId'],
  unique: [{ fields: ['macAddress'], error: 'ADDRESS_IN_USE' }],
  ofCluster: { by: 'vmExtId', partOf: 'Vm' },
})
