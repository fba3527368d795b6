import type { EntityOf } from '@hyperplane/contract'
import type { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { ApiError } from '../../../../core/api-error.ts'

/** @throws ApiError 409 for a recovery point of an external VM: no native cluster has its layers */
export function requireNative({ externVm, extId, name }: EntityOf<typeof VmRecoveryPoint>): void {
  if (externVm === undefined) return
  const fault = `The recovery point "${name ?? extId}" is one of an external VM: nothing can be made from it. Revert that VM to it.`
  throw new ApiError('CONFLICT', { fault })
}
