/** Whether a VM can use a subnet from where it is. Source: behaviour vmm.md 1.4; networking.md 1.4. */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'
import type { VmEntity } from '../virtual-machines/entity.ts'
import { overlaySwitchOf } from './overlay-switches.ts'

/** @returns the refusal when the subnet is not on the VM's cluster, or not on the host of a VM that runs */
export async function unreachableSubnet(store: Reader, vm: VmEntity, subnet: Subnet): Promise<ApiError | undefined> {
  const isOverlay = subnet.subnetType === 'OVERLAY'
  if (!isOverlay && subnet.clusterReference !== undefined && subnet.clusterReference !== vm.cluster?.extId)
    return new ApiError('CONFLICT', { fault: `The subnet ${subnet.name} is not on the cluster of VM ${vm.name}.` })
  const host = vm.host?.extId === undefined ? undefined : await store.get(Host, vm.host.extId)
  const switchExtId = isOverlay ? await overlaySwitchOf(store, vm.cluster?.extId) : subnet.virtualSwitchReference
  if (host === undefined || switchExtId === undefined) return undefined
  const found = await store.get(VirtualSwitch, switchExtId)
  if (found?.clusters.some(({ hosts }) => hosts.some(({ extId }) => extId === host.extId)) === true) return undefined
  const reasons = `${host.hostName}: network: the virtual switch of subnet ${subnet.name} is missing`
  return new ApiError('NO_HOST_FOR_VM', { name: vm.name, reasons })
}
