/** Adds fields that are shown but not stored, so the entity tag stays. Source: behaviour vmm.md 1.0, 1.1, 1.4, 3.3. */

import { Derivation } from '../../../core/derivation.ts'
import { seedId } from '../../../core/ids/named-id.ts'
import type { GuestView } from '../../../drivers/hypervisor.ts'
import { attachmentsWith, withAttached } from '../../block-volumes/attachments.ts'
import type { ReadContext } from '../../context.ts'
import type { NicEntity, VmEntity } from '../../virtual-machines/entity.ts'
import { shownNic, virtualFunctionOf } from '../../virtual-machines/virtual-functions.ts'
import { isIsoEjected, withoutIso } from './guest/customization.ts'
import { seenTools } from './guest/tools-of.ts'
import { withHydration } from './hydrated.ts'

export const localZone = { extId: seedId('availability-zone/local') }

const presented = new Derivation<VmEntity, VmEntity>()

export async function presentVms(ctx: ReadContext, rows: readonly VmEntity[]): Promise<readonly VmEntity[]> {
  const vms = withHydration(ctx, rows)
  const running = vms.filter(({ powerState }) => powerState === 'ON').map(({ extId }) => extId)
  const views =
    running.length === 0 ? new Map<string, GuestView>() : await ctx.drivers.hypervisor.observeGuests(running)
  const now = ctx.clock.now()
  const isHydrating = vms.some((vm, index) => vm !== rows[index])
  const areSettled = running.every((extId) => isSettled(views.get(extId), now))
  if (areSettled && !isHydrating) ctx.followsStore()
  const extIds = vms.map(({ extId }) => extId)
  const attachments = await attachmentsWith(ctx.store, 'vmExtId', extIds)
  return vms.map((vm) => {
    const view = views.get(vm.extId)
    const isEjected = view !== undefined && isIsoEjected(view, now)
    const attached = attachments.get(vm.extId) ?? []
    return presented.of(vm, [isEjected, ...inputsOf(vm, view), ...attached], () =>
      shown(withAttached(vm, attached), view, isEjected),
    )
  })
}

const isSettled = (view: GuestView | undefined, now: number): boolean =>
  view?.isSettled === true && isIsoEjected(view, now)

const inputsOf = ({ nics = [] }: VmEntity, view: GuestView | undefined): readonly unknown[] =>
  view === undefined
    ? []
    : [
        view.areToolsReachable,
        view.bootedAt,
        view.system?.dnsName,
        view.isCustomizationDone,
        ...nics.map(({ extId }) => view.learnedAddresses.get(extId as string)?.join(' ')),
      ]

function shown(stored: VmEntity, view: GuestView | undefined, isEjected: boolean): VmEntity {
  const vm = isEjected ? { ...stored, ...withoutIso(stored) } : stored
  const { nics, guestTools, vmGuestCustomizationStatus, ...rest } = vm
  return {
    ...rest,
    availabilityZone: localZone,
    ...(nics === undefined ? {} : { nics: nics.map((nic) => shownNic(withLearned(nic, view))) }),
    ...(guestTools === undefined ? {} : { guestTools: seenTools(vm, view) }),
    ...(vmGuestCustomizationStatus === undefined || view?.isCustomizationDone === true
      ? {}
      : { vmGuestCustomizationStatus }),
  } as VmEntity
}

/** Addresses seen in use by the guest, in both pairs of fields. */
function withLearned(nic: NicEntity, view: GuestView | undefined): NicEntity {
  const learned = view?.learnedAddresses.get(nic.extId as string)
  if (learned === undefined) return nic
  if (virtualFunctionOf(nic)?.type === 'SRIOV') return nic
  const ipv4Info = { learnedIpAddresses: learned.map((value) => ({ value, prefixLength: 32 })) }
  return {
    ...nic,
    networkInfo: { ...nic.networkInfo, ipv4Info },
    nicNetworkInfo: { ...nic.nicNetworkInfo, ipv4Info },
  } as NicEntity
}
