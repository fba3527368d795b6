/** Operations on VM startup policies, and their conflicts. Source: behaviour vmm.md 1.0, 1.13, 1.16. */
import type { EntityOf } from '@hyperplane/contract'
import {
  DependencyConflict,
  StartConditionConflict,
  VmStartupPolicy,
  vmStartupPolicyOperations,
} from '@hyperplane/contract/vmm/policies/vm-startup-policy'
import type { ApiError } from '../../../../core/api-error.ts'
import type { ListResult } from '../../../../core/handlers.ts'
import { listOf, notFound } from '../../../../core/standard.ts'
import type { Reader } from '../../../../store/store.ts'
import { bodyRules, implement, parentOf, type ReadContext } from '../../../context.ts'
import { limit } from '../../../limits.ts'
import { vmsCarrying } from '../../../scheduling/policy-selection.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { complianceOf, countsOf } from '../compliance.ts'
import { listStates, visibleVms } from '../compliance-states.ts'
import { authoredIn, categoriesAt, lifecycleOf } from '../lifecycle.ts'
import { startup } from './startup-compliance.ts'
import {
  type Condition,
  type ConditionConflictFound,
  type Dependency,
  type DependencyConflictFound,
  type StartupOrder,
  startupOrderOf,
} from './startup-order.ts'

type Policy = EntityOf<typeof VmStartupPolicy>

const maximum = limit('vmStartupPolicies', 500)

const policies = lifecycleOf({
  kind: VmStartupPolicy,
  maximum,
  ...authoredIn('updatedBy'),
  categoriesIn: ({ groups }) =>
    groups.flatMap(({ categories }, index) => categoriesAt(`groups[${index}]/categories`, categories)),
})

function bodyFaults(body: Pick<Policy, 'name' | 'groups' | 'startConditions'>): ApiError[] {
  const faults = policies.bodyFaults(body)
  const groupOf = new Map<string, number>()
  for (const [index, { categories }] of body.groups.entries()) {
    for (const { path, extId = '' } of categoriesAt(`groups[${index}]/categories`, categories)) {
      const other = groupOf.get(extId) ?? index
      if (other !== index) faults.push(fault(path, `a category that groups[${other}] does not have`, extId))
      groupOf.set(extId, other)
    }
  }
  const [wanted, found] = [body.groups.length - 1, body.startConditions?.length ?? 0]
  if (found > 0 && found !== wanted)
    faults.push(fault('startConditions', `${wanted} conditions, one between each two groups, or none`, found))
  return faults
}

const orderIn = async (store: Reader): Promise<StartupOrder> => startupOrderOf(await store.find(VmStartupPolicy))

const dependenciesOf = async ({ store }: ReadContext, { extId }: Policy): Promise<readonly DependencyConflictFound[]> =>
  (await orderIn(store)).dependencyConflicts.get(extId)?.all() ?? []
const conditionsOf = async ({ store }: ReadContext, { extId }: Policy): Promise<readonly ConditionConflictFound[]> =>
  (await orderIn(store)).conditionConflicts.get(extId)?.all() ?? []

function only<T extends { readonly extId: string }>(
  found: readonly T[],
  kind: typeof DependencyConflict | typeof StartConditionConflict,
  extId: string,
  attribute: string,
): T {
  const conflict = found.find((each) => each.extId === extId)
  if (conflict === undefined) throw notFound(kind, extId, attribute)
  return conflict
}

/** The VMs with the category that the caller may see. */
async function listVms(
  ctx: ReadContext,
  category: string,
  request: Parameters<typeof listOf>[1],
): Promise<ListResult<{ readonly extId: string }>> {
  const isVisible = await visibleVms(ctx)
  const vms = (await vmsCarrying(ctx.store, [category])).filter(isVisible)
  return listOf(
    vms.map(({ extId }) => ({ extId })),
    request,
  )
}

const policyOf = (ctx: ReadContext<unknown, 'vmStartupPolicyExtId'>): Policy =>
  parentOf(ctx, 'vmStartupPolicyExtId', VmStartupPolicy)

type Below = ReadContext<unknown, 'vmStartupPolicyExtId'>
const dependencyOf = async (ctx: Below, extId: string, attribute: string): Promise<DependencyConflictFound> =>
  only(await dependenciesOf(ctx, policyOf(ctx)), DependencyConflict, extId, attribute)
const conditionOf = async (ctx: Below, extId: string, attribute: string): Promise<ConditionConflictFound> =>
  only(await conditionsOf(ctx, policyOf(ctx)), StartConditionConflict, extId, attribute)

