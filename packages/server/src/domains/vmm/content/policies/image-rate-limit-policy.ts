/** Operations on image rate limit policies. Source: behaviour vmm.md 1.9. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import {
  ImageRateLimitPolicy,
  imageRateLimitPolicyOperations,
} from '@hyperplane/contract/vmm/content/image-rate-limit-policy'
import { isInScope } from '../../../../core/access/scope.ts'
import { listOf } from '../../../../core/standard.ts'
import { implement, type ReadContext } from '../../../context.ts'
import { limit } from '../../../limits.ts'
import { isNative } from '../../vm/create/clusters.ts'
import { nameFaults } from '../../vm/rules.ts'
import { matchingClusters } from '../category-filter.ts'
import { effectiveLimits } from '../rate-limits.ts'
import { policyLife } from './policy-life.ts'

type Policy = EntityOf<typeof ImageRateLimitPolicy>

const maximumPolicies = limit('imageRateLimitPolicies', 500)

const life = policyLife({
  kind: ImageRateLimitPolicy,
  noun: 'RateLimitPolicy',
  filters: ['clusterEntityFilter'],
  timeOfChange: 'lastUpdateTime',
  limit: maximumPolicies,
})

export const imageRateLimitPolicy = implement(
  imageRateLimitPolicyOperations,
  {
    createRateLimitPolicy: (ctx, { body }) =>
      life.create(ctx, body, { ownerExtId: ctx.caller.extId, ownerName: ctx.caller.name }),
    updateRateLimitPolicyById: (ctx, { body }) => life.update(ctx, ctx.target, body),
    deleteRateLimitPolicyById: (ctx) => life.remove(ctx, ctx.target),

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
    rules: {
      createRateLimitPolicy: ({ body }) => nameFaults(body),
      updateRateLimitPolicyById: ({ body }) => nameFaults(body),
    },
    tasks: life.tasks,
    present: [[ImageRateLimitPolicy, presentPolicies]],
    limits: [maximumPolicies],
  },
)

async function presentPolicies(ctx: ReadContext, policies: readonly Policy[]): Promise<readonly Policy[]> {
  const clusters = (await ctx.store.find(Cluster)).filter(isNative)
  return policies.map((policy) => ({
    ...policy,
    matchingClusterExtIds: matchingClusters(clusters, policy.clusterEntityFilter),
  }))
}
