/**
 * What a change of power writes: the row, what it holds of its host, the journal. Shared by the operations, and by the
 * world, which changes it as well. Source: behaviour vmm.md 1.1 (states), 3.8.
 */

import { Vm } from '@hyperplane/contract/vmm/vm'
import type { Ids } from '../../../core/caller.ts'
import type { Clock } from '../../../core/time/clock.ts'
import type { Transaction } from '../../../store/store.ts'
import { giveBack } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { notePower, type PowerChange } from '../../virtual-machines/power-journal.ts'
import { customizationOver, withoutIso } from './customization.ts'

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

/** Live migration moves memory alone: not what is bound to a host. */
export const isMovable = (vm: VmEntity): boolean =>
  vm.isAgentVm !== true && vm.isCpuPassthroughEnabled !== true && vm.isVcpuHardPinningEnabled !== true

/** It runs on this host, where it holds what it takes. */
export async function becomeOn(ctx: Recording, vm: VmEntity, hostExtId: string): Promise<void> {
  await setPower(ctx, vm, vm.powerState === 'PAUSED' ? 'RESUMED' : 'ON', {
    powerState: 'ON',
    host: { extId: hostExtId },
    lastHostExtId: hostExtId,
    hostSilentSince: undefined,
    isLiveMigrateCapable: isMovable(vm),
  })
}

/** It holds nothing of a host any more. `isCustomizationDone`: the last boot used the staged customisation up. */
export async function becomeOff(ctx: Recording, vm: VmEntity, isCustomizationDone: boolean): Promise<void> {
  await giveBack(ctx.store, vm.extId)
  await setPower(ctx, vm, 'OFF', {
    powerState: 'OFF',
    host: undefined,
    hostSilentSince: undefined,
    isLiveMigrateCapable: undefined,
    // One that was not used up gets its ISO anew at the next start.
    ...(isCustomizationDone ? customizationOver(vm) : withoutIso(vm)),
  })
}
