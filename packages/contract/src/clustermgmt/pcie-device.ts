/** PCIe devices of hosts that VMs may have. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.7, 2. */
import { names } from '../names.ts'
import { list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { deviceReaders } from './roles.ts'

const number = () => s.readOnly(s.integer())

export const PcieDeviceConfiguration = s.object('clustermgmt.v4.ahv.config.PcieDeviceConfiguration', {
  classId: number(),
  deviceId: number(),
  progIFace: number(),
  subClassId: number(),
  subSystemId: number(),
  subSystemVendorId: number(),
  vendorId: number(),
})

export const PcieDevice = resource('clustermgmt.v4.ahv.config.PcieDevice', {
  fields: {
    description: s.readOnly(s.text()),
    clusterExtId: s.readOnly(s.uuid()),
    hostExtId: s.readOnly(s.uuid()),
    /** UVM_RESERVED: its VM is OFF. UVM_ASSIGNED: its VM runs. */
    state: s.readOnly(s.enumeration(['UVM_AVAILABLE', 'UVM_RESERVED', 'UVM_ASSIGNED', 'HOST_BROKEN', 'HOST_UNUSED'])),
    ownerVmExtId: s.readOnly(s.uuid()),
    type: s.since('v4.2', s.readOnly(s.enumeration(['ENCRYPTION_DECRYPTION_CONTROLLER', 'PROCESSING_ACCELERATOR']))),
    configuration: s.readOnly(PcieDeviceConfiguration),
  },
  title: 'PCIe device',
  derived: true,
})

export const pcieDeviceOperations = {
  listPcieDevices: list('/ahv/config/pcie-devices', PcieDevice, {
    iam: 'View_PCIE_Device',
    roles: deviceReaders,
    rateLimit: perSecond(5, 5, 10, 10),
    filter: names(`
      clusterExtId, configuration/classId, configuration/deviceId, configuration/progIFace, configuration/subClassId,
      configuration/subSystemId, configuration/subSystemVendorId, configuration/vendorId, extId, hostExtId,
      ownerVmExtId, state
    `),
    select: names(`
      clusterExtId, configuration, description, extId, hostExtId, links, ownerVmExtId, state, tenantId, type
    `),
  }),
}
