/** Routing policies. Source: behaviour networking.md 1.1, 1.7. */
import { RoutingPolicy, routingPolicyOperations } from '@hyperplane/contract/networking/routing-policy'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { isInScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { limit, limitOf } from '../limits.ts'
import { refuseUnlessStanding, refuseWhileChanging } from './busy.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { fault } from './ip-config.ts'
import { ownedBy } from './metadata.ts'
import type { PolicyEntity } from './policy-program.ts'
import { canonicalRule, lowestPriority, type PolicyBody, policyFaults } from './routing-policy-rules.ts'
import { clearCountersTask, createPolicyTask, deletePolicyTask, updatePolicyTask } from './routing-policy-tasks.ts'

/** Per VPC. Source: behaviour networking.md 3.5. */
const maximumPolicies = limit('routingPoliciesOfVpc', 991)

export const routingPolicy = implement(
  routingPolicyOperations,
  {
    async createRoutingPolicy(ctx, { body }) {
      const vpc = await vpcOf(ctx, body.vpcExtId)
      await refuseBeyondLimit(ctx, vpc)
      const entity: PolicyEntity = {
        ...configurationOf(body),
        extId: ctx.ids.uuid(),
        tenantId: ctx.tenantId,
        metadata: ownedBy(ctx.caller),
      }
      await refuseTaken(ctx, entity)
      const task = await ctx.startTask(createPolicyTask, { entity }, taskOf('Create', entity, vpc))
      await ctx.store.insert(RoutingPolicy, { ...entity, change: { taskExtId: task.extId, verb: 'create' } })
      return { ...task, created: entity.extId }
    },

    async updateRoutingPolicyById(ctx, { body }) {
      const stored = ctx.target
      refuseDefault(stored)
      refuseWhileChanging('Routing policy', stored)
      const vpc = await vpcOf(ctx, stored.vpcExtId)
      const { change: _, ...before } = stored
      const { extId, tenantId, metadata } = before
      const kept = { extId, ...(tenantId && { tenantId }), ...(metadata && { metadata }) }
      const after: PolicyEntity = { ...configurationOf(body), ...kept }
      await refuseTaken(ctx, after)
      const task = await ctx.startTask(updatePolicyTask, { before, after }, taskOf('Update', stored, vpc))
      const change = { taskExtId: task.extId, verb: 'update' as const, priority: after.priority }
      await ctx.store.update(RoutingPolicy, extId, { change })
      return task
    },

    async deleteRoutingPolicyById(ctx) {
      const stored = ctx.target
      refuseDefault(stored)
      refuseWhileChanging('Routing policy', stored)
      const vpc = await vpcOf(ctx, stored.vpcExtId)
      const { extId } = stored
      const task = await ctx.startTask(deletePolicyTask, { extId }, taskOf('Delete', stored, vpc))
      await ctx.store.update(RoutingPolicy, extId, { change: { taskExtId: task.extId, verb: 'delete' } })
      return task
    },

    async clearRoutingPolicyCounters(ctx, { body }) {
      const vpc = await vpcOf(ctx, body.vpcExtId)
      const scope = await ctx.services.access.scope(ctx.caller, ctx.operation)
      const all = await ctx.store.findWhere(RoutingPolicy, { vpcExtId: vpc.extId })
      const policies = all.filter((policy) => isInScope(scope, policy))
      const { routingPolicyExtId } = body
      const wanted = policies.filter(({ extId }) => routingPolicyExtId === undefined || extId === routingPolicyExtId)
      if (wanted.length === 0) throw fault('routingPolicyExtId', `expected a policy of the VPC ${vpc.name}`)
      const policyExtIds = wanted.map(({ extId }) => extId)
      return ctx.startTask(
        clearCountersTask,
        { policyExtIds },
        {
          operation: 'kRoutingPolicyCountersClear',
          description: `Clear counters of routing policies of VPC ${vpc.name}`,
          affected: wanted.map(({ extId, name }) => ({ extId, name, rel: 'networking:config:routing-policy' })),
          locks: policyExtIds,
        },
      )
    },
  },
  {
    rules: {
      createRoutingPolicy: ({ body }) => policyFaults(body),
      updateRoutingPolicyById: ({ body }) => policyFaults(body),
    },
    tasks: [createPolicyTask, updatePolicyTask, deletePolicyTask, clearCountersTask],
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

/** Spreads the body, so that a field added to the contract is stored without a change here. */
const configurationOf = (body: PolicyBody): Omit<PolicyEntity, 'extId'> => ({
  ...body,
  policies: body.policies.map(canonicalRule),
})

/** @throws ApiError 409 while the VPC is being created or deleted */
async function vpcOf(ctx: WriteContext, extId: string): Promise<VpcEntity> {
  const vpc = (await ctx.store.get(Vpc, extId)) as VpcEntity
  refuseUnlessStanding('VPC', vpc)
  return vpc
}

/** @throws ApiError 400 for the default policy of the system */
function refuseDefault({ priority }: PolicyEntity): void {
  if (priority < lowestPriority) throw new ApiError('DEFAULT_ROUTING_POLICY')
}

/**
 * A policy whose priority is being changed holds both the old and the new priority until its task ends.
 * @throws ApiError 409
 */
async function refuseTaken(ctx: WriteContext, { extId, vpcExtId, priority }: PolicyEntity): Promise<void> {
  const others = await ctx.store.findWhere(RoutingPolicy, { vpcExtId })
  const taken = others.some((each) => each.extId !== extId && [each.priority, each.change?.priority].includes(priority))
  if (!taken) return
  throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', {
    kind: 'routing policy',
    fields: `priority ${priority} in the VPC`,
  })
}

async function refuseBeyondLimit(ctx: WriteContext, { extId, name }: VpcEntity): Promise<void> {
  const maximum = limitOf(ctx, maximumPolicies)
  // The rows include the default policy but not the new one, so their number equals that of users' policies afterwards.
  const found = (await ctx.store.findWhere(RoutingPolicy, { vpcExtId: extId })).length
  if (found <= maximum) return
  throw new ApiError('NETWORKING_LIMIT_EXCEEDED', { limit: `Routing policies of VPC ${name}`, maximum, found })
}

function taskOf(verb: 'Create' | 'Update' | 'Delete', { extId, name }: PolicyEntity, vpc: VpcEntity) {
  return {
    operation: `kRoutingPolicy${verb}`,
    description: `${verb} routing policy ${name}`,
    affected: [
      { extId, name, rel: 'networking:config:routing-policy' },
      { extId: vpc.extId, name: vpc.name, rel: 'networking:config:vpc' },
    ],
    locks: [extId],
  }
}
