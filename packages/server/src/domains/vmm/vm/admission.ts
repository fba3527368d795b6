/**
 * What every mutation of a VM passes before it becomes a task, and how the task ends: the entity tag rises at both.
 * Source: behaviour vmm.md 1.0 (entity tag, serialisation), 1.1 (states).
 */
import { Vm } from '@hyperplane/contract/vmm/vm'
import { ApiError } from '../../../core/api-error.ts'
import { notFound } from '../../../core/standard.ts'
import type { AffectedEntity, RecordContext } from '../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Reader } from '../../../store/store.ts'
import type { WriteContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { requireState, type StateBound } from './states.ts'

/** Mutations of one VM that may wait or run. */
const longestQueue = 20

export interface OfVm {
  readonly vmExtId: string
}

/**
 * Takes the mutation into the VM's queue: the tag rises, so that of two requests with one tag one is admitted. What the
 * VM will be when its turn comes is known only while nothing waits; the task asks again either way.
 * @throws ApiError 409 VM_BUSY, INVALID_POWER_STATE; 503
 */
export async function admit(ctx: WriteContext<VmEntity>, operation?: StateBound): Promise<VmEntity> {
  const vm = ctx.target
  await requireClusterReachable(ctx, vm.cluster?.extId)
  const waiting = ctx.services.runner.queueAhead(vm.extId)
  if (waiting > longestQueue)
    throw new ApiError('VM_BUSY', { name: vm.name, reason: `${waiting} operations wait already` })
  if (waiting === 0 && operation !== undefined) requireState(vm, operation)
  await ctx.store.touch(Vm, vm.extId)
  return vm
}

/** The VM when the task's turn has come. @throws ApiError when it is gone, or in another state */
export async function present(store: Reader, vmExtId: string, operation?: StateBound): Promise<VmEntity> {
  const vm = await store.get(Vm, vmExtId)
  if (vm === undefined) throw notFound(Vm, Vm.kind, vmExtId, 'extId')
  if (operation !== undefined) requireState(vm, operation)
  return vm
}

/** A mutation that came to nothing raises the tag as well. */
export async function endUnchanged(ctx: RecordContext<Drivers>, { vmExtId }: OfVm): Promise<void> {
  if ((await ctx.store.get(Vm, vmExtId)) !== undefined) await ctx.store.touch(Vm, vmExtId)
}

export const affectedVm = (vm: Pick<VmEntity, 'extId' | 'name'>): AffectedEntity => ({
  extId: vm.extId,
  name: vm.name,
  rel: Vm.rel as string,
})

/** What every task of a VM says of itself: `PowerOnVm` / `Power On VM`. */
export function taskOf(
  operation: string,
  vm: VmEntity,
): { operation: string; description: string; affected: AffectedEntity[]; clusterExtIds: string[] } {
  const description = operation.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/\bVm\b/, 'VM')
  return { operation, description, affected: [affectedVm(vm)], clusterExtIds: [vm.cluster?.extId as string] }
}
