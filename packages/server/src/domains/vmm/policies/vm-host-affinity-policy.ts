/** Operations on VM host affinity policies. Source: behaviour vmm.md 1.0, 1.12, 1.16. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import {
  VmHostAffinityPolicy,
  vmHostAffinityPolicyOperations,
} from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import { bodyRules, implement, parentOf, type ReadContext } from '../../context.ts'
import { limit } from '../../limits.ts'
import { idsOf } from '../../scheduling/policy-selection.ts'
import { complianceOf, countsOf } from './compliance.ts'
import { listStates } from './compliance-states.ts'
import { hostAffinity } from './host-affinity.ts'
import { authoredIn, categoriesAt, lifecycleOf, policyTask } from './lifecycle.ts'
import { reEnforcePolicy } from './re-enforcement.ts'

type Policy = EntityOf<typeof VmHostAffinityPolicy>

const maximum = limit('vmHostAffinityPolicies', 500)

const policies = lifecycleOf({
  kind: VmHostAffinityPolicy,
  maximum,
  ...authoredIn('lastUpdatedBy'),
  categoriesIn: ({ vmCategories, hostCategories }) => [
    ...categoriesAt('vmCategories', vmCategories),
    ...categoriesAt('hostCategories', hostCategories),
  ],
})

export const vmHostAffinityPolicy = implement(
  vmHostAffinityPolicyOperations,
  {
    createVmHostAffinityPolicy: (ctx, { body }) => policies.create(ctx, body),
    updateVmHostAffinityPolicyById: (ctx, { body }) => policies.update(ctx, body),
    deleteVmHostAffinityPolicyById: (ctx) => policies.remove(ctx),
    async reEnforceVmHostAffinityPolicyById(ctx) {
      await ctx.store.touch(VmHostAffinityPolicy, ctx.target.extId)
      const options = policyTask('Re-enforce', VmHostAffinityPolicy, ctx.target)
      return ctx.startTask(reEnforcePolicy, { policyExtId: ctx.target.extId }, options)
    },
    listVmHostAffinityPolicyVmComplianceStates: (ctx, request) =>
      listStates(ctx, hostAffinity, parentOf(ctx, 'vmHostAffinityPolicyExtId', VmHostAffinityPolicy), request),
  },
  {
    rules: bodyRules('createVmHostAffinityPolicy, updateVmHostAffinityPolicyById', policies.bodyFaults),
    tasks: [...policies.tasks, reEnforcePolicy],
    present: [[VmHostAffinityPolicy, presentPolicies]],
    limits: [maximum],
  },
)

/** `numVms` includes pending VMs, which have no number of their own. */
async function presentPolicies(ctx: ReadContext, shown: readonly Policy[]): Promise<readonly Policy[]> {
  const states = await complianceOf(ctx, hostAffinity, shown)
  const hosts = shown.length === 0 ? [] : await ctx.store.find(Host)
  return shown.map((policy) => {
    const { numCompliantVms, numNonCompliantVms } = countsOf(states.get(policy.extId) ?? [])
    const wanted = new Set(idsOf(policy.hostCategories))
    const numHosts = hosts.filter(({ categories = [] }) => categories.some((extId) => wanted.has(extId))).length
    const numVms = states.get(policy.extId)?.length ?? 0
    return { ...policy, numVms, numHosts, numCompliantVms, numNonCompliantVms }
  })
}
