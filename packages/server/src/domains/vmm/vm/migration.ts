/** An earlier step reserves the target, this one moves the VM, a later one records it. Source: behaviour vmm.md 1.0 (host), 3.5. */

import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { type RecordContext, type Step, type StepContext, throwIfCanceled } from '../../context.ts'
import { releaseReservation } from '../../scheduling/scheduler.ts'
import { notePower } from '../../virtual-machines/power-journal.ts'
import { type OfVm, requireVm } from './admission.ts'

/** The part of the migration that comes before the VM is paused. */
const copiedPart = 0.88

export interface OnHost {
  readonly hostExtId: string
}

export const chosenHost = (ctx: Pick<StepContext, 'outputs'>, step: string): string | undefined =>
  (ctx.outputs[step] as OnHost | undefined)?.hostExtId

export const movedTo = (ctx: Pick<StepContext, 'outputs'>): string | undefined => chosenHost(ctx, 'move')

/** @param reserving earlier step whose output is the reserved host @param from progress of the task at the beginning */
export const moveStep = (reserving: string, progress: number, from: number): Step<OfVm> => ({
  name: 'move',
  progress,
  run: async (ctx, { vmExtId }) => {
    const target = chosenHost(ctx, reserving)
    // Nothing was reserved: the VM is to stay, or is deleted.
    if (target === undefined) return undefined
    const { host } = await requireVm(ctx.store, vmExtId)
    // A VM that has stopped since the reservation has no host.
    if (host === undefined || target === host.extId) return undefined
    await ctx.drivers.hypervisor.migrateVm(vmExtId, target, (share) => reportCopied(ctx, from, progress, share))
    return { hostExtId: target }
  },
  undo: async (ctx, { vmExtId }) => {
    const { hardware, hypervisor } = ctx.drivers
    const host = (await ctx.store.get(Vm, vmExtId))?.host?.extId
    const target = chosenHost(ctx, reserving)
    if (host === undefined || target === undefined || target === host) return
    // If one of the hosts does not answer, the VM cannot migrate back: record that it runs on the target.
    const isStuck = !hardware.isHostUp(host) || !hardware.isHostUp(target)
    if (isStuck && movedTo(ctx) !== undefined)
      await ctx.checkpoint(undefined, (record) => recordMove(record, vmExtId, target))
    else await hypervisor.migrateVm(vmExtId, host)
  },
})

/** Until the domain switches over, a request to cancel the task ends the migration. */
async function reportCopied(ctx: StepContext, from: number, to: number, share: number): Promise<void> {
  throwIfCanceled(ctx)
  await ctx.progress(from + (to - from) * copiedPart * share)
}

/** Records the new host and releases the reservation on the former one; the entity tag stays. */
export async function recordMove(ctx: RecordContext, vmExtId: string, hostExtId: string): Promise<void> {
  const now = ctx.clock.iso()
  const former = (await requireVm(ctx.store, vmExtId)).host?.extId
  // The VM stopped while it moved: it runs nowhere and needs no reservation.
  if (former === undefined) return releaseReservation(ctx.store, vmExtId)
  const changes = { host: { extId: hostExtId }, lastHostExtId: hostExtId, updateTime: now }
  const stored = await ctx.store.observe(Vm, vmExtId, changes)
  await releaseReservation(ctx.store, vmExtId, former)
  await notePower(ctx.store, ctx.ids, stored, 'MOVED', now)
}
