/** Source: behaviour clustermgmt.md 1.3 (Remove). */
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'
import { lockHolder } from './topology-lock.ts'

/** A task removes the host from its cluster: nothing new is bound to it. */
export const isLeaving = ({ nodeStatus = 'NORMAL' }: Pick<Host, 'nodeStatus'>): boolean => nodeStatus !== 'NORMAL'

/** The removing task holds the lock until it has ended. */
export async function clusterLosesHost(
  store: Reader,
  { extId, name }: { readonly extId: string; readonly name: string },
): Promise<ApiError> {
  return new ApiError('CLUSTER_BUSY', { name, taskExtId: (await lockHolder(store, extId)) as string })
}
