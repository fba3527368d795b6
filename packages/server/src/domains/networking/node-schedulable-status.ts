/** Source: behaviour networking.md 1.18. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import {
  type NodeSchedulableStatus,
  nodeSchedulableStatusOperations,
} from '@hyperplane/contract/networking/node-schedulable-status'
import { listOf } from '../../core/standard.ts'
import { implement } from '../context.ts'

export const nodeSchedulableStatus = implement(nodeSchedulableStatusOperations, {
  async listNodeSchedulableStatus(ctx, request) {
    const scope = await ctx.scopeOf(Host.kind)
    const { clusterId } = request.headers
    // Some roles may read this list, and see no hosts otherwise; a policy for some hosts limits it.
    const hosts = await ctx.store.find(Host, scope === undefined || scope === 'none' ? {} : { scope })
    const statuses = hosts
      .filter(({ cluster }) => clusterId === undefined || cluster.uuid === clusterId)
      .map(
        ({ extId, tenantId, hostType }): EntityOf<typeof NodeSchedulableStatus> => ({
          extId,
          ...(tenantId === undefined ? {} : { tenantId }),
          isNeverSchedulable: hostType === 'STORAGE_ONLY',
        }),
      )
    return listOf(statuses, request)
  },
})
