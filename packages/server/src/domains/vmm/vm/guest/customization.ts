/**
 * The ISO is in a drive from the next power-on until 30 s after the boot; then a drive that was added for it is removed.
 * Source: behaviour vmm.md 1.1 (customize-guest, power-on), 1.3, 3.3.
 */

import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { GuestView } from '../../../../drivers/hypervisor.ts'
import type { Schedule } from '../../../context.ts'
import type { FileBacking, VmEntity } from '../../../virtual-machines/entity.ts'
import { addedDrive, ejectedIso, insertedIso, isoIn } from './iso.ts'

const isoBytes = 1024 ** 2
const keptAfterBootMillis = 30_000
const type = 'GUEST_CUSTOMIZATION'

export const isoOf = (vm: VmEntity): FileBacking | undefined => isoIn(vm, type)

/** Into the first empty drive, else into an added one. @throws ApiError ADDRESS_IN_USE if full */
export function withIso(vm: VmEntity, containerExtId: string, newId: () => string): Partial<VmEntity> {
  const iso = { diskExtId: newId(), diskSizeBytes: isoBytes, storageContainer: { extId: containerExtId } }
  const inserted = insertedIso(vm, type, iso)
  if (inserted !== undefined) return { ...inserted, hasCustomizationIso: true }
  const addedDriveExtId = newId()
  return { ...addedDrive(vm, addedDriveExtId, type, iso), hasCustomizationIso: true, addedDriveExtId }
}

export function withoutIso(vm: VmEntity): Partial<VmEntity> {
  if (vm.hasCustomizationIso !== true) return {}
  const { cdRoms } = ejectedIso(vm, type, vm.addedDriveExtId)
  return { cdRoms, hasCustomizationIso: undefined, addedDriveExtId: undefined } as Partial<VmEntity>
}

/** Deletes the file of the ISO; a start creates it again if the customisation is still pending. */
export async function deleteIso(ctx: { readonly drivers: Drivers }, vm: VmEntity | undefined): Promise<void> {
  const iso = vm === undefined ? undefined : isoOf(vm)
  if (iso !== undefined) await ctx.drivers.hypervisor.deleteDisk(iso.diskExtId as string)
}

export const customizationOver = (vm: VmEntity): Partial<VmEntity> =>
  ({ ...withoutIso(vm), guestCustomization: undefined, vmGuestCustomizationStatus: undefined }) as Partial<VmEntity>

export const isIsoEjected = (view: GuestView, now: number): boolean =>
  view.isCustomizationDone && view.upSince !== undefined && now >= view.upSince + keptAfterBootMillis

/** Deletes the files of ejected ISOs, and stores the shown drives. */
export const ejectIsos: Schedule = {
  name: 'vmm.eject-customization-isos',
  everySeconds: 10,
  watch: ({ store }, changed) => store.watch([Vm], changed),
  async run({ drivers, store, clock }) {
    const inserted = await store.findWhere(Vm, { hasCustomizationIso: true })
    for (const { extId } of inserted) {
      const view = (await drivers.hypervisor.observeGuests([extId])).get(extId)
      const vm = await store.get(Vm, extId)
      const iso = vm === undefined ? undefined : isoOf(vm)
      if (view === undefined || iso === undefined || !isIsoEjected(view, clock.now())) continue
      // Delete the file first: after a crash, the next run finds the row that still names it.
      await drivers.hypervisor.endCustomization(extId, iso.diskExtId as string)
      await store.transaction(async (transaction) => {
        const now = await transaction.get(Vm, extId)
        if (now === undefined || isoOf(now)?.diskExtId !== iso.diskExtId) return
        await transaction.observe(Vm, extId, customizationOver(now))
      })
    }
    if (inserted.length > 0) return 'again'
  },
}
