/** Refuses fields of a VM's body that are not implemented: they must never be accepted and ignored. */
import { ApiError } from '../../../core/api-error.ts'
import type { VmBody } from '../../virtual-machines/entity.ts'
import { isEmulated, type NicBody } from './parts/nics.ts'

const unbuiltSources: Readonly<Record<string, string>> = {
  'vmm.v4.ahv.config.ExternalDataSourceDiskReference': 'a disk of an external repository',
  'vmm.v4.ahv.config.VmDiskRecoveryPointReference': 'a disk of a VM recovery point',
  'vmm.v4.ahv.config.VolumeDiskRecoveryPointReference': 'a disk of a volume group recovery point',
}

/** @throws ApiError 501 naming the first such field */
export function refuseUnbuilt(operation: string, body: VmBody): void {
  const refuse = (what: string): never => {
    throw new ApiError('NOT_IMPLEMENTED', { operation: `${operation} with ${what}` })
  }
  if (body.source !== undefined) refuse('source')
  if (body.guestTools !== undefined) refuse('guestTools')
  const backings = [...(body.disks ?? []), ...(body.cdRoms ?? [])].map(({ backingInfo }) => backingInfo)
  for (const backing of backings as ({ dataSource?: { reference?: { $objectType?: string } } } | undefined)[]) {
    const source = unbuiltSources[backing?.dataSource?.reference?.$objectType ?? '']
    if (source !== undefined) refuse(source)
  }
  for (const nic of body.nics ?? []) refuseUnbuiltNic(operation, nic)
}

/** @throws ApiError 501 */
export function refuseUnbuiltNic(operation: string, nic: NicBody): void {
  if (!isEmulated(nic))
    throw new ApiError('NOT_IMPLEMENTED', { operation: `${operation} with a NIC that uses SR-IOV or offload` })
}
