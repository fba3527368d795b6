/** Source: behaviour networking.md 1.1, 1.7. */
import { RoutingPolicy, routingPolicyOperations } from '@hyperplane/contract/networking/routing-policy'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { isInScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import { affected, bodyRules, defineTask, implement, type ReadContext, type WriteContext } from '../context.ts'
import { limit } from '../limits.ts'
import { refuseDuringCreationOrDeletion } from './busy.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { invalidField } from './ip-config.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'
import { type PolicyEntity, policyProgramOf } from './policy-program.ts'
import { canonicalRule, lowestPriority, type PolicyBody, policyFaults } from './routing-policy-rules.ts'

/** Per VPC. Source: behaviour networking.md 3.5. */
const maximumPolicies = limit('routingPoliciesOfVpc', 991)

const policies = lifecycle<PolicyEntity, PolicyBody, VpcEntity>(RoutingPolicy, {
  phases: [
    {
      create: ['install rules', 100, [0.3, 0.9]],
      update: ['swap rules', 100, [0.3, 0.9]],
      delete: ['remove rules', 100, [0.3, 0.9]],
      program: (ctx, policy) => ctx.drivers.networkFabric.installPolicy(policyProgramOf(policy)),
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.removePolicy(extId),
    },
  ],
  async resolve(ctx, { vpcExtId }, stored) {
    if (stored !== undefined) refuseDefault(stored)
    return vpcOf(ctx, vpcExtId)
  },
  async configure(ctx, { body, references: vpc, stored }) {
    if (stored === undefined) {
      // Counts the default policy instead of the new one, which is not stored yet.
      const found = (await ctx.store.findWhere(RoutingPolicy, { vpcExtId: vpc.extId })).length
      refuseBeyond(ctx, maximumPolicies, `Routing policies of VPC ${vpc.name}`, found)
    }
    return { policies: body.policies.map(canonicalRule) }
  },
  async task(ctx, { vpcExtId }) {
    return { affected: [affected(Vpc, await vpcOf(ctx, vpcExtId))] }
  },
  unique: {
    fields: ['priority'],
    among: (ctx, { vpcExtId }) => ctx.store.findWhere(RoutingPolicy, { vpcExtId }),
    text: ({ priority }) => `priority ${priority} in the VPC`,
  },
  refuseRemoval: async (_, stored) => refuseDefault(stored),
})

const clearCountersTask = defineTask<{ readonly policyExtIds: readonly string[] }>({
  name: 'networking.clear-routing-policy-counters',
  steps: [
    {
      name: 'clear counters',
      seconds: [0.1, 0.3],
      run: (ctx, { policyExtIds }) => ctx.drivers.networkFabric.clearPolicyCounters(policyExtIds),
      // No undo: cleared counters cannot be restored.
      isIrreversible: true,
    },
  ],
})

export const routingPolicy = implement(
  routingPolicyOperations,
  {
    createRoutingPolicy: policies.create,
    updateRoutingPolicyById: policies.update,
    deleteRoutingPolicyById: policies.remove,

    async clearRoutingPolicyCounters(ctx, { body }) {
      const vpc = await vpcOf(ctx, body.vpcExtId)
      const scope = await ctx.services.access.scope(ctx.caller, ctx.operation)
      const all = await ctx.store.findWhere(RoutingPolicy, { vpcExtId: vpc.extId })
      const visible = all.filter((policy) => isInScope(scope, policy))
      const { routingPolicyExtId } = body
      const chosen = visible.filter(({ extId }) => routingPolicyExtId === undefined || extId === routingPolicyExtId)
      if (chosen.length === 0) throw invalidField('routingPolicyExtId', `expected a policy of the VPC ${vpc.name}`)
      const policyExtIds = chosen.map(({ extId }) => extId)
      return ctx.startTask(
        clearCountersTask,
        { policyExtIds },
        {
          operation: 'kRoutingPolicyCountersClear',
          description: `Clear counters of routing policies of VPC ${vpc.name}`,
          affected: chosen.map(({ extId, name }) => ({ extId, name, rel: 'networking:config:routing-policy' })),
          locks: policyExtIds,
        },
      )
    },
  },
  {
    rules: bodyRules('createRoutingPolicy, updateRoutingPolicyById', policyFaults),
    tasks: [...policies.tasks, clearCountersTask],
    present: [[RoutingPolicy, presentPolicies]],
    limits: [maximumPolicies],
  },
)

async function presentPolicies(
  ctx: ReadContext,
  policies: readonly PolicyEntity[],
  { expand }: { readonly expand: ReadonlySet<string> },
): Promise<readonly PolicyEntity[]> {
  const vpcs = await ctx.store.getMany(Vpc, [...new Set(policies.map(({ vpcExtId }) => vpcExtId))])
  const names = new Map(vpcs.map(({ extId, name }) => [extId, name]))
  return policies.map((policy) => {
    const name = names.get(policy.vpcExtId)
    if (name === undefined) return policy
    return { ...policy, vpc: { name }, ...(expand.has('vpc') ? { vpcNameProjection: { name } } : {}) }
  })
}

/** @throws ApiError 409 while the VPC is being created or deleted */
async function vpcOf(ctx: WriteContext, extId: string): Promise<VpcEntity> {
  const vpc = (await ctx.store.get(Vpc, extId)) as VpcEntity
  refuseDuringCreationOrDeletion('VPC', vpc)
  return vpc
}

/** @throws ApiError 400 for the default policy of the system */
function refuseDefault({ priority }: PolicyEntity): void {
  if (priority < lowestPriority) throw new ApiError('DEFAULT_ROUTING_POLICY')
}
