/** The guest tools of a VM, as its row and its guest tell. Source: behaviour vmm.md 1.5. */
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { GuestView } from '../../../../drivers/hypervisor.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { shownTools, type Tools, type ToolsOfVm } from '../../guest-tools/guest-tools.ts'
import { isoIn } from './iso.ts'

export async function toolsOf({ hypervisor }: Pick<Drivers, 'hypervisor'>, vm: VmEntity): Promise<ToolsOfVm> {
  const view = (await hypervisor.observeGuests([vm.extId])).get(vm.extId)
  return { name: vm.name, tools: vm.guestTools, isReachable: view?.areToolsReachable === true }
}

export function seenTools(vm: VmEntity, view: GuestView | undefined): Tools {
  const isReachable = view?.areToolsReachable === true
  const isIsoInserted = isoIn(vm, 'GUEST_TOOLS') !== undefined
  const shown = shownTools(vm.guestTools, {
    isReachable,
    isIsoInserted,
    bootedAt: view?.bootedAt,
    system: view?.system,
  })
  return isReachable ? { ...shown, isCommunicationActiveOverSerialPort: view.learnedAddresses.size === 0 } : shown
}
