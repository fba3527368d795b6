/** PCIe devices of hosts, with the VMs that have them. Source: behaviour clustermgmt.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { type PcieDevice, pcieDeviceOperations } from '@hyperplane/contract/clustermgmt/pcie-device'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { listOf, visibleRows } from '../../core/standard.ts'
import { implement, type ReadContext } from '../context.ts'
import { DeviceClaim } from '../scheduling/device-claim.ts'

type Device = EntityOf<typeof PcieDevice>

export const pcieDevice = implement(pcieDeviceOperations, {
  listPcieDevices: async (ctx, request) => listOf(await visibleDevices(ctx), request),
})

/** Devices of the clusters that the caller may see. */
async function visibleDevices(ctx: ReadContext): Promise<readonly Device[]> {
  const devices: Device[] = []
  for (const { extId } of await visibleRows(ctx, Cluster)) {
    const claims = await ctx.store.findWhere(DeviceClaim, { clusterExtId: extId })
    const owners = new Map(claims.map(({ deviceExtId, vmExtId }) => [deviceExtId, vmExtId]))
    for (const device of ctx.drivers.hardware.devicesOf(extId)) {
      if (device.kind !== 'PCIE') continue
      const { clusterExtId, hostExtId, name: description, type, configuration } = device
      const owned = await ownerOf(ctx, owners.get(device.extId))
      devices.push({ extId: device.extId, description, clusterExtId, hostExtId, type, configuration, ...owned })
    }
  }
  return devices
}

async function ownerOf(ctx: ReadContext, vmExtId: string | undefined): Promise<Pick<Device, 'ownerVmExtId' | 'state'>> {
  if (vmExtId === undefined) return { state: 'UVM_AVAILABLE' }
  const vm = await ctx.store.get(Vm, vmExtId)
  const isOff = (vm?.powerState ?? 'OFF') === 'OFF'
  return { state: isOff ? 'UVM_RESERVED' : 'UVM_ASSIGNED', ownerVmExtId: vmExtId }
}
