/** The order in which VMs start again after a loss of hosts. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.13, 2, 3.9. */
import { create, get, list, remove, resource, update } from '../../operation.ts'
import * as s from '../../schema.ts'
import { policyMutationRate, policyReaders, policyWriters } from '../roles.ts'
import { CategoryReference, ClusterReference, empty, UserReference } from './references.ts'

const PolicyReference = s.object('vmm.v4.ahv.policies.VmStartupPolicyReference', { extId: s.uuid() })

const StartCondition = s.object('vmm.v4.ahv.policies.StartCondition', {
  powerStateCriteria: s.optional(
    s.oneOf(
      empty('PowerStateCriteriaPowerOn'),
      s.object('vmm.v4.ahv.policies.PowerStateCriteriaGuestBootup', {
        timeoutDurationSecs: s.withDefault(s.integer({ minimum: 1, maximum: 3600 }), 300),
      }),
    ),
  ),
  delayDurationSecs: s.withDefault(s.integer({ minimum: 0, maximum: 3600 }), 0),
})

export const VmStartupPolicy = resource('vmm.v4.ahv.policies.VmStartupPolicy', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 80 }),
    description: s.optional(s.text({ multiline: true })),
    groups: s.arrayOf(
      s.object('vmm.v4.ahv.policies.DependencyGroup', {
        categories: s.arrayOf(CategoryReference, { minItems: 1, maxItems: 20, uniqueItems: true }),
      }),
      { minItems: 2, maxItems: 10 },
    ),
    /** The first condition is between the first and the second group. */
    startConditions: s.optional(s.arrayOf(StartCondition, { maxItems: 9 })),
    numCompliantVms: s.readOnly(s.integer()),
    numNonCompliantVms: s.readOnly(s.integer()),
    numPendingVms: s.readOnly(s.integer()),
    numDependencyConflicts: s.readOnly(s.integer()),
    numStartConditionConflicts: s.readOnly(s.integer()),
    createTime: s.readOnly(s.timestamp()),
    updateTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(UserReference),
    updatedBy: s.readOnly(UserReference),
  },
  iam: { name: 'name', owner_uuid: 'createdBy/extId' },
  associationType: 'VM_DEPENDENCY_POLICY',
  unique: [{ fields: ['name'], ignoreCase: true, error: 'NAME_IN_USE' }],
})

const ofPolicy = {
  derived: true,
  internal: { policyExtId: s.uuid() },
  parent: { param: 'vmStartupPolicyExtId', kind: 'VmStartupPolicy', field: 'policyExtId' },
  notFound: 'VMM_ENTITY_NOT_FOUND',
} as const

/** VMs of the dependent category start after those of the dependee category. */
const dependency = {
  dependeeCategory: s.readOnly(CategoryReference),
  dependentCategory: s.readOnly(CategoryReference),
}
const edge = {
  ...dependency,
  dependeeVmsAssociatedCategories: s.readOnly(s.arrayOf(CategoryReference, { maxItems: 20 })),
  dependentVmsAssociatedCategories: s.readOnly(s.arrayOf(CategoryReference, { maxItems: 20 })),
}

export const DependencyConflict = resource('vmm.v4.ahv.policies.DependencyConflict', {
  fields: {
    ...edge,
    categoryDependencyChain: s.readOnly(
      s.arrayOf(
        s.object('vmm.v4.ahv.policies.CategoryDependency', { ...dependency, policy: s.readOnly(PolicyReference) }),
      ),
    ),
  },
  ...ofPolicy,
})

export const StartConditionConflict = resource('vmm.v4.ahv.policies.StartConditionConflict', {
  fields: {
    ...edge,
    startCondition: s.readOnly(StartCondition),
    conflictingPolicy: s.readOnly(PolicyReference),
    conflictingStartCondition: s.readOnly(StartCondition),
  },
  ...ofPolicy,
})

const VmOfConflict = resource('vmm.v4.ahv.policies.VmReference', {
  fields: { extId: s.readOnly(s.uuid()) },
  ...ofPolicy,
  kind: 'VmOfStartupConflict',
  title: 'VM of a conflict',
  bare: true,
})

