/** Admits mutations of a VM to its task queue. Source: behaviour vmm.md 1.0, 1.1 (states). */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import { rowWithId } from '../../../core/standard.ts'
import type { Reader } from '../../../store/store.ts'
import type { AffectedEntity, RecordContext, WriteContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { describedOperation, requireShortQueue } from '../admission.ts'
import { requireState, type StateBound } from './states.ts'

export interface OfVm {
  readonly vmExtId: string
}

/**
 * Raises the version, so that only one of two requests with the same tag is admitted. The power state is checked if no other task comes
 * first, and by the task in any case. @throws ApiError 409 VM_BUSY, INVALID_POWER_STATE; 503
 */
export async function admitVm(ctx: WriteContext, vm: VmEntity, operation?: StateBound): Promise<VmEntity> {
  await requireClusterReachable(ctx, vm.cluster?.extId)
  const waiting = requireShortQueue(ctx, vm.extId, vm.name)
  if (waiting > 0) requireNoMigration(vm, operation)
  if (waiting === 0 && operation !== undefined) requireState(vm, operation)
  await ctx.store.touch(Vm, vm.extId)
  return vm
}

/** @throws ApiError 409 VM_BUSY while the VM migrates; a power-off of a running VM cancels the migration */
export function requireNoMigration(vm: VmEntity, operation?: StateBound): void {
  if (vm.migrationTaskExtId === undefined || (operation === 'power-off' && vm.powerState !== 'OFF')) return
  throw new ApiError('VM_BUSY', { name: vm.name, reason: 'it is being migrated' })
}

/** The VM when its task runs. @throws ApiError when the VM is deleted, or in a state that forbids the operation */
export async function requireVm(store: Reader, vmExtId: string, operation?: StateBound): Promise<VmEntity> {
  const vm = await rowWithId(store, Vm, vmExtId)
  if (operation !== undefined) requireState(vm, operation)
  return vm
}

/** A failed mutation raises the version as well. */
export async function endUnchanged(ctx: RecordContext, { vmExtId }: OfVm): Promise<void> {
  if (await ctx.store.has(Vm, vmExtId)) await ctx.store.touch(Vm, vmExtId)
}

export const affectedVm = (vm: Pick<VmEntity, 'extId' | 'name'>): AffectedEntity => ({
  extId: vm.extId,
  name: vm.name,
  rel: Vm.rel,
})

export function taskOf(
  operation: string,
  vm: Pick<VmEntity, 'extId' | 'name' | 'cluster'>,
): { operation: string; description: string; affected: AffectedEntity[]; clusterExtIds: string[] } {
  const description = describedOperation(operation)
  return { operation, description, affected: [affectedVm(vm)], clusterExtIds: [vm.cluster?.extId as string] }
}
