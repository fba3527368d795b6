/** VMs of one category run on different hosts. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.12, 2, 3.9. */
import { create, get, list, remove, resource, update } from '../../operation.ts'
import * as s from '../../schema.ts'
import { policyMutationRate, policyReaders, policyWriters } from '../roles.ts'
import { CategoryReference, ClusterReference, empty, HostReference, UserReference } from './references.ts'

export const VmAntiAffinityPolicy = resource('vmm.v4.ahv.policies.VmAntiAffinityPolicy', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 80 }),
    description: s.optional(s.text({ multiline: true })),
    categories: s.arrayOf(CategoryReference, { minItems: 1, maxItems: 20, uniqueItems: true }),
    numCompliantVms: s.readOnly(s.integer()),
    numNonCompliantVms: s.readOnly(s.integer()),
    numPendingVms: s.readOnly(s.integer()),
    createTime: s.readOnly(s.timestamp()),
    updateTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(UserReference),
    updatedBy: s.readOnly(UserReference),
  },
  title: 'VM anti-affinity policy',
  iam: { name: 'name', owner_uuid: 'createdBy/extId' },
  associationType: 'VM_VM_ANTI_AFFINITY_POLICY',
  unique: [{ fields: ['name'], ignoreCase: true, error: 'NAME_IN_USE' }],
})

/** In the order in which the reasons are tested. */
export const VmAntiAffinityNonCompliance = s.oneOf(
  empty('ClusterNotSupportedForVmAntiAffinity'),
  s.object('vmm.v4.ahv.policies.ConflictingVmAntiAffinityPolicy', { conflictingVmAntiAffinityPolicyExtId: s.uuid() }),
  s.object('vmm.v4.ahv.policies.ConflictingLegacyVmAntiAffinityPolicy', { legacyVmAntiAffinityPolicyExtId: s.uuid() }),
  empty('NotEnoughHostsForVmAntiAffinity'),
  empty('NotEnoughResourcesForVmAntiAffinity'),
  empty('OtherVmAntiAffinityPolicyNonComplianceReason'),
)

export const VmAntiAffinityPolicyVmComplianceState = resource(
  'vmm.v4.ahv.policies.VmAntiAffinityPolicyVmComplianceState',
  {
    fields: {
      cluster: s.readOnly(ClusterReference),
      host: s.readOnly(HostReference),
      associatedCategories: s.readOnly(s.arrayOf(CategoryReference, { minItems: 1, maxItems: 20 })),
      complianceStatus: s.readOnly(
        s.oneOf(
          empty('CompliantVmAntiAffinityPolicy'),
          s.object('vmm.v4.ahv.policies.NonCompliantVmAntiAffinityPolicy', {
            nonComplianceReason: VmAntiAffinityNonCompliance,
          }),
          empty('PendingVmAntiAffinityPolicy'),
        ),
      ),
    },
    title: 'VM compliance state',
    derived: true,
    internal: { policyExtId: s.uuid() },
    parent: { param: 'vmAntiAffinityPolicyExtId', kind: 'VmAntiAffinityPolicy', field: 'policyExtId' },
  },
)

const reading = { iam: 'View_VM_Anti_Affinity_Policy', roles: policyReaders }
const mutation = { roles: policyWriters, rateLimit: policyMutationRate, requestId: 'required' } as const

const path = '/ahv/policies/vm-anti-affinity-policies'
const one = `${path}/{extId}` as const

export const vmAntiAffinityPolicyOperations = {
  listVmAntiAffinityPolicies: list(path, VmAntiAffinityPolicy, {
    ...reading,
    filter: ['createTime', 'description', 'extId', 'name'],
    orderby: ['name', 'updateTime'],
  }),
  createVmAntiAffinityPolicy: create(path, VmAntiAffinityPolicy, mutation),
  getVmAntiAffinityPolicyById: get(one, VmAntiAffinityPolicy, reading),
  updateVmAntiAffinityPolicyById: update(one, VmAntiAffinityPolicy, mutation),
  deleteVmAntiAffinityPolicyById: remove(one, VmAntiAffinityPolicy, { ...mutation, ifMatch: 'required' }),
  listVmAntiAffinityPolicyVmComplianceStates: list(
    `${path}/{vmAntiAffinityPolicyExtId}/vm-compliance-states`,
    VmAntiAffinityPolicyVmComplianceState,
    reading,
  ),
}
