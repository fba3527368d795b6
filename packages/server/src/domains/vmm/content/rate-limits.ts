/** How fast content may reach a cluster. Source: behaviour vmm.md 1.9 (RateLimitPolicy). */

import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ImageRateLimitPolicy } from '@hyperplane/contract/vmm/content/image-rate-limit-policy'
import type { Transfer } from '../../../drivers/content-source.ts'
import type { Reader } from '../../../store/store.ts'
import { CancelAccepted, type StepContext } from '../../context.ts'
import { isNative } from '../vm/create/clusters.ts'
import { matchesCategories } from './category-filter.ts'

type Policy = EntityOf<typeof ImageRateLimitPolicy>

export interface EffectiveLimit {
  readonly clusterExtId: string
  readonly policy: Policy
}

/** The lowest limit of each cluster; of equal ones, that of the oldest policy. */
export async function effectiveLimits(store: Reader): Promise<readonly EffectiveLimit[]> {
  const policies = await store.find(ImageRateLimitPolicy)
  if (policies.length === 0) return []
  const clusters = (await store.find(Cluster)).filter(isNative)
  // The sort is stable, and the oldest policy comes first.
  const lowestFirst = policies.toSorted((a, b) => a.rateLimitKbps - b.rateLimitKbps)
  return clusters.flatMap(({ extId: clusterExtId, categories }) => {
    const carried = new Set(categories)
    const policy = lowestFirst.find(({ clusterEntityFilter }) => matchesCategories(clusterEntityFilter, carried))
    return policy === undefined ? [] : { clusterExtId, policy }
  })
}

/** Applies the cluster's current rate limit, and ends with its task or the service. `report` writes a row: called once per percent. */
export function transferTo(
  ctx: StepContext,
  clusterExtId: string,
  report: (share: number) => Promise<void> = async () => undefined,
): Transfer {
  let percent = 0
  return {
    stopping: ctx.stopping,
    async bytesPerSecond() {
      const limits = await effectiveLimits(ctx.store)
      const limit = limits.find((each) => each.clusterExtId === clusterExtId)
      return limit === undefined ? undefined : limit.policy.rateLimitKbps * 1000
    },
    async report(share) {
      if (ctx.cancelRequested()) throw new CancelAccepted()
      if (Math.floor(100 * share) === percent) return
      percent = Math.floor(100 * share)
      await report(share)
    },
  }
}
