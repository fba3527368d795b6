/** Records a change of power: row, reservation, power journal. Source: behaviour vmm.md 1.1 (states), 3.8. */

import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { Ids } from '../../../../core/caller.ts'
import type { Clock } from '../../../../core/time/clock.ts'
import type { Transaction } from '../../../../store/store.ts'
import { releaseReservation } from '../../../scheduling/scheduler.ts'
import { isMovable, type VmEntity } from '../../../virtual-machines/entity.ts'
import { notePower, type PowerChange } from '../../../virtual-machines/power-journal.ts'
import { customizationOver, withoutIso } from '../guest/customization.ts'

export interface Recording {
  readonly store: Transaction
  readonly clock: Clock
  readonly ids: Pick<Ids, 'uuid'>
}

export async function setPower(
  ctx: Recording,
  vm: VmEntity,
  change: PowerChange,
  changes: Partial<VmEntity>,
): Promise<void> {
  const now = ctx.clock.iso()
  const stored = await ctx.store.update(Vm, vm.extId, { ...changes, updateTime: now })
  await notePower(ctx.store, ctx.ids, stored, change, now)
}

/** The guest rebooted without an operation on its power: the tag of the VM stays. */
export async function noteRestart(ctx: Recording, vmExtId: string): Promise<void> {
  const vm = await ctx.store.get(Vm, vmExtId)
  if (vm !== undefined) await notePower(ctx.store, ctx.ids, vm, 'RESET', ctx.clock.iso())
}

export async function setOn(ctx: Recording, vm: VmEntity, hostExtId: string): Promise<void> {
  await setPower(ctx, vm, vm.powerState === 'PAUSED' ? 'RESUMED' : 'ON', {
    powerState: 'ON',
    host: { extId: hostExtId },
    lastHostExtId: hostExtId,
    hostSilentSince: undefined,
    isLiveMigrateCapable: isMovable(vm),
  })
}

/** Releases the reservations. `isCustomizationDone`: the last boot ran the staged customisation. */
export async function setOff(ctx: Recording, vm: VmEntity, isCustomizationDone: boolean): Promise<void> {
  await releaseReservation(ctx.store, vm.extId)
  await setPower(ctx, vm, 'OFF', {
    powerState: 'OFF',
    host: undefined,
    hostSilentSince: undefined,
    isLiveMigrateCapable: undefined,
    // A customisation that has not run gets a new ISO at the next start.
    ...(isCustomizationDone ? customizationOver(vm) : withoutIso(vm)),
  })
}
