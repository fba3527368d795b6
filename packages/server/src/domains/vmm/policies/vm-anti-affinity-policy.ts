/** Operations on VM anti-affinity policies. Source: behaviour vmm.md 1.0, 1.12, 1.16. */
import type { EntityOf } from '@hyperplane/contract'
import {
  VmAntiAffinityPolicy,
  vmAntiAffinityPolicyOperations,
} from '@hyperplane/contract/vmm/policies/vm-anti-affinity-policy'
import { bodyRules, implement, parentOf, type ReadContext } from '../../context.ts'
import { limit } from '../../limits.ts'
import { antiAffinity } from './anti-affinity.ts'
import { complianceOf, countsOf } from './compliance.ts'
import { listStates } from './compliance-states.ts'
import { enforcePolicies, migrateViolator } from './enforcement.ts'
import { authoredIn, categoriesAt, lifecycleOf } from './lifecycle.ts'

type Policy = EntityOf<typeof VmAntiAffinityPolicy>

const maximum = limit('vmAntiAffinityPolicies', 500)

const policies = lifecycleOf({
  kind: VmAntiAffinityPolicy,
  maximum,
  ...authoredIn('updatedBy'),
  categoriesIn: ({ categories }) => categoriesAt('categories', categories),
})

export const vmAntiAffinityPolicy = implement(
  vmAntiAffinityPolicyOperations,
  {
    createVmAntiAffinityPolicy: (ctx, { body }) => policies.create(ctx, body),
    updateVmAntiAffinityPolicyById: (ctx, { body }) => policies.update(ctx, body),
    deleteVmAntiAffinityPolicyById: (ctx) => policies.remove(ctx),
    listVmAntiAffinityPolicyVmComplianceStates: (ctx, request) =>
      listStates(ctx, antiAffinity, parentOf(ctx, 'vmAntiAffinityPolicyExtId', VmAntiAffinityPolicy), request),
  },
  {
    rules: bodyRules('createVmAntiAffinityPolicy, updateVmAntiAffinityPolicyById', policies.bodyFaults),
    tasks: [...policies.tasks, migrateViolator],
    present: [[VmAntiAffinityPolicy, presentPolicies]],
    limits: [maximum],
    schedules: [enforcePolicies],
  },
)

async function presentPolicies(ctx: ReadContext, shown: readonly Policy[]): Promise<readonly Policy[]> {
  const states = await complianceOf(ctx, antiAffinity, shown)
  return shown.map((policy) => ({ ...policy, ...countsOf(states.get(policy.extId) ?? []) }))
}
