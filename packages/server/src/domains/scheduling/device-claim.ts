/** Devices of hosts that belong to VMs: an internal record that no operation shows. Source: behaviour vmm.md 1.5. */
import { resource, uuid } from '@hyperplane/contract'

/** From the creation of the VM's GPU or PCIe device until its removal, also while the VM is OFF. */
export const DeviceClaim = resource('internal.v1.vmm.DeviceClaim', {
  fields: {
    deviceExtId: uuid(),
    vmExtId: uuid(),
    /** GPU or PCIe device; equal to the `extId` of the claim. */
    partExtId: uuid(),
    hostExtId: uuid(),
    clusterExtId: uuid(),
  },
  title: 'device',
  indexed: ['vmExtId', 'clusterExtId'],
  unique: [{ fields: ['deviceExtId'], error: 'ADDRESS_IN_USE' }],
  ofCluster: { by: 'clusterExtId' },
})
