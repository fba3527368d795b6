/** Operations on VM anti-affinity policies. Source: behaviour vmm.md 1.0, 1.12, 1.16. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import {
  VmAntiAffinityPolicy,
  type VmAntiAffinityPolicyVmComplianceState,
  vmAntiAffinityPolicyOperations,
} from '@hyperplane/contract/vmm/policies/vm-anti-affinity-policy'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { isInScope } from '../../../core/access/scope.ts'
import { ApiError } from '../../../core/api-error.ts'
import { listOf, notFound } from '../../../core/standard.ts'
import { created, replaced } from '../../../core/updates.ts'
import { defineTask, implement, parentOf, type ReadContext } from '../../context.ts'
import { limit, limitOf } from '../../limits.ts'
import { idsOf } from '../../scheduling/policy-selection.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { nameFaults } from '../vm/rules.ts'
import { antiAffinity, type Reason } from './anti-affinity.ts'
import { complianceOf, countsOf, type VmState } from './compliance.ts'
import { enforcePolicies, migrateViolator } from './enforcement.ts'

type Policy = EntityOf<typeof VmAntiAffinityPolicy>
type ComplianceState = EntityOf<typeof VmAntiAffinityPolicyVmComplianceState>

const maximumPolicies = limit('vmAntiAffinityPolicies', 500)

const createPolicy = defineTask<{ readonly extId: string }>({
  name: 'vmm.create-vm-anti-affinity-policy',
  cancelableUntil: 'store',
  steps: [{ name: 'store', progress: 100, record: (ctx, { extId }) => ctx.store.publish(VmAntiAffinityPolicy, extId) }],
  onUndone: (ctx, { extId }) => ctx.store.remove(VmAntiAffinityPolicy, extId),
})

const updatePolicy = defineTask<{ readonly policy: Policy }>({
  name: 'vmm.update-vm-anti-affinity-policy',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'store',
      progress: 100,
      record: async (ctx, { policy }) => {
        // A category may have been deleted while the task was queued.
        const wanted = idsOf(policy.categories)
        const present = new Set((await ctx.store.getMany(Category, wanted)).map(({ extId }) => extId))
        const missing = wanted.findIndex((extId) => !present.has(extId))
        if (missing >= 0)
          throw notFound(Category, Category.kind, wanted[missing] as string, `categories[${missing}]/extId`)
        await ctx.store.replace(VmAntiAffinityPolicy, { ...policy, updateTime: ctx.clock.iso() })
      },
    },
  ],
})

const deletePolicy = defineTask<{ readonly extId: string }>({
  name: 'vmm.delete-vm-anti-affinity-policy',
  cancelableUntil: 'store',
  steps: [{ name: 'store', progress: 100, record: (ctx, { extId }) => ctx.store.remove(VmAntiAffinityPolicy, extId) }],
})

const taskOf = (verb: 'Create' | 'Update' | 'Delete', { extId, name }: Policy) => ({
  operation: `${verb}VmAntiAffinityPolicy`,
  description: `${verb} VM anti-affinity policy`,
  affected: [{ extId, name, rel: VmAntiAffinityPolicy.rel as string }],
})

const bodyFaults = (body: BodyOf<typeof VmAntiAffinityPolicy>): ApiError[] => [
  ...nameFaults(body),
  ...body.categories.flatMap(({ extId }, index) =>
    extId === undefined ? [fault(`categories[${index}]/extId`, 'the id of a category', extId)] : [],
  ),
]

export const vmAntiAffinityPolicy = implement(
  vmAntiAffinityPolicyOperations,
  {
    async createVmAntiAffinityPolicy(ctx, { body }) {
      const found = (await ctx.store.count(VmAntiAffinityPolicy)) + 1
      const maximum = limitOf(ctx, maximumPolicies)
      if (found > maximum)
        throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'VM anti-affinity policies', maximum, found })
      const [now, by] = [ctx.clock.iso(), { extId: ctx.caller.extId }]
      const written = { createTime: now, updateTime: now, createdBy: by, updatedBy: by }
      const policy: Policy = created(ctx, VmAntiAffinityPolicy, body, written)
      await ctx.store.insert(VmAntiAffinityPolicy, policy, { pending: true })
      const task = await ctx.startTask(createPolicy, { extId: policy.extId }, taskOf('Create', policy))
      return { ...task, created: policy.extId }
    },

    async updateVmAntiAffinityPolicyById(ctx, { body }) {
      const policy = {
        ...replaced(VmAntiAffinityPolicy, ctx.target, body, ctx.version),
        updatedBy: { extId: ctx.caller.extId },
      }
      const namesake = await ctx.store.find(VmAntiAffinityPolicy)
      if (
        namesake.some(({ extId, name }) => extId !== policy.extId && name.toLowerCase() === policy.name.toLowerCase())
      )
        throw new ApiError('NAME_IN_USE', { kind: VmAntiAffinityPolicy.title, fields: 'name' })
      await ctx.store.touch(VmAntiAffinityPolicy, policy.extId)
      return ctx.startTask(updatePolicy, { policy }, taskOf('Update', policy))
    },

    async deleteVmAntiAffinityPolicyById(ctx) {
      await ctx.store.touch(VmAntiAffinityPolicy, ctx.target.extId)
      return ctx.startTask(deletePolicy, { extId: ctx.target.extId }, taskOf('Delete', ctx.target))
    },

    async listVmAntiAffinityPolicyVmComplianceStates(ctx, request) {
      const policy = parentOf(ctx, 'vmAntiAffinityPolicyExtId', VmAntiAffinityPolicy)
      const states = (await complianceOf(ctx, antiAffinity, [policy])).get(policy.extId) ?? []
      const scope = await ctx.services.access.referScope(ctx.caller, ctx.operation, Vm)
      const visible = states.filter(({ vm }) => isInScope(scope, vm))
      return listOf(
        visible.map((state) => shown(policy, state)),
        request,
      )
    },
  },
  {
    rules: {
      createVmAntiAffinityPolicy: ({ body }) => bodyFaults(body),
      updateVmAntiAffinityPolicyById: ({ body }) => bodyFaults(body),
    },
    tasks: [createPolicy, updatePolicy, deletePolicy, migrateViolator],
    present: [[VmAntiAffinityPolicy, presentPolicies]],
    limits: [maximumPolicies],
    schedules: [enforcePolicies],
  },
)

async function presentPolicies(ctx: ReadContext, policies: readonly Policy[]): Promise<readonly Policy[]> {
  const states = await complianceOf(ctx, antiAffinity, policies)
  return policies.map((policy) => ({ ...policy, ...countsOf(states.get(policy.extId) ?? []) }))
}

function shown(policy: Policy, { vm, verdict }: VmState<Reason>): ComplianceState {
  const named = idsOf(policy.categories)
  return {
    extId: vm.extId,
    cluster: { extId: vm.cluster?.extId },
    ...(vm.host === undefined ? {} : { host: { extId: vm.host.extId } }),
    associatedCategories: idsOf(vm.categories)
      .filter((extId) => named.includes(extId))
      .map((extId) => ({ extId })),
    complianceStatus: statusOf(verdict),
  }
}

function statusOf(verdict: VmState<Reason>['verdict']): ComplianceState['complianceStatus'] {
  if (verdict === 'pending') return { $objectType: 'vmm.v4.ahv.policies.PendingVmAntiAffinityPolicy' }
  if (verdict === 'compliant') return { $objectType: 'vmm.v4.ahv.policies.CompliantVmAntiAffinityPolicy' }
  return {
    $objectType: 'vmm.v4.ahv.policies.NonCompliantVmAntiAffinityPolicy',
    nonComplianceReason: verdict.reason,
  }
}