export const VmStartupNonCompliance = s.oneOf(
  empty('VmStartupPolicyNgtNotEnabled'),
  s.object('vmm.v4.ahv.policies.VmStartupPolicyHaNotSupported', {
    haNotSupportedReasons: s.arrayOf(
      s.enumeration(`
        HA_NOT_SUPPORTED_REASON_PASSTHROUGH_GPU, HA_NOT_SUPPORTED_REASON_PASSTHROUGH_SINGLE_AFFINED_HOST,
        HA_NOT_SUPPORTED_REASON_AGENT_VM
      `),
    ),
  }),
  empty('VmStartupPolicyClusterNotSupported'),
)

export const VmStartupPolicyVmComplianceState = resource('vmm.v4.ahv.policies.VmStartupPolicyVmComplianceState', {
  fields: {
    cluster: s.readOnly(ClusterReference),
    associatedCategories: s.readOnly(s.arrayOf(CategoryReference, { minItems: 1, maxItems: 200 })),
    complianceStatus: s.readOnly(
      s.oneOf(
        empty('VmStartupPolicyCompliantVm'),
        s.object('vmm.v4.ahv.policies.VmStartupPolicyNonCompliantVm', { nonComplianceReason: VmStartupNonCompliance }),
        empty('VmStartupPolicyPendingVm'),
      ),
    ),
  },
  ...ofPolicy,
  title: 'VM compliance state',
})

const path = '/ahv/policies/vm-startup-policies'
const one = `${path}/{extId}` as const
const below = `${path}/{vmStartupPolicyExtId}` as const
const reading = { iam: 'View_VM_Startup_Policy', roles: policyReaders }
const readingDependencies = { ...reading, iam: 'View_VM_Startup_Policy_Dependency_Conflict' }
const readingConditions = { ...reading, iam: 'View_VM_Startup_Policy_Start_Condition_Conflict' }
const mutation = { roles: policyWriters, rateLimit: policyMutationRate } as const
const dependencies = `${below}/dependency-conflicts` as const
const dependencyVms = `${dependencies}/{dependencyConflictExtId}` as const
const conditions = `${below}/start-condition-conflicts` as const
const conditionVms = `${conditions}/{startConditionConflictExtId}` as const

const vmsOfDependency = {
  ...readingDependencies,
  pathKinds: { dependencyConflictExtId: DependencyConflict.kind },
}
const vmsOfCondition = {
  ...readingConditions,
  pathKinds: { startConditionConflictExtId: StartConditionConflict.kind },
}

export const vmStartupPolicyOperations = {
  listVmStartupPolicies: list(path, VmStartupPolicy, {
    ...reading,
    filter: ['createTime', 'extId', 'name', 'updateTime'],
    orderby: ['createTime', 'extId', 'name', 'updateTime'],
  }),
  createVmStartupPolicy: create(path, VmStartupPolicy, mutation),
  getVmStartupPolicyById: get(one, VmStartupPolicy, reading),
  updateVmStartupPolicyById: update(one, VmStartupPolicy, mutation),
  deleteVmStartupPolicyById: remove(one, VmStartupPolicy, mutation),
  listVmStartupPolicyVmComplianceStates: list(
    `${below}/vm-compliance-states`,
    VmStartupPolicyVmComplianceState,
    reading,
  ),
  listVmStartupPolicyDependencyConflicts: list(dependencies, DependencyConflict, readingDependencies),
  getVmStartupPolicyDependencyConflictById: get(`${dependencies}/{extId}`, DependencyConflict, readingDependencies),
  listVmStartupPolicyDependencyConflictDependeeVms: list(
    `${dependencyVms}/dependee-vms`,
    VmOfConflict,
    vmsOfDependency,
  ),
  listVmStartupPolicyDependencyConflictDependentVms: list(
    `${dependencyVms}/dependent-vms`,
    VmOfConflict,
    vmsOfDependency,
  ),
  listVmStartupPolicyStartConditionConflicts: list(conditions, StartConditionConflict, readingConditions),
  getVmStartupPolicyStartConditionConflictById: get(`${conditions}/{extId}`, StartConditionConflict, readingConditions),
  listVmStartupPolicyStartConditionConflictDependeeVms: list(
    `${conditionVms}/dependee-vms`,
    VmOfConflict,
    vmsOfCondition,
  ),
  listVmStartupPolicyStartConditionConflictDependentVms: list(
    `${conditionVms}/dependent-vms`,
    VmOfConflict,
    vmsOfCondition,
  ),
}
