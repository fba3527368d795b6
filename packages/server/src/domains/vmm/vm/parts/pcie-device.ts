/** PCIe devices of a VM. Source: behaviour vmm.md 1.5, 1.16. */
import { PcieDevice, pcieDeviceOperations } from '@hyperplane/contract/vmm/vm/parts/pcie-device'
import { implement } from '../../../context.ts'
import { deviceOperations, devicesHaveOneOwner, type PcieBody, pcieFaults } from './devices.ts'

const { reads, create, remove } = deviceOperations<'pcieDevices', PcieBody>({
  resource: PcieDevice,
  field: 'pcieDevices',
  maximum: 64,
  path: 'backingInfo/deviceExtId',
})

export const pcieDevice = implement(
  pcieDeviceOperations,
  {
    listPcieDevicesByVmId: reads.list,
    createPcieDevice: create.handle,
    getPcieDeviceById: reads.get,
    deletePcieDeviceById: remove.handle,
  },
  {
    rules: { createPcieDevice: ({ body }) => pcieFaults(body) },
    tasks: [create.task, remove.task],
    invariants: [devicesHaveOneOwner],
  },
)
