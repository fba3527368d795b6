/** ESX clusters are managed through the extension in their vCenter. Source: behaviour clustermgmt.md 1.16. */
import { VcenterExtension } from '@hyperplane/contract/clustermgmt/vcenter-extension'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'

/** @throws ApiError 409 when the cluster has a vCenter without the extension */
export async function requireVcenter(store: Reader, clusterExtId: string | undefined): Promise<void> {
  if (clusterExtId === undefined) return
  const [extension] = await store.findWhere(VcenterExtension, { clusterExtId })
  if (extension === undefined || extension.isRegistered === true) return
  throw new ApiError('VCENTER_NOT_REGISTERED', { address: extension.ipAddress ?? '' })
}