export const vmStartupPolicy = implement(
  vmStartupPolicyOperations,
  {
    createVmStartupPolicy: (ctx, { body }) => policies.create(ctx, body),
    updateVmStartupPolicyById: (ctx, { body }) => policies.update(ctx, body),
    deleteVmStartupPolicyById: (ctx) => policies.remove(ctx),
    listVmStartupPolicyVmComplianceStates: (ctx, request) => listStates(ctx, startup, policyOf(ctx), request),
    async listVmStartupPolicyDependencyConflicts(ctx, request) {
      return listOf((await dependenciesOf(ctx, policyOf(ctx))).map(shownDependency), request)
    },
    async getVmStartupPolicyDependencyConflictById(ctx, { path: { extId } }) {
      return shownDependency(await dependencyOf(ctx, extId, 'extId'))
    },
    async listVmStartupPolicyDependencyConflictDependeeVms(ctx, request) {
      const { dependencyConflictExtId } = request.path
      const { dependency } = await dependencyOf(ctx, dependencyConflictExtId, 'dependencyConflictExtId')
      return listVms(ctx, dependency.dependee, request)
    },
    async listVmStartupPolicyDependencyConflictDependentVms(ctx, request) {
      const { dependencyConflictExtId } = request.path
      const { dependency } = await dependencyOf(ctx, dependencyConflictExtId, 'dependencyConflictExtId')
      return listVms(ctx, dependency.dependent, request)
    },
    async listVmStartupPolicyStartConditionConflicts(ctx, request) {
      return listOf((await conditionsOf(ctx, policyOf(ctx))).map(shownCondition), request)
    },
    async getVmStartupPolicyStartConditionConflictById(ctx, { path: { extId } }) {
      return shownCondition(await conditionOf(ctx, extId, 'extId'))
    },
    async listVmStartupPolicyStartConditionConflictDependeeVms(ctx, request) {
      const { startConditionConflictExtId } = request.path
      const { dependency } = await conditionOf(ctx, startConditionConflictExtId, 'startConditionConflictExtId')
      return listVms(ctx, dependency.dependee, request)
    },
    async listVmStartupPolicyStartConditionConflictDependentVms(ctx, request) {
      const { startConditionConflictExtId } = request.path
      const { dependency } = await conditionOf(ctx, startConditionConflictExtId, 'startConditionConflictExtId')
      return listVms(ctx, dependency.dependent, request)
    },
  },
  {
    rules: bodyRules('createVmStartupPolicy, updateVmStartupPolicyById', bodyFaults),
    tasks: policies.tasks,
    present: [[VmStartupPolicy, presentPolicies]],
    limits: [maximum],
  },
)

async function presentPolicies(ctx: ReadContext, shown: readonly Policy[]): Promise<readonly Policy[]> {
  const states = await complianceOf(ctx, startup, shown)
  const { dependencyConflicts, conditionConflicts } = await orderIn(ctx.store)
  return shown.map((policy) => ({
    ...policy,
    ...countsOf(states.get(policy.extId) ?? []),
    numDependencyConflicts: dependencyConflicts.get(policy.extId)?.count ?? 0,
    numStartConditionConflicts: conditionConflicts.get(policy.extId)?.count ?? 0,
  }))
}

const categoriesOf = ({ dependent, dependee }: Dependency) => ({
  dependeeCategory: { extId: dependee },
  dependentCategory: { extId: dependent },
})

const edgeOf = (dependency: Dependency) => ({
  ...categoriesOf(dependency),
  dependeeVmsAssociatedCategories: [{ extId: dependency.dependee }],
  dependentVmsAssociatedCategories: [{ extId: dependency.dependent }],
})

const shownDependency = ({
  extId,
  dependency,
  cycle,
}: DependencyConflictFound): EntityOf<typeof DependencyConflict> => ({
  extId,
  ...edgeOf(dependency),
  categoryDependencyChain: cycle.map((each) => ({ ...categoriesOf(each), policy: { extId: each.policyExtId } })),
})

const shownCondition = ({
  extId,
  dependency,
  older,
}: ConditionConflictFound): EntityOf<typeof StartConditionConflict> => ({
  extId,
  ...edgeOf(dependency),
  startCondition: conditionShown(dependency.condition),
  conflictingPolicy: { extId: older.policyExtId },
  conflictingStartCondition: conditionShown(older.condition),
})

const conditionShown = ({ delaySeconds, bootTimeoutSeconds }: Condition) => ({
  delayDurationSecs: delaySeconds,
  powerStateCriteria:
    bootTimeoutSeconds === undefined
      ? { $objectType: 'vmm.v4.ahv.policies.PowerStateCriteriaPowerOn' }
      : {
          $objectType: 'vmm.v4.ahv.policies.PowerStateCriteriaGuestBootup',
          timeoutDurationSecs: bootTimeoutSeconds,
        },
})
