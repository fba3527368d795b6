/** Admits mutations of an external VM to its task queue. Source: behaviour vmm.md 1.0, 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { ApiError } from '../../../core/api-error.ts'
import { rowWithId } from '../../../core/standard.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Reader } from '../../../store/store.ts'
import {
  type AffectedEntity,
  DriverError,
  type RecordContext,
  type TaskOptions,
  type WriteContext,
} from '../../context.ts'
import { describedOperation, requireShortQueue } from '../admission.ts'

export type ExternVmEntity = EntityOf<typeof ExternVm>
export type State = NonNullable<ExternVmEntity['powerState']>

/** Other states mean that the management is not connected. */
export const connectedStates = ['OFF', 'ON', 'SUSPENDED'] as const satisfies readonly State[]

export interface OfVm {
  readonly vmExtId: string
}

export const nameOfExternVm = ({ name, extId }: ExternVmEntity): string => name ?? extId

/** Raises the version, so that only one of two requests with the same entity tag is admitted. @throws ApiError 409 VM_BUSY */
export async function admitExternVm(ctx: WriteContext, vm: ExternVmEntity): Promise<ExternVmEntity> {
  requireShortQueue(ctx, vm.extId, nameOfExternVm(vm))
  await ctx.store.touch(ExternVm, vm.extId)
  return vm
}

/** An absent management cannot undo anything: the task ends, and the next poll mirrors the VM. */
export async function undoIfReached(undo: () => Promise<unknown>): Promise<void> {
  try {
    await undo()
  } catch (error) {
    if (!(error instanceof DriverError)) throw error
  }
}

/** @throws ApiError 409 in another state, and always while the management is not connected */
export function requireStates(
  { drivers }: { readonly drivers: Drivers },
  vm: ExternVmEntity,
  operation: string,
  states: readonly State[],
): void {
  const isConnected = drivers.externalHypervisor.isConnected(vm.cluster?.extId ?? '')
  const state = isConnected ? (vm.powerState ?? 'UNDETERMINED') : 'UNDETERMINED'
  if (states.includes(state)) return
  throw new ApiError('INVALID_POWER_STATE', { name: nameOfExternVm(vm), state, operation, states: states.join(' or ') })
}

/** The VM when its task runs. @throws ApiError when its management no longer has the VM */
export async function requireExternVm(store: Reader, vmExtId: string): Promise<ExternVmEntity> {
  return rowWithId(store, ExternVm, vmExtId)
}

/** Raises the version: an entity tag that was read while the task ran is outdated in any case. */
export async function endExternUnchanged(ctx: RecordContext, { vmExtId }: OfVm): Promise<void> {
  if (await ctx.store.has(ExternVm, vmExtId)) await ctx.store.touch(ExternVm, vmExtId)
}

export const affectedExternVm = ({ extId, name }: ExternVmEntity): AffectedEntity => ({
  extId,
  ...(name === undefined ? {} : { name }),
  rel: ExternVm.rel,
})

export const externVmTask = (operation: string, vm: ExternVmEntity): TaskOptions => ({
  operation,
  description: describedOperation(operation),
  affected: [affectedExternVm(vm)],
  ...(vm.cluster?.extId === undefined ? {} : { clusterExtIds: [vm.cluster.extId] }),
})
