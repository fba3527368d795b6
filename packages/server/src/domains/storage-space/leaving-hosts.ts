/** Source: behaviour clustermgmt.md 1.3 (Remove). */
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../core/api-error.ts'

/** A task removes the host from its cluster: nothing new is bound to it. */
export const isLeaving = ({ nodeStatus = 'NORMAL' }: Pick<Host, 'nodeStatus'>): boolean => nodeStatus !== 'NORMAL'

export const clusterLosesHost = ({ name }: { readonly name: string }): ApiError =>
  new ApiError('CLUSTER_BUSY', { name, taskExtId: 'that removes the host' })
