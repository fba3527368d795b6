/** ISOs that the service puts into drives of a VM. Source: behaviour vmm.md 1.1 (customize-guest), 1.3, 1.5. */
import { ApiError } from '../../../../core/api-error.ts'
import type { CdRomEntity, FileBacking, VmEntity } from '../../../virtual-machines/entity.ts'
import { assignSlots, type Slot, slotsTaken } from '../parts/slots.ts'

export type IsoType = 'GUEST_CUSTOMIZATION' | 'GUEST_TOOLS'
type Drives = { readonly cdRoms: VmEntity['cdRoms'] }

const maximumDrives = 10

export const isoIn = (vm: VmEntity, type: IsoType): FileBacking | undefined =>
  vm.cdRoms?.find(({ isoType }) => isoType === type)?.backingInfo

/** The drives with the ISO in the first empty one; undefined: none is empty. */
export function insertedIso(vm: VmEntity, isoType: IsoType, backingInfo: FileBacking): Drives | undefined {
  const drives = vm.cdRoms ?? []
  const empty = drives.findIndex((drive) => drive.backingInfo === undefined)
  if (empty < 0) return undefined
  return { cdRoms: drives.map((drive, index) => (index === empty ? { ...drive, backingInfo, isoType } : drive)) }
}

/** @throws ApiError ADDRESS_IN_USE if the VM has no place for another drive */
export function addedDrive(vm: VmEntity, extId: string, isoType: IsoType, backingInfo: FileBacking): Drives {
  const drive: CdRomEntity = { extId, diskAddress: freeSlot(vm) as CdRomEntity['diskAddress'], backingInfo, isoType }
  return { cdRoms: [...(vm.cdRoms ?? []), drive] }
}

function freeSlot(vm: VmEntity): Slot {
  const buses = vm.machineType === 'Q35' ? (['SATA'] as const) : (['IDE', 'SATA'] as const)
  for (const busType of buses) {
    const [slot] = assignSlots([{ path: 'cdRoms', busType }], slotsTaken(vm)).slots
    if (slot !== undefined && (vm.cdRoms ?? []).length < maximumDrives) return slot
  }
  throw new ApiError('ADDRESS_IN_USE', {
    kind: 'CD-ROM drive',
    fields: 'place: the ISO needs an empty drive, or a place for one more',
  })
}

/** The drives without the ISO, and without the drive `addedExtId` that was added for it. */
export function ejectedIso(vm: VmEntity, type: IsoType, addedExtId: string | undefined): Drives {
  const drives = (vm.cdRoms ?? []).flatMap((drive): CdRomEntity[] => {
    if (drive.isoType !== type) return [drive]
    if (drive.extId === addedExtId) return []
    const { backingInfo: _ejected, ...empty } = drive
    return [{ ...empty, isoType: 'OTHER' }]
  })
  return { cdRoms: drives.length === 0 ? undefined : drives }
}
