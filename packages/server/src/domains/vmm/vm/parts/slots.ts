/** Addresses of disks and CD-ROM drives on the buses of a VM. Source: behaviour vmm.md 1.2, 1.3. */
import { ApiError } from '../../../../core/api-error.ts'
import type { VmBody, VmEntity } from '../../../virtual-machines/entity.ts'

export type Bus = 'SCSI' | 'IDE' | 'PCI' | 'SATA' | 'SPAPR'

export const slotsOn: Readonly<Record<Bus, number>> = { SCSI: 256, IDE: 4, PCI: 6, SATA: 6, SPAPR: 8 }

export interface Slot {
  readonly busType: Bus
  readonly index: number
}

export const defaultCdRomBus = ({ machineType }: Pick<VmBody, 'machineType'>): Bus =>
  machineType === 'Q35' ? 'SATA' : 'IDE'

export const slotsTaken = (vm: {
  readonly disks?: readonly Placed[] | undefined
  readonly cdRoms?: readonly Placed[] | undefined
}): Slot[] => [...(vm.disks ?? []), ...(vm.cdRoms ?? [])].flatMap(({ diskAddress }) => (diskAddress as Slot) ?? [])

interface Placed {
  readonly diskAddress?: { readonly busType?: Bus; readonly index?: number } | undefined
}

export interface SlotWish {
  readonly path: string
  readonly busType: Bus
  readonly index?: number
}

/** An index without a bus type is ignored. */
export const wishOf = (
  path: string,
  address: { busType?: Bus; index?: number } | undefined,
  defaultBus: Bus,
): SlotWish => ({
  path,
  busType: address?.busType ?? defaultBus,
  ...(address?.busType === undefined || address.index === undefined ? {} : { index: address.index }),
})

/** Assigns the requested indexes first, then the lowest free ones. `slots` are in the order of `wishes`. */
export function assignSlots(
  wishes: readonly SlotWish[],
  taken: readonly Slot[],
): { slots: readonly Slot[]; refusals: readonly ApiError[] } {
  const used = new Set(taken.map(keyOf))
  const slots = new Map<SlotWish, Slot>()
  const refusals: ApiError[] = []
  const isFree = (slot: Slot): boolean => !used.has(keyOf(slot))
  const take = (wish: SlotWish, slot: Slot): void => {
    used.add(keyOf(slot))
    slots.set(wish, slot)
  }
  for (const wish of wishes) {
    if (wish.index === undefined) continue
    const slot = { busType: wish.busType, index: wish.index }
    if (isFree(slot)) take(wish, slot)
    else refusals.push(inUse(wish, `${slot.busType} ${slot.index}`))
  }
  for (const wish of wishes) {
    if (wish.index !== undefined) continue
    const all = Array.from({ length: slotsOn[wish.busType] }, (_, index) => ({ busType: wish.busType, index }))
    const free = all.find(isFree)
    if (free === undefined) refusals.push(inUse(wish, `any ${wish.busType} address`))
    else take(wish, free)
  }
  return { slots: wishes.flatMap((wish) => slots.get(wish) ?? []), refusals }
}

export const misplaced = (wishes: readonly SlotWish[]): ApiError[] => wishes.flatMap(busAddressFaults)

/** `path` of the wish: empty, or that of the disk. */
export function busAddressFaults({ path, busType, index }: SlotWish): ApiError[] {
  if (index === undefined || index < slotsOn[busType]) return []
  const expected = `an index from 0 to ${slotsOn[busType] - 1} on the bus ${busType}`
  const attributePath = `${path === '' ? '' : `${path}/`}diskAddress/index`
  return [new ApiError('VMM_INVALID_ARGUMENT', { attributePath, expected, found: index })]
}

/** @throws ApiError 409 when the VM boots from this address */
export function requireNotBootDevice(
  { name, bootConfig }: Pick<VmEntity, 'name' | 'bootConfig'>,
  { diskAddress }: Placed,
  kind: string,
): void {
  const boot = (bootConfig?.bootDevice as Placed | undefined)?.diskAddress
  if (boot?.busType === undefined || boot.busType !== diskAddress?.busType || boot.index !== diskAddress.index) return
  const users = `bootConfig/bootDevice of the VM ${name}`
  throw new ApiError('VMM_ENTITY_IN_USE', { kind, name: `${boot.busType} ${boot.index}`, users })
}

const inUse = ({ path }: SlotWish, fields: string): ApiError =>
  new ApiError(
    'ADDRESS_IN_USE',
    { kind: 'disk or CD-ROM drive', fields: `address (${fields})` },
    { extra: { attributePath: path } },
  )

const keyOf = ({ busType, index }: Slot): string => `${busType} ${index}`
