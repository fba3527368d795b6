/** Refuses fields that are not implemented: they must never be accepted and ignored. */
import { ApiError } from '../../../core/api-error.ts'
import { nvramOf, type VmBody } from '../../virtual-machines/entity.ts'
import { isEmulated } from '../../virtual-machines/virtual-functions.ts'
import type { NicBody } from './parts/nics.ts'

const unbuiltSources: Readonly<Record<string, string>> = {
  'vmm.v4.ahv.config.VolumeDiskRecoveryPointReference': 'a disk of a volume group recovery point',
}

/** @throws ApiError 501 naming the first such field */
export function refuseUnbuilt(operation: string, body: VmBody): void {
  for (const { backingInfo } of [...(body.disks ?? []), ...(body.cdRoms ?? [])])
    refuseUnbuiltSource(operation, backingInfo)
  refuseUnbuiltSource(operation, nvramOf(body))
}

export function refuseUnbuiltNic(operation: string, nic: NicBody): void {
  if (!isEmulated(nic))
    throw new ApiError('NOT_IMPLEMENTED', { operation: `${operation} with a NIC that uses SR-IOV or offload` })
}

export function refuseUnbuiltSource(operation: string, backing: object | undefined): void {
  const { dataSource } = (backing ?? {}) as { dataSource?: { reference?: { $objectType?: string } } }
  const source = unbuiltSources[dataSource?.reference?.$objectType ?? '']
  if (source !== undefined) throw new ApiError('NOT_IMPLEMENTED', { operation: `${operation} with ${source}` })
}
