import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'

/** @throws ApiError 409 if the cluster has no container */
export async function defaultContainer(store: Reader, clusterExtId: string): Promise<StorageContainer> {
  const own = await store.findWhere(StorageContainer, { clusterExtId })
  const usable = own.filter((container) => container.isInternal !== true && container.isMarkedForRemoval !== true)
  const found = usable.find(({ name }) => name.startsWith('default-container')) ?? usable[0]
  if (found === undefined) throw new ApiError('CONFLICT', { fault: 'The cluster has no storage container for disks.' })
  return found
}
