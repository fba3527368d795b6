/** Operations on image rate limit policies. Source: behaviour vmm.md 1.9. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import {
  ImageRateLimitPolicy,
  imageRateLimitPolicyOperations,
} from '@hyperplane/contract/vmm/content/image-rate-limit-policy'
import { isInScope } from '../../../../core/access/scope.ts'
import { listOf } from '../../../../core/standard.ts'
import { bodyRules, implement, type ReadContext } from '../../../context.ts'
import { limit } from '../../../limits.ts'
import { lifecycleOf } from '../../policies/lifecycle.ts'
import { isNative } from '../../vm/create/clusters.ts'
import { categoriesOf, matchingClusters } from '../category-filter.ts'
import { effectiveLimits } from '../rate-limits.ts'

type Policy = EntityOf<typeof ImageRateLimitPolicy>

const maximum = limit('imageRateLimitPolicies', 500)

const policies = lifecycleOf({
  kind: ImageRateLimitPolicy,
  maximum,
  createdBy: ({ extId, name }) => ({ ownerExtId: extId, ownerName: name }),
  changedBy: () => ({}),
  timeOfChange: 'lastUpdateTime',
  categoriesIn: ({ clusterEntityFilter }) => categoriesOf('clusterEntityFilter', clusterEntityFilter),
})

export const imageRateLimitPolicy = implement(
  imageRateLimitPolicyOperations,
  {
    createRateLimitPolicy: (ctx, { body }) => policies.create(ctx, body),
    updateRateLimitPolicyById: (ctx, { body }) => policies.update(ctx, body),
    deleteRateLimitPolicyById: (ctx) => policies.remove(ctx),

    async listEffectiveRateLimitPolicies(ctx, request) {
      const scope = await ctx.services.access.referScope(ctx.caller, ctx.operation, ImageRateLimitPolicy)
      const limits = await effectiveLimits(ctx.store)
      const visible = limits.filter(({ policy }) => isInScope(scope, policy))
      return listOf(
        visible.map(({ clusterExtId, policy }) => ({
          extId: clusterExtId,
          clusterExtId,
          rateLimitExtId: policy.extId,
        })),
        request,
      )
    },
  },
  {
    rules: bodyRules('createRateLimitPolicy, updateRateLimitPolicyById', policies.bodyFaults),
    tasks: policies.tasks,
    present: [[ImageRateLimitPolicy, presentPolicies]],
    limits: [maximum],
  },
)

async function presentPolicies(ctx: ReadContext, shown: readonly Policy[]): Promise<readonly Policy[]> {
  const clusters = (await ctx.store.find(Cluster)).filter(isNative)
  return shown.map((policy) => ({
    ...policy,
    matchingClusterExtIds: matchingClusters(clusters, policy.clusterEntityFilter),
  }))
}
