/** Source: catalogue vmm.json; behaviour vmm.md 1.5, 2. */
import { create, get, list, remove, resource } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { vmMutationRate, vmReaders, vmWriters } from '../../roles.ts'

export const PcieDeviceReference = s.object('vmm.v4.ahv.config.PcieDeviceReference', {
  deviceExtId: s.optional(s.uuid()),
})

export const PcieDevice = resource('vmm.v4.ahv.config.PcieDevice', {
  fields: {
    backingInfo: s.optional(s.oneOf(PcieDeviceReference)),
    assignedDeviceInfo: s.readOnly(
      s.object('vmm.v4.ahv.config.PcieDeviceInfo', { device: s.optional(PcieDeviceReference) }),
    ),
  },
  iamNoun: 'Virtual_Machine_PCIE_Device',
  kind: 'VirtualMachinePcieDevice',
  title: 'PCIe device',
  derived: true,
  internal: { vmExtId: s.uuid() },
  parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId', listedIn: 'pcieDevices' },
  rel: 'vmm:ahv:config:vm:pciedevice',
  sharesTagOf: 'vmExtId',
})

const view = { roles: vmReaders } as const
const change = { roles: vmWriters, rateLimit: vmMutationRate, ifMatch: 'required', requestId: 'required' } as const

const devices = '/ahv/config/vms/{vmExtId}/pcie-devices'

export const pcieDeviceOperations = {
  listPcieDevicesByVmId: list(devices, PcieDevice, view),
  createPcieDevice: create(devices, PcieDevice, change),
  getPcieDeviceById: get(`${devices}/{extId}`, PcieDevice, view),
  deletePcieDeviceById: remove(`${devices}/{extId}`, PcieDevice, change),
}
